//! Every comparison of one pair of programs.

use std::path::Path;

use super::counts::Counts;
use super::pair::{Asker, NoicfOptions, Programs, Side};
use super::{calls, members, names, vtables};

/// What comparing came to, by what was compared.
#[derive(Default)]
pub(super) struct Found(pub(super) Vec<(&'static str, Counts)>);

impl Found {
    pub(super) fn add(&mut self, title: &'static str, counts: Counts) {
        match self.0.iter_mut().find(|(known, _)| *known == title) {
            Some((_, known)) => known.merge(counts),
            None => self.0.push((title, counts)),
        }
    }

    /// Prints all; gives the number of defects.
    pub(super) fn print(&self) -> usize {
        for (title, counts) in &self.0 {
            println!("{title}");
            counts.print();
        }
        self.0.iter().map(|(_, counts)| counts.defects()).sum()
    }
}

/// Compares two programs; `scratch` takes the converted files.
pub(super) fn compare(
    asker: &Asker,
    options: &NoicfOptions,
    (folded, unfolded): (&Path, &Path),
    scratch: &Path,
) -> Result<Found, String> {
    let pair = Programs {
        options,
        asker,
        folded: Side::open(folded, scratch)?,
        unfolded: Side::open(unfolded, scratch)?,
        scratch: scratch.to_owned(),
    };
    for side in [&pair.folded, &pair.unfolded] {
        asker.foldsym.convert(&side.program.path, &side.fsym)?;
    }
    let groups = pair.groups()?;
    let mut found = Found::default();
    let mut all = Counts::keeping(options.examples);
    all.sum("groups", groups.len());
    all.sum("members of groups", groups.values().map(|group| group.members).sum());
    found.add("what we answer", all);
    found.add("what the symbol tables say is folded", names::compare(&pair, &groups)?);
    if options.members {
        found.add("frames of members", members::compare(&pair, &groups)?);
    }
    if options.calls {
        found.add("calls and jumps into groups", calls::compare(&pair, &groups)?);
    }
    if options.vtables {
        found.add("what tables of virtual functions lead to", vtables::compare(&pair, &groups)?);
    }
    Ok(found)
}
