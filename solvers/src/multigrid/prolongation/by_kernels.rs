//! Prolongations by kernels.

use host::error::Error;
use host::executor::KernelExecutor;
use host::format::Csr;
use host::real::Scalar;

use super::super::aggregation::Aggregates;
use super::super::graph::{Graph, Nodes};
use super::super::near_null_space::Vectors;
use super::{SmoothingOperands, Tentative, on_host};

pub(super) fn tentative<W: Scalar<Real = f64>, K: KernelExecutor>(
    executor: &K,
    nodes: &Nodes<K::Memory>,
    aggregates: &Aggregates<K::Memory>,
    near_null_space: &Vectors<W, K::Memory>,
) -> Result<Tentative<W, K::Memory>, Error> {
    let nodes = Nodes { first: executor.download(&nodes.first)?, of_unknown: executor.download(&nodes.of_unknown)? };
    let aggregates = Aggregates { count: aggregates.count, of_node: executor.download(&aggregates.of_node)? };
    let elements = executor.download(&near_null_space.elements)?;
    let near_null_space = Vectors { count: near_null_space.count, elements };
    let Tentative { prolongation, nodes, near_null_space } = on_host::tentative(&nodes, &aggregates, &near_null_space)?;
    Ok(Tentative {
        prolongation: prolongation.upload(executor)?,
        nodes: nodes.upload(executor)?,
        near_null_space: Vectors { count: near_null_space.count, elements: executor.upload(near_null_space.elements)? },
    })
}

pub(super) fn smoothing<W: Scalar<Real = f64>, K: KernelExecutor>(
    executor: &K,
    operands: SmoothingOperands<'_, W, K::Memory>,
) -> Result<Csr<W, K::Memory>, Error> {
    let SmoothingOperands { matrix, nodes, graph, inverse_diagonal, largest } = operands;
    let nodes = Nodes { first: executor.download(&nodes.first)?, of_unknown: executor.download(&nodes.of_unknown)? };
    let graph =
        Graph { offsets: executor.download(&graph.offsets)?, neighbours: executor.download(&graph.neighbours)? };
    let filtered = on_host::filtered(&matrix.to_host(executor)?, &nodes, &graph)?;
    on_host::smoothing(filtered, &executor.download(inverse_diagonal)?, largest)?.upload(executor)
}
