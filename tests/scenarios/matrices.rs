//! Small but hard matrices.

use warp_spmv::format::Offsets;
use warp_spmv::{Csr, Scalar};

use super::Numbers;

/// Returns a matrix with rows of the given lengths; columns in no order, some of them repeated.
pub fn with_rows<T: Scalar>(columns: usize, lengths: &[usize], numbers: &mut Numbers) -> Csr<T> {
    let mut offsets = vec![0u32];
    let mut column_indices = Vec::new();
    for &length in lengths {
        column_indices.extend((0..length).map(|_| numbers.below(columns) as u32));
        offsets.push(column_indices.len() as u32);
    }
    let values = numbers.vector(column_indices.len());
    Csr::try_new(lengths.len(), columns, offsets, column_indices, values).unwrap()
}

/// Returns the matrix of a generator; for a complex type, with imaginary parts as well.
pub fn generated<T: Scalar>(text: &str) -> Csr<T> {
    let real = text.parse::<warp_spmv::synthetic::Generator>().unwrap().generate::<f64>().unwrap();
    let (rows, columns) = (real.rows(), real.columns());
    let (offsets, column_indices, values) = real.into_parts();
    let imaginary = (0..).map(|place| f64::from(place % 7 - 3) / 4.0);
    let values = values.iter().zip(imaginary).map(|(&value, part)| T::from_parts(value, value * part)).collect();
    Csr::try_new(rows, columns, offsets, column_indices, values).unwrap()
}

/// Returns a factor; for a complex type, with an imaginary part as well.
pub fn factor<T: Scalar>(real: f64) -> T {
    T::from_parts(real, real / -2.0)
}

/// Returns small matrices that have broken kernels before, and some of generators.
pub fn matrices<T: Scalar>() -> Vec<(String, Csr<T>)> {
    let mut numbers = Numbers::new(1);
    let mut matrices: Vec<(String, Csr<T>)> = Vec::new();
    let mut dense_row = vec![0; 70];
    dense_row[41] = 5000;
    let mut last_row = vec![0; 300];
    last_row[299] = 7;
    let around_a_warp: Vec<usize> = [31, 32, 33, 0, 1, 63, 64, 65, 127, 128, 129].repeat(7);
    let empty_and_long: Vec<usize> = (0..400).map(|row| if row % 37 == 5 { 200 } else { row % 3 }).collect();
    let many_short: Vec<usize> = (0..1500).map(|row| 1 + row % 5).collect();
    for (name, columns, lengths) in [
        ("0 x 0", 0, vec![]),
        ("0 x 5", 5, vec![]),
        ("5 x 0", 0, vec![0; 5]),
        ("1 x 1, empty", 1, vec![0]),
        ("1 x 1", 1, vec![1]),
        ("1 x 3000", 3000, vec![2000]),
        ("3000 x 1", 1, vec![1; 3000]),
        ("no entry at all", 40, vec![0; 100]),
        ("only the last row", 50, last_row),
        ("one dense row among empty ones", 6000, dense_row),
        ("row lengths around a warp", 500, around_a_warp),
        ("empty and long rows", 900, empty_and_long),
        ("many short rows", 1500, many_short),
        ("wide", 100_000, vec![40; 9]),
        ("tall", 3, vec![2; 4000]),
        ("one row of a warp's step and one more entry", 100, vec![32, 1]),
        ("rows and columns that no block divides", 19, vec![11; 23]),
        ("a few rows of two", 20, [2, 1, 0, 2, 2].repeat(9)),
        ("a few rows of four", 20, [0, 4, 1, 2, 3].repeat(13)),
        ("five long rows", 500, vec![200, 64, 0, 1, 333]),
        ("many diagonals", 4000, vec![40; 40]),
        ("columns around 16 bits", 65_600, vec![3; 100]),
        ("one row more than two slices", 300, (0..129).map(|row| row * 5 % 23).collect()),
    ] {
        matrices.push((name.into(), with_rows(columns, &lengths, &mut numbers)));
    }
    // Neighbouring rows whose range of columns exceeds 16 bits.
    let far_apart: Vec<usize> = (0..130).map(|row| if row % 50 == 7 { 60 } else { row % 4 }).collect();
    matrices.push(("columns far apart".into(), with_rows(1 << 19, &far_apart, &mut numbers)));
    let diagonal: Vec<u32> = (0..777).collect();
    let values = numbers.vector(777);
    matrices.push(("one diagonal".into(), Csr::try_from_triplets(777, 777, &diagonal, &diagonal, &values).unwrap()));
    let column = vec![3u32; 777];
    let values = numbers.vector(777);
    matrices.push(("one dense column".into(), Csr::try_from_triplets(777, 8, &diagonal, &column, &values).unwrap()));
    for generator in [
        "stencil:3:501",
        "stencil:5:17x33",
        "stencil:7:7x9x11",
        "stencil:9:40x13",
        "stencil:27:9x7x5",
        "pareto:rows=400,k=1.5",
        "pareto:rows=700,k=1.0,base=3",
        "banded:rows=600,bands=9",
    ] {
        matrices.push((generator.into(), generated(generator)));
    }
    // 64-bit row offsets, which matrices of this size do not need.
    for name in ["row lengths around a warp", "empty and long rows", "pareto:rows=700,k=1.0,base=3"] {
        let (_, matrix) = matrices.iter().find(|(other, _)| other == name).unwrap();
        let wide = with_wide_offsets(matrix);
        matrices.push((format!("{name}, wide offsets"), wide));
    }
    matrices
}

/// Returns the same matrix with 64-bit row offsets.
pub fn with_wide_offsets<T: Scalar>(matrix: &Csr<T>) -> Csr<T> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let (offsets, column_indices, values) = matrix.clone().into_parts();
    let offsets = Offsets::Wide((0..=rows).map(|row| offsets.get(row) as u64).collect());
    Csr::try_new(rows, columns, offsets, column_indices, values).unwrap()
}
