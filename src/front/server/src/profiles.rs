//! Answers an export of profiles by the protocol of OpenTelemetry: with an empty answer that says that all were taken, or with the profiles and
//! the functions in them.

use axum::http::{HeaderMap, HeaderValue, header};
use foldsym_reports::otlp::{NotRewritten, Profiles};
use foldsym_reports::{Options, ReportError};

use crate::answers::Writing;
use crate::pool::Answering;
use crate::query::flag;
use crate::refusal::Refusal;

const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// What an export asks for.
#[derive(Clone, Copy)]
pub(crate) struct Export {
    /// The type of the body, and of the answer.
    pub(crate) content_type: &'static str,
    /// The answer is the request with functions and lines in its locations.
    symbolized: bool,
}

impl Export {
    /// # Errors
    /// The body has another type, or the query is not known.
    pub(crate) fn of(headers: &HeaderMap, query: Option<&str>) -> Result<Self, Refusal> {
        let given = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
        // What comes after a semicolon is a parameter.
        let given = given.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
        let content_type = match given {
            _ if given.eq_ignore_ascii_case(JSON.as_bytes()) => JSON,
            _ if given.eq_ignore_ascii_case(PROTOBUF.as_bytes()) => PROTOBUF,
            _ => return Err(Refusal::bad(format!("Content-Type: expected {PROTOBUF} or {JSON}"))),
        };
        Ok(Self { content_type, symbolized: flag(query, "symbolized")? })
    }

    /// Writes the answer to a body.
    ///
    /// # Errors
    /// The body is no profile of its type, or the answer does not fit into the memory.
    pub(crate) fn write(
        self,
        body: &[u8],
        answering: &mut Answering<'_>,
        writing: &mut Writing<'_>,
    ) -> Result<(), Refusal> {
        let mut options = Options::default();
        options.memory = Some(writing.memory);
        let profiles = Profiles::parse(body, &options).map_err(|error| match error {
            ReportError::Memory { .. } => Refusal::too_large(format!("{error}: raise --memory")),
            error => Refusal::bad(error.to_string()),
        })?;
        writing.counts.stacks = profiles.samples();
        if profiles.is_json() != (self.content_type == JSON) {
            return Err(Refusal::bad(format!("the body is not {}", self.content_type)));
        }
        if !self.symbolized {
            // The message without any field: nothing was rejected.
            writing.out.extend_from_slice(if self.content_type == JSON { b"{}" } else { b"" });
            return Ok(());
        }
        // `out` is taken out, since `goes_on` borrows `writing` while the answer grows.
        let mut out = std::mem::take(&mut writing.out);
        let rewritten = profiles.rewrite(&mut answering.worker, &mut out, |bytes| writing.goes_on(bytes));
        let done = rewritten.map_err(|error| match error {
            NotRewritten::Stopped => writing.refusal(),
            error => Refusal::bad(error.to_string()),
        })?;
        if !writing.goes_on(out.len()) {
            return Err(writing.refusal());
        }
        (writing.counts.frames, writing.counts.named) = (done.frames, done.named + done.kept);
        writing.out = out;
        Ok(())
    }
}
