//! Owns every mapping and every decompressed buffer, so that images can borrow from it.
