//! Memory use of the host, for programs that count it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static COUNTED: AtomicBool = AtomicBool::new(false);
static NOW: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

/// The system's allocator, counting allocated bytes. A program that measures the memory of conversions on the host makes it
/// its `#[global_allocator]`.
pub struct CountingAllocator;

impl CountingAllocator {
    fn add(bytes: usize) {
        COUNTED.store(true, Ordering::Relaxed);
        let now = NOW.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        PEAK.fetch_max(now, Ordering::Relaxed);
    }

    fn remove(bytes: usize) {
        NOW.fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}

// SAFETY: every call is passed unchanged to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: ensured by the caller.
        let address = unsafe { System.alloc(layout) };
        if !address.is_null() {
            Self::add(layout.size());
        }
        address
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: ensured by the caller.
        let address = unsafe { System.alloc_zeroed(layout) };
        if !address.is_null() {
            Self::add(layout.size());
        }
        address
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: ensured by the caller.
        unsafe { System.dealloc(address, layout) };
        Self::remove(layout.size());
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: ensured by the caller.
        let moved = unsafe { System.realloc(address, layout, size) };
        if !moved.is_null() {
            Self::add(size);
            Self::remove(layout.size());
        }
        moved
    }
}

/// Returns the bytes in use, and their peak since [`reset_peak`]; `None` if nothing counts them.
pub fn used() -> Option<(u64, u64)> {
    COUNTED.load(Ordering::Relaxed).then(|| (NOW.load(Ordering::Relaxed), PEAK.load(Ordering::Relaxed)))
}

/// Resets the peak.
pub fn reset_peak() {
    PEAK.store(NOW.load(Ordering::Relaxed), Ordering::Relaxed);
}
