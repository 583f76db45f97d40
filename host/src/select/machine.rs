//! What a prediction needs to know of a device besides how fast its kernels are.

use crate::device::Device;

/// Bytes of the largest cache, where a device does not tell.
const ASSUMED_CACHE_BYTES: u64 = 32 << 20;

/// The sizes of a device that decide how a kernel fills it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Whether it runs kernels; a CPU multiplies all formats that are stored the same way alike.
    pub has_kernels: bool,
    /// Threads that it holds at a time.
    pub resident_threads: u64,
    /// Bytes of its largest cache.
    pub cache_bytes: u64,
    /// Bytes of shared memory that a block may have, where there is a limit.
    pub shared_bytes: Option<u32>,
}

impl From<&Device> for Machine {
    fn from(device: &Device) -> Self {
        let cache_bytes = device.cache_bytes.unwrap_or(ASSUMED_CACHE_BYTES);
        let (resident_threads, shared_bytes) = (device.resident_threads().max(1), device.shared_bytes);
        Self { has_kernels: device.has_kernels(), resident_threads, cache_bytes, shared_bytes }
    }
}
