//! Reads the samples of messages as stacks.

use std::collections::HashSet;

use foldsym_symbolize::{Modules, Worker};

use super::changes::{Changes, Stopped, changes};
use super::message::{Message, Place};
use super::tables::{MAX_TYPES, TableProblem, Tables};
use super::{json_form, protobuf};
use crate::opened::{FormatReader, ReadWith, ThreadSource};
use crate::profiles::{self, MAX_TEXT, PER_SAMPLE, Rewritten, Unpacked};
use crate::{Format, MAX_FRAMES, Opened, Options, Report, ReportError, Thread};

/// Most messages of one file.
const MAX_MESSAGES: usize = 1 << 16;

fn damaged(problem: impl Into<String>) -> ReportError {
    ReportError::Damaged { format: Format::Otlp, problem: problem.into() }
}

/// Reads profiles of OpenTelemetry.
pub(crate) struct OtlpReader;

impl FormatReader for OtlpReader {
    fn format(&self) -> Format {
        Format::Otlp
    }

    fn is_one(&self, bytes: &[u8]) -> bool {
        profiles::begins(bytes, |bytes| MessageForm::of(bytes).is_some())
    }

    fn open<'b>(&self, bytes: &'b [u8], with: &ReadWith<'_>) -> Result<Opened<'b>, ReportError> {
        Ok(Profiles::parse(bytes, with.options)?.open())
    }
}

/// Whether bytes that are not compressed begin as a message in its binary form.
pub(crate) fn begins_as_profile(bytes: &[u8]) -> bool {
    matches!(MessageForm::of(bytes), Some(MessageForm::Binary | MessageForm::Framed))
}

/// How a file has its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageForm {
    /// One message of protobuf.
    Binary,
    /// Several, each after its length as 4 bytes, the highest first: as the collector's exporter writes files.
    Framed,
    /// JSON, one object after another.
    Json,
}

impl MessageForm {
    fn of(bytes: &[u8]) -> Option<Self> {
        if json_form::begins(bytes) {
            return Some(Self::Json);
        }
        if protobuf::begins(bytes) {
            return Some(Self::Binary);
        }
        let (_, rest) = bytes.split_first_chunk::<4>()?;
        protobuf::begins(rest).then_some(Self::Framed)
    }
}

/// The messages of a file or of a request.
#[derive(Debug)]
pub struct Profiles {
    form: MessageForm,
    messages: Vec<Message>,
    max_frames: usize,
    warnings: Vec<String>,
}

/// Why a profile was not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotRewritten {
    /// The message has references to missing entries.
    #[error(
        "{0} indices are outside of their tables, and would be those of the entries that are added: the profile is not written again"
    )]
    Astray(usize),
    /// The caller cancelled it.
    #[error("cancelled")]
    Stopped,
}

impl Profiles {
    /// Reads the messages of a file: one message of protobuf, several after their lengths, or JSON; with or without gzip around them.
    ///
    /// # Errors
    /// [`ReportError::Damaged`] if the bytes are no such messages; [`ReportError::Memory`] if their records take more than
    /// [`Options::memory`].
    pub fn parse(bytes: &[u8], options: &Options) -> Result<Self, ReportError> {
        let unpacked = Unpacked::new(bytes, Format::Otlp, options.memory)?;
        let bytes = &*unpacked.bytes;
        let form = MessageForm::of(bytes).unwrap_or(match bytes.trim_ascii_start() {
            [b'{', ..] => MessageForm::Json,
            _ => MessageForm::Binary,
        });
        let (most, copied) = (unpacked.most_memory(), bytes.len() as u64);
        let allowed = most.min(unpacked.left_of_caller());
        let (mut messages, mut memory) = (Vec::new(), copied);
        for part in parts(bytes, form)? {
            if messages.len() == MAX_MESSAGES {
                return Err(damaged(format!("more than {MAX_MESSAGES} messages")));
            }
            let mut tables = Tables::within(allowed.saturating_sub(memory));
            let read = match form {
                MessageForm::Json => std::str::from_utf8(part)
                    .map_err(|error| TableProblem::Damaged(error.to_string()))
                    .and_then(|text| json_form::read(text, &mut tables)),
                MessageForm::Binary | MessageForm::Framed => protobuf::read(part, &mut tables),
            };
            let in_message = match messages.len() {
                0 => String::new(),
                before => format!("message {}: ", before + 1),
            };
            read.map_err(|problem| match problem {
                TableProblem::Memory(taken) => unpacked.refused(memory.saturating_add(taken), most),
                TableProblem::Damaged(problem) => damaged(format!("{in_message}{problem}")),
            })?;
            if !tables.samples.is_empty() && tables.stacks.is_empty() {
                return Err(damaged(format!(
                    "{in_message}samples, but no table of stacks: of a version of the protocol before 1.9, or after those that are known"
                )));
            }
            let locations = (tables.locations.len() * size_of::<Place>()) as u64;
            memory = memory.saturating_add(tables.memory).saturating_add(locations);
            if memory > allowed {
                return Err(unpacked.refused(memory, most));
            }
            messages.push(Message::new(part, tables, options));
        }
        let mut warnings = Vec::new();
        let (lost, long) = messages.iter().fold((0, 0), |(lost, long), one| {
            let (more, cut) = one.lost();
            (lost + more, long + cut)
        });
        if lost > 0 {
            warnings.push(format!("{lost} references to stacks, locations or mappings that are not there"));
        }
        if long > 0 {
            warnings.push(format!("{long} stacks were cut after {MAX_FRAMES} frames"));
        }
        Ok(Self { form, messages, max_frames: unpacked.most_frames(), warnings })
    }

    /// Appends the messages with functions and lines in their locations, in the form that they were read in, without gzip. Samples and all
    /// fields that this crate does not know stay as they are. If one address has several answers, each becomes a location of its own.
    ///
    /// `go_on` is asked after each stack with the bytes that `out` and the changes take; the writing ends if it says no.
    ///
    /// # Errors
    /// [`NotRewritten`].
    pub fn rewrite(
        &self,
        worker: &mut Worker<'_>,
        out: &mut Vec<u8>,
        mut go_on: impl FnMut(usize) -> bool,
    ) -> Result<Rewritten, NotRewritten> {
        let mut all = Rewritten::default();
        for message in &self.messages {
            match message.tables.astray() {
                0 => {}
                astray => return Err(NotRewritten::Astray(astray)),
            }
            let before = out.len();
            let (changes, done) =
                changes(message, worker, &mut |bytes| go_on(before + message.bytes.len() + bytes))
                    .map_err(|Stopped| NotRewritten::Stopped)?;
            write(message, self.form, &changes, out);
            all.frames += done.frames;
            all.named += done.named;
            all.kept += done.kept;
            all.locations_added += done.locations_added;
        }
        Ok(all)
    }

    /// Samples of all messages.
    pub fn samples(&self) -> u64 {
        self.messages.iter().map(|one| one.tables.samples.len() as u64).sum()
    }

    /// Whether the messages are in JSON.
    pub fn is_json(&self) -> bool {
        self.form == MessageForm::Json
    }

    /// The profiles as a report: a stack for each sample.
    pub fn report(self) -> Report {
        self.open().read()
    }

    /// The same, for one stack after another.
    pub(crate) fn open(mut self) -> Opened<'static> {
        let modules =
            self.messages.first().map_or_else(|| Modules::new(Vec::new()), |one| one.modules.clone());
        let mut report = Report::new(Format::Otlp, modules, Vec::new());
        report.warnings = std::mem::take(&mut self.warnings);
        // Samples have a value for each type, and there may be thousands of messages. Further types count as the last one.
        let mut known = HashSet::new();
        for message in &self.messages {
            for name in message.tables.types.iter().map(|&kind| message.kind(kind)) {
                if known.len() < MAX_TYPES && known.insert(name.clone()) {
                    report.value_types.push(name);
                }
            }
        }
        Opened::new(
            report,
            SamplesOfMessages { profiles: self, message: 0, next: 0, count: 0, copied: 0, left_out: 0 },
        )
    }
}

/// The bytes of each message.
fn parts(bytes: &[u8], form: MessageForm) -> Result<Vec<&[u8]>, ReportError> {
    match form {
        MessageForm::Binary => Ok(vec![bytes]),
        MessageForm::Framed => {
            let (mut parts, mut rest) = (Vec::new(), bytes);
            while !rest.is_empty() {
                let part = rest.split_first_chunk::<4>().and_then(|(len, rest)| {
                    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*len)).ok()?)
                });
                let Some((part, after)) = part else {
                    let at = bytes.len() - rest.len();
                    return Err(damaged(format!("the message at offset {at:#x} extends beyond the end")));
                };
                parts.push(part);
                rest = after;
            }
            Ok(parts)
        }
        MessageForm::Json => {
            let mut parts = Vec::new();
            let objects =
                serde_json::Deserializer::from_slice(bytes).into_iter::<&serde_json::value::RawValue>();
            for object in objects {
                let object = object.map_err(|error| damaged(error.to_string()))?;
                parts.push(object.get().as_bytes());
                if parts.len() > MAX_MESSAGES {
                    break;
                }
            }
            Ok(parts)
        }
    }
}

/// Writes a message with changes, in its form.
fn write(message: &Message, form: MessageForm, changes: &Changes, out: &mut Vec<u8>) {
    match form {
        MessageForm::Binary => protobuf::write(&message.bytes, &message.tables, changes, out),
        MessageForm::Framed => {
            let start = out.len();
            out.extend_from_slice(&[0; 4]);
            protobuf::write(&message.bytes, &message.tables, changes, out);
            let len = (out.len() - start - 4) as u32;
            out[start..start + 4].copy_from_slice(&len.to_be_bytes());
        }
        MessageForm::Json => {
            let text = std::str::from_utf8(&message.bytes).unwrap_or_default();
            let start = out.len();
            // It was read before, and is read in the same way.
            if json_form::write(text, &message.tables, changes, out).is_err() {
                out.truncate(start);
                out.extend_from_slice(&message.bytes);
            }
            out.push(b'\n');
        }
    }
}

/// Reads the samples of messages.
struct SamplesOfMessages {
    profiles: Profiles,
    message: usize,
    next: usize,
    /// What the samples so far count as, and the bytes of their labels.
    count: usize,
    copied: usize,
    left_out: usize,
}

impl ThreadSource for SamplesOfMessages {
    fn next(&mut self, report: &mut Report) -> Option<Thread> {
        while let Some(message) = self.profiles.messages.get(self.message) {
            let Some(sample) = message.tables.samples.get(self.next) else {
                (self.message, self.next) = (self.message + 1, 0);
                continue;
            };
            self.next += 1;
            let (frames, labels) = message.cost(sample);
            let values = report.value_types.len();
            self.count = self.count.saturating_add(frames + values + PER_SAMPLE);
            // A name of a value is twice in a sample.
            let of_types = report.value_types.iter().map(String::len).max().unwrap_or(0);
            self.copied = self.copied.saturating_add(2 * of_types + labels);
            if self.count <= self.profiles.max_frames && self.copied <= MAX_TEXT {
                return Some(message.thread(sample, &report.value_types));
            }
            self.left_out += 1;
        }
        let (left_out, max_frames) = (std::mem::take(&mut self.left_out), self.profiles.max_frames);
        if left_out > 0 {
            report.warnings.push(format!("{left_out} samples were left out: more than {max_frames} frames, or {MAX_TEXT} bytes of labels"));
        }
        None
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
