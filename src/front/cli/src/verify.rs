//! stub
pub(crate) fn run(_: &crate::args::Verify) -> Result<u8, crate::failure::Failure> { Ok(0) }
