//! Aggregates by kernels. The host receives only their number and, per round, whether any node is undecided.

use gpu_kernels::multigrid::aggregates::{AggregateMembers, AggregateRoots, JoinAggregates, NoAggregates};
use gpu_kernels::multigrid::independent_set::{IndependentSetBegin, IndependentSetDecide, IndependentSetNearest};
use host::error::Error;
use host::executor::KernelExecutor;
use host::kernels::{Array, Scan, launch, one_number};
use host::memory::Buffer;

use super::super::graph::Graph;
use super::Aggregates;

/// Makes the same aggregates as the host, with the same numbers. Takes 20 bytes per node besides the result.
///
/// # Errors
/// When memory runs out, or the device fails.
pub(super) fn aggregate<K: KernelExecutor>(
    executor: &K,
    graph: &Graph<K::Memory>,
) -> Result<Aggregates<K::Memory>, Error> {
    let mut of_node = executor.unwritten(graph.nodes())?;
    let kernel = NoAggregates { nodes: graph.nodes() as u32, of_node: of_node.global_mut() };
    // SAFETY: there is one aggregate per node.
    unsafe { launch(executor, executor.device().grid(graph.nodes() as u64), kernel) }?;
    let mut grouping = Grouping { executor, graph, of_node, sizes: executor.unwritten(graph.nodes())?, count: 0 };
    for least in [0, 2] {
        let states = grouping.independent_set()?;
        grouping.found(&states, least)?;
    }
    grouping.joined()
}

/// Aggregates under construction.
struct Grouping<'a, K: KernelExecutor> {
    executor: &'a K,
    graph: &'a Graph<K::Memory>,
    /// The aggregate of each node.
    of_node: Array<K, u32>,
    /// The number of nodes of each aggregate.
    sizes: Array<K, u32>,
    /// Number of aggregates so far.
    count: u32,
}

impl<K: KernelExecutor> Grouping<'_, K> {
    /// Computes the states of all nodes, none of them undecided.
    fn independent_set(&self) -> Result<Array<K, u64>, Error> {
        let Self { executor, graph, ref of_node, .. } = *self;
        let nodes = graph.nodes() as u32;
        let (offsets, neighbours) = (graph.offsets.global(), graph.neighbours.global());
        let mut states = executor.unwritten(graph.nodes())?;
        let mut nearest = executor.unwritten(graph.nodes())?;
        let kernel = IndependentSetBegin {
            nodes,
            offsets,
            of_node: of_node.global(),
            states: states.global_mut(),
            nearest: nearest.global_mut(),
        };
        // SAFETY: the graph is valid, and the arrays have one element per node.
        unsafe { launch(executor, executor.device().grid(nodes.into()), kernel) }?;
        let lanes = graph.lanes();
        let grid = executor.device().grid(u64::from(nodes) * u64::from(lanes));
        for next_round in 1.. {
            let mut undecided = executor.zeros(1)?;
            let nearest_to = IndependentSetNearest {
                nodes,
                lanes,
                offsets,
                neighbours,
                of_node: of_node.global(),
                states: states.global(),
                nearest: nearest.global_mut(),
            };
            // SAFETY: as above; the lanes are a power of two up to 32, and blocks consist of whole warps.
            unsafe { launch(executor, grid, nearest_to) }?;
            let decide = IndependentSetDecide {
                nodes,
                lanes,
                next_round,
                offsets,
                neighbours,
                nearest: nearest.global(),
                states: states.global_mut(),
                undecided: undecided.global_mut(),
            };
            // SAFETY: as above, and there is one flag.
            unsafe { launch(executor, grid, decide) }?;
            if one_number::<K, u32>(executor, &undecided)? == 0 {
                break;
            }
        }
        Ok(states)
    }

    /// Makes an aggregate of each node of the set and its unassigned neighbours, if there are at least `least` of those.
    fn found(&mut self, states: &Array<K, u64>, least: u32) -> Result<(), Error> {
        let Self { executor, graph, of_node, sizes, count } = self;
        let nodes = graph.nodes() as u32;
        let (offsets, neighbours) = (graph.offsets.global(), graph.neighbours.global());
        let grid = executor.device().grid(nodes.into());
        let mut roots = executor.unwritten(graph.nodes())?;
        let kernel = AggregateRoots {
            nodes,
            least,
            offsets,
            neighbours,
            states: states.global(),
            of_node: of_node.global(),
            roots: roots.global_mut(),
        };
        // SAFETY: the graph is valid, and the arrays have one element per node.
        unsafe { launch(*executor, grid, kernel) }?;
        let scan = Scan::new(*executor, &roots)?;
        let numbers = scan.offsets_of::<u32>(1)?;
        let kernel = AggregateMembers {
            nodes,
            before: *count,
            offsets,
            neighbours,
            roots: roots.global(),
            numbers: numbers.global(),
            of_node: of_node.global_mut(),
            sizes: sizes.global_mut(),
        };
        // SAFETY: as above; the graph is symmetric. Roots are from an independent set, so they were in no aggregate, and no
        // two are within two steps over candidates. Candidates are all nodes in no aggregate that have neighbours, as any
        // node between two roots has. Each aggregate has its own root, so there are at most as many as nodes.
        unsafe { launch(*executor, grid, kernel) }?;
        *count += scan.total() as u32;
        Ok(())
    }

    /// Adds the remaining nodes to neighbouring aggregates.
    fn joined(self) -> Result<Aggregates<K::Memory>, Error> {
        let Self { executor, graph, of_node: before, sizes, count } = self;
        let (nodes, lanes) = (graph.nodes() as u32, graph.lanes());
        let mut of_node = executor.unwritten(graph.nodes())?;
        let kernel = JoinAggregates {
            nodes,
            lanes,
            offsets: graph.offsets.global(),
            neighbours: graph.neighbours.global(),
            sizes: sizes.global(),
            before: before.global(),
            of_node: of_node.global_mut(),
        };
        let grid = executor.device().grid(u64::from(nodes) * u64::from(lanes));
        // SAFETY: the graph is valid, the arrays have one element per node, and each aggregate has its size; the lanes are
        // a power of two up to 32, and blocks consist of whole warps.
        unsafe { launch(executor, grid, kernel) }?;
        Ok(Aggregates { count: count as usize, of_node })
    }
}
