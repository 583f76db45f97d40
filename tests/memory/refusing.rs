//! An allocator that refuses what a test tells it to.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

/// Bytes from which on memory is refused, mostly. What takes less does not grow with the matrix: boxes, messages, the
/// queues of rayon's threads.
pub const LARGE: usize = 32 << 10;

/// The same where something is compressed: the compressor takes a quarter of a megabyte, and panics without.
pub const LARGE_BESIDE_COMPRESSION: usize = 512 << 10;

/// Bytes from which on memory is refused now.
static LEAST: AtomicUsize = AtomicUsize::new(LARGE);

/// Large allocations that are granted before one is refused; negative when it has been.
static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

/// Whether those after it are refused as well.
static ALL: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread gets all it asks for.
    static SPARED: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is refused nothing from now on. When its test is over, the harness copies what it printed, which may
/// be long, while the next test runs on another thread, or on the same one.
pub fn spare_this_thread(spared: bool) {
    SPARED.set(spared);
}

/// Another allocator, which gets to see only what is not refused.
pub struct Refusing<A>(pub A);

/// From now on one allocation of at least so many bytes is refused, after some that are granted; then all or none of those
/// that follow.
pub fn refuse(least: usize, after: i64, all: bool) {
    LEAST.store(least, Ordering::SeqCst);
    ALL.store(all, Ordering::SeqCst);
    LEFT.store(after, Ordering::SeqCst);
}

/// From now on every allocation is granted. Tells whether one was refused.
pub fn grant() -> bool {
    LEFT.swap(i64::MAX, Ordering::SeqCst) < 0
}

fn refused(bytes: usize) -> bool {
    if bytes < LEAST.load(Ordering::SeqCst) || LEFT.load(Ordering::SeqCst) == i64::MAX || SPARED.get() {
        return false;
    }
    let left = LEFT.fetch_sub(1, Ordering::SeqCst);
    left == 0 || left < 0 && ALL.load(Ordering::SeqCst)
}

// SAFETY: every call that is not refused is handed on as it is, and a refused one gets no memory.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Refusing<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        if refused(layout.size()) { std::ptr::null_mut() } else { unsafe { self.0.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        if refused(layout.size()) { std::ptr::null_mut() } else { unsafe { self.0.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { self.0.dealloc(address, layout) };
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        if refused(size) { std::ptr::null_mut() } else { unsafe { self.0.realloc(address, layout, size) } }
    }
}
