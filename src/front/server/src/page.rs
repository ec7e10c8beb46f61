//! The page at `/`: one file. Its security policy lets it load and run only its own content.

use std::hash::{BuildHasher, RandomState};

use axum::http::header;
use axum::response::{IntoResponse, Response};
use foldsym_symbolize::layout;

/// The page, with `NONCE` where its script and its style have their nonce, `LIMIT_BYTES` where the largest body is, and placeholders for the
/// treemap's.
const PAGE: &str = include_str!("page.html");

/// Sends the page of a server that takes bodies of at most `limit` bytes. The nonce is new each time, so a script that somebody put into an answer does not run.
pub(crate) async fn page(limit: usize) -> Response {
    // SipHash under keys of the system's random numbers.
    let nonce = format!("{:016x}{:016x}", RandomState::new().hash_one(0), RandomState::new().hash_one(1));
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy),
        // A cached page would have an old nonce, which somebody may know by then.
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (header::REFERRER_POLICY, "no-referrer".to_owned()),
    ];
    // The nonce is replaced first, so that `"NONCE"` in the treemap's text stays as it is.
    let page = PAGE.replace("\"NONCE\"", &format!("\"{nonce}\""));
    // The page says what to do with a file that the server would refuse, before it sends the file.
    let page = page.replace("LIMIT_BYTES", &limit.to_string());
    let page = page.replace("/*TREEMAP.CSS*/", layout::STYLE).replace("/*TREEMAP.JS*/", layout::SCRIPT);
    (headers, page).into_response()
}
