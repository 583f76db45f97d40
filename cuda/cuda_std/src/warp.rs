//! Collective operations of the lanes of a warp.
//!
//! `mask` selects the lanes that take part, one bit each. Each of them must reach the same call with the same mask;
//! that is the safety condition of every function here, and the emulator checks it.

use crate::backend;

/// The mask of a whole warp.
pub const ALL_LANES: u32 = u32::MAX;

/// Number of lanes in a warp.
pub const WARP_LANES: u32 = 32;

/// The lane's number in its warp.
#[inline(always)]
pub fn lane_id() -> u32 {
    backend::lane_id()
}

/// A value that lanes can exchange, 32 bits at a time.
pub trait WarpShuffleValue: Copy + 'static {
    /// One shuffle; the mode is a constant of the backend.
    ///
    /// # Safety
    /// As for the module's functions.
    #[doc(hidden)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn shuffle<M: backend::ShuffleMode>(mask: u32, value: Self, operand: u32, width: u32) -> Self;
}

macro_rules! shuffle_value {
    ($type:ident, $bits:ident, $shuffle:ident) => {
        impl WarpShuffleValue for $type {
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn shuffle<M: backend::ShuffleMode>(mask: u32, value: Self, operand: u32, width: u32) -> Self {
                let bits = $bits::from_ne_bytes(value.to_ne_bytes());
                // SAFETY: the caller's promise.
                $type::from_ne_bytes(unsafe { backend::$shuffle::<M>(mask, bits, operand, width) }.to_ne_bytes())
            }
        }
    };
}

shuffle_value!(u32, u32, shuffle_32);
shuffle_value!(i32, u32, shuffle_32);
shuffle_value!(f32, u32, shuffle_32);
shuffle_value!(u64, u64, shuffle_64);
shuffle_value!(i64, u64, shuffle_64);
shuffle_value!(f64, u64, shuffle_64);

/// Returns the value of the lane `delta` above, within segments of `width` lanes (a power of two), and whether that
/// lane exists; otherwise the lane's own value.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    let there = (lane_id() & (width - 1)) + delta < width;
    // SAFETY: the caller's promise.
    (unsafe { T::shuffle::<backend::Down>(mask, value, delta, width) }, there)
}

/// Returns the value of the lane `delta` below, within segments of `width` lanes (a power of two), and whether that
/// lane exists; otherwise the lane's own value.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_shuffle_up<T: WarpShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    let there = (lane_id() & (width - 1)) >= delta;
    // SAFETY: the caller's promise.
    (unsafe { T::shuffle::<backend::Up>(mask, value, delta, width) }, there)
}

/// Returns the value of the lane whose number is this lane's with the bits of `lane_mask` flipped, and whether it is in
/// this lane's segment of `width` lanes (a power of two) or an earlier one; otherwise the lane's own value.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(mask: u32, value: T, lane_mask: u32, width: u32) -> (T, bool) {
    let there = (lane_id() ^ lane_mask) <= (lane_id() | (width - 1));
    // SAFETY: the caller's promise.
    (unsafe { T::shuffle::<backend::Xor>(mask, value, lane_mask, width) }, there)
}

/// Returns the value of lane `index` of this lane's segment of `width` lanes (a power of two), taken modulo `width`,
/// and whether `index` is below `width`.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_shuffle_idx<T: WarpShuffleValue>(mask: u32, value: T, index: u32, width: u32) -> (T, bool) {
    // SAFETY: the caller's promise.
    (unsafe { T::shuffle::<backend::Idx>(mask, value, index, width) }, index < width)
}

/// Returns the lanes of `mask` for which `predicate` is true, one bit each.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_vote_ballot(mask: u32, predicate: bool) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { backend::ballot(mask, predicate) }
}

/// Returns whether `predicate` is true for any lane of `mask`.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_vote_any(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { backend::any(mask, predicate) }
}

/// Returns whether `predicate` is true for all lanes of `mask`.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_vote_all(mask: u32, predicate: bool) -> bool {
    // SAFETY: the caller's promise.
    unsafe { backend::all(mask, predicate) }
}

/// Returns the lanes of `mask` that hold the same value as this one, one bit each.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_any_32(mask: u32, value: u32) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { backend::match_any_32(mask, value) }
}

/// Returns the lanes of `mask` that hold the same value as this one, one bit each.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn warp_match_any_64(mask: u32, value: u64) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { backend::match_any_64(mask, value) }
}

/// Waits until every lane of `mask` has arrived; all of them then see what any of them wrote to memory before.
///
/// # Safety
/// See the [module](self).
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn sync_warp(mask: u32) {
    // SAFETY: the caller's promise.
    unsafe { backend::sync_warp(mask) }
}
