//! Many addresses of a program by many lines of options, on standard input and as arguments: answer by answer.

use std::path::Path;

use super::causes::{self, Knowledge};
use super::options::{self, Line, Style};
use super::split;
use super::tally::DropinTally;
use super::tools::{GivenInput, Personality, Said, Sides};
use crate::diff::Program;

/// So many addresses fit a command line.
const ARGUMENTS: usize = 40;

/// One program, and the inputs for its comparison.
pub(super) struct Sweep<'s> {
    pub(super) pair: &'s Sides,
    pub(super) program: &'s Program,
    pub(super) known: &'s Knowledge,
    pub(super) addresses: &'s [u64],
    /// Where ours keeps what it converted: of this program alone, as two files may have one build id.
    pub(super) cache: &'s Path,
}

impl Sweep<'_> {
    /// Asks by one line of options. `number` chooses among spellings of what all lines have.
    ///
    /// # Errors
    /// A tool that cannot be run.
    pub(super) fn ask(
        &self,
        tool: Personality,
        line: &Line,
        number: usize,
        tally: &mut DropinTally,
    ) -> Result<(), String> {
        let as_arguments = number % 3 == 2;
        let most = if as_arguments { ARGUMENTS } else { usize::MAX };
        let addresses = &self.addresses[..self.addresses.len().min(most)];
        let addresses: Vec<u64> = addresses.iter().map(|address| address.wrapping_add(line.shift)).collect();
        let asked = self.asked(tool, &line.args, &addresses, number, as_arguments);
        let (real, ours) = self.pair.both(tool, &asked)?;
        tally.asked(tool, addresses.len());
        if real == ours {
            return Ok(());
        }
        let shown = format!("{} {} (of {})", tool.name(), line.args.join(" "), self.program.file.display());
        if tool == Personality::GnuAddr2line && real.err.contains("DWARF error") && ours.err.is_empty() {
            tally.named(tool, &[causes::GNU_READS_NOT]);
            return Ok(());
        }
        if (&real.err, real.code) != (&ours.err, ours.code) {
            tally.unnamed(format!("{shown}, standard error or exit code"), || {
                super::tally::shown(&real, &ours)
            });
            return Ok(());
        }
        let with_addresses = |said: &dyn Fn(&(Said, Said)) -> String| -> Result<String, String> {
            if line.addresses || line.style != Style::Gnu {
                return Ok(String::new());
            }
            let mut args = line.args.clone();
            args.push("-a".to_owned());
            Ok(said(&self.pair.both(tool, &self.asked(tool, &args, &addresses, number, as_arguments))?))
        };
        let cut = |said: &Said, with: &str| {
            let with = if line.addresses { &said.out } else { with };
            split::answers(line, as_arguments, &said.out, with, addresses.len())
        };
        let of_real = cut(&real, &with_addresses(&|both| both.0.out.clone())?);
        let of_ours = cut(&ours, &with_addresses(&|both| both.1.out.clone())?);
        let (Some(of_real), Some(of_ours)) = (of_real, of_ours) else {
            tally.unnamed(format!("{shown}, not one answer for each request"), || {
                super::tally::shown(&real, &ours)
            });
            return Ok(());
        };
        for ((address, real), ours) in addresses.iter().zip(&of_real).zip(&of_ours) {
            if real == ours {
                continue;
            }
            match self.known.why(tool, line, *address, real, ours) {
                Some(causes) => tally.named(tool, &causes),
                None => tally
                    .unnamed(shown.clone(), || format!("{address:#x}\n{}", super::tally::apart(real, ours))),
            }
        }
        Ok(())
    }

    fn asked(
        &self,
        tool: Personality,
        args: &[String],
        addresses: &[u64],
        number: usize,
        as_arguments: bool,
    ) -> GivenInput {
        let path = path_of(&self.program.file);
        let mut asked = GivenInput { args: args.to_vec(), ..GivenInput::default() };
        asked.environment.push(("FOLDSYM_CACHE".to_owned(), path_of(self.cache)));
        let with_option = tool != Personality::Symbolizer || number.is_multiple_of(2);
        if with_option {
            let option = options::program(tool, number, &path);
            // Before the other options, or after them.
            let at = if number % 4 < 2 { 0 } else { asked.args.len() };
            asked.args.splice(at..at, option);
        }
        let spelled = addresses.iter().enumerate().map(|(at, address)| {
            let digits = match (tool, at % 2) {
                (Personality::Symbolizer, _) | (_, 0) => format!("{address:#x}"),
                _ => format!("{address:x}"),
            };
            match (with_option, (number + at) % 4) {
                (true, _) => digits,
                (false, 0) => format!("CODE \"{path}\" {digits}"),
                (false, 1) => format!("'{path}' {digits}"),
                (false, 2) => format!("FILE:{path} {digits}"),
                (false, _) => format!("{path} {digits}"),
            }
        });
        if as_arguments {
            asked.args.extend(spelled);
        } else {
            asked.input = spelled.map(|request| request + "\n").collect();
        }
        asked
    }
}

fn path_of(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}
