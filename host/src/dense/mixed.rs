//! Vectors of two precisions.

use cuda_std::launch::Launch;
use gpu_kernels::dense::mixed::MixedAxpby;
use rayon::prelude::*;

use crate::error::{Error, check_length};
use crate::memory::{Buffer, HostMemory, Memory};
use crate::real::Real;
use crate::spmv::Device;

/// Elements that a CPU thread takes at a time.
const ELEMENTS_AT_ONCE: usize = 4096;

/// The operands of [`Executor::axpby_mixed`](crate::executor::Executor::axpby_mixed), y ← α x + β y, computed in 64 bits
/// and rounded once to y's precision. With β = 0, y is overwritten and never read.
pub struct MixedOperands<'a, X: Real, Y: Real, M: Memory> {
    /// The factor of x.
    pub alpha: f64,
    /// The vector that is added.
    pub x: &'a M::Buffer<X>,
    /// The factor of y.
    pub beta: f64,
    /// The result.
    pub y: &'a mut M::Buffer<Y>,
}

/// The launch of y ← α x + β y.
pub(crate) fn mixed_launch<X: Real, Y: Real, M: Memory>(
    operands: MixedOperands<'_, X, Y, M>,
    device: &Device,
) -> Result<Launch, Error> {
    let MixedOperands { alpha, x, beta, y } = operands;
    check_length("y", y.len(), x.len())?;
    let count = x.len() as u64;
    let kernel = MixedAxpby { count, alpha, x: x.global(), beta, y: y.global_mut() };
    Ok(Launch { grid: device.grid(count), kernel: Box::new(kernel) })
}

/// y ← α x + β y on the host.
pub(crate) fn mixed_on_host<X: Real, Y: Real>(operands: MixedOperands<'_, X, Y, HostMemory>) -> Result<(), Error> {
    let MixedOperands { alpha, x, beta, y } = operands;
    check_length("y", y.len(), x.len())?;
    y.par_iter_mut().zip(x).with_min_len(ELEMENTS_AT_ONCE).for_each(|(y, x)| {
        let product = alpha * x.to_f64();
        *y = Y::from_f64(if beta == 0.0 { product } else { product + beta * y.to_f64() });
    });
    Ok(())
}
