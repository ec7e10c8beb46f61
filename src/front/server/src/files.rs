//! Reads the body of a request under its limits, and sends a mapped file without a copy.

use axum::body::{Body, HttpBody as _};
use bytes::Bytes;
use foldsym_format::header::VERSION;
use foldsym_store::{BuildId, ModuleId, Store, SymbolMap};
use http_body_util::BodyExt;

use crate::memory::{Held, Memory};
use crate::refusal::Refusal;

/// Bytes that a body's buffer has at first, at most.
const FIRST: usize = 256 << 10;
/// Bytes by which the buffer of a body grows at least, if the client does not say how long the body is.
const STEP: usize = 16 << 10;

/// A body that was received, with its part of the memory.
pub(crate) struct Received {
    pub(crate) bytes: Vec<u8>,
    pub(crate) held: Held,
}

/// Receives a body of at most `one` bytes.
pub(crate) async fn receive(body: Body, one: usize, memory: &Memory) -> Result<Received, Refusal> {
    let too_large = || {
        Refusal::too_large(format!(
            "a request has at most {one} bytes (--max-body): `foldsym symbolize` reads larger reports where they are"
        ))
    };
    // What the client announces: it need not keep its word. A body that is announced as too large is not waited for.
    let said = body.size_hint();
    if said.lower() > one as u64 {
        return Err(too_large());
    }
    let said = said.upper().and_then(|bytes| usize::try_from(bytes).ok());
    let mut held = memory.nothing();
    let first = said.unwrap_or(0).min(one).min(FIRST);
    let (said, step) = (said.unwrap_or(one), if said.is_some() { 0 } else { STEP });
    if !memory.grow(&mut held, first).await {
        return Err(Refusal::busy());
    }
    let mut bytes = Vec::with_capacity(first);
    let mut body = body;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Refusal::bad(format!("the request broke off: {error}")))?;
        // A frame of trailers has no bytes of the body.
        let Ok(data) = frame.into_data() else { continue };
        let len = bytes.len() + data.len();
        if len > one {
            return Err(too_large());
        }
        if len > bytes.capacity() {
            // As long as the client said, if it seems to keep its word.
            let next = len.max(2 * bytes.capacity()).max(step).min(said.max(len));
            if !memory.grow(&mut held, next).await {
                return Err(Refusal::busy());
            }
            bytes.reserve_exact(next - bytes.len());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(Received { bytes, held })
}

/// A mapped file as the owner of bytes.
struct Owned(SymbolMap);

impl AsRef<[u8]> for Owned {
    fn as_ref(&self) -> &[u8] {
        self.0.bytes()
    }
}

/// The file of a build id from the first store that has it: of those that are folders, or of the others, which fetch it first.
pub(crate) fn find(
    stores: &[Store],
    id: &BuildId,
    is_remote: bool,
) -> Result<Option<SymbolMap>, foldsym_store::StoreError> {
    let id = ModuleId::Build(id.clone());
    let mut failed = None;
    for store in stores.iter().filter(|store| matches!(store, Store::Local(_)) != is_remote) {
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
