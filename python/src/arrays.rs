//! NumPy's arrays.

use host::interop::Index;
use numpy::{PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn, PyReadwriteArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::failure::Failure;
use crate::numbers::Number;

/// An array of indices.
#[derive(FromPyObject)]
pub enum Indices<'py> {
    Int32(PyReadonlyArray1<'py, i32>),
    Int64(PyReadonlyArray1<'py, i64>),
}

/// A one- or two-dimensional array for reading.
pub struct Input<'py, T: Number>(PyReadonlyArrayDyn<'py, T>);

impl<'py, T: Number> Input<'py, T> {
    pub fn new(array: &Bound<'py, PyAny>) -> Result<Self, Failure> {
        Ok(Self(array.extract()?))
    }

    /// Its elements in memory order.
    pub fn elements(&self) -> Result<&[T], Failure> {
        // The borrow held here ensures that no Rust thread writes it. Python threads may, as everywhere in NumPy, which
        // gives a wrong result: the elements are plain numbers.
        self.0.as_slice().map_err(|error| Failure::from(PyErr::from(error)))
    }

    pub fn shape(&self) -> &[usize] {
        self.0.shape()
    }

    /// Whether the rows of a matrix are contiguous.
    pub fn rows_first(&self) -> bool {
        self.0.is_c_contiguous()
    }
}

/// An array for writing.
pub struct Output<'py, T: Number>(PyReadwriteArrayDyn<'py, T>);

impl<'py, T: Number> Output<'py, T> {
    /// Takes the array; an error if it is read-only, or another call is writing it.
    pub fn new(array: &Bound<'py, PyAny>) -> Result<Self, Failure> {
        let array = array.cast::<numpy::PyArrayDyn<T>>().map_err(PyErr::from)?;
        let array = array.try_readwrite().map_err(|error| Failure::value(format!("out: {error}")))?;
        Ok(Self(array))
    }

    /// Its elements in memory order.
    pub fn elements(&mut self) -> Result<&mut [T], Failure> {
        self.0.as_slice_mut().map_err(|error| Failure::from(PyErr::from(error)))
    }

    /// Number of vectors in its columns.
    pub fn columns(&self) -> usize {
        self.0.shape().get(1).copied().unwrap_or(1)
    }

    /// Whether the rows of a matrix are contiguous.
    pub fn rows_first(&self) -> bool {
        self.0.is_c_contiguous()
    }
}

/// Row offsets and columns in SciPy's types.
pub enum IndexArrays {
    Int32([Vec<i32>; 2]),
    Int64([Vec<i64>; 2]),
}

impl IndexArrays {
    /// Converts to the narrowest type that fits.
    pub fn new(offsets: host::format::Offsets, columns: Vec<u32>, limit: usize) -> Result<Self, host::Error> {
        if limit <= i32::MAX as usize && columns.len() <= i32::MAX as usize {
            return Ok(Self::Int32([i32::from_offsets(offsets)?, i32::from_columns(columns)?]));
        }
        Ok(Self::Int64([i64::from_offsets(offsets)?, i64::from_columns(columns)?]))
    }
}
