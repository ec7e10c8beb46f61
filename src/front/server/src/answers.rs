//! Answers the body of a request with frames as JSON: the body has stacks in our own JSON, or a report of any format.

use std::sync::Arc;
use std::time::Duration;

use foldsym_reports::{Options, Reader, ReportError, Thread};
use foldsym_symbolize::{
    Answer, Form, GivenStack, Innermost, Names, Query, Requests, Rules, Signing, Worker, json,
};

use crate::log::Counts;
use crate::memory::{Held, SHORT_ANSWER};
use crate::refusal::Refusal;

/// An answer that is being written.
pub(crate) struct Writing<'w> {
    pub(crate) out: Vec<u8>,
    pub(crate) counts: Counts,
    /// Bytes that it may have.
    pub(crate) limit: usize,
    /// Bytes of memory that reading its report may take.
    pub(crate) memory: u64,
    /// Its part of the memory.
    pub(crate) held: Held,
    /// Bytes that its part may have: those of all requests without those of its body and of the work on it.
    pub(crate) most: usize,
    /// How long it may still wait for memory.
    pub(crate) patience: Duration,
    /// The thread is for short answers: it is given up where it is none, or would wait.
    pub(crate) is_for_short: bool,
    /// It was given up, so that another thread makes it.
    pub(crate) is_long: bool,
    /// There was no memory for more of it.
    pub(crate) is_out: bool,
    /// The bytes for which the part is large enough.
    pub(crate) room: usize,
    /// The rules of signatures, what makes them once one was wanted, and whether all stacks get one.
    pub(crate) rules: Arc<Rules>,
    pub(crate) signing: Option<Signing>,
    pub(crate) is_signed: bool,
    /// Lines of one process repeat its modules.
    pub(crate) requests: Requests,
    /// Whether the client waits for it.
    pub(crate) is_wanted: &'w (dyn Fn() -> bool + Sync),
}

/// Why writing ended early.
struct Ended;

impl Writing<'_> {
    /// Whether to go on after this many bytes of the answer.
    pub(crate) fn goes_on(&mut self, bytes: usize) -> bool {
        if self.is_for_short && bytes > SHORT_ANSWER {
            self.is_long = true;
        }
        if self.is_long {
            return false;
        }
        if bytes > self.room && !self.is_out {
            // A buffer that grows doubles its room.
            let double = bytes.saturating_mul(2).min(self.most);
            self.room = bytes;
            if bytes > self.most {
                self.is_out = true;
            } else if self.held.resize(double) {
                self.room = double;
            } else if self.is_for_short {
                self.is_long = !self.held.resize(bytes);
                return !self.is_long && bytes <= self.limit && (self.is_wanted)();
            } else {
                self.is_out = !self.held.wait_for(bytes, &mut self.patience, self.is_wanted);
            }
        }
        bytes <= self.limit && !self.is_out && (self.is_wanted)()
    }

    /// The error response for a client whose answer is too large.
    pub(crate) fn refusal(&self) -> Refusal {
        if self.is_out && self.room > self.most {
            let most = self.most;
            return Refusal::too_large(format!(
                "beside its request the answer may have {most} bytes of memory: raise --memory, or ask for fewer frames"
            ));
        }
        if self.is_out {
            return Refusal::busy();
        }
        Refusal::too_large(format!("the answer has more than {} bytes: ask for fewer frames", self.limit))
    }

    /// Answers a body.
    pub(crate) fn body(
        &mut self,
        body: &[u8],
        reader: &Reader<'_>,
        worker: &mut Worker<'_>,
    ) -> Result<(), Refusal> {
        match self.stacks(body, worker) {
            Ok(true) => Ok(()),
            Ok(false) => self.report(body, reader, worker),
            Err(Ended) => Err(self.refusal()),
        }
    }

    /// Answers JSON stacks: one object per line, or one object over many lines. `false` if the body is something else.
    fn stacks(&mut self, body: &[u8], worker: &mut Worker<'_>) -> Result<bool, Ended> {
        let mut lines = body.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let Some(first) = lines.next().filter(|line| line.trim_ascii_start().starts_with(b"{")) else {
            return Ok(false);
        };
        let Ok(first) = GivenStack::parse(first) else {
            // An object over many lines has only its beginning on the first.
            return match GivenStack::parse(body) {
                Ok(given) if given.has_frames() => self.line(&given, worker).map(|()| true),
                _ => Ok(false),
            };
        };
        // The reader of reports recognizes the format of other JSON.
        if !first.has_frames() {
            return Ok(false);
        }
        self.line(&first, worker)?;
        for line in lines {
            // A bad line gets an error in its place, so that answers stay in step with lines.
            match GivenStack::parse(line) {
                Ok(given) => self.line(&given, worker)?,
                Err(error) => {
                    json::error(&mut self.out, None, &error.to_string());
                    self.end_line()?;
                }
            }
        }
        Ok(true)
    }

    /// Puts the line that answers a stack: what `foldsym stack --json` prints.
    fn line(&mut self, given: &GivenStack<'_>, worker: &mut Worker<'_>) -> Result<(), Ended> {
        match self.requests.parse(given, None) {
            Ok(request) => {
                self.out.extend_from_slice(b"{\"Frames\":[");
                let innermost = request.vptr.map_or(Innermost::Nothing, Innermost::Vtable);
                let query = Query { modules: &request.modules, frames: &request.frames, innermost };
                let is_signed = self.is_signed || given.wants_signature();
                self.frames(query, &Thread::default(), worker, is_signed)?;
            }
            Err(error) => json::error(&mut self.out, None, &error.to_string()),
        }
        // An error has these keys too: the client finds the line by its `id`.
        for (key, value) in given.echo() {
            self.out.push(b',');
            json::string(&mut self.out, key.as_bytes());
            self.out.push(b':');
            self.out.extend_from_slice(value.as_bytes());
        }
        self.end_line()
    }

    /// Ends a line, with or without an answer.
    fn end_line(&mut self) -> Result<(), Ended> {
        self.out.extend_from_slice(b"}\n");
        if self.goes_on(self.out.len()) { Ok(()) } else { Err(Ended) }
    }

    /// Puts the answers to frames, the bracket that ends their list, and the signature if it is wanted.
    fn frames(
        &mut self,
        query: Query<'_>,
        thread: &Thread,
        worker: &mut Worker<'_>,
        is_signed: bool,
    ) -> Result<(), Ended> {
        self.counts.stacks += 1;
        let mut index = 0;
        let modules = query.modules;
        let mut signing =
            is_signed.then(|| self.signing.take().unwrap_or_else(|| Signing::new(self.rules.clone())));
        let each = |answer: &Answer, names: &mut Names<'_>| {
            // The check comes before each frame, so an answer exceeds its limit by at most one frame.
            if !self.goes_on(self.out.len()) {
                return Err(Ended);
            }
            if let Some(signing) = &mut signing {
                foldsym_reports::json::sign(signing, &self.out, index, answer, names, (modules, thread));
            }
            foldsym_reports::json::frame(&mut self.out, index, answer, names, modules, thread);
            self.counts.frames += 1;
            self.counts.named += u64::from(answer.certainty.is_some());
            index += 1;
            Ok(())
        };
        // The text of an earlier answer has no names for a signature.
        match is_signed {
            true => worker.answer(query, Form::Json, each)?,
            false => worker.answer_json(query, each)?,
        }
        self.out.push(b']');
        if let Some(mut signing) = signing {
            self.out.push(b',');
            json::signature(&mut self.out, &signing.finish());
            self.signing = Some(signing);
        }
        Ok(())
    }

    /// Answers a report: its threads, with the modules and the warnings.
    fn report(&mut self, body: &[u8], reader: &Reader<'_>, worker: &mut Worker<'_>) -> Result<(), Refusal> {
        let mut options = Options::default();
        options.memory = Some(self.memory);
        let mut opened = match reader.open_while(body, &options, self.is_wanted) {
            Ok(opened) => opened,
            // The request has ended (the client is gone, or the time is over), so nobody reads this refusal.
            Err(ReportError::Stopped) => return Err(self.refusal()),
            Err(error @ ReportError::Memory { .. }) => {
                return Err(Refusal::too_large(format!("{error}: raise --memory")));
            }
            Err(error) => return Err(Refusal::bad(error.to_string())),
        };
        self.out.push(b'{');
        foldsym_reports::json::begin(&mut self.out, opened.report());
        let mut index = 0;
        while let Some(thread) = opened.next_thread() {
            foldsym_reports::json::thread(&mut self.out, index, &thread);
            index += 1;
            let (modules, innermost) = (opened.report().modules_of(&thread), Innermost::Nothing);
            let query = Query { modules, frames: &thread.frames, innermost };
            let put = self.frames(query, &thread, worker, self.is_signed);
            put.map_err(|Ended| self.refusal())?;
            self.out.push(b'}');
            // A thread may have no frames, and a report many threads.
            if !self.goes_on(self.out.len()) {
                return Err(self.refusal());
            }
        }
        foldsym_reports::json::end(&mut self.out, opened.report());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

    #[test]
    fn an_answer_that_can_never_fit_is_too_large_and_another_waits() {
        let memory = Memory::new(100 << 10, Duration::ZERO);
        let writing = |most, patience| Writing {
            out: Vec::new(),
            counts: Counts::default(),
            limit: 1 << 20,
            memory: 0,
            held: memory.nothing(),
            most,
            patience,
            is_for_short: false,
            is_long: false,
            is_out: false,
            room: 0,
            rules: Arc::new(Rules::shipped()),
            signing: None,
            is_signed: false,
            requests: Requests::default(),
            is_wanted: &|| true,
        };
        let mut first = writing(60 << 10, Duration::ZERO);
        assert!(first.goes_on(40 << 10) && first.goes_on(60 << 10));
        assert!(!first.goes_on(61 << 10));
        assert_eq!(first.refusal().status.as_u16(), 413);
        // There is no memory for twice the bytes, but for exactly those.
        let mut second = writing(100 << 10, Duration::from_millis(10));
        assert!(second.goes_on(30 << 10) && second.room == 30 << 10);
        assert!(!second.goes_on(50 << 10));
        assert_eq!(second.refusal().status.as_u16(), 503);
        let mut third = writing(100 << 10, Duration::ZERO);
        // A thread for short answers waits for nothing, and leaves long ones to others.
        let mut short = Writing { is_for_short: true, ..writing(100 << 10, Duration::from_secs(3600)) };
        assert!(!short.goes_on(20 << 10) && short.is_long && !short.is_out);
        drop(first);
        assert!(third.goes_on(20 << 10));
        let large = Memory::new(100 << 20, Duration::ZERO);
        let mut short = Writing {
            is_for_short: true,
            held: large.nothing(),
            limit: 100 << 20,
            ..writing(100 << 20, Duration::ZERO)
        };
        assert!(short.goes_on(SHORT_ANSWER) && !short.goes_on(SHORT_ANSWER + 1) && short.is_long);
    }
}
