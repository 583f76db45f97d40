//! Elements of other ranks on their way into an executor's memory.

use std::marker::PhantomData;
use std::mem;

use host::Scalar;
use host::error::Error;
use host::executor::{Arithmetic, KernelExecutor, Operation};
use host::memory::{HostMemory, Memory};

/// Moves received elements into an executor's memory. They replace those of the last time, which may be returned.
pub(crate) struct Unpack<T>(PhantomData<T>);

impl<T: Scalar> Operation for Unpack<T> {
    type Operands<'a, M: Memory> = (&'a mut Vec<T>, &'a mut M::Buffer<T>);
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (received, elements): Self::Operands<'_, K::Memory>,
    ) -> Result<(), Error> {
        *elements = executor.upload(mem::take(received))?;
        Ok(())
    }

    fn on_host(_: Arithmetic, (received, elements): Self::Operands<'_, HostMemory>) -> Result<(), Error> {
        mem::swap(received, elements);
        Ok(())
    }
}
