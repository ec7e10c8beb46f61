//! Reads the body of a request under its limits, and sends a mapped file without a copy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, HttpBody as _};
use bytes::Bytes;
use foldsym_format::header::VERSION;
use foldsym_store::{BuildId, ModuleId, Store, SymbolMap};
use http_body_util::BodyExt;

use crate::refusal::Refusal;

/// Bytes that a body's buffer has at first, at most.
const FIRST: usize = 256 << 10;

/// Bytes of all bodies that are held.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    held: AtomicUsize,
}

/// A body's part of the budget, given back when it is dropped.
struct Part {
    budget: Arc<Budget>,
    bytes: usize,
}

impl Part {
    fn grow(&mut self, bytes: usize, limit: usize) -> bool {
        self.bytes += bytes;
        // The addition comes before the comparison: two requests cannot both take the last bytes. After a refusal `drop` gives them back.
        self.budget.held.fetch_add(bytes, Ordering::Relaxed) + bytes <= limit
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A body that was received, with its part of the budget.
pub(crate) struct Received {
    pub(crate) bytes: Vec<u8>,
    _part: Part,
}

impl Budget {
    /// Receives a body of at most `one` bytes, while all together have at most `all`.
    pub(crate) async fn receive(
        self: &Arc<Self>,
        body: Body,
        one: usize,
        all: usize,
    ) -> Result<Received, Refusal> {
        let mut part = Part { budget: self.clone(), bytes: 0 };
        // As long as the client says, within reason: it need not keep its word.
        let said = body.size_hint().upper().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
        let first = said.min(one).min(FIRST);
        if !part.grow(first, all) {
            return Err(Refusal::busy());
        }
        let mut bytes = Vec::with_capacity(first);
        let mut body = body;
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Refusal::bad(format!("the request broke off: {error}")))?;
            // A frame of trailers has no bytes of the body.
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > one {
                return Err(Refusal::too_large(format!("a request has at most {one} bytes")));
            }
            // The budget already includes the buffer's free capacity.
            let more = (bytes.len() + data.len()).saturating_sub(part.bytes);
            if !part.grow(more, all) {
                return Err(Refusal::busy());
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Received { bytes, _part: part })
    }
}

/// A mapped file as the owner of bytes.
struct Owned(SymbolMap);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// The file of a build id from the first store that has it, which may fetch it first.
pub(crate) fn find(stores: &[Store], id: &BuildId) -> Result<Option<SymbolMap>, foldsym_store::StoreError> {
    let id = ModuleId::Build(id.clone());
    let mut failed = None;
    for store in stores {
        match store.get_module(&id) {
            Ok(Some(map)) => return Ok(Some(map)),
            Ok(None) => {}
            // Another store may have the file although this one failed.
            Err(error) => _ = failed.get_or_insert(error),
        }
    }
    failed.map_or(Ok(None), Err)
}

/// Distinguishes a file from others of its build id: by its version, its length, and its checksum, which covers the checksums of its
/// sections.
pub(crate) fn tag(map: &SymbolMap, id: &BuildId) -> String {
    // An entity tag has quotes (RFC 9110 8.8.3).
    format!("\"{id}-v{VERSION}-{:x}-{:08x}\"", map.bytes().len(), map.checksum())
}

/// The bytes of a file, which stays mapped as long as they are sent.
pub(crate) fn bytes(map: SymbolMap) -> Bytes {
    Bytes::from_owner(Owned(map))
}
