//! Strong connections between nodes.

#[allow(unsafe_code, reason = "it launches kernels")]
mod by_kernels;
mod on_host;
#[cfg(all(test, not(miri)))]
mod tests;

use std::marker::PhantomData;

use host::error::Error;
use host::executor::operation::{Arithmetic, KernelExecutor, Operation};
use host::format::Csr;
use host::memory::{HostMemory, Memory};
use host::real::Scalar;

use super::graph::{Graph, Nodes};

/// The graph of strong connections of a matrix with sorted rows, as defined at
/// [`Multigrid::strength`](super::Multigrid::strength), the last operand. Connections that are strong in one direction
/// count in both. O(nnz).
pub(super) struct StrongConnections<W>(PhantomData<W>);

impl<W: Scalar<Real = f64>> Operation for StrongConnections<W> {
    type Operands<'a, M: Memory> = (&'a Csr<W, M>, &'a Nodes<M>, f64);
    type Output<M: Memory> = Graph<M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (matrix, nodes, threshold): Self::Operands<'_, K::Memory>,
    ) -> Result<Graph<K::Memory>, Error> {
        by_kernels::strong_connections(executor, matrix, nodes, threshold)
    }

    fn on_host(_: Arithmetic, (matrix, nodes, threshold): Self::Operands<'_, HostMemory>) -> Result<Graph, Error> {
        on_host::strong_connections(matrix, nodes, threshold)
    }
}
