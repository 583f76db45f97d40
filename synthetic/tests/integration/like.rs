//! Stand-ins for the matrices of Bell & Garland 2009, Table 3.

use host::Csr;
use synthetic::{Generate, Like, Table3};

type Line = (Table3, usize, usize, usize, usize, usize, usize, f64);

/// Rows, columns, nonzeros, the shortest and longest row, the block size, and the standard deviation of the row lengths
/// that the stand-in should have.
const TABLE: [Line; 14] = [
    (Table3::Dense, 2_000, 2_000, 4_000_000, 2_000, 2_000, 1, 0.0),
    (Table3::Protein, 36_417, 36_417, 4_344_765, 18, 204, 3, 31.86),
    (Table3::Spheres, 83_334, 83_334, 6_010_480, 3, 81, 3, 19.08),
    (Table3::Cantilever, 62_451, 62_451, 4_007_383, 3, 78, 3, 14.06),
    (Table3::WindTunnel, 217_918, 217_918, 11_634_424, 6, 180, 6, 4.744),
    (Table3::Harbor, 46_835, 46_835, 2_374_001, 5, 145, 5, 27.78),
    (Table3::Qcd, 49_152, 49_152, 1_916_928, 39, 39, 3, 0.0),
    (Table3::Ship, 140_874, 140_874, 7_813_404, 24, 102, 6, 11.07),
    (Table3::Economics, 206_500, 206_500, 1_273_389, 1, 44, 1, 4.436),
    (Table3::Epidemiology, 525_825, 525_825, 2_100_225, 2, 4, 1, 0.0763),
    (Table3::Accelerator, 121_192, 121_192, 2_624_331, 0, 81, 1, 13.79),
    (Table3::Circuit, 170_998, 170_998, 958_936, 1, 353, 1, 4.392),
    (Table3::Webbase, 1_000_005, 1_000_005, 3_105_536, 1, 4_700, 1, 25.35),
    (Table3::Lp, 4_284, 1_092_610, 11_279_748, 1, 56_181, 1, 4209.0),
];

#[test]
fn sizes_row_lengths_and_blocks_are_those_of_the_table() {
    for (matrix, rows, columns, nnz, shortest, longest, block, deviation) in TABLE {
        let like = Like::new(matrix);
        let found: Csr<f32> = like.generate().unwrap();
        assert_eq!((found.rows(), found.columns()), (rows, columns), "{like}");
        // The remainder that does not fill a block is missing: nothing with blocks of one.
        let tolerance = if block == 1 || matrix == Table3::Qcd { 0.0 } else { 1e-4 * nnz as f64 };
        assert!((found.nnz() as f64 - nnz as f64).abs() <= tolerance, "{like}: {}", found.nnz());
        assert!((like.expected_nnz() as f64 - nnz as f64).abs() <= tolerance, "{like}");

        let shortest_found = found.row_lengths().min().unwrap();
        // Where most rows are near the longest, or the tail is long for its mean, the shortest length is not reached.
        let met = (nnz as f64) < 0.6 * (rows * longest) as f64 && !matches!(matrix, Table3::Lp | Table3::Circuit)
            || shortest == longest;
        assert!(shortest_found >= shortest && (!met || shortest_found <= shortest + block), "{like}: {shortest_found}");
        let longest_found = found.longest_row();
        assert!(longest_found <= longest + block, "{like}: longest {longest_found}");
        // The tail of Circuit is so steep that its longest row is clearly below the bound.
        let reached = if matrix == Table3::Circuit { 0.9 } else { 0.97 };
        assert!(longest_found as f64 >= reached * longest as f64 - block as f64, "{like}: longest {longest_found}");

        let mean = found.nnz() as f64 / rows as f64;
        let square: f64 = found.row_lengths().map(|length| (length as f64 - mean).powi(2)).sum();
        let deviation_found = (square / rows as f64).sqrt();
        // Lengths in whole blocks, or of at least 3 in Spheres, match it less closely.
        let tolerance = if matrix == Table3::Spheres { 0.15 } else { 0.05 };
        let rounding = if block > 1 { 0.3 * block as f64 } else { 0.02 };
        assert!(
            (deviation_found - deviation).abs() <= tolerance * deviation + rounding,
            "{like}: deviation {deviation_found}"
        );

        for row in 0..rows {
            let columns: Vec<u32> = found.row(row).map(|(column, _)| column).collect();
            assert!(columns.is_sorted_by(|left, right| left < right), "{like}: row {row}");
            for run in columns.chunks(block) {
                assert!((run[0] as usize).is_multiple_of(block) && run.len() == block, "{like}: row {row}");
                assert_eq!(run[block - 1] as usize - run[0] as usize, block - 1, "{like}: row {row}");
            }
            if matrix != Table3::Qcd {
                let first = found.row(row - row % block).map(|(column, _)| column);
                assert!(columns.into_iter().eq(first), "{like}: row {row} of its block");
            }
        }
        assert!(found.values().iter().all(|value| (0.5..=1.0).contains(&value.abs())), "{like}");
    }
}

/// A fraction of the entries is near the diagonal, the others are anywhere; hubs among rows and columns where the
/// matrix has some.
#[test]
fn locality_and_hubs() {
    let near = |matrix: Table3, distance: usize| {
        let found: Csr<f32> = Like::new(matrix).generate().unwrap();
        let near = |row: usize| found.row(row).filter(|&(column, _)| row.abs_diff(column as usize) <= distance).count();
        (0..found.rows()).map(near).sum::<usize>() as f64 / found.nnz() as f64
    };
    // Three times (30 + 900 + 2) blocks; only entries that wrap around the ends are farther.
    assert!(near(Table3::Spheres, 2799) > 0.95);
    assert!(near(Table3::Cantilever, 279) > 0.99);
    // The diagonal, and 0.6 of the others.
    let accelerator = near(Table3::Accelerator, 1000);
    assert!((0.55..0.72).contains(&accelerator), "{accelerator}");

    let webbase: Csr<f32> = Like::new(Table3::Webbase).generate().unwrap();
    let mut columns = vec![0; webbase.columns()];
    webbase.column_indices().iter().for_each(|&column| columns[column as usize] += 1);
    assert!(columns.iter().max() > Some(&500));
    let single = webbase.row_lengths().filter(|&length| length <= 2).count();
    assert!(single > 500_000, "{single}");
}

#[test]
fn larger_ones() {
    for matrix in [Table3::Harbor, Table3::Qcd, Table3::Economics, Table3::Epidemiology, Table3::Dense] {
        let like = Like { times: 4, ..Like::new(matrix) };
        let found: Csr<f32> = like.generate().unwrap();
        assert_eq!((found.rows(), found.columns()), (like.rows(), like.columns()));
        let (_, rows, _, nnz, ..) = TABLE[matrix as usize];
        assert_eq!(found.rows(), 4 * rows);
        assert!((found.nnz() as f64 / (4.0 * nnz as f64) - 1.0).abs() < 1e-3, "{like}: {}", found.nnz());
    }
}
