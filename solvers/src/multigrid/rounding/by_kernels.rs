//! Rounding by kernels.

use host::error::Error;
use host::executor::KernelExecutor;
use host::memory::{Memory, collect};
use host::real::Scalar;

pub(super) fn rounded<T: Scalar, K: KernelExecutor>(
    executor: &K,
    elements: &<K::Memory as Memory>::Buffer<T::Wide>,
) -> Result<<K::Memory as Memory>::Buffer<T>, Error> {
    executor.upload(collect(executor.download(elements)?.into_iter().map(T::from_wide))?)
}
