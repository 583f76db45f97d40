//! Functions that a lane may call while it runs, and the transfer of control back to the scheduler.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::ops::Range;
use std::panic::Location;
use std::rc::Rc;
use std::{ptr, slice, thread};

use corosensei::Yielder;

use crate::collective::{Call, Operation};
use crate::global::{Elements, GlobalMemory};
use crate::race::{Access, Clocks};
use crate::shared::SharedMemory;
use crate::{FaultKind, Position, Shuffle, Space, Vote, WARP_LANES};

/// The reason why a lane hands back control.
pub(crate) enum Request {
    Wait(Call),
    Interleave,
    Fault(Box<(FaultKind, &'static Location<'static>)>),
}

/// State shared by lanes.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub(crate) shared: Rc<RefCell<SharedMemory>>,
    pub(crate) global: Rc<RefCell<GlobalMemory>>,
    pub(crate) clocks: Rc<RefCell<Clocks>>,
}

/// What the functions below need of the lane that calls them. It lives on the lane's own stack.
pub(crate) struct Context<'lane> {
    pub(crate) position: Position,
    pub(crate) yielder: &'lane Yielder<u64, Request>,
    pub(crate) surroundings: &'lane Surroundings,
}

thread_local! {
    /// The context of the lane that currently runs on this thread; null if none does.
    static CURRENT: Cell<*const Context<'static>> = const { Cell::new(ptr::null()) };
}

/// Keeps a context current.
pub(crate) struct Entered<'lane>(PhantomData<&'lane ()>);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        CURRENT.set(ptr::null());
    }
}

impl Context<'_> {
    /// Makes this the current context until the returned guard is dropped.
    pub(crate) fn enter(&self) -> Entered<'_> {
        CURRENT.set(ptr::from_ref(self).cast());
        Entered(PhantomData)
    }

    /// Hands control to the scheduler, and returns its answer on resumption. A dropped lane unwinds from here.
    fn suspend(&self, request: Request) -> u64 {
        struct Reenter<'lane>(&'lane Context<'lane>);
        impl Drop for Reenter<'_> {
            fn drop(&mut self) {
                CURRENT.set(ptr::from_ref(self.0).cast());
            }
        }
        CURRENT.set(ptr::null());
        let _reenter = Reenter(self);
        self.yielder.suspend(request)
    }

    fn fail(&self, kind: FaultKind, location: &'static Location<'static>) -> ! {
        // An unwinding lane cannot report a fault, only abort with a message.
        assert!(!thread::panicking(), "a destructor of an unwinding lane caused a fault: {kind} ({location})");
        self.suspend(Request::Fault(Box::new((kind, location))));
        unreachable!("a lane with a fault is never resumed");
    }

    /// Ends an access to shared memory: with a fault if it was invalid, or races with another.
    fn note_shared(
        &self,
        result: Result<(), FaultKind>,
        access: Access,
        offset: u32,
        bytes: usize,
        location: &'static Location<'static>,
    ) {
        let result = result.and_then(|()| {
            let clocks = self.surroundings.clocks.borrow();
            let now = clocks.stamp(self.position, access, location);
            match self.surroundings.shared.borrow_mut().accesses.note(offset as usize, bytes, now, &clocks) {
                Some(other) => Err(other.races_with(&now, Space::Shared, offset.into())),
                None => Ok(()),
            }
        });
        if let Err(kind) = result {
            self.fail(kind, location);
        }
    }

    /// Waits for the lanes of `mask`, and returns the operation's result for this lane. While the lane unwinds, it does
    /// not wait and the result is `value`.
    fn wait(
        &self,
        operation: Operation,
        mask: u32,
        value: u64,
        source: u32,
        location: &'static Location<'static>,
    ) -> u64 {
        let lanes = self.position.lanes();
        if mask >> self.position.lane() & 1 == 0 {
            self.fail(FaultKind::NotInMask { operation: operation.name(), mask }, location);
        }
        if lanes < WARP_LANES && mask >> lanes != 0 {
            self.fail(FaultKind::LaneAbsent { operation: operation.name(), mask, lanes }, location);
        }
        if mask >> source & 1 == 0 {
            let kind = FaultKind::ShuffleSource { operation: operation.name(), source_lane: source, mask };
            self.fail(kind, location);
        }
        if thread::panicking() {
            return value;
        }
        self.suspend(Request::Wait(Call { operation, location, mask, value, source }))
    }
}

/// Whether a lane runs on this thread.
pub(crate) fn inside() -> bool {
    !CURRENT.get().is_null()
}

#[track_caller]
fn current<R>(use_context: impl FnOnce(&Context<'_>) -> R) -> R {
    let context = CURRENT.get();
    assert!(!context.is_null(), "called from outside a lane of the warp emulator");
    // SAFETY: the pointer is not null only while the lane that owns the context runs on this thread: `enter` sets it,
    // its guard, which cannot outlive the context, resets it, and `suspend` removes it while the lane does not run.
    use_context(unsafe { &*context })
}

/// Returns the position of the calling thread in the grid.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn position() -> Position {
    current(|context| context.position)
}

/// Returns to each lane of `mask` the value of another one: see [`Shuffle`].
///
/// `width` is the length of a segment, a power of two up to 32. It and `operand` may differ among the lanes, as in PTX.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn shuffle(mode: Shuffle, mask: u32, value: u64, operand: u32, width: u32) -> u64 {
    let location = Location::caller();
    current(|context| {
        if !width.is_power_of_two() || width > WARP_LANES {
            context.fail(FaultKind::InvalidWidth { width }, location);
        }
        let source = mode.source(context.position.lane(), operand, width);
        context.wait(Operation::Shuffle(mode), mask, value, source, location)
    })
}

/// Returns to all lanes of `mask` the result of a vote: a bit for each lane, or 0 or 1: see [`Vote`].
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn vote(kind: Vote, mask: u32, predicate: bool) -> u32 {
    let location = Location::caller();
    current(|context| {
        let own = context.position.lane();
        // A vote's answer has at most 32 bits.
        context.wait(Operation::Vote(kind), mask, predicate.into(), own, location) as u32
    })
}

/// Returns to each lane of `mask` the mask of those lanes of `mask` that passed the same value.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn match_any(mask: u32, value: u64) -> u32 {
    let location = Location::caller();
    current(|context| {
        let own = context.position.lane();
        // The answer is a mask of 32 lanes.
        context.wait(Operation::MatchAny, mask, value, own, location) as u32
    })
}

/// Waits for all lanes of `mask`.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn warp_barrier(mask: u32) {
    let location = Location::caller();
    current(|context| {
        context.wait(Operation::WarpBarrier, mask, 0, context.position.lane(), location);
    });
}

/// Waits for all threads of the block.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn block_barrier() {
    let location = Location::caller();
    current(|context| {
        let own = context.position.lane();
        context.wait(Operation::BlockBarrier, 1 << own, 0, own, location);
    });
}

/// A point at which other lanes of any resident block may run. Call it before each access to memory that others change
/// without a barrier, such as an atomic operation.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn interleave() {
    current(|context| {
        if !thread::panicking() {
            context.suspend(Request::Interleave);
        }
    });
}

/// Returns the size of the block's shared memory in bytes.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn shared_size() -> u32 {
    current(|context| context.surroundings.shared.borrow().size())
}

/// Copies bytes out of the block's shared memory. All of them must have been written, and a barrier must lie between
/// the write and this read, unless the same lane wrote them. Accesses are tracked per whole word of 4 bytes.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn shared_read(offset: u32, into: &mut [u8]) {
    let location = Location::caller();
    current(|context| {
        let result = context.surroundings.shared.borrow().read(offset, into);
        context.note_shared(result, Access::Load, offset, into.len(), location);
    });
}

/// Copies bytes into the block's shared memory. A barrier must separate this from other lanes' accesses to them.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn shared_write(offset: u32, bytes: &[u8]) {
    let location = Location::caller();
    current(|context| {
        let result = context.surroundings.shared.borrow_mut().write(offset, bytes);
        context.note_shared(result, Access::Store, offset, bytes.len(), location);
    });
}

/// Atomically writes `new` to the block's shared memory if it holds `expected`, and returns the old value. Other lanes
/// may do so concurrently; a barrier must separate this from their other accesses.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn shared_compare_and_swap(offset: u32, expected: u32, new: u32) -> u32 {
    let location = Location::caller();
    interleave();
    current(|context| {
        let mut before = [0; 4];
        let result = context.surroundings.shared.borrow().read(offset, &mut before);
        context.note_shared(result, Access::CompareAndSwap, offset, before.len(), location);
        let before = u32::from_ne_bytes(before);
        if before == expected {
            let result = context.surroundings.shared.borrow_mut().write(offset, &new.to_ne_bytes());
            result.expect("it was read");
        }
        before
    })
}

/// Declares that the lane reads `elements`, from index `index` on, of an array in global memory that no one writes
/// while the kernel runs. Call it before the read.
///
/// # Safety
/// The elements can be read.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub unsafe fn global_read_only<T>(array: Range<*const T>, index: u64, count: usize) {
    let location = Location::caller();
    current(|context| {
        // SAFETY: the caller's promise.
        let (elements, bytes) = unsafe { elements(array.start, index, count) };
        let array = array.start as usize..array.end as usize;
        let result = context.surroundings.global.borrow_mut().read_only(&elements, bytes, array, location);
        if let Err(kind) = result {
            context.fail(kind, location);
        }
    });
}

/// Declares that the lane accesses the element `index` of an array in global memory that kernels write. Call it before
/// the access.
///
/// # Safety
/// The element can be read.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub unsafe fn global_access<T>(access: Access, array: *const T, index: u64) {
    let location = Location::caller();
    current(|context| {
        // SAFETY: the caller's promise.
        let (elements, bytes) = unsafe { elements(array, index, 1) };
        let mut clocks = context.surroundings.clocks.borrow_mut();
        let mut memory = context.surroundings.global.borrow_mut();
        let now = clocks.stamp(context.position, access, location);
        let result = memory.access(&elements, bytes, now, &clocks);
        if result.is_ok() && access == Access::Arrive {
            memory.arrive(&elements, context.position, &mut clocks);
        }
        drop((clocks, memory));
        if let Err(kind) = result {
            context.fail(kind, location);
        }
    });
}

/// Elements of an array, and the bytes that they hold.
///
/// # Safety
/// They can be read for `'a`, during which no one writes them.
unsafe fn elements<'a, T>(array: *const T, index: u64, count: usize) -> (Elements, &'a [u8]) {
    // SAFETY: the caller's promise; every byte belongs to a number.
    let (first, bytes) = unsafe {
        let first = array.add(index as usize);
        (first, slice::from_raw_parts(first.cast(), count * size_of::<T>()))
    };
    (Elements { address: first as usize, width: size_of::<T>(), index }, bytes)
}

/// Ends the run with [`FaultKind::OutOfBounds`]. `access` names the lane's access, such as "load".
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn out_of_bounds(access: &'static str, index: u64, length: u64) -> ! {
    let location = Location::caller();
    current(|context| context.fail(FaultKind::OutOfBounds { access, index, length }, location))
}

/// Ends the run with [`FaultKind::Misaligned`]: the access of `bytes` bytes to the element `index` and those after it
/// is not aligned to its size.
///
/// # Panics
/// Panics outside of a lane.
#[track_caller]
pub fn misaligned(access: &'static str, index: u64, bytes: u32) -> ! {
    let location = Location::caller();
    current(|context| context.fail(FaultKind::Misaligned { access, index, bytes }, location))
}
