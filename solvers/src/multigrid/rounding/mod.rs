//! Conversion of levels from 64 bits, in which they are set up, to the type of the matrix, in which they are used.

#[allow(unsafe_code, reason = "it launches kernels")]
mod by_kernels;

use std::any::Any;
use std::marker::PhantomData;

use host::error::Error;
use host::executor::Executor;
use host::executor::operation::{Arithmetic, KernelExecutor, Operation};
use host::format::Csr;
use host::memory::{Memory, collect};
use host::plan::Vector;
use host::real::Scalar;

/// Rounds elements to nearest.
struct Round<T>(PhantomData<T>);

impl<T: Scalar> Operation for Round<T> {
    type Operands<'a, M: Memory> = &'a M::Buffer<T::Wide>;
    type Output<M: Memory> = M::Buffer<T>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        elements: &<K::Memory as Memory>::Buffer<T::Wide>,
    ) -> Result<<K::Memory as Memory>::Buffer<T>, Error> {
        by_kernels::rounded::<T, K>(executor, elements)
    }

    fn on_host(_: Arithmetic, elements: &Vec<T::Wide>) -> Result<Vec<T>, Error> {
        collect(elements.iter().map(|&element| T::from_wide(element)))
    }
}

/// Returns a vector in the type `T`; unchanged if it has that type.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(super) fn rounded_vector<T: Scalar, E: Executor>(
    executor: &E,
    vector: Vector<T::Wide, E>,
) -> Result<Vector<T, E>, Error> {
    match (Box::new(vector) as Box<dyn Any>).downcast::<Vector<T, E>>() {
        Ok(same) => Ok(*same),
        Err(other) => match other.downcast_ref::<Vector<T::Wide, E>>() {
            Some(vector) => executor.run::<Round<T>>(vector),
            None => Err(Error::Operator { operation: "a vector of 64 bits" }),
        },
    }
}

/// Returns a matrix in the type `T`; unchanged if it has that type.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(super) fn rounded_matrix<T: Scalar, E: Executor>(
    executor: &E,
    matrix: Csr<T::Wide, E::Memory>,
) -> Result<Csr<T, E::Memory>, Error> {
    matrix.with_values(|values| rounded_vector::<T, E>(executor, values))
}
