//! Decompresses sections, and checks that the result has exactly the size that the file claims.

use std::io::Read;

/// How a section is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Zlib,
    Zstd,
}

/// The memory limit of one xz decoder. The xz presets used for `.gnu_debugdata` need dictionaries of at most 64 MiB.
const XZ_MEMORY: u64 = 256 << 20;

/// Appends the decompressed bytes to `out`, whose capacity the caller has reserved.
///
/// Never writes more than `claimed` bytes.
///
/// # Errors
/// The stream is damaged, or holds fewer or more than `claimed` bytes. The text says which.
pub(super) fn append(
    method: Compression,
    input: &[u8],
    claimed: u64,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    match method {
        // `ELFCOMPRESS_ZLIB` is RFC 1950, `ELFCOMPRESS_ZSTD` is RFC 8878 (System V gABI, section compression).
        Compression::Zlib => read_exactly(flate2::bufread::ZlibDecoder::new(input), claimed, out),
        Compression::Zstd => {
            let decoder =
                zstd::stream::read::Decoder::with_buffer(input).map_err(|error| error.to_string())?;
            read_exactly(decoder, claimed, out)
        }
    }
}

/// A decoder of an xz stream, under a limit of memory.
///
/// # Errors
/// There is no memory.
pub(super) fn xz_decoder(input: &[u8]) -> Result<liblzma::bufread::XzDecoder<&[u8]>, String> {
    let stream =
        liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, 0).map_err(|error| error.to_string())?;
    Ok(liblzma::bufread::XzDecoder::new_stream(input, stream))
}

/// Decompresses an xz stream of unknown size.
///
/// # Errors
/// The stream is damaged, or holds more than `limit` bytes. The text says which.
pub(super) fn xz(input: &[u8], limit: u64) -> Result<Vec<u8>, String> {
    let mut decoder = xz_decoder(input)?;
    let mut out = Vec::new();
    decoder
        .by_ref()
        .take(limit)
        .read_to_end(&mut out)
        .map_err(|error| format!("damaged xz stream: {error}"))?;
    // `take` ends at the limit as at the end of the stream. One more byte tells the two apart.
    if decoder.read(&mut [0]).is_ok_and(|more| more != 0) {
        return Err(format!("xz stream of more than {limit} bytes"));
    }
    Ok(out)
}

fn read_exactly(mut decoder: impl Read, claimed: u64, out: &mut Vec<u8>) -> Result<(), String> {
    // `out` may already hold sections of the same name, which are joined.
    let before = out.len();
    let mut limited = decoder.by_ref().take(claimed);
    limited.read_to_end(out).map_err(|error| format!("damaged compressed data: {error}"))?;
    let found = (out.len() - before) as u64;
    if found != claimed {
        return Err(format!("compressed data holds {found} bytes, {claimed} claimed"));
    }
    // `take` hides a stream that goes on after the claimed size: it would look whole.
    match decoder.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(format!("compressed data holds more than the {claimed} bytes claimed")),
        Err(error) => Err(format!("damaged end of compressed data: {error}")),
    }
}
