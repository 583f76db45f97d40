//! The memory that holds an array. Not available on the GPU.

use core::num::NonZeroU64;

/// The memory of the array to which an argument points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The argument points nowhere: it is a number or an empty array.
    Nowhere,
    /// In the host's memory.
    Host,
    /// In the memory of the device owner with this identifier.
    Device(NonZeroU64),
}

impl Place {
    /// The place of an array of this length and owner.
    pub(crate) fn of(length: u64, owner: Option<NonZeroU64>) -> Self {
        match owner {
            _ if length == 0 => Self::Nowhere,
            None => Self::Host,
            Some(owner) => Self::Device(owner),
        }
    }
}
