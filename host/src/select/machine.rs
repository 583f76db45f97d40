//! Properties of a device needed for a prediction, besides the speed of its kernels.

use crate::device::Device;

/// Bytes of the largest cache, for a device that does not report it.
const ASSUMED_CACHE_BYTES: u64 = 32 << 20;

/// The sizes of a device that determine how a kernel fills it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Whether it runs kernels; a CPU multiplies all formats with the same storage alike.
    pub has_kernels: bool,
    /// Threads that it holds at a time.
    pub resident_threads: u64,
    /// Bytes of its largest cache.
    pub cache_bytes: u64,
    /// Bytes of shared memory that a block may have, if limited.
    pub shared_bytes: Option<u32>,
}

impl From<&Device> for Machine {
    fn from(device: &Device) -> Self {
        let cache_bytes = device.cache_bytes.unwrap_or(ASSUMED_CACHE_BYTES);
        let (resident_threads, shared_bytes) = (device.resident_threads().max(1), device.shared_bytes);
        Self { has_kernels: device.has_kernels(), resident_threads, cache_bytes, shared_bytes }
    }
}
