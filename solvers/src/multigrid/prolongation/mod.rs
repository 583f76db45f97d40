//! Prolongations from a coarse level to a fine one.

#[allow(unsafe_code, reason = "it launches kernels")]
mod by_kernels;
mod on_host;

use std::marker::PhantomData;

use host::error::Error;
use host::executor::operation::{Arithmetic, KernelExecutor, Operation};
use host::format::Csr;
use host::memory::{HostMemory, Memory};
use host::real::Scalar;

use super::aggregation::Aggregates;
use super::graph::{Graph, Nodes};
use super::near_null_space::Vectors;

/// Within an aggregate, a vector counts as dependent on the previous ones if less than this share of its norm remains
/// orthogonal to them.
const DEPENDENT: f64 = 1e-8;

/// The weight of the smoothing step, times the inverse of the largest eigenvalue (Vaněk, Mandel & Brezina 1996, §4).
const WEIGHT: f64 = 4.0 / 3.0;

/// The coarse level that aggregates define.
pub(super) struct Tentative<W: Scalar, M: Memory = HostMemory> {
    /// Constant on the aggregates: its columns are orthonormal.
    pub(super) prolongation: Csr<W, M>,
    /// The nodes of the coarse level, one per aggregate.
    pub(super) nodes: Nodes<M>,
    pub(super) near_null_space: Vectors<W, M>,
}

/// The tentative prolongation (Vaněk, Mandel & Brezina 1996, §3): the near-null-space vectors, cut into aggregates and
/// orthonormalized in each, without those that depend on others. O(rows · vectors²).
pub(super) struct TentativeProlongation<W>(PhantomData<W>);

impl<W: Scalar<Real = f64>> Operation for TentativeProlongation<W> {
    type Operands<'a, M: Memory> = (&'a Nodes<M>, &'a Aggregates<M>, &'a Vectors<W, M>);
    type Output<M: Memory> = Tentative<W, M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (nodes, aggregates, near_null_space): Self::Operands<'_, K::Memory>,
    ) -> Result<Tentative<W, K::Memory>, Error> {
        by_kernels::tentative(executor, nodes, aggregates, near_null_space)
    }

    fn on_host(
        _: Arithmetic,
        (nodes, aggregates, near_null_space): Self::Operands<'_, HostMemory>,
    ) -> Result<Tentative<W>, Error> {
        on_host::tentative(nodes, aggregates, near_null_space)
    }
}

/// I − ω / λ D⁻¹ A_F, which smooths the tentative prolongation. A_F is the matrix without weak connections, which are added
/// to the diagonals of their rows. The last two operands are the inverse of the diagonal before that, and the largest
/// eigenvalue λ. D has the larger diagonal element of before and after: a smaller one, perhaps 0, would smooth too much.
/// Each row of the result has a diagonal entry, and its columns are sorted like those of the matrix. O(nnz).
pub(super) struct SmoothingMatrix<W>(PhantomData<W>);

/// The operands of [`SmoothingMatrix`].
pub(super) struct SmoothingOperands<'a, W: Scalar, M: Memory> {
    pub(super) matrix: &'a Csr<W, M>,
    pub(super) nodes: &'a Nodes<M>,
    pub(super) graph: &'a Graph<M>,
    pub(super) inverse_diagonal: &'a M::Buffer<W>,
    pub(super) largest: f64,
}

impl<W: Scalar<Real = f64>> Operation for SmoothingMatrix<W> {
    type Operands<'a, M: Memory> = SmoothingOperands<'a, W, M>;
    type Output<M: Memory> = Csr<W, M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        operands: Self::Operands<'_, K::Memory>,
    ) -> Result<Csr<W, K::Memory>, Error> {
        by_kernels::smoothing(executor, operands)
    }

    fn on_host(_: Arithmetic, operands: Self::Operands<'_, HostMemory>) -> Result<Csr<W>, Error> {
        let SmoothingOperands { matrix, nodes, graph, inverse_diagonal, largest } = operands;
        on_host::smoothing(on_host::filtered(matrix, nodes, graph)?, inverse_diagonal, largest)
    }
}
