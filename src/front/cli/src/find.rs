//! stub
pub(crate) fn run(_: &crate::args::Find) -> Result<u8, crate::failure::Failure> { Ok(0) }
