//! Aggregates of nodes by distance-2 independent sets.

#[allow(unsafe_code, reason = "it launches kernels")]
mod by_kernels;
mod on_host;
#[cfg(all(test, not(miri)))]
mod tests;

use gpu_kernels::multigrid::aggregates;
use host::error::Error;
use host::executor::operation::{Arithmetic, KernelExecutor, Operation};
use host::memory::{HostMemory, Memory};

use super::graph::Graph;

/// Marks a node without neighbours, which is in no aggregate.
pub(super) const NONE: u32 = aggregates::NONE;

/// A partition of the nodes that have neighbours.
pub(super) struct Aggregates<M: Memory = HostMemory> {
    pub(super) count: usize,
    /// The aggregate of each node, or [`NONE`]. Kernels rely on there being no other values.
    pub(super) of_node: M::Buffer<u32>,
}

/// Aggregates in two phases (Kelley & Rajamanickam 2022, algorithm 3). First, each root of a distance-2 independent set
/// forms an aggregate with all its neighbours. The second phase repeats this among the remaining nodes, for roots with at
/// least two neighbours there. Nodes that then remain join the aggregate of most of their neighbours. The result is the
/// same on every executor. O(connections) for each of about ten rounds.
pub(super) struct Aggregate;

impl Operation for Aggregate {
    type Operands<'a, M: Memory> = &'a Graph<M>;
    type Output<M: Memory> = Aggregates<M>;

    fn by_kernels<K: KernelExecutor>(executor: &K, graph: &Graph<K::Memory>) -> Result<Aggregates<K::Memory>, Error> {
        by_kernels::aggregate(executor, graph)
    }

    fn on_host(_: Arithmetic, graph: &Graph) -> Result<Aggregates, Error> {
        on_host::aggregate(graph)
    }
}
