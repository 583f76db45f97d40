//! Whose memory an array is in. Only off the GPU.

use core::num::NonZeroU64;

/// Where the array is that an argument points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The argument points to nothing: it is a number or an empty array.
    Nowhere,
    /// In the host's memory.
    Host,
    /// In the memory of the device owner with this identifier.
    Device(NonZeroU64),
}

impl Place {
    /// Where an array of this length and owner is.
    pub(crate) fn of(length: u64, owner: Option<NonZeroU64>) -> Self {
        match owner {
            _ if length == 0 => Self::Nowhere,
            None => Self::Host,
            Some(owner) => Self::Device(owner),
        }
    }
}
