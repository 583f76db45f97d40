//! The primitives on the warp emulator.

pub(crate) use warp_emulator::Access;
use warp_emulator::{Shuffle, Vote};

pub(crate) fn thread_idx_x() -> u32 {
    warp_emulator::position().thread
}

pub(crate) fn block_idx_x() -> u32 {
    warp_emulator::position().block
}

pub(crate) fn block_dim_x() -> u32 {
    warp_emulator::position().threads_per_block
}

pub(crate) fn grid_dim_x() -> u32 {
    warp_emulator::position().blocks
}

pub(crate) fn lane_id() -> u32 {
    warp_emulator::position().lane()
}

#[track_caller]
pub(crate) fn sync_threads() {
    warp_emulator::block_barrier();
}

#[track_caller]
pub(crate) unsafe fn sync_warp(mask: u32) {
    warp_emulator::warp_barrier(mask);
}

pub trait ShuffleMode {
    const MODE: Shuffle;
}

pub struct Up;
pub struct Down;
pub struct Xor;
pub struct Idx;

impl ShuffleMode for Up {
    const MODE: Shuffle = Shuffle::Up;
}

impl ShuffleMode for Down {
    const MODE: Shuffle = Shuffle::Down;
}

impl ShuffleMode for Xor {
    const MODE: Shuffle = Shuffle::Xor;
}

impl ShuffleMode for Idx {
    const MODE: Shuffle = Shuffle::Index;
}

#[track_caller]
pub(crate) unsafe fn shuffle_32<M: ShuffleMode>(mask: u32, value: u32, operand: u32, width: u32) -> u32 {
    warp_emulator::shuffle(M::MODE, mask, value.into(), operand, width) as u32
}

#[track_caller]
pub(crate) unsafe fn shuffle_64<M: ShuffleMode>(mask: u32, value: u64, operand: u32, width: u32) -> u64 {
    warp_emulator::shuffle(M::MODE, mask, value, operand, width)
}

#[track_caller]
pub(crate) unsafe fn ballot(mask: u32, predicate: bool) -> u32 {
    warp_emulator::vote(Vote::Ballot, mask, predicate)
}

#[track_caller]
pub(crate) unsafe fn any(mask: u32, predicate: bool) -> bool {
    warp_emulator::vote(Vote::Any, mask, predicate) != 0
}

#[track_caller]
pub(crate) unsafe fn all(mask: u32, predicate: bool) -> bool {
    warp_emulator::vote(Vote::All, mask, predicate) != 0
}

#[track_caller]
pub(crate) unsafe fn match_any_32(mask: u32, value: u32) -> u32 {
    warp_emulator::match_any(mask, value.into())
}

#[track_caller]
pub(crate) unsafe fn match_any_64(mask: u32, value: u64) -> u32 {
    warp_emulator::match_any(mask, value)
}

pub(crate) fn fused_f32(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

pub(crate) fn fused_f64(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

pub(crate) fn square_root(value: f64) -> f64 {
    value.sqrt()
}

pub(crate) fn half_to_f32(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

pub(crate) fn half_of_f32(value: f32) -> u16 {
    half::f16::from_f32(value).to_bits()
}

/// Reports an access to elements `index .. index + count` that is outside the array, or not aligned for loads of up to
/// 16 bytes. Arrays on a GPU begin aligned, so only the index matters.
#[track_caller]
fn check_bounds<T>(access: &'static str, length: u64, index: u64, count: u64) {
    if index >= length || length - index < count {
        warp_emulator::out_of_bounds(access, index + count - 1, length);
    }
    let alignment = (size_of::<T>() as u64 * count).min(16);
    // A number without bits has any alignment.
    if alignment > 0 && !(index * size_of::<T>() as u64).is_multiple_of(alignment) {
        warp_emulator::misaligned(access, index, alignment as u32);
    }
}

/// Checks a load from an array that no one writes.
#[track_caller]
pub(crate) fn check_read_only<T>(array: *const T, length: u64, index: u64, count: u64) {
    check_bounds::<T>("load", length, index, count);
    if size_of::<T>() == 0 {
        // Nothing is read.
        return;
    }
    let end = array.wrapping_add(length as usize);
    // SAFETY: the elements are inside the array.
    unsafe { warp_emulator::global_read_only(array..end, index, count as usize) }
}

/// Checks an access to an array that kernels write.
#[track_caller]
pub(crate) fn check_access<T>(access: Access, array: *const T, length: u64, index: u64) {
    check_bounds::<T>(access.name(), length, index, 1);
    // SAFETY: the element is inside the array.
    unsafe { warp_emulator::global_access(access, array, index) }
}

macro_rules! reads {
    ($type:ty, $one:ident, $streaming:ident, $two:ident, $four:ident, $apart:ident) => {
        pub(crate) unsafe fn $one(address: *const $type) -> $type {
            // SAFETY: `check_bounds` checked that the element is inside the array. In host memory a number of two parts
            // is aligned only like one part.
            unsafe { address.read_unaligned() }
        }

        pub(crate) unsafe fn $streaming(address: *const $type) -> $type {
            // SAFETY: as for one element.
            unsafe { address.read_unaligned() }
        }

        pub(crate) unsafe fn $two(address: *const $type) -> [$type; 2] {
            // SAFETY: `check_bounds` checked that both elements are inside the array; otherwise as for one.
            unsafe { address.cast::<[$type; 2]>().read_unaligned() }
        }

        pub(crate) unsafe fn $four(address: *const $type) -> [$type; 4] {
            // SAFETY: `check_bounds` checked that all four elements are inside the array; otherwise as for one.
            unsafe { address.cast::<[$type; 4]>().read_unaligned() }
        }

        pub(crate) unsafe fn $apart(address: *const $type, step: u64, count: u32, absent: $type) -> [$type; 4] {
            // SAFETY: `check_bounds` checked that each element that is read is inside the array; otherwise as for one.
            let read = |number: u32| unsafe { address.add((u64::from(number) * step) as usize).read_unaligned() };
            [0, 1, 2, 3].map(|number| if number < count { read(number) } else { absent })
        }
    };
}

reads!(u8, read_8, read_streaming_8, read_streaming_2x8, read_streaming_4x8, read_streaming_apart_8);
reads!(u16, read_16, read_streaming_16, read_streaming_2x16, read_streaming_4x16, read_streaming_apart_16);
reads!(u32, read_32, read_streaming_32, read_streaming_2x32, read_streaming_4x32, read_streaming_apart_32);
reads!(u64, read_64, read_streaming_64, read_streaming_2x64, read_streaming_4x64, read_streaming_apart_64);
reads!(
    [u32; 2],
    read_pair_32,
    read_streaming_pair_32,
    read_streaming_2_pairs_32,
    read_streaming_4_pairs_32,
    read_streaming_pairs_apart_32
);
reads!(
    [u64; 2],
    read_pair_64,
    read_streaming_pair_64,
    read_streaming_2_pairs_64,
    read_streaming_4_pairs_64,
    read_streaming_pairs_apart_64
);

macro_rules! atomics {
    ($type:ident, $add:ident, $operand:expr) => {
        pub(crate) unsafe fn $add(place: *mut $type, value: $type) -> $type {
            let operand = $operand;
            warp_emulator::interleave();
            // SAFETY: the address was checked, and lanes run one at a time.
            unsafe {
                let before = *place;
                *place = operand(operand(before) + operand(value));
                before
            }
        }
    };
}

// In float32, the GPU's units treat subnormal numbers in global memory as 0 of the same sign, and produce none.
atomics!(f32, atomic_add_f32, |number: f32| if number.is_subnormal() { 0f32.copysign(number) } else { number });
atomics!(f64, atomic_add_f64, std::convert::identity);

pub(crate) unsafe fn atomic_or(place: *mut u32, bits: u32) {
    warp_emulator::interleave();
    // SAFETY: the address was checked, and lanes run one at a time.
    unsafe { *place |= bits }
}

/// Lets other lanes go first. None may run between the check of an arrival and its counting: the two are one step.
pub(crate) fn before_arrival() {
    warp_emulator::interleave();
}

/// Does nothing: lanes run one at a time, and the race detector treats an arrival as both a release and an acquire.
pub(crate) unsafe fn acquire() {}

pub(crate) unsafe fn count_up(place: *mut u32, limit: u32) -> u32 {
    // SAFETY: the address was checked, and lanes run one at a time.
    unsafe {
        let before = *place;
        *place = if before >= limit { 0 } else { before + 1 };
        before
    }
}

macro_rules! shared {
    ($type:ident, $read:ident, $write:ident) => {
        #[track_caller]
        pub(crate) unsafe fn $read(offset: u32) -> $type {
            let mut bytes = [0; size_of::<$type>()];
            warp_emulator::shared_read(offset, &mut bytes);
            $type::from_ne_bytes(bytes)
        }

        #[track_caller]
        pub(crate) unsafe fn $write(offset: u32, value: $type) {
            warp_emulator::shared_write(offset, &value.to_ne_bytes());
        }
    };
}

#[track_caller]
pub(crate) unsafe fn shared_compare_and_swap(offset: u32, expected: u32, new: u32) -> u32 {
    warp_emulator::shared_compare_and_swap(offset, expected, new)
}

#[track_caller]
pub(crate) unsafe fn shared_peek(offset: u32) -> u32 {
    // It changes nothing, and may run concurrently with those that do.
    warp_emulator::shared_compare_and_swap(offset, 0, 0)
}

shared!(u32, shared_read_32, shared_write_32);
shared!(u64, shared_read_64, shared_write_64);

// Numbers of two parts.
macro_rules! pairs {
    (
        $type:ident, $load:ident, $store:ident, $shared_read:ident, $shared_write:ident, $shuffle:ident,
        $shuffle_part:ident
    ) => {
        pub(crate) unsafe fn $load(address: *const [$type; 2]) -> [$type; 2] {
            // SAFETY: `check_bounds` checked that the element is inside the array. In host memory it is aligned only
            // like a part.
            unsafe { address.read_unaligned() }
        }

        pub(crate) unsafe fn $store(address: *mut [$type; 2], value: [$type; 2]) {
            // SAFETY: as for a load.
            unsafe { address.write_unaligned(value) }
        }

        #[track_caller]
        pub(crate) unsafe fn $shared_read(offset: u32) -> [$type; 2] {
            const PART: usize = size_of::<$type>();
            check_shared_alignment("shared load", offset, 2 * PART as u32);
            let mut bytes = [0; 2 * PART];
            warp_emulator::shared_read(offset, &mut bytes);
            [0, PART].map(|first| $type::from_ne_bytes(std::array::from_fn(|byte| bytes[first + byte])))
        }

        #[track_caller]
        pub(crate) unsafe fn $shared_write(offset: u32, value: [$type; 2]) {
            const PART: usize = size_of::<$type>();
            check_shared_alignment("shared store", offset, 2 * PART as u32);
            let mut bytes = [0; 2 * PART];
            for (bytes, part) in bytes.chunks_exact_mut(PART).zip(value) {
                bytes.copy_from_slice(&part.to_ne_bytes());
            }
            warp_emulator::shared_write(offset, &bytes);
        }

        #[track_caller]
        pub(crate) unsafe fn $shuffle<M: ShuffleMode>(
            mask: u32,
            [a, b]: [$type; 2],
            operand: u32,
            width: u32,
        ) -> [$type; 2] {
            // SAFETY: the caller's promise.
            let a = unsafe { $shuffle_part::<M>(mask, a, operand, width) };
            // SAFETY: the caller's promise.
            [a, unsafe { $shuffle_part::<M>(mask, b, operand, width) }]
        }
    };
}

pairs!(u32, load_pair_32, store_pair_32, shared_read_pair_32, shared_write_pair_32, shuffle_pair_32, shuffle_32);
pairs!(u64, load_pair_64, store_pair_64, shared_read_pair_64, shared_write_pair_64, shuffle_pair_64, shuffle_64);

/// Reports an access to shared memory whose offset is not a multiple of its size.
#[track_caller]
fn check_shared_alignment(access: &'static str, offset: u32, bytes: u32) {
    if !offset.is_multiple_of(bytes) {
        warp_emulator::misaligned(access, offset.into(), bytes);
    }
}

/// Lanes run one at a time, and there are no other devices.
pub(crate) unsafe fn publish(place: *mut u64, value: u64) {
    warp_emulator::interleave();
    // SAFETY: the address was checked, and lanes run one at a time.
    unsafe { *place = value }
}

pub(crate) unsafe fn observe(place: *const u64) -> u64 {
    warp_emulator::interleave();
    // SAFETY: the address was checked, and lanes run one at a time.
    unsafe { *place }
}

pub(crate) unsafe fn load_coherent(place: *const u64) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { observe(place) }
}

pub(crate) fn nanoseconds() -> u64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed().as_nanos() as u64
}

/// The emulator has no caches.
///
/// # Safety
/// As on a GPU.
pub(crate) unsafe fn prefetch(_address: *const u8) {}
