//! Numbers of the AMDGPU architecture: registers, address spaces, and the place of a lane's memory in the wave's.

/// Program counter, 64 bits.
pub const PC: u64 = 16;
/// The lanes that execute, in a wave of 32.
pub const EXEC32: u64 = 1;
/// The lanes that execute, in a wave of 64.
pub const EXEC64: u64 = 17;

/// Address spaces of DWARF expressions (`DW_ASPACE_AMDGPU_*`).
pub mod space {
    /// Global memory.
    pub const GLOBAL: u64 = 0;
    /// Generic addresses: global, local and private memory in one numbering.
    pub const GENERIC: u64 = 1;
    /// Memory that all waves of the device share.
    pub const REGION: u64 = 2;
    /// Memory that the waves of a workgroup share.
    pub const LOCAL: u64 = 3;
    /// A lane's own memory, as the lane sees it.
    pub const PRIVATE_LANE: u64 = 5;
    /// The same memory, all lanes of a wave interleaved.
    pub const PRIVATE_WAVE: u64 = 6;
}

/// Bytes of an address in a space.
pub const fn address_size(space: u64) -> u8 {
    match space {
        space::GLOBAL | space::GENERIC => 8,
        _ => 4,
    }
}

/// Bytes of a register; `None` for a number without one.
pub const fn register_size(register: u64) -> Option<u64> {
    Some(match register {
        0 | 1 | 128 | 512 => 4,
        PC | EXEC64 | 768 => 8,
        32..=95 | 1088..=1129 => 4,
        1536..=2303 | 3584..=4095 => 32 * 4,
        2560..=2815 | 3072..=3327 => 64 * 4,
        _ => return None,
    })
}

/// The byte in the wave's memory of a byte of a lane's own: lanes are interleaved by 4 bytes.
///
/// `None` if the result does not fit, or the wave does not have the lane.
pub const fn swizzled(lane_address: u32, lane: u32, wave_size: u32) -> Option<u64> {
    if lane >= wave_size {
        return None;
    }
    let (word, byte) = (lane_address as u64 / 4, lane_address as u64 % 4);
    let Some(row) = word.checked_mul(wave_size as u64) else { return None };
    let Some(row) = row.checked_add(lane as u64) else { return None };
    let Some(start) = row.checked_mul(4) else { return None };
    start.checked_add(byte)
}

/// The address space that a pointer's `DW_AT_address_class` means, as clang writes it for this architecture.
pub const fn space_of_class(class: u64) -> Option<u64> {
    match class {
        0 => Some(space::GLOBAL),
        1 => Some(space::PRIVATE_LANE),
        2 => Some(space::LOCAL),
        _ => None,
    }
}
