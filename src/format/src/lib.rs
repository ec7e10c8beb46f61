//! The `.fsym` file: what writer and reader share.
