//! Memory for arrays: one name for host vectors and device buffers, so that each format is written once.

use bytemuck::Pod;
use cuda_std::{Global, GlobalMut};

pub use crate::available_memory::available_memory;
use crate::error::Error;
use crate::real::{Scalar, parts_of, parts_of_mut};

/// An element type of arrays on a device.
#[cfg(not(feature = "cuda"))]
pub trait Element: Pod + Default + Send + Sync {
    /// The type as a value.
    const TYPE: ElementType;
}
/// An element type of arrays on a device.
#[cfg(feature = "cuda")]
pub trait Element: Pod + Default + Send + Sync + cust::memory::DeviceCopy {
    /// The type as a value.
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($element:ident $type:ident),*) => {
        $(impl Element for $element {
            const TYPE: ElementType = ElementType::$type;
        })*
    };
}
elements!(u8 Uint8, u16 Uint16, i32 Int32, u32 Uint32, u64 Uint64, f32 Float32, f64 Float64);

/// The type of an array's elements, in memory or in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ElementType {
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Float32,
    Float64,
    /// Two 32-bit parts.
    Complex64,
    /// Two 64-bit parts.
    Complex128,
}

impl ElementType {
    /// Bytes of an element.
    pub fn width(self) -> usize {
        match self {
            Self::Int8 | Self::Uint8 => 1,
            Self::Int16 | Self::Uint16 => 2,
            Self::Int32 | Self::Uint32 | Self::Float32 => 4,
            Self::Int64 | Self::Uint64 | Self::Float64 | Self::Complex64 => 8,
            Self::Complex128 => 16,
        }
    }

    /// Bytes of the real or the imaginary part; of the whole, for an element that is not complex.
    pub fn part_width(self) -> usize {
        match self {
            Self::Complex64 | Self::Complex128 => self.width() / 2,
            _ => self.width(),
        }
    }

    /// The name, such as "uint32".
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
        }
    }
}

/// A memory that holds arrays. Every thread can use them.
pub trait Memory: 'static {
    /// An array in this memory.
    type Buffer<T: Element>: Buffer<T> + Send + Sync;
}

/// An array as seen by a launch.
pub trait Buffer<T> {
    /// Number of elements.
    fn len(&self) -> usize;

    /// Whether the array is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the array lies in memory that its owner has not given away. The library must copy such an array, if passed by
    /// value, before it writes to it.
    fn is_borrowed(&self) -> bool {
        false
    }

    /// The array for reading by a kernel.
    fn global(&self) -> Global<T>;

    /// The array for writing by a kernel.
    fn global_mut(&mut self) -> GlobalMut<T>;

    /// The array for reading by a kernel for real numbers: the real and the imaginary part of each element.
    fn global_parts(&self) -> Global<T::Real>
    where
        T: Scalar;

    /// The array for writing by a kernel for real numbers.
    fn global_parts_mut(&mut self) -> GlobalMut<T::Real>
    where
        T: Scalar;
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

    fn global_parts(&self) -> Global<T::Real>
    where
        T: Scalar,
    {
        Global::from_slice(parts_of(self))
    }

    fn global_parts_mut(&mut self) -> GlobalMut<T::Real>
    where
        T: Scalar,
    {
        GlobalMut::from_slice(parts_of_mut(self))
    }
}

/// An empty vector with room for `length` elements.
///
/// # Errors
/// When memory runs out.
pub fn with_capacity<T>(length: usize) -> Result<Vec<T>, Error> {
    let mut elements = Vec::new();
    elements.try_reserve_exact(length).map_err(|_| out_of_memory::<T>(length))?;
    Ok(elements)
}

/// Makes room for `more` elements, and for further ones if the vector grows repeatedly.
///
/// # Errors
/// When memory runs out.
pub fn reserve<T>(elements: &mut Vec<T>, more: usize) -> Result<(), Error> {
    elements.try_reserve(more).map_err(|_| out_of_memory::<T>(elements.len().saturating_add(more)))
}

/// The error for an array of `length` elements that does not fit into memory.
fn out_of_memory<T>(length: usize) -> Error {
    Error::OutOfMemory { what: "an array", bytes: length as u128 * size_of::<T>() as u128 }
}

/// An array of zeros in host memory, which the operating system need not write.
///
/// # Errors
/// When memory runs out.
pub fn zeros<T: bytemuck::Zeroable>(length: usize) -> Result<Vec<T>, Error> {
    bytemuck::allocation::try_zeroed_vec(length).map_err(|()| out_of_memory::<T>(length))
}

/// `length` copies of an element.
///
/// # Errors
/// When memory runs out.
pub fn filled<T: Clone>(length: usize, element: T) -> Result<Vec<T>, Error> {
    let mut elements = with_capacity(length)?;
    elements.resize(length, element);
    Ok(elements)
}

/// Removes all elements of a vector, and makes room for `length` others, in the same memory if there is enough of it.
///
/// # Errors
/// When memory runs out.
pub fn clear_for<T>(elements: &mut Vec<T>, length: usize) -> Result<(), Error> {
    elements.clear();
    reserve(elements, length)
}

/// Replaces all elements of a vector by `length` copies of an element, in the same memory if there is enough of it.
///
/// # Errors
/// When memory runs out.
pub fn refill<T: Clone>(elements: &mut Vec<T>, length: usize, element: T) -> Result<(), Error> {
    clear_for(elements, length)?;
    elements.resize(length, element);
    Ok(())
}

/// A copy of an array in host memory.
///
/// # Errors
/// When memory runs out.
pub fn copy<T: Clone>(array: &[T]) -> Result<Vec<T>, Error> {
    let mut copy = with_capacity(array.len())?;
    copy.extend_from_slice(array);
    Ok(copy)
}

/// Collects an iterator of known length.
///
/// # Errors
/// When memory runs out.
pub fn collect<T>(elements: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, Error> {
    let mut collected = with_capacity(elements.len())?;
    collected.extend(elements);
    Ok(collected)
}

/// Whether two arrays have the same bits: a NaN then equals itself, and 0 differs from -0.
pub(crate) fn same_bits<E: Element>(left: &[E], right: &[E]) -> bool {
    bytemuck::cast_slice::<E, u8>(left) == bytemuck::cast_slice::<E, u8>(right)
}

/// Transfer of arrays from one memory to another.
pub(crate) trait Transfer<From: Memory, To: Memory> {
    /// Moves one array. Costs nothing between memories of the same kind.
    fn transfer<T: Element>(&self, array: From::Buffer<T>) -> Result<To::Buffer<T>, Error>;
}
