//! Checks that a request with a body does not come from a page of another site.
//!
//! A browser keeps a page from reading the answers of another origin, but it sends such a page's request nevertheless, unless the request
//! needs a preflight. The page of a stranger could so have a server on loopback work for it. Browsers say of each request whether its page
//! is of the same origin (`Sec-Fetch-Site`), and a page cannot change that header (Fetch Metadata).

use axum::http::{HeaderMap, Method, header};

/// Origins whose pages may send requests.
#[derive(Debug)]
pub(crate) struct Sites {
    origins: Vec<String>,
    all: bool,
}

impl Sites {
    /// Pages of these origins are allowed; `*` allows all.
    pub(crate) fn new(origins: &[String]) -> Self {
        Self { origins: origins.to_vec(), all: origins.iter().any(|origin| origin == "*") }
    }

    /// Whether the server accepts a request. A client that is no browser does not send the header, and a link from another site is a `GET`.
    pub(crate) fn allow(&self, method: &Method, headers: &HeaderMap) -> bool {
        let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
        // The pages of other ports of one host are one site, and of other people.
        let is_foreign = matches!(site, Some(b"cross-site" | b"same-site"));
        if *method != Method::POST || self.all || !is_foreign {
            return true;
        }
        let origin = headers.get(header::ORIGIN).map(|origin| origin.as_bytes());
        self.origins.iter().any(|known| Some(known.as_bytes()) == origin)
    }
}
