//! The memory that the threads of a block share. Its size is set at launch; its contents are undefined until written.

use core::marker::PhantomData;

use crate::backend;

/// A number that shared memory can hold.
pub trait SharedValue: Copy + 'static {
    /// Reads at a byte offset.
    ///
    /// # Safety
    /// The number lies inside the block's shared memory and was written before.
    #[doc(hidden)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn read(offset: u32) -> Self;

    /// Writes at a byte offset.
    ///
    /// # Safety
    /// The number lies inside the block's shared memory.
    #[doc(hidden)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    unsafe fn write(offset: u32, value: Self);
}

macro_rules! shared_value {
    ($type:ident, $bits:ident, $read:ident, $write:ident) => {
        impl SharedValue for $type {
            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn read(offset: u32) -> Self {
                // SAFETY: the caller's promise.
                $type::from_ne_bytes(unsafe { backend::$read(offset) }.to_ne_bytes())
            }

            #[inline(always)]
            #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
            unsafe fn write(offset: u32, value: Self) {
                // SAFETY: the caller's promise.
                unsafe { backend::$write(offset, $bits::from_ne_bytes(value.to_ne_bytes())) }
            }
        }
    };
}

shared_value!(u32, u32, shared_read_32, shared_write_32);
shared_value!(i32, u32, shared_read_32, shared_write_32);
shared_value!(f32, u32, shared_read_32, shared_write_32);
shared_value!(u64, u64, shared_read_64, shared_write_64);
shared_value!(f64, u64, shared_read_64, shared_write_64);

/// An array in the block's shared memory.
pub struct Shared<T> {
    offset: u32,
    element: PhantomData<T>,
}

impl<T> Clone for Shared<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

/// The array that begins `offset` bytes into the block's shared memory; `offset` is a multiple of the
/// element's size.
#[inline(always)]
pub fn dynamic<T: SharedValue>(offset: u32) -> Shared<T> {
    Shared { offset, element: PhantomData }
}

impl Shared<u32> {
    /// Returns the element at `index`, which other threads may change by [`compare_and_swap`](Self::compare_and_swap)
    /// concurrently: either the old or the new element.
    ///
    /// # Safety
    /// As for [`compare_and_swap`](Self::compare_and_swap).
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn peek(self, index: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { backend::shared_peek(self.offset + index * size_of::<u32>() as u32) }
    }

    /// Atomically writes `new` to the element at `index` if it is `expected`, and returns the old element.
    ///
    /// # Safety
    /// The element lies inside the memory requested at launch, was written before, and between two barriers around this
    /// call no thread accesses it in another way.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn compare_and_swap(self, index: u32, expected: u32, new: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { backend::shared_compare_and_swap(self.offset + index * size_of::<u32>() as u32, expected, new) }
    }
}

impl<T: SharedValue> Shared<T> {
    /// Returns the element at `index`.
    ///
    /// # Safety
    /// The element lies inside the memory requested at launch, was written before, and no thread writes it between two
    /// barriers around this call.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn load(self, index: u32) -> T {
        // SAFETY: the caller's promise.
        unsafe { T::read(self.offset + index * size_of::<T>() as u32) }
    }

    /// Writes the element at `index`.
    ///
    /// # Safety
    /// The element lies inside the memory requested at launch, and no other thread reads or writes it between two
    /// barriers around this call.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn store(self, index: u32, value: T) {
        // SAFETY: the caller's promise.
        unsafe { T::write(self.offset + index * size_of::<T>() as u32, value) }
    }
}
