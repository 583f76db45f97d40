//! Prolongations by kernels.

mod smoothing;

use host::error::Error;
use host::executor::KernelExecutor;
use host::real::Scalar;

use super::super::aggregation::Aggregates;
use super::super::graph::Nodes;
use super::super::near_null_space::Vectors;
pub(super) use smoothing::smoothing;

use super::{Tentative, on_host};

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
