//! Aggregates by kernels.

use host::error::Error;
use host::executor::KernelExecutor;

use super::super::graph::Graph;
use super::{Aggregates, on_host};

pub(super) fn aggregate<K: KernelExecutor>(
    executor: &K,
    graph: &Graph<K::Memory>,
) -> Result<Aggregates<K::Memory>, Error> {
    let graph =
        Graph { offsets: executor.download(&graph.offsets)?, neighbours: executor.download(&graph.neighbours)? };
    let Aggregates { count, of_node } = on_host::aggregate(&graph)?;
    Ok(Aggregates { count, of_node: executor.upload(of_node)? })
}
