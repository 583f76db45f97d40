//! Where arrays live: one name for host vectors and device buffers, so that each format is written once.

use bytemuck::Pod;
use cuda_std::{Global, GlobalMut};

use crate::error::Error;

/// What an array on a device can hold.
#[cfg(not(feature = "cuda"))]
pub trait Element: Pod + Default + Send + Sync {}
/// What an array on a device can hold.
#[cfg(feature = "cuda")]
pub trait Element: Pod + Default + Send + Sync + cust::memory::DeviceCopy {}

impl Element for i32 {}
impl Element for u32 {}
impl Element for u64 {}
impl Element for f32 {}
impl Element for f64 {}

/// A place that arrays live in.
pub trait Memory: 'static {
    /// An array in this place.
    type Buffer<T: Element>: Buffer<T>;
}

/// An array, as a launch sees it.
pub trait Buffer<T> {
    /// Number of elements.
    fn len(&self) -> usize;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a kernel gets to read from it.
    fn global(&self) -> Global<T>;

    /// What a kernel gets to write to it.
    fn global_mut(&mut self) -> GlobalMut<T>;
}

/// The host's own memory: every array is a `Vec`.
pub struct HostMemory;

impl Memory for HostMemory {
    type Buffer<T: Element> = Vec<T>;
}

impl<T> Buffer<T> for Vec<T> {
    fn len(&self) -> usize {
        self.len()
    }

    fn global(&self) -> Global<T> {
        Global::from_slice(self)
    }

    fn global_mut(&mut self) -> GlobalMut<T> {
        GlobalMut::from_slice(self)
    }
}

/// An array of zeros in the host's memory.
///
/// # Errors
/// When memory runs out.
pub fn zeros<T: Element>(length: usize) -> Result<Vec<T>, Error> {
    let bytes = length as u128 * size_of::<T>() as u128;
    bytemuck::allocation::try_zeroed_vec(length).map_err(|()| Error::OutOfMemory { what: "an array", bytes })
}

/// A way from one memory to another.
pub trait Transfer<From: Memory, To: Memory> {
    /// Moves one array. Between memories of the same kind this is free.
    fn transfer<T: Element>(&self, array: From::Buffer<T>) -> Result<To::Buffer<T>, Error>;
}
