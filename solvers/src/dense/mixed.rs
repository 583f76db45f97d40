//! Vectors of two precisions.

use std::marker::PhantomData;

use cuda_std::launch::Launch;
use gpu_kernels::dense::mixed::MixedAxpby;
use host::device::Device;
use host::error::{Error, check_length};
use host::executor::operation::{Arithmetic, KernelExecutor, Operation};
use host::memory::{Buffer, HostMemory, Memory};
use host::parallel;
use host::real::{Real, Scalar, parts_of, parts_of_mut};

/// Parts of elements that a CPU thread takes at a time.
const ELEMENTS_AT_ONCE: usize = 4096;

/// y ← α x + β y for vectors of two precisions.
pub struct MixedUpdate<X, Y>(PhantomData<(X, Y)>);

impl<X: Scalar, Y: Scalar<Wide = X::Wide>> Operation for MixedUpdate<X, Y> {
    type Operands<'a, M: Memory> = MixedOperands<'a, X, Y, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: MixedOperands<'_, X, Y, K::Memory>) -> Result<(), Error> {
        let launch = launch(operands, executor.device())?;
        // SAFETY: the lengths were checked, the arrays are borrowed, y exclusively.
        unsafe { executor.launch(&launch) }
    }

    fn on_host(_: Arithmetic, operands: MixedOperands<'_, X, Y, HostMemory>) -> Result<(), Error> {
        update_on_host(operands)
    }
}

/// The operands of [`MixedUpdate`], y ← α x + β y, computed in 64 bits and rounded once to y's precision. With β = 0, y is
/// overwritten and never read.
pub struct MixedOperands<'a, X: Scalar, Y: Scalar<Wide = X::Wide>, M: Memory> {
    /// The factor of x.
    pub alpha: f64,
    /// The vector that is added.
    pub x: &'a M::Buffer<X>,
    /// The factor of y.
    pub beta: f64,
    /// The result.
    pub y: &'a mut M::Buffer<Y>,
}

/// Returns the launch of y ← α x + β y.
fn launch<X: Scalar, Y: Scalar<Wide = X::Wide>, M: Memory>(
    operands: MixedOperands<'_, X, Y, M>,
    device: &Device,
) -> Result<Launch, Error> {
    let MixedOperands { alpha, x, beta, y } = operands;
    check_length("y", y.len(), x.len())?;
    let count = (x.len() * X::PARTS) as u64;
    let kernel = MixedAxpby { count, alpha, x: x.global_parts(), beta, y: y.global_parts_mut() };
    Ok(Launch::new(device.grid(count), kernel))
}

/// y ← α x + β y on the host.
fn update_on_host<X: Scalar, Y: Scalar<Wide = X::Wide>>(
    operands: MixedOperands<'_, X, Y, HostMemory>,
) -> Result<(), Error> {
    let MixedOperands { alpha, x, beta, y } = operands;
    check_length("y", y.len(), x.len())?;
    let x = parts_of(x);
    parallel::chunks_mut(parts_of_mut(y), ELEMENTS_AT_ONCE, 1, &|(chunk, y)| {
        for (y, x) in y.iter_mut().zip(&x[chunk * ELEMENTS_AT_ONCE..]) {
            let product = alpha * x.to_f64();
            *y = Y::Real::from_f64(if beta == 0.0 { product } else { product + beta * y.to_f64() });
        }
    });
    Ok(())
}
