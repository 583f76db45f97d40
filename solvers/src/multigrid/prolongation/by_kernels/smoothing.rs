//! The smoothing matrix of the tentative prolongation, by kernels.

use gpu_kernels::multigrid::smoothing::{SmoothingEntries, SmoothingLengths};
use host::error::{Error, check_length, check_square};
use host::executor::KernelExecutor;
use host::format::Csr;
use host::kernels::{Scan, csr_unchecked, largest, launch, wide};
use host::memory::Buffer;
use host::real::Scalar;

use super::super::{SmoothingOperands, WEIGHT};

/// [`SmoothingMatrix`](super::super::SmoothingMatrix) by kernels, with one thread per row: a first kernel counts the row's
/// entries and adds up its diagonal, a second one writes it. Takes 4 bytes and a value per row, and 8 bytes per row for
/// each of two arrays of offsets.
///
/// # Errors
/// When the operands do not fit each other, a row has 2^32 - 1 entries, memory runs out, or the device fails.
pub(in super::super) fn smoothing<W: Scalar<Real = f64>, K: KernelExecutor>(
    executor: &K,
    operands: SmoothingOperands<'_, W, K::Memory>,
) -> Result<Csr<W, K::Memory>, Error> {
    let SmoothingOperands { matrix, nodes, graph, inverse_diagonal, largest: eigenvalue } = operands;
    let rows = matrix.rows();
    check_square("the matrix of a level", rows, matrix.columns())?;
    check_length("the array of the unknowns' nodes", nodes.of_unknown.len(), rows)?;
    check_length("the graph", graph.nodes(), nodes.len())?;
    check_length("the inverse of the diagonal", inverse_diagonal.len(), rows)?;
    let (device, offsets) = (executor.device(), wide(executor, matrix.row_offsets())?);
    let (mut lengths, mut diagonal) = (executor.unwritten(rows)?, executor.unwritten::<W>(rows)?);
    let kernel = SmoothingLengths {
        rows: rows as u32,
        offsets: offsets.global(),
        columns: matrix.column_indices().global(),
        values: matrix.values().global(),
        of_unknown: nodes.of_unknown.global(),
        graph_offsets: graph.offsets.global(),
        neighbours: graph.neighbours.global(),
        lengths: lengths.global_mut(),
        diagonal: diagonal.global_mut(),
    };
    // SAFETY: the matrix is valid and square, the nodes' unknowns are its rows and the graph's nodes are theirs, as was
    // checked and as `Nodes` and `Graph` guarantee; the other arrays have one element per row.
    unsafe { launch(executor, device.grid(rows as u64), kernel) }?;
    // A matrix with fewer entries has no such row.
    if matrix.nnz() >= u32::MAX as usize && largest(executor, &lengths)? == u32::MAX {
        let (value, limit) = (matrix.nnz() as u128, u128::from(u32::MAX) - 1);
        return Err(Error::TooLarge { what: "number of entries of a row", value, limit });
    }
    let scan = Scan::new(executor, &lengths)?;
    let new_offsets = scan.offsets_of::<u64>(1)?;
    let mut new_columns = executor.unwritten(scan.total() as usize)?;
    let mut new_values = executor.unwritten(scan.total() as usize)?;
    let kernel = SmoothingEntries {
        rows: rows as u32,
        weight: -WEIGHT / eigenvalue,
        offsets: offsets.global(),
        columns: matrix.column_indices().global(),
        values: matrix.values().global(),
        of_unknown: nodes.of_unknown.global(),
        graph_offsets: graph.offsets.global(),
        neighbours: graph.neighbours.global(),
        diagonal: diagonal.global(),
        inverse_diagonal: inverse_diagonal.global(),
        new_offsets: new_offsets.global(),
        new_columns: new_columns.global_mut(),
        new_values: new_values.global_mut(),
    };
    // SAFETY: as for the previous kernel, which has counted the entries of the same rows, none with more than it can count;
    // the offsets are the prefix sums of these counts, and the new arrays have their total length.
    unsafe { launch(executor, device.grid(rows as u64), kernel) }?;
    drop(new_offsets);
    // SAFETY: the offsets are those of the entries that the kernel has written, each in its row, with a column of the
    // matrix, which is square, or the number of the row.
    Ok(unsafe { csr_unchecked(rows, rows, scan.offsets(1)?, new_columns, new_values) })
}

#[cfg(test)]
mod tests {
    use host::Complex;

    use super::super::super::super::examples::{assert_same, emulators, graph, grid, mixed, nodes, random, value};
    use super::super::super::on_host;
    use super::*;

    fn check<W: Scalar<Real = f64>>(matrix: &Csr<W>, node: u32) {
        let nodes = nodes(matrix.rows() as u32, node);
        let graph = graph(matrix, &nodes);
        // Some rows have 0, others more or less than the inverse of their new diagonal.
        let inverse = |row: u64| if mixed(row).is_multiple_of(7) { W::ZERO } else { value::<W>(row) };
        let inverse_diagonal: Vec<W> = (0..matrix.rows() as u64).map(inverse).collect();
        let filtered = on_host::filtered(matrix, &nodes, &graph).unwrap();
        let expected = on_host::smoothing(filtered, &inverse_diagonal, 1.7).unwrap();
        for executor in emulators() {
            let (nodes, graph, inverse_diagonal) = (&nodes, &graph, &inverse_diagonal);
            let operands = SmoothingOperands { matrix, nodes, graph, inverse_diagonal, largest: 1.7 };
            assert_same(&smoothing(&executor, operands).unwrap(), &expected);
        }
    }

    #[test]
    fn it_is_the_hosts() {
        for node in 0..4 {
            for side in [0, 1, 2, 18] {
                check::<f64>(&grid(side), node);
            }
            for seed in 0..4 {
                // Half the rows have no diagonal entry.
                check::<f64>(&random(301, seed, 0.5), node);
                check::<Complex<f64>>(&random(301, seed, 0.5), node);
            }
        }
    }

    #[test]
    fn rows_of_zeros_and_of_repeated_columns_are_the_hosts() {
        // Unsorted, with a duplicate column, an empty row and stored zeros.
        let (offsets, columns) = (vec![0u32, 5, 5, 8, 10], vec![3, 0, 3, 2, 0, 0, 1, 3, 3, 2]);
        let values = vec![1.0, 2.0, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0, -1.0, 7.0];
        let matrix = Csr::try_new(4, 4, offsets, columns, values).unwrap();
        (1..3).for_each(|node| check::<f64>(&matrix, node));
    }

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let (matrix, nodes) = (grid::<f64>(3), nodes(9, 1));
        let graph = graph(&matrix, &nodes);
        for executor in emulators() {
            let refused = |inverse_diagonal: &Vec<f64>, nodes| {
                let operands =
                    SmoothingOperands { matrix: &matrix, nodes, graph: &graph, inverse_diagonal, largest: 1.0 };
                smoothing(&executor, operands).map(drop).unwrap_err().to_string()
            };
            let short = "the inverse of the diagonal has length 8, expected 9";
            assert_eq!(refused(&vec![1.0; 8], &nodes), short);
            let other = super::super::super::super::examples::nodes(8, 1);
            assert!(refused(&vec![1.0; 9], &other).contains("has length 8, expected 9"));
        }
    }
}
