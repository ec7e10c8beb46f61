//! Takes the facts about the whole program that a file records from the program's image.

use super::input::{ImageInfo, LoadedSection, ProgramSegment};
use crate::open::{Format, Image, ImageKind, LoadedSegment};

impl ImageInfo {
    /// Reads the facts from an image. `readable_names` is false: the names of an image are linkage names.
    pub(crate) fn of(image: &Image<'_>) -> ImageInfo {
        ImageInfo {
            build_id: image.build_id.to_vec(),
            machine: image.arch.machine,
            address_size: image.arch.address_size,
            big_endian: image.arch.big_endian,
            relocatable: image.kind == ImageKind::Relocatable,
            mach_o: image.format == Format::MachO,
            // `Loaded::encoded` sets it.
            readable_names: false,
            image_base: image.image_base,
            sections: image
                .sections
                .iter()
                .map(|section| LoadedSection {
                    name: section.name.clone().into_bytes(),
                    start: section.range.start.0,
                    size: section.range.end.0.saturating_sub(section.range.start.0),
                    executable: section.executable,
                })
                .collect(),
            segments: image
                .segments
                .iter()
                .map(|&LoadedSegment { start, len, file_offset, file_len, executable }| ProgramSegment {
                    start,
                    len,
                    file_offset,
                    file_len,
                    executable,
                })
                .collect(),
            position_independent: image.kind == ImageKind::Dynamic,
        }
    }
}
