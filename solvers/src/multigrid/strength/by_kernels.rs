//! Connections by kernels. The host receives only their number, and the kinds of nodes and pattern.

use cuda_std::Global;
use gpu_kernels::multigrid::connections::{
    BothColumns, BothLengths, EntrySquares, LargestSquares, NodesOfColumns, OneWayConnections, StrongColumns,
    StrongLengths, UnknownsBesideNodes, UnknownsOfNodes,
};
use host::error::{Error, check_length};
use host::executor::KernelExecutor;
use host::format::{Csr, Offsets};
use host::kernels::{Array, Scan, csr_unchecked, launch, one_number, wide};
use host::memory::Buffer;
use host::real::Scalar;
use host::sparse_product::SparseProduct;

use super::super::graph::{Graph, Nodes, lanes};

/// Computes the same connections as the host. Takes 8 bytes per entry; if nodes have several unknowns, 12 and the blocks;
/// if connections are strong in one direction only, two more copies of the graph.
///
/// # Errors
/// When the nodes are those of another matrix, memory runs out, or the device fails.
pub(super) fn strong_connections<W: Scalar<Real = f64>, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<W, K::Memory>,
    nodes: &Nodes<K::Memory>,
    threshold: f64,
) -> Result<Graph<K::Memory>, Error> {
    check_length("the unknowns of all nodes", nodes.of_unknown.len(), matrix.rows())?;
    check_length("each row of the matrix", matrix.columns(), matrix.rows())?;
    let squares = entry_squares(executor, matrix)?;
    let graph = if are_unknowns(executor, nodes)? {
        let (offsets, columns) = (wide(executor, matrix.row_offsets())?, matrix.column_indices());
        strong(executor, nodes.len(), offsets.global(), columns, &squares, threshold)
    } else {
        let blocks = blocks(executor, matrix, nodes, squares)?;
        let (offsets, columns) = (wide(executor, blocks.row_offsets())?, blocks.column_indices());
        strong(executor, nodes.len(), offsets.global(), columns, blocks.values(), threshold)
    }?;
    if is_mutual(executor, &graph)? { Ok(graph) } else { with_transpose(executor, graph) }
}

/// Returns the squared magnitude of each entry.
pub(super) fn entry_squares<W: Scalar<Real = f64>, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<W, K::Memory>,
) -> Result<Array<K, f64>, Error> {
    let count = matrix.nnz() as u64;
    let mut squares = executor.unwritten(matrix.nnz())?;
    let kernel = EntrySquares {
        count,
        parts: W::PARTS as u32,
        values: matrix.values().global_parts(),
        squares: squares.global_mut(),
    };
    // SAFETY: there is a value, of `PARTS` parts, and a square for each entry.
    unsafe { launch(executor, executor.device().grid(count), kernel) }?;
    Ok(squares)
}

/// Returns whether each node has one unknown. Equal numbers do not suffice, as nodes may be empty.
fn are_unknowns<K: KernelExecutor>(executor: &K, nodes: &Nodes<K::Memory>) -> Result<bool, Error> {
    if !nodes.are_unknowns() {
        return Ok(false);
    }
    let unknowns = nodes.len() as u32;
    let mut found = executor.zeros(1)?;
    let kernel = UnknownsBesideNodes { unknowns, of_unknown: nodes.of_unknown.global(), found: found.global_mut() };
    // SAFETY: there is a node for each unknown, equally many of both, and one flag.
    unsafe { launch(executor, executor.device().grid(unknowns.into()), kernel) }?;
    Ok(one_number::<K, u32>(executor, &found)? == 0)
}

/// Returns the squared Frobenius norm of each block: the product of a matrix that adds up the rows of a node's unknowns and
/// the matrix of squared entries, whose columns are the nodes. It adds up in the order of unknowns and, for each, of
/// entries, as the host does.
pub(super) fn blocks<W: Scalar<Real = f64>, K: KernelExecutor>(
    executor: &K,
    matrix: &Csr<W, K::Memory>,
    nodes: &Nodes<K::Memory>,
    squares: Array<K, f64>,
) -> Result<Csr<f64, K::Memory>, Error> {
    let unknowns = matrix.rows();
    let mut columns = executor.unwritten(unknowns)?;
    let mut ones = executor.unwritten(unknowns)?;
    let kernel =
        UnknownsOfNodes { unknowns: unknowns as u32, columns: columns.global_mut(), values: ones.global_mut() };
    // SAFETY: both arrays have one element per unknown.
    unsafe { launch(executor, executor.device().grid(unknowns as u64), kernel) }?;
    let first = Offsets::Narrow(executor.duplicate(&nodes.first)?);
    // SAFETY: each node begins where the previous one ends, the first at 0, and the last one ends at the number of
    // unknowns; the columns count up to that number.
    let sums = unsafe { csr_unchecked(nodes.len(), unknowns, first, columns, ones) };
    let count = matrix.nnz() as u64;
    let mut columns = executor.unwritten(matrix.nnz())?;
    let kernel = NodesOfColumns {
        count,
        columns: matrix.column_indices().global(),
        of_unknown: nodes.of_unknown.global(),
        nodes: columns.global_mut(),
    };
    // SAFETY: the matrix is valid, and each of its columns has a node.
    unsafe { launch(executor, executor.device().grid(count), kernel) }?;
    let offsets = matrix.row_offsets().duplicate(executor)?;
    // SAFETY: the offsets are those of a valid matrix with the same number of rows and entries, and the columns are nodes.
    let squares = unsafe { csr_unchecked(unknowns, nodes.len(), offsets, columns, squares) };
    Ok(SparseProduct::new(executor, &sums, &squares)?.into_matrix())
}

/// Returns the strong connections of a valid square matrix.
fn strong<K: KernelExecutor>(
    executor: &K,
    nodes: usize,
    offsets: Global<u64>,
    columns: &Array<K, u32>,
    squares: &Array<K, f64>,
    threshold: f64,
) -> Result<Graph<K::Memory>, Error> {
    let lanes = lanes(nodes, columns.len());
    let grid = executor.device().grid(nodes as u64 * u64::from(lanes));
    let (nodes, columns, squares) = (nodes as u32, columns.global(), squares.global());
    // Without a threshold, `largest` is not needed.
    let mut largest = executor.unwritten(if threshold > 0.0 { nodes as usize } else { 0 })?;
    if threshold > 0.0 {
        let kernel = LargestSquares { nodes, lanes, offsets, columns, squares, largest: largest.global_mut() };
        // SAFETY: the caller ensures that the matrix is valid; it has as many rows as `largest` has elements; the lanes are
        // a power of two up to 32, and blocks consist of whole warps.
        unsafe { launch(executor, grid, kernel) }?;
    }
    let largest = largest.global();
    let mut lengths = executor.unwritten(nodes as usize)?;
    let kernel =
        StrongLengths { nodes, lanes, threshold, offsets, columns, squares, largest, lengths: lengths.global_mut() };
    // SAFETY: as above, and there is one length per node.
    unsafe { launch(executor, grid, kernel) }?;
    let scan = Scan::new(executor, &lengths)?;
    let begins = scan.offsets_of(1)?;
    let mut neighbours = executor.unwritten(scan.total() as usize)?;
    let kernel = StrongColumns {
        nodes,
        lanes,
        threshold,
        offsets,
        columns,
        squares,
        largest,
        begins: begins.global(),
        neighbours: neighbours.global_mut(),
    };
    // SAFETY: as above, and the lengths were counted in the same way.
    unsafe { launch(executor, grid, kernel) }?;
    Ok(Graph { offsets: begins, neighbours })
}

/// Returns whether each node is a neighbour of all its neighbours.
fn is_mutual<K: KernelExecutor>(executor: &K, graph: &Graph<K::Memory>) -> Result<bool, Error> {
    let (nodes, lanes) = (graph.nodes() as u32, graph.lanes());
    let mut found = executor.zeros(1)?;
    let kernel = OneWayConnections {
        nodes,
        lanes,
        offsets: graph.offsets.global(),
        neighbours: graph.neighbours.global(),
        found: found.global_mut(),
    };
    let grid = executor.device().grid(u64::from(nodes) * u64::from(lanes));
    // SAFETY: the graph consists of some entries of a valid matrix, and there is one flag; the lanes are a power of two up
    // to 32, and blocks consist of whole warps.
    unsafe { launch(executor, grid, kernel) }?;
    Ok(one_number::<K, u32>(executor, &found)? == 0)
}

/// Returns the graph with each connection in both directions.
fn with_transpose<K: KernelExecutor>(executor: &K, graph: Graph<K::Memory>) -> Result<Graph<K::Memory>, Error> {
    let nodes = graph.nodes();
    let Graph { offsets, neighbours } = graph;
    let values = executor.zeros::<f32>(neighbours.len())?;
    // SAFETY: the offsets are the prefix sums of the nodes' numbers of neighbours, which are nodes.
    let own = unsafe { csr_unchecked(nodes, nodes, Offsets::Wide(offsets), neighbours, values) };
    let back = own.transposed_on(executor)?;
    let [of_own, of_back] = [wide(executor, own.row_offsets())?, wide(executor, back.row_offsets())?];
    let offsets = [of_own.global(), of_back.global()];
    let neighbours = [own.column_indices().global(), back.column_indices().global()];
    let grid = executor.device().grid(nodes as u64);
    let mut lengths = executor.unwritten(nodes)?;
    let kernel = BothLengths { nodes: nodes as u32, offsets, neighbours, lengths: lengths.global_mut() };
    // SAFETY: both graphs are valid, a matrix has fewer than 2^32 rows, so that the last row's number is less than the
    // largest 32-bit number, and there is one length per node.
    unsafe { launch(executor, grid, kernel) }?;
    let scan = Scan::new(executor, &lengths)?;
    let begins = scan.offsets_of(1)?;
    let mut all = executor.unwritten(scan.total() as usize)?;
    let kernel =
        BothColumns { nodes: nodes as u32, offsets, neighbours, begins: begins.global(), all: all.global_mut() };
    // SAFETY: as above, and the lengths were counted in the same way.
    unsafe { launch(executor, grid, kernel) }?;
    Ok(Graph { offsets: begins, neighbours: all })
}
