//! Connections by kernels.

use host::error::Error;
use host::executor::KernelExecutor;
use host::format::Csr;
use host::real::Scalar;

use super::super::graph::{Graph, Nodes};
use super::on_host;

pub(super) fn strong_connections<W: Scalar<Real = f64>, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<W, K::Memory>,
    nodes: &Nodes<K::Memory>,
    threshold: f64,
) -> Result<Graph<K::Memory>, Error> {
    let nodes = Nodes { first: executor.download(&nodes.first)?, of_unknown: executor.download(&nodes.of_unknown)? };
    let graph = on_host::strong_connections(&matrix.to_host(executor)?, &nodes, threshold)?;
    Ok(Graph { offsets: executor.upload(graph.offsets)?, neighbours: executor.upload(graph.neighbours)? })
}
