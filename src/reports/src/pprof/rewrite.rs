//! Rewrites a profile with the answers in it.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::io::{self, Write};

use foldsym_symbolize::{Answer, Certainty, Form, Innermost, Names, Query, Worker};
use prost::Message;

use super::profile;
use super::read::Profile;
use crate::profiles::Rewritten;

/// An answer for a location: the location as the profile had it, whether its code is folded, and its lines (function, line,
/// column).
type Verdict = (u64, bool, Vec<(u64, i64, i64)>);

/// The lists of the profile that grow.
struct Growing {
    strings: Vec<String>,
    string_ids: HashMap<String, i64>,
    functions: Vec<profile::Function>,
    function_ids: HashMap<(i64, i64, i64, i64), u64>,
    free_functions: FreeIds,
}

/// Ids that no record has and that no other record refers to, smallest first. A reference to a missing record stays one.
struct FreeIds {
    used: HashSet<u64>,
    next: u64,
}

impl FreeIds {
    fn new(used: impl Iterator<Item = u64>) -> Self {
        Self { used: used.collect(), next: 1 }
    }

    fn take(&mut self) -> u64 {
        while self.used.contains(&self.next) {
            self.next += 1;
        }
        self.next += 1;
        self.next - 1
    }
}

/// All indexes of strings in a profile, outside of its locations, which have none.
fn string_indexes(profile: &mut profile::ProfileRecord) -> impl Iterator<Item = &mut i64> {
    let own = [
        &mut profile.drop_frames,
        &mut profile.keep_frames,
        &mut profile.default_sample_type,
        &mut profile.doc_url,
    ];
    let types = profile.sample_type.iter_mut().chain(&mut profile.period_type);
    let labels = profile.sample.iter_mut().flat_map(|sample| &mut sample.label);
    let mappings = profile.mapping.iter_mut();
    let functions = profile.function.iter_mut();
    own.into_iter()
        .chain(&mut profile.comment)
        .chain(types.flat_map(|one| [&mut one.r#type, &mut one.unit]))
        .chain(labels.flat_map(|one| [&mut one.key, &mut one.str, &mut one.num_unit]))
        .chain(mappings.flat_map(|one| [&mut one.filename, &mut one.build_id]))
        .chain(functions.flat_map(|one| [&mut one.name, &mut one.system_name, &mut one.filename]))
}

impl Growing {
    fn new(profile: &mut profile::ProfileRecord) -> Self {
        let string_count = profile.string_table.len() as i64;
        // An index beyond the table is read as an empty string. It must not become one of the strings that are added.
        string_indexes(profile).filter(|index| **index >= string_count.max(1)).for_each(|index| *index = -1);
        let mut strings = std::mem::take(&mut profile.string_table);
        if strings.is_empty() {
            strings.push(String::new());
        }
        let string_ids = strings.iter().enumerate().map(|(id, text)| (text.clone(), id as i64)).collect();
        let functions = std::mem::take(&mut profile.function);
        let lines = profile.location.iter().flat_map(|location| &location.line);
        let function_ids = functions.iter().map(|function| function.id);
        let free_functions = FreeIds::new(function_ids.chain(lines.map(|line| line.function_id)));
        let key = |one: &profile::Function| (one.name, one.system_name, one.filename, one.start_line);
        let function_ids = functions.iter().map(|one| (key(one), one.id)).collect();
        Self { strings, string_ids, functions, function_ids, free_functions }
    }

    fn string(&mut self, bytes: &[u8]) -> i64 {
        let text = String::from_utf8_lossy(bytes);
        if let Some(&id) = self.string_ids.get(text.as_ref()) {
            return id;
        }
        let id = self.strings.len() as i64;
        self.strings.push(text.clone().into_owned());
        self.string_ids.insert(text.into_owned(), id);
        id
    }

    fn function(&mut self, key: (i64, i64, i64, i64)) -> u64 {
        if let Some(&id) = self.function_ids.get(&key) {
            return id;
        }
        let id = self.free_functions.take();
        let (name, system_name, filename, start_line) = key;
        self.functions.push(profile::Function { id, name, system_name, filename, start_line });
        self.function_ids.insert(key, id);
        id
    }

    fn lines(&mut self, answer: &Answer, names: &mut Names<'_>) -> Vec<profile::LineRecord> {
        let mut lines = Vec::with_capacity(answer.symbol.frames.len());
        for frame in &answer.symbol.frames {
            let system_name = self.string(names.linkage(frame.name));
            let name = self.string(names.function(frame.name));
            // A function without a source file gets the path of its line.
            let filename = self.string(names.path(frame.start_file.or(frame.file)));
            let function_id = self.function((name, system_name, filename, frame.start_line.into()));
            lines.push(profile::LineRecord {
                function_id,
                line: frame.line.into(),
                column: frame.column.into(),
            });
        }
        lines
    }
}

impl Profile {
    /// Writes the profile, compressed with gzip. A location whose address has an answer gets its functions and lines, innermost first; if
    /// one address has several answers, each becomes a location of its own. Locations without an answer stay as they are. If only some frames
    /// have an answer, a comment of the profile says how many others have the names that it had.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn rewrite(&self, worker: &mut Worker<'_>, out: impl Write) -> io::Result<Rewritten> {
        let mut written = self.inner.clone();
        written.string_table = self.strings.iter().map(|text| text.to_string()).collect();
        let mut growing = Growing::new(&mut written);
        let mut done = Rewritten::default();
        let referred = written.sample.iter().flat_map(|sample| &sample.location_id).copied();
        let mut free_locations = FreeIds::new(self.locations.keys().copied().chain(referred));
        // The location of each answer; the first answer takes the existing location.
        let mut known: HashMap<Verdict, u64> = HashMap::new();
        let mut is_taken = vec![false; written.location.len()];
        let mut is_named = vec![false; written.mapping.len()];
        let mut frames = Vec::new();
        for sample in &mut written.sample {
            self.frames(sample, &mut frames);
            let ids = &mut sample.location_id;
            let mut index = 0;
            let query = Query { modules: &self.modules, frames: &frames, innermost: Innermost::Nothing };
            let put = |answer: &Answer, names: &mut Names<'_>| {
                let at = index;
                index += 1;
                done.frames += 1;
                let Some(id) = ids.get_mut(at) else { return Ok(()) };
                let Some(&place) = self.locations.get(id) else { return Ok(()) };
                let found = &answer.symbol.frames;
                let is_better = found.iter().any(|frame| frame.name.is_some());
                // The location keeps the lines that it had, if those of the answer are damaged too.
                let has_own = self.is_named(*id);
                let lines =
                    (!found.is_empty() && (is_better || !has_own)).then(|| growing.lines(answer, names));
                let Some(lines) = lines.filter(|_| names.take_damage().is_none()) else {
                    done.kept += u64::from(has_own);
                    return Ok(());
                };
                done.named += 1;
                // `profile.proto`: in a folded location several symbols have the address, and the lines are those of one. An exact answer
                // is the one that ran.
                let folded = answer.candidate_count.is_some() && answer.certainty != Some(Certainty::Exact);
                let key = lines.iter().map(|line| (line.function_id, line.line, line.column)).collect();
                *id = *known.entry((*id, folded, key)).or_insert_with(|| {
                    if let Some(module) = answer.module.and_then(|module| is_named.get_mut(module)) {
                        *module = true;
                    }
                    if !is_taken[place] {
                        is_taken[place] = true;
                        (written.location[place].line, written.location[place].is_folded) = (lines, folded);
                        return *id;
                    }
                    let new_id = free_locations.take();
                    done.locations_added += 1;
                    let old = &self.inner.location[place];
                    written.location.push(profile::Location {
                        id: new_id,
                        mapping_id: old.mapping_id,
                        address: old.address,
                        line: lines,
                        is_folded: folded,
                    });
                    new_id
                });
                Ok::<(), Infallible>(())
            };
            let Ok(()) = worker.answer(query, Form::Plain, put);
        }
        // pprof symbolizes a mapping again unless these flags are set.
        for (mapping, _) in written.mapping.iter_mut().zip(is_named).filter(|(_, is_named)| *is_named) {
            mapping.has_functions = true;
            mapping.has_filenames = true;
            mapping.has_line_numbers = true;
            mapping.has_inline_frames = true;
        }
        if done.kept > 0 && done.named > 0 {
            let comment = format!(
                "Source: foldsym named {} of {} frames; the names of {} others are those that the profile had",
                done.named, done.frames, done.kept
            );
            written.comment.push(growing.string(comment.as_bytes()));
        }
        (written.string_table, written.function) = (growing.strings, growing.functions);
        let mut gzip = flate2::write::GzEncoder::new(out, flate2::Compression::default());
        gzip.write_all(&written.encode_to_vec())?;
        gzip.finish()?.flush()?;
        Ok(done)
    }
}
