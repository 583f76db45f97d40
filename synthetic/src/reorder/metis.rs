//! Parts of a graph with few edges between them, by METIS.

use ::metis::{Graph as MetisGraph, Idx};
use host::error::check_square;
use host::memory::{collect, with_capacity, zeros};
use host::{Csr, Error, Scalar};

use super::Ordering;
use super::graph::Graph;

/// Returns an ordering in which the rows of each of `parts` parts are contiguous, and the first row of each part, followed
/// by the number of rows. The parts have about equal numbers of entries, where a row counts as one more, and few entries in
/// columns of other parts (METIS, Karypis & Kumar 1998); the graph is that of the matrix and its transpose. Within a part,
/// rows keep their order. The parts are the same every time.
///
/// One thread; memory for the columns of the matrix and of its transpose, and for METIS itself.
///
/// ```
/// use host::Csr;
/// use synthetic::{Generator, reorder};
///
/// let matrix: Csr<f64> = "elasticity:width=8".parse::<Generator>()?.generate()?;
/// let (ordering, begins) = reorder::metis(&matrix, 4)?;
/// assert_eq!((ordering.len(), begins.len(), begins[4]), (matrix.rows(), 5, matrix.rows() as u64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the matrix is not square or has more entries than METIS can count, `parts` is 0, METIS fails, or memory runs
/// out.
pub fn metis<T: Scalar>(matrix: &Csr<T>, parts: usize) -> Result<(Ordering, Vec<u64>), Error> {
    check_square("the matrix", matrix.rows(), matrix.columns())?;
    if parts == 0 {
        return Err(Error::Setting { what: "the number of parts", value: "0".into(), expected: "at least 1" });
    }
    let part_of_row = match matrix.rows() {
        // METIS requires more rows than parts.
        rows if rows <= parts => collect(0..rows as u32)?,
        rows if parts == 1 => zeros(rows)?,
        _ => parts_of_rows(matrix, parts)?,
    };
    let mut begins = zeros::<u64>(parts + 1)?;
    part_of_row.iter().for_each(|&part| begins[part as usize + 1] += 1);
    (0..parts).for_each(|part| begins[part + 1] += begins[part]);
    let mut next = host::memory::copy(&begins)?;
    let mut old = zeros::<u32>(matrix.rows())?;
    for (row, &part) in part_of_row.iter().enumerate() {
        old[next[part as usize] as usize] = row as u32;
        next[part as usize] += 1;
    }
    Ok((Ordering::from_valid(old), begins))
}

/// Returns the part of each row.
fn parts_of_rows<T: Scalar>(matrix: &Csr<T>, parts: usize) -> Result<Vec<u32>, Error> {
    let Graph { offsets, neighbours } = Graph::new(matrix)?;
    if neighbours.is_empty() {
        // There is nothing to keep together.
        return collect((0..matrix.rows()).map(|row| (row as u128 * parts as u128 / matrix.rows() as u128) as u32));
    }
    let count = |what, value: usize| {
        let limit = Idx::MAX as u128;
        Idx::try_from(value).map_err(|_| Error::TooLarge { what, value: value as u128, limit })
    };
    let parts = count("number of parts", parts)?;
    // The largest of all offsets.
    count("number of edges", neighbours.len())?;
    let offsets: Vec<Idx> = collect(offsets.iter().map(|&offset| offset as Idx))?;
    // A vertex is less than 2^31.
    let edges: Vec<Idx> = collect(neighbours.into_iter().map(|vertex| vertex as Idx))?;
    let mut weights = with_capacity(matrix.rows())?;
    for length in matrix.row_lengths() {
        weights.push(count("entries of a row", length.saturating_add(1))?);
    }
    let mut part_of_row = zeros::<Idx>(matrix.rows())?;
    let failed = |reason: String| Error::Operation(format!("METIS: {reason}").into());
    let graph = MetisGraph::new(1, parts, &offsets, &edges).map_err(|error| failed(error.to_string()))?;
    graph.set_vwgt(&weights).part_kway(&mut part_of_row).map_err(|error| failed(error.to_string()))?;
    collect(part_of_row.into_iter().map(|part| part as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Generator;

    /// Rows of a grid in random order: parts with few entries between them exist.
    #[test]
    fn parts_are_balanced_and_exchange_little() {
        let generator: Generator = "elasticity:width=7".parse().unwrap();
        let matrix = generator.generate::<f32>().unwrap();
        let between = |matrix: &Csr<f32>, begins: &[u64]| {
            let part = |row: usize| begins.partition_point(|&begin| begin <= row as u64);
            let of_row = |row: usize| matrix.row(row).filter(|&(column, _)| part(column as usize) != part(row)).count();
            (0..matrix.rows()).map(of_row).sum::<usize>()
        };
        for parts in [2, 5] {
            let (ordering, begins) = metis(&matrix, parts).unwrap();
            // It is a permutation, and rows of a part keep their order.
            let old = Ordering::try_new(ordering.old_places().to_vec()).unwrap();
            for part in begins.windows(2) {
                assert!(old.old_places()[part[0] as usize..part[1] as usize].is_sorted());
            }
            let reordered = ordering.apply_symmetric(&matrix).unwrap();
            let even: Vec<_> = (0..=parts).map(|part| (matrix.rows() * part / parts) as u64).collect();
            assert!(3 * between(&reordered, &begins) < between(&matrix, &even));
            let entries = |part: &[u64]| (part[0]..part[1]).map(|row| reordered.range(row as usize).len()).sum();
            let entries: Vec<usize> = begins.windows(2).map(entries).collect();
            let most = *entries.iter().max().unwrap();
            assert!(most * parts < matrix.nnz() * 11 / 10, "{entries:?}");
            assert_eq!(metis(&matrix, parts).unwrap(), (ordering, begins));
        }
    }

    #[test]
    fn few_rows_and_one_part() {
        let matrix = Csr::try_from_triplets(3, 3, &[0, 1, 2], &[1, 2, 0], &[1.0; 3]).unwrap();
        assert_eq!(metis(&matrix, 5).unwrap().1, [0, 1, 2, 3, 3, 3]);
        assert_eq!(metis(&matrix, 1).unwrap().1, [0, 3]);
        let none = Csr::<f64>::try_new(0, 0, vec![0u32], vec![], vec![]).unwrap();
        assert_eq!(metis(&none, 2).unwrap().1, [0, 0, 0]);
        // Rows without entries have a weight, too.
        let empty = Csr::<f64>::try_new(9, 9, vec![0u32; 10], vec![], vec![]).unwrap();
        assert_eq!(metis(&empty, 3).unwrap().1[3], 9);
        assert!(metis(&matrix, 0).is_err());
        let wide = Csr::try_from_triplets(1, 2, &[0], &[1], &[1.0]).unwrap();
        assert!(metis(&wide, 2).is_err());
    }
}
