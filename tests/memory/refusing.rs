//! An allocator that refuses the allocations that a test selects.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

/// Size in bytes from which allocations are usually refused. Smaller ones do not grow with the matrix: boxes, messages,
/// the queues of rayon's threads.
pub const LARGE: usize = 32 << 10;

/// The same with compression: the compressor takes a quarter of a megabyte, and panics without it.
pub const LARGE_BESIDE_COMPRESSION: usize = 512 << 10;

/// Size in bytes from which allocations are currently refused.
static LEAST: AtomicUsize = AtomicUsize::new(LARGE);

/// Number of large allocations granted before one is refused; negative once one has been.
static LEFT: AtomicI64 = AtomicI64::new(i64::MAX);

/// Whether all later ones are refused as well.
static ALL: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether nothing is refused to this thread.
    static SPARED: Cell<bool> = const { Cell::new(false) };
}

/// Sets whether nothing is refused to this thread from now on. After a test, the harness copies its output, which may
/// be long, while the next test runs on another thread, or on the same one.
pub fn spare_this_thread(spared: bool) {
    SPARED.set(spared);
}

/// Wraps another allocator, which receives only the calls that are not refused.
pub struct Refusing<A>(pub A);

/// From now on, one allocation of at least `least` bytes is refused, after `after` such allocations are granted; then
/// `all` or none of those that follow.
pub fn refuse(least: usize, after: i64, all: bool) {
    LEAST.store(least, Ordering::SeqCst);
    ALL.store(all, Ordering::SeqCst);
    LEFT.store(after, Ordering::SeqCst);
}

/// From now on, every allocation is granted. Returns whether one was refused.
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

// SAFETY: every call is either forwarded unchanged, or refused with a null pointer.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Refusing<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: forwarded to the caller.
        if refused(layout.size()) { std::ptr::null_mut() } else { unsafe { self.0.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: forwarded to the caller.
        if refused(layout.size()) { std::ptr::null_mut() } else { unsafe { self.0.alloc_zeroed(layout) } }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // SAFETY: forwarded to the caller.
        unsafe { self.0.dealloc(address, layout) };
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: forwarded to the caller.
        if refused(size) { std::ptr::null_mut() } else { unsafe { self.0.realloc(address, layout, size) } }
    }
}
