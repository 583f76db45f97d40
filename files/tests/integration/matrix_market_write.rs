//! The Matrix Market writer.

use std::fs;

use files::{Field, MatrixMarketOptions, Number, Symmetry, read_matrix_market, write_matrix_market};
use host::{Complex, Csr};

use crate::common::{Folder, assert_same, check_error, matrices, matrix};

fn options(field: Field, symmetry: Symmetry) -> MatrixMarketOptions {
    MatrixMarketOptions { field, symmetry }
}

fn round_trips<T: Number>() {
    let folder = Folder::new();
    for matrix in matrices::<T>() {
        for name in ["m.mtx", "m.MTX.GZ"] {
            let path = folder.path(name);
            write_matrix_market(&path, &matrix, MatrixMarketOptions::default()).unwrap();
            assert_same(&read_matrix_market::<T>(&path, None).unwrap().0, &matrix);
        }
        assert_eq!(fs::read(folder.path("m.MTX.GZ")).unwrap()[..2], [0x1f, 0x8b]);
    }
    assert_eq!(folder.names(), ["m.MTX.GZ", "m.mtx"]);
}

#[test]
fn matrices_keep_their_bits() {
    round_trips::<f64>();
    round_trips::<f32>();
    round_trips::<Complex<f64>>();
    round_trips::<Complex<f32>>();
}

/// Returns the text of a matrix, after checking the matrix and the header read back.
fn written(matrix: &Csr<f64>, options: MatrixMarketOptions) -> String {
    let folder = Folder::new();
    let path = folder.path("m.mtx");
    write_matrix_market(&path, matrix, options).unwrap();
    let (read, header) = read_matrix_market::<f64>(&path, None).unwrap();
    assert_same(&read, matrix);
    assert_eq!((header.field, header.symmetry), (options.field, options.symmetry));
    fs::read_to_string(&path).unwrap()
}

#[test]
fn the_texts() {
    let matrix = Csr::try_from_triplets(3, 4, &[0, 2, 2], &[3, 0, 1], &[0.1, -2.0, 1e300]).unwrap();
    let text = written(&matrix, MatrixMarketOptions::default());
    assert_eq!(text, "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 4 0.1\n3 1 -2.0\n3 2 1e+300\n");

    let matrix = Csr::try_from_triplets(2, 2, &[0, 0, 1], &[0, 1, 0], &[-4.0, 9e15, 9e15]).unwrap();
    let text = written(&matrix, options(Field::Integer, Symmetry::Symmetric));
    assert_eq!(text, "%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n1 1 -4\n2 1 9000000000000000\n");

    let matrix = Csr::try_from_triplets(2, 2, &[0, 1], &[1, 0], &[1.0, 1.0]).unwrap();
    let text = written(&matrix, options(Field::Pattern, Symmetry::General));
    assert_eq!(text, "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n");
    let text = written(&matrix, options(Field::Pattern, Symmetry::Symmetric));
    assert_eq!(text, "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n");

    let matrix = Csr::try_from_triplets(2, 2, &[0, 1], &[1, 0], &[-0.5, 0.5]).unwrap();
    let text = written(&matrix, options(Field::Real, Symmetry::SkewSymmetric));
    assert_eq!(text, "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 0.5\n");
}

#[test]
fn a_large_symmetric_matrix() {
    let one_half = matrix::<f64>(9, 20_000, 20_000, 150_000);
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    for row in 0..one_half.rows() {
        for (column, value) in one_half.row(row).filter(|&(column, _)| column as usize <= row) {
            for (row, column) in [(row as u32, column), (column, row as u32)] {
                if (rows.last(), columns.last()) != (Some(&row), Some(&column)) {
                    rows.push(row);
                    columns.push(column);
                    values.push(value);
                }
            }
        }
    }
    let symmetric = Csr::try_from_triplets(20_000, 20_000, &rows, &columns, &values).unwrap();
    written(&symmetric, options(Field::Real, Symmetry::Symmetric));
}

/// Unsorted rows and duplicate entries are written as they are, or sorted for a symmetry.
#[test]
fn matrices_out_of_order() {
    let folder = Folder::new();
    let path = folder.path("m.mtx");
    let offsets = vec![0u32, 3, 4];
    let matrix = Csr::try_new(2, 2, offsets, vec![1, 0, 1, 0], vec![2.0, 5.0, 1.0, 3.0]).unwrap();
    write_matrix_market(&path, &matrix, MatrixMarketOptions::default()).unwrap();
    assert!(fs::read_to_string(&path).unwrap().ends_with("2 2 4\n1 2 2.0\n1 1 5.0\n1 2 1.0\n2 1 3.0\n"));
    write_matrix_market(&path, &matrix, options(Field::Real, Symmetry::Symmetric)).unwrap();
    assert!(fs::read_to_string(&path).unwrap().ends_with("2 2 2\n1 1 5.0\n2 1 3.0\n"));
}

#[test]
fn complex_matrices_are_written_with_every_symmetry() {
    let folder = Folder::new();
    let path = folder.path("m.mtx");
    let number = |re, im| Complex { re, im };
    let square = |upper, lower, diagonal: &[Complex<f64>]| {
        let (rows, columns) = ([0, 1, 1], [1, 0, 1]);
        let values = [&[upper, lower][..], diagonal].concat();
        Csr::try_from_triplets(2, 2, &rows[..values.len()], &columns[..values.len()], &values).unwrap()
    };
    let entry = number(1.5, -2.0);
    for (matrix, symmetry, lines) in [
        (square(number(1.5, 2.0), entry, &[number(3.0, 0.0)]), Symmetry::Hermitian, "2 1 1.5 -2.0\n2 2 3.0 0.0\n"),
        (square(entry, entry, &[number(0.0, 7.0)]), Symmetry::Symmetric, "2 1 1.5 -2.0\n2 2 0.0 7.0\n"),
        (square(-entry, entry, &[]), Symmetry::SkewSymmetric, "2 1 1.5 -2.0\n"),
    ] {
        for field in [Field::Real, Field::Complex] {
            write_matrix_market(&path, &matrix, options(field, symmetry)).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            let entries = lines.lines().count();
            let expected =
                format!("%%MatrixMarket matrix coordinate complex {}\n2 2 {entries}\n{lines}", symmetry.name());
            assert_eq!(text, expected);
            assert_same(&read_matrix_market::<Complex<f64>>(&path, None).unwrap().0, &matrix);
        }
    }
    let whole = square(number(4.0, 0.0), number(4.0, 0.0), &[]);
    write_matrix_market(&path, &whole, options(Field::Integer, Symmetry::Symmetric)).unwrap();
    assert!(fs::read_to_string(&path).unwrap().ends_with("integer symmetric\n2 2 1\n2 1 4\n"));
    for (matrix, field, symmetry, says) in [
        (square(entry, entry, &[]), Field::Complex, Symmetry::Hermitian, "in row 1 and column 2 differs"),
        (
            square(number(1.5, 2.0), entry, &[entry]),
            Field::Real,
            Symmetry::Hermitian,
            "in row 2 on the diagonal is not real",
        ),
        (whole.clone(), Field::Integer, Symmetry::Hermitian, "only a complex matrix can be hermitian"),
        (square(entry, entry, &[]), Field::Integer, Symmetry::General, "cannot be written as integers"),
        (square(number(1.0, 1.0), entry, &[]), Field::Pattern, Symmetry::General, "cannot be written as a pattern"),
    ] {
        let error = write_matrix_market(&path, &matrix, options(field, symmetry)).unwrap_err();
        check_error(&error, &path, says);
    }
    let real = Csr::try_from_triplets(1, 1, &[0], &[0], &[1.0]).unwrap();
    let error = write_matrix_market(&path, &real, options(Field::Complex, Symmetry::General)).unwrap_err();
    check_error(&error, &path, "the values are real");
}

#[test]
fn what_is_not_true_is_not_written() {
    let folder = Folder::new();
    let path = folder.file("m.mtx", "old");
    let square = |values: [f64; 3]| Csr::try_from_triplets(2, 2, &[0, 1, 1], &[1, 0, 1], &values).unwrap();
    let oblong = Csr::try_from_triplets(2, 3, &[0], &[0], &[1.0]).unwrap();
    let lonely = Csr::try_from_triplets(3, 3, &[2], &[0], &[1.0]).unwrap();
    let no_sign = square([1.0, 1.0, -0.0]);
    for (matrix, field, symmetry, says) in [
        (&square([1.0, 2.0, 1.0]), Field::Pattern, Symmetry::General, "as a pattern: a value is 2.0, expected 1"),
        (&square([1.0, 1.5, 1.0]), Field::Integer, Symmetry::General, "as integers: a value is 1.5"),
        (&square([1.0, f64::NAN, 1.0]), Field::Integer, Symmetry::General, "a value is NaN"),
        (&square([1.0, 1e19, 1.0]), Field::Integer, Symmetry::General, "a value is 1e19"),
        (&no_sign, Field::Integer, Symmetry::General, "a value is -0.0"),
        (&square([1.0; 3]), Field::Pattern, Symmetry::SkewSymmetric, "a pattern has no signs"),
        (&square([1.0, 2.0, 1.0]), Field::Real, Symmetry::Symmetric, "in row 1 and column 2 differs"),
        (&square([0.0, -0.0, 1.0]), Field::Real, Symmetry::Symmetric, "in row 1 and column 2 differs"),
        (&square([1.0, 1.0, 1.0]), Field::Real, Symmetry::SkewSymmetric, "in row 1 and column 2 differs"),
        (&square([1.0, -1.0, 0.0]), Field::Real, Symmetry::SkewSymmetric, "an entry in row 2 on the diagonal"),
        (&oblong, Field::Real, Symmetry::Symmetric, "a matrix of 2 x 3 cannot be symmetric"),
        (&lonely, Field::Real, Symmetry::Symmetric, "in row 3 and column 1 differs"),
    ] {
        let error = write_matrix_market(&path, matrix, options(field, symmetry)).unwrap_err();
        check_error(&error, &path, says);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(folder.names(), ["m.mtx"]);
}
