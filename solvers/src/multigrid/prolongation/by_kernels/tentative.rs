//! The tentative prolongation by kernels.

use gpu_kernels::multigrid::tentative::{
    AggregateKeys, CoarseVectors, NodePlaces, NodeSizes, OrthonormalVectors, TentativeBasis, TentativeEntries,
    TentativeLengths,
};
use host::error::{Error, check_length};
use host::executor::KernelExecutor;
use host::format::LARGEST_DIMENSION;
use host::kernels::{Array, Scan, Sorted, csr_unchecked, launch, sorted_by};
use host::memory::Buffer;
use host::real::Scalar;

use super::super::super::aggregation::Aggregates;
use super::super::super::graph::Nodes;
use super::super::super::near_null_space::{MOST_VECTORS, Vectors};
use super::super::{DEPENDENT, Tentative};

/// [`TentativeProlongation`](super::super::TentativeProlongation) by kernels: nodes are sorted by aggregate, one thread
/// orthonormalizes the vectors of an aggregate, and one thread writes a row. Takes a copy of the vectors, their number
/// squared per aggregate, and up to 32 bytes per node and 12 per row.
///
/// # Errors
/// When the operands do not fit each other, there are too many coarse unknowns, memory runs out, or the device fails.
pub(in super::super) fn tentative<W: Scalar<Real = f64>, K: KernelExecutor>(
    executor: &K,
    nodes: &Nodes<K::Memory>,
    aggregates: &Aggregates<K::Memory>,
    near_null_space: &Vectors<W, K::Memory>,
) -> Result<Tentative<W, K::Memory>, Error> {
    let (rows, vectors) = (nodes.of_unknown.len(), near_null_space.count);
    check_length("the array of aggregates", aggregates.of_node.len(), nodes.len())?;
    check_length("the array of near-null-space vectors", near_null_space.elements.len(), rows.saturating_mul(vectors))?;
    if !(1..=MOST_VECTORS).contains(&vectors) {
        let (what, value) = ("the number of near-null-space vectors", vectors.to_string());
        return Err(Error::Setting { what, value, expected: "1 to 32" });
    }
    let counted =
        [("number of rows", rows), ("number of nodes", nodes.len()), ("number of aggregates", aggregates.count)];
    for (what, value) in counted {
        dimension(what, value as u64)?;
    }
    let order = Order::new(executor, nodes, aggregates)?;
    let Orthonormal { basis, factors, counts, kept } = order.orthonormal(executor, near_null_space)?;
    let scan = Scan::new(executor, &counts)?;
    let unknowns = dimension("number of columns", scan.total())?;
    let first = scan.offsets_of::<u32>(1)?;
    let grid = executor.device().grid(rows as u64);
    let mut lengths = executor.unwritten(rows)?;
    let kernel = TentativeLengths {
        rows: rows as u32,
        of_unknown: nodes.of_unknown.global(),
        of_node: aggregates.of_node.global(),
        counts: counts.global(),
        lengths: lengths.global_mut(),
    };
    // SAFETY: `Nodes` and `Aggregates` guarantee the kernel's preconditions, each node has an aggregate or none and each
    // aggregate a count, and `lengths` has one element per row.
    unsafe { launch(executor, grid, kernel) }?;
    let of_rows = Scan::new(executor, &lengths)?;
    let offsets = of_rows.offsets_of::<u64>(1)?;
    let mut columns = executor.unwritten(of_rows.total() as usize)?;
    let mut values = executor.unwritten::<W>(of_rows.total() as usize)?;
    let kernel = TentativeEntries {
        rows: rows as u32,
        vectors: vectors as u32,
        of_unknown: nodes.of_unknown.global(),
        first: nodes.first.global(),
        places: order.places.global(),
        of_node: aggregates.of_node.global(),
        kept: kept.global(),
        first_unknowns: first.global(),
        basis: basis.global(),
        offsets: offsets.global(),
        columns: columns.global_mut(),
        values: values.global_mut(),
    };
    // SAFETY: as for the lengths, whose prefix sums the offsets are. `counts` has the number of bits of each of `kept`,
    // `first` their prefix sums, and `basis` one row per slot of an unknown.
    unsafe { launch(executor, grid, kernel) }?;
    drop((offsets, basis));
    let offsets = of_rows.offsets(1)?;
    // SAFETY: the offsets are those of the entries that the kernel has written, whose columns are those of their
    // aggregates, in ascending order and below the sum of all counts.
    let prolongation = unsafe { csr_unchecked(rows, unknowns, offsets, columns, values) };
    let mut of_unknown = executor.unwritten(unknowns)?;
    let mut elements = executor.unwritten::<W>(unknowns * vectors)?;
    let kernel = CoarseVectors {
        aggregates: aggregates.count as u32,
        vectors: vectors as u32,
        kept: kept.global(),
        first_unknowns: first.global(),
        factors: factors.global(),
        of_unknown: of_unknown.global_mut(),
        elements: elements.global_mut(),
    };
    // SAFETY: there is one factor per aggregate, and the new arrays have the length of the sum of all counts.
    unsafe { launch(executor, executor.device().grid(aggregates.count as u64), kernel) }?;
    Ok(Tentative {
        prolongation,
        nodes: Nodes { first, of_unknown },
        near_null_space: Vectors { count: vectors, elements },
    })
}

/// Checks that a number is a valid dimension.
fn dimension(what: &'static str, value: u64) -> Result<usize, Error> {
    match usize::try_from(value) {
        Ok(value) if value <= LARGEST_DIMENSION => Ok(value),
        _ => Err(Error::TooLarge { what, value: value.into(), limit: LARGEST_DIMENSION as u128 }),
    }
}

/// Nodes in the order of their aggregates, followed by those in none.
struct Order<'a, K: KernelExecutor> {
    nodes: &'a Nodes<K::Memory>,
    /// Number of aggregates.
    aggregates: u32,
    /// The sort keys.
    keys: Array<K, u32>,
    /// The offset of each node in this order, and the end of the last one.
    begins: Array<K, u32>,
    /// The offset of each node, by node number.
    places: Array<K, u32>,
}

/// The near-null-space vectors, orthonormal in each aggregate.
struct Orthonormal<W: Scalar, K: KernelExecutor> {
    /// In the order of aggregates, by rows.
    basis: Array<K, W>,
    /// The factor of each aggregate.
    factors: Array<K, W>,
    /// Number of vectors kept per aggregate.
    counts: Array<K, u32>,
    /// The vectors kept, as a bit mask.
    kept: Array<K, u32>,
}

impl<'a, K: KernelExecutor> Order<'a, K> {
    /// Sorts the nodes. Each is in an aggregate or in none; there are fewer than 2^31 nodes and aggregates.
    fn new(executor: &K, nodes: &'a Nodes<K::Memory>, of_nodes: &Aggregates<K::Memory>) -> Result<Self, Error> {
        let (count, aggregates) = (nodes.len(), of_nodes.count as u32);
        let grid = executor.device().grid(count as u64);
        let mut keys = executor.unwritten(count)?;
        let kernel = AggregateKeys {
            nodes: count as u32,
            aggregates,
            of_node: of_nodes.of_node.global(),
            keys: keys.global_mut(),
        };
        // SAFETY: both arrays have one element per node, and `Aggregates` guarantees numbers below `count`.
        unsafe { launch(executor, grid, kernel) }?;
        let Sorted { rows: order, keys } = sorted_by(executor, keys)?;
        let mut sizes = executor.unwritten(count)?;
        let kernel = NodeSizes {
            nodes: count as u32,
            order: order.global(),
            first: nodes.first.global(),
            sizes: sizes.global_mut(),
        };
        // SAFETY: sorting keeps each node once, and `Nodes` guarantees that offsets never decrease.
        unsafe { launch(executor, grid, kernel) }?;
        let begins: Array<K, u32> = Scan::new(executor, &sizes)?.offsets_of(1)?;
        let mut places = executor.unwritten(count)?;
        let kernel = NodePlaces {
            nodes: count as u32,
            order: order.global(),
            begins: begins.global(),
            places: places.global_mut(),
        };
        // SAFETY: each node occurs once, and has an element; `begins` has one per node and one more.
        unsafe { launch(executor, grid, kernel) }?;
        Ok(Self { nodes, aggregates, keys, begins, places })
    }

    /// Orthonormalizes the vectors, which have one row per unknown of the nodes.
    fn orthonormal<W: Scalar<Real = f64>>(
        &self,
        executor: &K,
        vectors: &Vectors<W, K::Memory>,
    ) -> Result<Orthonormal<W, K>, Error> {
        let (device, unknowns, aggregates) = (executor.device(), self.nodes.of_unknown.len(), self.aggregates as usize);
        let mut basis = executor.unwritten::<W>(vectors.elements.len())?;
        let kernel = TentativeBasis {
            unknowns: unknowns as u32,
            vectors: vectors.count as u32,
            of_unknown: self.nodes.of_unknown.global(),
            first: self.nodes.first.global(),
            places: self.places.global(),
            elements: vectors.elements.global(),
            basis: basis.global_mut(),
        };
        // SAFETY: there is at least one vector, with one row per unknown; each unknown is in a node, as `Nodes` guarantees,
        // so each has its own slot below their number.
        unsafe { launch(executor, device.grid(vectors.elements.len() as u64), kernel) }?;
        let mut factors = executor.zeros::<W>(aggregates.saturating_mul(vectors.count * vectors.count))?;
        let (mut counts, mut kept) = (executor.unwritten(aggregates)?, executor.unwritten(aggregates)?);
        let kernel = OrthonormalVectors {
            aggregates: self.aggregates,
            nodes: self.nodes.len() as u32,
            vectors: vectors.count as u32,
            dependent: DEPENDENT,
            keys: self.keys.global(),
            begins: self.begins.global(),
            basis: basis.global_mut(),
            factors: factors.global_mut(),
            counts: counts.global_mut(),
            kept: kept.global_mut(),
        };
        // SAFETY: the keys are sorted, `begins` are prefix sums of the nodes' sizes in that order, and their total is the
        // number of rows of the basis; factors are zeros, and the other arrays have one element per aggregate. There are 1
        // to 32 vectors.
        unsafe { launch(executor, device.grid(aggregates as u64), kernel) }?;
        Ok(Orthonormal { basis, factors, counts, kept })
    }
}

#[cfg(test)]
mod tests {
    use host::Complex;

    use super::super::super::super::aggregation::NONE;
    use super::super::super::super::examples::{assert_same, bits, emulators, mixed, nodes, value};
    use super::super::super::on_host;
    use super::*;

    /// Random aggregates of about `size` nodes each.
    fn aggregates(nodes: usize, size: usize) -> Aggregates {
        let count = nodes.div_ceil(size);
        let aggregate = |node| match mixed(node) % 9 {
            0 => NONE,
            _ => (mixed(node + (1 << 30)) % count as u64) as u32,
        };
        Aggregates { count, of_node: (0..nodes as u64).map(aggregate).collect() }
    }

    fn check<W: Scalar<Real = f64>>(nodes: &Nodes, aggregates: &Aggregates, vectors: &Vectors<W>) {
        let expected = on_host::tentative(nodes, aggregates, vectors).unwrap();
        for executor in emulators() {
            let found = tentative(&executor, nodes, aggregates, vectors).unwrap();
            assert_same(&found.prolongation, &expected.prolongation);
            assert_eq!(found.nodes.first, expected.nodes.first);
            assert_eq!(found.nodes.of_unknown, expected.nodes.of_unknown);
            assert_eq!(found.near_null_space.count, expected.near_null_space.count);
            assert_eq!(bits(&found.near_null_space.elements), bits(&expected.near_null_space.elements));
        }
    }

    /// Vectors of which every third is the sum of the previous two, in some rows.
    fn vectors<W: Scalar<Real = f64>>(rows: usize, count: usize) -> Vectors<W> {
        let mut elements: Vec<W> = (0..(rows * count) as u64).map(value).collect();
        for (row, elements) in elements.chunks_exact_mut(count).enumerate() {
            for vector in (2..count).step_by(3).filter(|_| row % 64 < 40) {
                elements[vector] = elements[vector - 2] + elements[vector - 1];
            }
        }
        Vectors { count, elements }
    }

    #[test]
    fn prolongations_are_the_hosts() {
        for node in 0..4 {
            for rows in [0, 1, 7, 300] {
                let nodes = nodes(rows, node);
                for (size, count) in [(1, 1), (3, 1), (8, 3), (2, 6), (30, 7), (40, 32)] {
                    let aggregates = aggregates(nodes.len(), size);
                    check(&nodes, &aggregates, &vectors::<f64>(rows as usize, count));
                    check(&nodes, &aggregates, &vectors::<Complex<f64>>(rows as usize, count));
                }
            }
        }
    }

    #[test]
    fn vectors_of_zeros_and_strange_numbers_are_the_hosts() {
        let nodes = nodes(200, 2);
        let mut aggregates = aggregates(100, 6);
        for strange in [0.0, f64::MAX, 1e-200, f64::INFINITY] {
            let mut vectors = vectors::<f64>(200, 4);
            vectors.elements.iter_mut().step_by(4).for_each(|element| *element = 0.0);
            vectors.elements.iter_mut().skip(1).step_by(20).for_each(|element| *element = strange);
            let expected = on_host::tentative(&nodes, &aggregates, &vectors).unwrap();
            for executor in emulators() {
                let found = tentative(&executor, &nodes, &aggregates, &vectors).unwrap();
                assert_eq!(found.nodes.first, expected.nodes.first, "{strange}");
                assert_eq!(found.prolongation.column_indices(), expected.prolongation.column_indices());
            }
        }
        // All nodes in no aggregate.
        aggregates.of_node.fill(NONE);
        check(&nodes, &aggregates, &vectors::<f64>(200, 3));
    }

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let nodes = nodes(20, 2);
        for executor in emulators() {
            let refused = |of_nodes, rows, count| {
                let result = tentative(&executor, &nodes, &aggregates(of_nodes, 3), &vectors::<f64>(rows, count));
                result.map(drop).unwrap_err().to_string()
            };
            assert_eq!(refused(9, 20, 1), "the array of aggregates has length 9, expected 10");
            assert_eq!(refused(10, 19, 2), "the array of near-null-space vectors has length 38, expected 40");
            let many = "the number of near-null-space vectors is 33, expected 1 to 32";
            assert_eq!(refused(10, 20, 33), many);
        }
    }
}
