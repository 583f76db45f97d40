//! What the finest level starts from when nothing else is given: nodes of equal size, and constants on them.

#[allow(unsafe_code, reason = "it launches kernels")]
mod by_kernels;

use std::marker::PhantomData;

use host::error::Error;
use host::executor::operation::{Arithmetic, KernelExecutor, Operation};
use host::memory::{HostMemory, Memory, zeros};
use host::parallel;
use host::real::Scalar;

use super::AT_ONCE;
use super::graph::Nodes;

/// Creates nodes of equal size. Its operands are the number of unknowns of a node and of all, a multiple of it.
pub(super) struct EqualNodes;

impl Operation for EqualNodes {
    type Operands<'a, M: Memory> = (usize, usize);
    type Output<M: Memory> = Nodes<M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (size, unknowns): (usize, usize),
    ) -> Result<Nodes<K::Memory>, Error> {
        Nodes::<HostMemory>::check_size(size, unknowns)?;
        by_kernels::equal_nodes(executor, size, unknowns)
    }

    fn on_host(_: Arithmetic, (size, unknowns): (usize, usize)) -> Result<Nodes, Error> {
        Nodes::of_size(size, unknowns)
    }
}

/// Creates, by rows, the vectors that are 1 in one unknown of every node and 0 in the others. Its operands are the number of
/// rows and of vectors, which is also that of a node's unknowns.
pub(super) struct ConstantVectors<W>(PhantomData<W>);

impl<W: Scalar> Operation for ConstantVectors<W> {
    type Operands<'a, M: Memory> = (usize, usize);
    type Output<M: Memory> = M::Buffer<W>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (rows, vectors): (usize, usize),
    ) -> Result<<K::Memory as Memory>::Buffer<W>, Error> {
        by_kernels::constant_vectors(executor, rows, vectors)
    }

    fn on_host(_: Arithmetic, (rows, vectors): (usize, usize)) -> Result<Vec<W>, Error> {
        let mut elements = zeros::<W>(rows.saturating_mul(vectors))?;
        parallel::chunks_mut(&mut elements, AT_ONCE * vectors, 1, &|(chunk, elements)| {
            for (row, elements) in (chunk * AT_ONCE..).zip(elements.chunks_exact_mut(vectors)) {
                elements[row % vectors] = W::ONE;
            }
        });
        Ok(elements)
    }
}
