//! [ndarray](https://docs.rs/ndarray): one-dimensional arrays as vectors.
//!
//! On executors with host memory, [`Plan::apply_arrays`] multiplies views in place. Elsewhere, or to keep an array as a
//! [`Vector`](crate::Vector), [`into_vec`] moves it and [`Executor::upload`] accepts the result; the result of
//! [`Executor::download`] becomes an array by ndarray's own `Array1::from`, without a copy.
//!
//! ```
//! use host::executor::{Cpu, Executor};
//! use host::interop::ndarray::into_vec;
//! use host::{Csr, Plan};
//! use ndarray::{Array1, array, s};
//!
//! # fn main() -> Result<(), host::Error> {
//! let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 1, 2], &[1.0, 2.0, 3.0])?;
//! let cpu = Cpu::new();
//! let mut plan = Plan::new(&cpu, matrix)?;
//!
//! let x = array![1.0, 10.0, 100.0];
//! let mut y = Array1::zeros(4);
//! plan.apply_arrays(1.0, x.view(), 0.0, y.slice_mut(s![2..]))?;
//! assert_eq!(y, array![0.0, 0.0, 1.0, 320.0]);
//!
//! // On any executor:
//! let x = cpu.upload(into_vec(x)?)?;
//! let mut y = cpu.zeros(2)?;
//! plan.apply(1.0, &x, 0.0, &mut y)?;
//! assert_eq!(Array1::from(cpu.download(&y)?), array![1.0, 320.0]);
//! # Ok(())
//! # }
//! ```

use ndarray::{Array1, ArrayView1, ArrayViewMut1};

use crate::Plan;
use crate::error::Error;
use crate::executor::Executor;
use crate::memory::{HostMemory, collect};
use crate::real::Scalar;

/// The elements of an array. They are moved if they are all that its memory holds, in order, and copied otherwise.
///
/// # Errors
/// When memory runs out.
pub fn into_vec<T: Scalar>(array: Array1<T>) -> Result<Vec<T>, Error> {
    if array.is_standard_layout() {
        let length = array.len();
        let (mut elements, offset) = array.into_raw_vec_and_offset();
        let first = offset.unwrap_or(0);
        // Both ends may have been cut off by slicing.
        elements.truncate(first + length);
        elements.drain(..first);
        return Ok(elements);
    }
    collect(array.iter().copied())
}

impl<T: Scalar, E: Executor<Memory = HostMemory>> Plan<T, E> {
    /// [`apply`](Self::apply) for views of arrays, without copies. For executors with host memory.
    ///
    /// # Errors
    /// As for [`apply`](Self::apply), and when the elements of a view are not contiguous.
    pub fn apply_arrays(
        &mut self,
        alpha: T,
        x: ArrayView1<'_, T>,
        beta: T,
        y: ArrayViewMut1<'_, T>,
    ) -> Result<(), Error> {
        self.apply_slices(alpha, as_slice("the stride of x", x)?, beta, as_slice_mut("the stride of y", y)?)
    }
}

/// The elements of a view, which must be contiguous.
fn as_slice<'a, T>(what: &'static str, array: ArrayView1<'a, T>) -> Result<&'a [T], Error> {
    let stride = array.strides()[0];
    array.to_slice().ok_or_else(|| not_contiguous(what, stride))
}

/// [`as_slice`] of a mutable view.
fn as_slice_mut<'a, T>(what: &'static str, array: ArrayViewMut1<'a, T>) -> Result<&'a mut [T], Error> {
    let stride = array.strides()[0];
    array.into_slice().ok_or_else(|| not_contiguous(what, stride))
}

fn not_contiguous(what: &'static str, stride: isize) -> Error {
    Error::Setting { what, value: stride.to_string(), expected: "1: contiguous elements" }
}
