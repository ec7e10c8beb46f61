//! Answers an export of profiles by the protocol of OpenTelemetry: with an empty answer that says that all were taken, or with the profiles and
//! the functions in them.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use foldsym_reports::Options;
use foldsym_reports::otlp::{NotRewritten, Profiles};

use crate::refusal::Refusal;
use crate::routes::{App, answer};

const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// Takes an `ExportProfilesServiceRequest`. With `?symbolized` the answer is the request with functions and lines in its locations, in its
/// form; without it `ExportProfilesServiceResponse`.
pub(crate) async fn export(
    State(shared): App,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let given = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    // What comes after a semicolon is a parameter.
    let given = given.split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii();
    let kind = match given {
        _ if given.eq_ignore_ascii_case(JSON.as_bytes()) => JSON,
        _ if given.eq_ignore_ascii_case(PROTOBUF.as_bytes()) => PROTOBUF,
        _ => return Err(Refusal::bad(format!("Content-Type: expected {PROTOBUF} or {JSON}"))),
    };
    let wants = query.is_some_and(|query| query.split('&').any(|word| word == "symbolized"));
    let mut response = answer(&shared, body, move |body, answering, writing| {
        let mut options = Options::default();
        options.memory = Some(writing.memory);
        let profiles = match Profiles::parse(body, &options) {
            Ok(profiles) => profiles,
            Err(error @ foldsym_reports::ReportError::Memory { .. }) => {
                return Err(Refusal::too_large(format!("{error}: raise --memory")));
            }
            Err(error) => return Err(Refusal::bad(error.to_string())),
        };
        writing.counts.stacks = profiles.samples();
        if profiles.is_json() != (kind == JSON) {
            return Err(Refusal::bad(format!("the body is not {kind}")));
        }
        if !wants {
            // The message without any field: nothing was rejected.
            writing.out.extend_from_slice(if kind == JSON { b"{}" } else { b"" });
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
    })
    .await?;
    // The answer has the form of the request.
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}
