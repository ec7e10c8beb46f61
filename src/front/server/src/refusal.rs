//! Error responses.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// Why a request is not answered: a status, and a sentence.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    message: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    pub(crate) fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests at once")
    }
}

impl IntoResponse for Refusal {
    /// samply puts the message into `error`, Mozilla's server into `title`.
    fn into_response(self) -> Response {
        let text = json!({ "error": self.message, "title": self.message }).to_string();
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/json")], text).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
