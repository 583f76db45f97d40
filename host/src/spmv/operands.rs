//! The vectors of a product, as passed by callers, as passed to kernels, and on the host.

use cuda_std::launch::Launch;
use cuda_std::{Global, GlobalMut};
use gpu_kernels::vector::Scale;

use crate::device::Device;
use crate::error::{Error, check_length};
use crate::memory::{Buffer, HostMemory, Memory};
use crate::real::Scalar;

/// The operands of y ← α A x + β y. With β = 0, y is overwritten and never read.
pub(crate) struct Operands<'a, T: Scalar, M: Memory> {
    /// The factor of A x. It must be finite: kernels that share a row among warps multiply partial sums by it.
    pub alpha: T,
    /// The vector to multiply; one element per column.
    pub x: &'a M::Buffer<T>,
    /// The factor of y.
    pub beta: T,
    /// The result; one element per row.
    pub y: &'a mut M::Buffer<T>,
}

impl<'a, T: Scalar, M: Memory> Operands<'a, T, M> {
    /// Checks the vectors against the shape of a matrix, and the factors.
    #[inline]
    pub fn check(&self, rows: usize, columns: usize) -> Result<(), Error> {
        check_vectors(self.alpha, self.x.len(), self.beta, self.y.len(), rows, columns)
    }

    /// Converts to the kernels' form.
    pub fn vectors(self) -> Vectors<T> {
        let Self { alpha, x, beta, y } = self;
        Vectors { alpha, x: x.global(), beta, y: y.global_mut() }
    }
}

/// Checks vectors of these lengths against the shape of a matrix, and the factors.
#[inline]
fn check_vectors<T: Scalar>(
    alpha: T,
    x_length: usize,
    beta: T,
    y_length: usize,
    rows: usize,
    columns: usize,
) -> Result<(), Error> {
    check_factors(alpha, beta)?;
    check_length("x", x_length, columns)?;
    check_length("y", y_length, rows)
}

/// Checks that α and β are finite: kernels multiply sums of parts of a row by α, and the error bound holds only for finite
/// factors.
#[inline]
pub(crate) fn check_factors<T: Scalar>(alpha: T, beta: T) -> Result<(), Error> {
    check_factor("alpha", alpha)?;
    check_factor("beta", beta)
}

/// Checks that a factor is finite.
#[inline]
pub(super) fn check_factor<T: Scalar>(what: &'static str, factor: T) -> Result<(), Error> {
    // 0 times infinity or NaN is NaN.
    if factor * T::ZERO == T::ZERO {
        return Ok(());
    }
    Err(not_finite(what, factor))
}

#[cold]
fn not_finite<T: Scalar>(what: &'static str, factor: T) -> Error {
    Error::Setting { what, value: factor.to_string(), expected: "a finite number" }
}

impl<'a, T: Scalar> Operands<'a, T, HostMemory> {
    /// Converts to slices.
    #[inline]
    pub fn on_host(self) -> HostOperands<'a, T> {
        let Self { alpha, x, beta, y } = self;
        HostOperands { alpha, x, beta, y }
    }
}

/// [`Operands`] in the kernels' form.
#[derive(Clone, Copy)]
pub(crate) struct Vectors<T> {
    pub alpha: T,
    pub x: Global<T>,
    pub beta: T,
    pub y: GlobalMut<T>,
}

impl<T: Scalar> Vectors<T> {
    /// Vectors without elements: for launches that are described but never run.
    pub fn nothing() -> Self {
        Self { alpha: T::ONE, x: Global::from_slice(&[]), beta: T::ZERO, y: GlobalMut::from_slice(&mut []) }
    }

    /// A launch for y ← β y, where y has `count` elements: one without blocks if β is 1 and y real. A complex element that
    /// is not finite is changed by a factor of 1.
    pub fn scale(&self, count: usize, device: &Device) -> Launch {
        let count = if !T::COMPLEX && self.beta == T::ONE { 0 } else { count as u64 };
        Launch::new(device.grid(count), Scale { count, beta: self.beta, y: self.y })
    }
}

/// [`Operands`] in host memory, as slices.
pub(crate) struct HostOperands<'a, T> {
    pub alpha: T,
    pub x: &'a [T],
    pub beta: T,
    pub y: &'a mut [T],
}

impl<T: Scalar> HostOperands<'_, T> {
    /// Checks the vectors against the shape of a matrix, and the factors.
    #[inline]
    pub fn check(&self, rows: usize, columns: usize) -> Result<(), Error> {
        check_vectors(self.alpha, self.x.len(), self.beta, self.y.len(), rows, columns)
    }

    /// Converts to the kernels' form.
    pub fn vectors(self) -> Vectors<T> {
        let Self { alpha, x, beta, y } = self;
        Vectors { alpha, x: Global::from_slice(x), beta, y: GlobalMut::from_slice(y) }
    }
}

/// y ← β y; if β is 0, y is not read.
pub(crate) fn scale<T: Scalar>(y: &mut [T], beta: T) {
    y.iter_mut().for_each(|y| *y = if beta == T::ZERO { T::ZERO } else { beta * *y });
}

/// y ← α sum + β y; if β is 0, y is not read.
#[inline]
pub(crate) fn update<T: Scalar>(y: &mut T, alpha: T, sum: T, beta: T) {
    *y = if beta == T::ZERO { alpha * sum } else { alpha * sum + beta * *y };
}
