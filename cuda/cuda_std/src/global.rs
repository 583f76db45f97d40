//! Arrays in global memory.
//!
//! On the GPU [`Global`] and [`GlobalMut`] are bare pointers. On the host they also hold their length, against which
//! the emulator checks each access, and the owner of their memory, which a GPU's executor checks at each launch.

#[cfg(not(target_arch = "nvptx64"))]
use core::num::NonZeroU64;

use crate::backend::{self, Access};
use crate::float::GpuScalar;
#[cfg(not(target_arch = "nvptx64"))]
use crate::pair::Pair;
#[cfg(not(target_arch = "nvptx64"))]
use crate::place::Place;
use crate::plain::Plain;
#[cfg(not(target_arch = "nvptx64"))]
use crate::stored::OfBits;

/// A number that an array in global memory can hold.
pub trait Scalar: Plain {
    /// Reads through the read-only path.
    ///
    /// # Safety
    /// `address` points to a number in global memory that no thread writes while the kernel runs.
    #[doc(hidden)]
    unsafe fn read(address: *const Self) -> Self;

    /// Like [`read`](Self::read), bypassing the L1 cache.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    #[doc(hidden)]
    unsafe fn read_streaming(address: *const Self) -> Self;

    /// Reads two neighbours, at once if there is an access of that size.
    ///
    /// # Safety
    /// As for [`read`](Self::read), for both; `address` is a multiple of twice the number's size.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn read_2(address: *const Self) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe { [Self::read(address), Self::read(address.add(1))] }
    }

    /// Reads two neighbours at once.
    ///
    /// # Safety
    /// As for [`read`](Self::read), for both; `address` is a multiple of twice the number's size.
    #[doc(hidden)]
    unsafe fn read_streaming_2(address: *const Self) -> [Self; 2];

    /// Reads four neighbours at once.
    ///
    /// # Safety
    /// As for [`read`](Self::read), for all; `address` is a multiple of four times the number's size, at most
    /// 16 bytes.
    #[doc(hidden)]
    unsafe fn read_streaming_4(address: *const Self) -> [Self; 4];

    /// Reads the first `count` of four numbers that are `step` apart; all are requested before any is used. `absent`
    /// replaces the others.
    ///
    /// # Safety
    /// As for [`read`](Self::read), for all that are read.
    #[doc(hidden)]
    unsafe fn read_streaming_apart(address: *const Self, step: u64, count: u32, absent: Self) -> [Self; 4];

    /// Reads a number that the kernel may write.
    ///
    /// # Safety
    /// `address` points to a number in global memory that no other thread writes at the same time.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn load(address: *const Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { *address }
    }

    /// Reads two neighbours.
    ///
    /// # Safety
    /// As for [`load`](Self::load), for both; `address` is a multiple of twice the number's size.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn load_2(address: *const Self) -> [Self; 2] {
        // SAFETY: the caller's promise.
        unsafe { [Self::load(address), Self::load(address.add(1))] }
    }

    /// Writes two neighbours.
    ///
    /// # Safety
    /// As for [`store`](Self::store), for both; `address` is a multiple of twice the number's size.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn store_2(address: *mut Self, [first, second]: [Self; 2]) {
        // SAFETY: the caller's promise.
        unsafe {
            Self::store(address, first);
            Self::store(address.add(1), second);
        }
    }

    /// Writes a number.
    ///
    /// # Safety
    /// `address` points to a number in global memory that no other thread reads or writes at the same time.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn store(address: *mut Self, value: Self) {
        // SAFETY: the caller's promise.
        unsafe { *address = value }
    }
}

/// A number that indexes an array: 32 bits where they suffice, because 64-bit arithmetic costs registers and
/// instructions on a GPU.
pub trait Index: Copy + 'static {
    /// The same number, 64 bits wide.
    fn widen(self) -> u64;
}

impl Index for u32 {
    #[inline(always)]
    fn widen(self) -> u64 {
        self.into()
    }
}

impl Index for u64 {
    #[inline(always)]
    fn widen(self) -> u64 {
        self
    }
}

/// An array that the kernel reads and no one writes while it runs.
#[cfg_attr(target_arch = "nvptx64", repr(transparent))]
#[cfg_attr(not(target_arch = "nvptx64"), repr(C))]
pub struct Global<T> {
    // First, because the GPU receives its address as the argument.
    address: *const T,
    #[cfg(not(target_arch = "nvptx64"))]
    length: u64,
    #[cfg(not(target_arch = "nvptx64"))]
    owner: Option<NonZeroU64>,
}

/// An array that the kernel writes, and may read.
#[cfg_attr(target_arch = "nvptx64", repr(transparent))]
#[cfg_attr(not(target_arch = "nvptx64"), repr(C))]
pub struct GlobalMut<T> {
    address: *mut T,
    #[cfg(not(target_arch = "nvptx64"))]
    length: u64,
    #[cfg(not(target_arch = "nvptx64"))]
    owner: Option<NonZeroU64>,
}

impl<T> Clone for Global<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Global<T> {}

impl<T> Clone for GlobalMut<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for GlobalMut<T> {}

#[cfg(not(target_arch = "nvptx64"))]
impl<T> Global<T> {
    /// Creates an array for a kernel on the emulator.
    pub fn from_slice(array: &[T]) -> Self {
        Self { address: array.as_ptr(), length: array.len() as u64, owner: None }
    }

    /// Creates an array for a kernel on a GPU: `length` elements at a device address, in the memory of `owner`.
    pub fn from_device(address: u64, length: usize, owner: NonZeroU64) -> Self {
        Self { address: address as *const T, length: length as u64, owner: Some(owner) }
    }

    /// The memory that holds the array; an array of no bytes is nowhere.
    pub fn place(self) -> Place {
        Place::of(if size_of::<T>() == 0 { 0 } else { self.length }, self.owner)
    }

    /// Number of elements.
    pub fn length(self) -> usize {
        self.length as usize
    }

    /// The same array, as numbers with these bits.
    pub fn as_numbers<N: OfBits<Bits = T>>(self) -> Global<N> {
        Global { address: self.address.cast(), length: self.length, owner: self.owner }
    }

    /// The same array, two numbers at a time; `None` if its length is odd or a pair would not be aligned.
    pub fn as_pairs(self) -> Option<Global<Pair<T>>> {
        let length = pairs(self.address, self.length)?;
        Some(Global { address: self.address.cast(), length, owner: self.owner })
    }

    /// The rest of the array after its first `elements`.
    pub fn after(self, elements: usize) -> Self {
        let length = self.length.saturating_sub(elements as u64);
        Self { address: self.address.wrapping_add((self.length - length) as usize), length, ..self }
    }

    #[track_caller]
    fn check(self, index: u64, count: u64) {
        backend::check_read_only(self.address, self.length, index, count);
    }
}

/// Number of aligned pairs in an array, if it consists of such.
#[cfg(not(target_arch = "nvptx64"))]
fn pairs<T>(address: *const T, length: u64) -> Option<u64> {
    let is_aligned = address.addr().is_multiple_of(size_of::<Pair<T>>().max(1));
    (length.is_multiple_of(2) && is_aligned).then_some(length / 2)
}

#[cfg(not(target_arch = "nvptx64"))]
impl<T> GlobalMut<T> {
    /// The same array, two numbers at a time; `None` if its length is odd or a pair would not be aligned.
    pub fn as_pairs(self) -> Option<GlobalMut<Pair<T>>> {
        let length = pairs(self.address, self.length)?;
        Some(GlobalMut { address: self.address.cast(), length, owner: self.owner })
    }

    /// The same array, as numbers with these bits.
    pub fn as_numbers<N: OfBits<Bits = T>>(self) -> GlobalMut<N> {
        GlobalMut { address: self.address.cast(), length: self.length, owner: self.owner }
    }

    /// The same array, for kernels that only read it.
    pub fn read_only(self) -> Global<T> {
        Global { address: self.address, length: self.length, owner: self.owner }
    }

    /// Creates an array for a kernel on the emulator.
    pub fn from_slice(array: &mut [T]) -> Self {
        Self { address: array.as_mut_ptr(), length: array.len() as u64, owner: None }
    }

    /// Creates an array for a kernel on a GPU: `length` elements at a device address, in the memory of `owner`.
    pub fn from_device(address: u64, length: usize, owner: NonZeroU64) -> Self {
        Self { address: address as *mut T, length: length as u64, owner: Some(owner) }
    }

    /// The memory that holds the array; an empty array is nowhere.
    pub fn place(self) -> Place {
        Place::of(self.length, self.owner)
    }

    /// The rest of the array after its first `elements`.
    pub fn after(self, elements: usize) -> Self {
        let length = self.length.saturating_sub(elements as u64);
        Self { address: self.address.wrapping_add((self.length - length) as usize), length, ..self }
    }

    #[track_caller]
    fn check(self, access: Access, index: u64) {
        backend::check_access(access, self.address, self.length, index);
    }
}

#[cfg(target_arch = "nvptx64")]
impl<T> Global<T> {
    #[inline(always)]
    fn check(self, _index: u64, _count: u64) {}
}

#[cfg(target_arch = "nvptx64")]
impl<T> GlobalMut<T> {
    #[inline(always)]
    fn check(self, _access: Access, _index: u64) {}
}

impl<T: Scalar> Global<T> {
    /// Returns the element at `index`, through the caches: for elements that are read more than once.
    ///
    /// # Safety
    /// `index` is below the array's length. Only the emulator checks it.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn load(self, index: impl Index) -> T {
        self.check(index.widen(), 1);
        // SAFETY: the index is inside the array, by the caller's promise.
        unsafe { T::read(self.address.add(index.widen() as usize)) }
    }

    /// Returns the element at `index`, bypassing the L1 cache: for elements that are read once.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn load_streaming(self, index: impl Index) -> T {
        self.check(index.widen(), 1);
        // SAFETY: the index is inside the array, by the caller's promise.
        unsafe { T::read_streaming(self.address.add(index.widen() as usize)) }
    }

    /// Requests the line of L2 with the element at `index`, without waiting for it.
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn prefetch(self, index: impl Index) {
        self.check(index.widen(), 1);
        // SAFETY: the index is inside the array, by the caller's promise.
        unsafe { backend::prefetch(self.address.add(index.widen() as usize).cast()) }
    }

    /// Returns the elements at `index` and `index + 1`. Up to 16 bytes are one access, bypassing the L1 cache; more are
    /// several through it, so that no sector is requested twice.
    ///
    /// # Safety
    /// As for [`load`](Self::load), for both; the first one's address is a multiple of twice its size.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn load_streaming_2(self, index: impl Index) -> [T; 2] {
        self.check(index.widen(), 2);
        // SAFETY: the indices are inside the array and aligned, by the caller's promise.
        unsafe { T::read_streaming_2(self.address.add(index.widen() as usize)) }
    }

    /// Returns the elements at `index` to `index + 3`. Up to 16 bytes are one access, bypassing the L1 cache; more are
    /// several through it, so that no sector is requested twice.
    ///
    /// # Safety
    /// As for [`load`](Self::load), for all four; the first one's address is a multiple of four times its
    /// size, at most 16 bytes.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn load_streaming_4(self, index: impl Index) -> [T; 4] {
        self.check(index.widen(), 4);
        // SAFETY: the indices are inside the array and aligned, by the caller's promise.
        unsafe { T::read_streaming_4(self.address.add(index.widen() as usize)) }
    }

    /// Returns the first `count` of the element at `index` and three more, each `step` after the previous one,
    /// bypassing the L1 cache; `absent` replaces the others, which are not loaded. All are requested before any is
    /// used, and the compiler keeps only one of their addresses: otherwise it may keep four, and then load sequentially
    /// to save registers.
    ///
    /// # Safety
    /// As for [`load`](Self::load), for all that are loaded.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn load_streaming_apart(self, index: impl Index, step: u64, count: u32, absent: T) -> [T; 4] {
        let index = index.widen();
        let mut number = 0;
        while number < count.min(4) {
            self.check(index + u64::from(number) * step, 1);
            number += 1;
        }
        // SAFETY: the indices are inside the array, by the caller's promise.
        unsafe { T::read_streaming_apart(self.address.wrapping_add(index as usize), step, count, absent) }
    }
}

impl<T: Scalar> GlobalMut<T> {
    /// Returns the element at `index`.
    ///
    /// # Safety
    /// `index` is below the array's length, and no other thread writes there at the same time.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn load(self, index: impl Index) -> T {
        self.check(Access::Load, index.widen());
        // SAFETY: the index is inside the array, by the caller's promise.
        unsafe { T::load(self.address.add(index.widen() as usize)) }
    }

    /// Writes the element at `index`.
    ///
    /// # Safety
    /// `index` is below the array's length, and no other thread reads or writes there at the same time.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn store(self, index: impl Index, value: T) {
        self.check(Access::Store, index.widen());
        // SAFETY: the index is inside the array, by the caller's promise.
        unsafe { T::store(self.address.add(index.widen() as usize), value) }
    }
}

impl GlobalMut<u32> {
    /// Sets the element at `index` to 1. Other threads may do the same concurrently: all write the same number, and
    /// those that already see it write nothing.
    ///
    /// # Safety
    /// `index` is below the array's length, and no thread accesses the element in any other way while the kernel runs.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn set_flag(self, index: impl Index) {
        self.check(Access::SetFlag, index.widen());
        // SAFETY: the caller's promise; 32 bits are read and written as a whole, so a thread sees 1 or the old number.
        // No atomic accesses, because these would bypass the L1 cache, for the same few flags again and again.
        unsafe {
            let place = self.address.add(index.widen() as usize);
            if *place != 1 {
                *place = 1;
            }
        }
    }

    /// Atomically sets those bits of the element at `index` that are set in `bits`.
    ///
    /// # Safety
    /// `index` is below the array's length.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn atomic_or(self, index: impl Index, bits: u32) {
        self.check(Access::AtomicOr, index.widen());
        // SAFETY: the index is inside the array, by the caller's promise.
        unsafe { backend::atomic_or(self.address.add(index.widen() as usize), bits) }
    }

    /// Counts this thread's arrival at the element at `index`, and returns whether it is the last of `count` threads to
    /// arrive; the last one resets the count to 0. The last thread sees what each of the others did before it arrived,
    /// and what a barrier had made visible to them; so do the threads that it meets at a warp barrier afterwards.
    ///
    /// # Safety
    /// `index` is below the array's length, the element is initially 0, and no thread accesses it otherwise, unless a
    /// barrier lies between. `count` is not 0, and the same for all threads.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn arrive(self, index: impl Index, count: u32) -> bool {
        #[cfg(not(target_arch = "nvptx64"))]
        backend::before_arrival();
        self.check(Access::Arrive, index.widen());
        // SAFETY: the index is inside the array, by the caller's promise.
        let is_last = unsafe { backend::count_up(self.address.add(index.widen() as usize), count - 1) == count - 1 };
        if is_last {
            // Only the last thread reads what the others wrote: acquiring empties the L1 cache, which holds x.
            // SAFETY: it accesses no memory.
            unsafe { backend::acquire() };
        }
        is_last
    }
}

impl GlobalMut<f64> {
    /// Writes the element at `index` so that threads of any GPU that [observe](Global::observe) it see this thread's
    /// earlier accesses, and what a barrier had made visible to it.
    ///
    /// # Safety
    /// `index` is below the array's length, and no other thread writes there at the same time.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn publish(self, index: impl Index, value: f64) {
        self.check(Access::Store, index.widen());
        // SAFETY: the index is inside the array, by the caller's promise.
        unsafe { backend::publish(self.address.add(index.widen() as usize).cast(), value.to_bits()) }
    }
}

impl Global<f64> {
    /// Returns the element at `index`, which another GPU may [publish](GlobalMut::publish) concurrently. It is ordered
    /// before this thread's later reads, and before what others do after a barrier with it.
    ///
    /// # Safety
    /// `index` is below the array's length.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn observe(self, index: impl Index) -> f64 {
        self.check(index.widen(), 1);
        // SAFETY: the index is inside the array, by the caller's promise.
        f64::from_bits(unsafe { backend::observe(self.address.add(index.widen() as usize).cast()) })
    }

    /// Returns the element at `index` of an array that another GPU may write concurrently, except this element:
    /// bypasses caches that may hold the old element.
    ///
    /// # Safety
    /// `index` is below the array's length.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn load_coherent(self, index: impl Index) -> f64 {
        self.check(index.widen(), 1);
        // SAFETY: the index is inside the array, by the caller's promise.
        f64::from_bits(unsafe { backend::load_coherent(self.address.add(index.widen() as usize).cast()) })
    }
}

impl<T: GpuScalar> GlobalMut<T> {
    /// Atomically adds to the element at `index`, and returns its old value. The order of the threads is undefined, and
    /// so are the last bits of the sum.
    ///
    /// # Safety
    /// `index` is below the array's length.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub unsafe fn atomic_add(self, index: impl Index, value: T) -> T {
        self.check(Access::AtomicAdd, index.widen());
        // SAFETY: the index is inside the array, by the caller's promise.
        unsafe { T::atomic_add(self.address.add(index.widen() as usize), value) }
    }
}

macro_rules! scalar {
    (
        $type:ident, $bits:ident, $one:ident, $one_streaming:ident, $two:ident, $four:ident, $apart:ident, $pair:ident,
        $load_pair:ident, $store_pair:ident
    ) => {
        // SAFETY: a number of 32 or 64 bits.
        unsafe impl Plain for $type {}

        impl Scalar for $type {
            #[inline(always)]
            unsafe fn read(address: *const Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $type::from_ne_bytes(backend::$one(address.cast()).to_ne_bytes()) }
            }

            #[inline(always)]
            unsafe fn read_streaming(address: *const Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { $type::from_ne_bytes(backend::$one_streaming(address.cast()).to_ne_bytes()) }
            }

            #[inline(always)]
            unsafe fn read_2(address: *const Self) -> [Self; 2] {
                // SAFETY: the caller's promise.
                unsafe { backend::$pair(address.cast()) }.map(|bits| $type::from_ne_bytes(bits.to_ne_bytes()))
            }

            #[inline(always)]
            unsafe fn load_2(address: *const Self) -> [Self; 2] {
                // SAFETY: the caller's promise.
                unsafe { backend::$load_pair(address.cast()) }.map(|bits| $type::from_ne_bytes(bits.to_ne_bytes()))
            }

            #[inline(always)]
            unsafe fn store_2(address: *mut Self, numbers: [Self; 2]) {
                let bits = numbers.map(|number| $bits::from_ne_bytes(number.to_ne_bytes()));
                // SAFETY: the caller's promise.
                unsafe { backend::$store_pair(address.cast(), bits) }
            }

            #[inline(always)]
            unsafe fn read_streaming_2(address: *const Self) -> [Self; 2] {
                // SAFETY: the caller's promise.
                let [a, b] = unsafe { backend::$two(address.cast()) };
                [$type::from_ne_bytes(a.to_ne_bytes()), $type::from_ne_bytes(b.to_ne_bytes())]
            }

            #[inline(always)]
            unsafe fn read_streaming_4(address: *const Self) -> [Self; 4] {
                // SAFETY: the caller's promise.
                let [a, b, c, d] = unsafe { backend::$four(address.cast()) };
                [
                    $type::from_ne_bytes(a.to_ne_bytes()),
                    $type::from_ne_bytes(b.to_ne_bytes()),
                    $type::from_ne_bytes(c.to_ne_bytes()),
                    $type::from_ne_bytes(d.to_ne_bytes()),
                ]
            }

            #[inline(always)]
            unsafe fn read_streaming_apart(address: *const Self, step: u64, count: u32, absent: Self) -> [Self; 4] {
                let absent = $bits::from_ne_bytes(absent.to_ne_bytes());
                // SAFETY: the caller's promise.
                let bits = unsafe { backend::$apart(address.cast(), step, count, absent) };
                bits.map(|bits| $type::from_ne_bytes(bits.to_ne_bytes()))
            }
        }
    };
}

scalar!(
    i32,
    u32,
    read_32,
    read_streaming_32,
    read_streaming_2x32,
    read_streaming_4x32,
    read_streaming_apart_32,
    read_pair_32,
    load_pair_32,
    store_pair_32
);
scalar!(
    u32,
    u32,
    read_32,
    read_streaming_32,
    read_streaming_2x32,
    read_streaming_4x32,
    read_streaming_apart_32,
    read_pair_32,
    load_pair_32,
    store_pair_32
);
scalar!(
    f32,
    u32,
    read_32,
    read_streaming_32,
    read_streaming_2x32,
    read_streaming_4x32,
    read_streaming_apart_32,
    read_pair_32,
    load_pair_32,
    store_pair_32
);
scalar!(
    u64,
    u64,
    read_64,
    read_streaming_64,
    read_streaming_2x64,
    read_streaming_4x64,
    read_streaming_apart_64,
    read_pair_64,
    load_pair_64,
    store_pair_64
);
scalar!(
    f64,
    u64,
    read_64,
    read_streaming_64,
    read_streaming_2x64,
    read_streaming_4x64,
    read_streaming_apart_64,
    read_pair_64,
    load_pair_64,
    store_pair_64
);
