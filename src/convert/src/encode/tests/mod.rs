//! Encodes programs and reads them back.
