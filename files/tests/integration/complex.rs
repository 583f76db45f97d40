//! Complex values, and dense matrices, in Matrix Market files.

use std::fs;

use files::{
    Coordinates, DenseMatrix, Field, ReadOptions, Symmetry, Value, read_coordinates, read_dense, write_coordinates,
    write_dense,
};
use host::{Csr, Error};
use num_complex::Complex;

fn complex(re: f64, im: f64) -> Complex<f64> {
    Complex { re, im }
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::Builder::new().suffix(".mtx").tempfile().unwrap();
    fs::write(file.path(), format!("%%MatrixMarket matrix {text}")).unwrap();
    file
}

fn coordinates<V: Value>(text: &str) -> Result<Coordinates<V>, Error> {
    read_coordinates(file(text).path(), &ReadOptions::default()).map(|(entries, _)| entries)
}

fn dense<V: Value>(text: &str) -> Result<DenseMatrix<V>, Error> {
    read_dense(file(text).path(), &ReadOptions::default()).map(|(matrix, _)| matrix)
}

/// An error message without the path.
fn reason<V>(result: Result<V, Error>) -> String {
    let error = result.err().unwrap().to_string();
    let (_, reason) = error.split_once(".mtx:").unwrap();
    reason.to_owned()
}

#[test]
fn complex_entries_are_read_with_every_symmetry() {
    let entries = |symmetry, other: Complex<f64>, diagonal: &str| {
        let text =
            format!("coordinate complex {symmetry}\n2 2 {}\n2 1 1.5 -2\n{diagonal}", 1 + diagonal.lines().count());
        let entries = coordinates::<Complex<f64>>(&text).unwrap();
        assert_eq!(entries.row_indices[..2], [1, 0], "{symmetry}");
        assert_eq!(entries.column_indices[..2], [0, 1], "{symmetry}");
        assert_eq!(entries.values[..2], [complex(1.5, -2.0), other], "{symmetry}");
        entries.values.len()
    };
    assert_eq!(entries("symmetric", complex(1.5, -2.0), "2 2 0 1\n"), 3);
    assert_eq!(entries("skew-symmetric", complex(-1.5, 2.0), ""), 2);
    assert_eq!(entries("hermitian", complex(1.5, 2.0), "2 2 7 0\n"), 3);
    let general = coordinates::<Complex<f32>>("coordinate complex general\n1 3 2\n1 3 1 2\n1 1 -3e1 inf\n").unwrap();
    assert_eq!(general.values, [Complex { re: 1.0, im: 2.0 }, Complex { re: -30.0, im: f32::INFINITY }]);
    assert_eq!((general.rows, general.columns, general.column_indices), (1, 3, vec![2, 0]));
}

#[test]
fn a_complex_type_takes_other_files_and_a_real_one_no_complex_file() {
    let one = [complex(1.0, 0.0)];
    assert_eq!(coordinates::<Complex<f64>>("coordinate real general\n1 1 1\n1 1 1\n").unwrap().values, one);
    assert_eq!(coordinates::<Complex<f64>>("coordinate integer general\n1 1 1\n1 1 1\n").unwrap().values, one);
    assert_eq!(coordinates::<Complex<f64>>("coordinate pattern general\n1 1 1\n1 1\n").unwrap().values, one);
    assert_eq!(coordinates::<f32>("coordinate real skew-symmetric\n2 2 1\n2 1 4\n").unwrap().values, [4.0, -4.0]);
    let refused = "1: the values are complex, expected real ones";
    assert_eq!(reason(coordinates::<f64>("coordinate complex general\n1 1 1\n1 1 1 0\n")), refused);
    assert_eq!(reason(dense::<f32>("array complex general\n1 1\n1 0\n")), refused);
}

#[test]
fn a_hermitian_matrix_has_real_numbers_on_the_diagonal_and_nothing_above() {
    let read = |entry| reason(coordinates::<Complex<f64>>(&format!("coordinate complex hermitian\n2 2 1\n{entry}\n")));
    assert_eq!(read("2 2 1 1"), "3: complex value on the diagonal of a hermitian matrix, expected a real one");
    assert_eq!(read("1 2 1 1"), "3: entry above the diagonal: a hermitian file holds only those on and below it");
    assert_eq!(read("2 1 1"), "3: expected a real number, found the end of the line");
    assert_eq!(read("2 1 1 1 1"), "3: expected the end of the line, found '1'");
    let oblong = reason(coordinates::<Complex<f64>>("coordinate complex hermitian\n2 3 1\n2 1 1 1\n"));
    assert_eq!(oblong, "2: a hermitian matrix is square, but this one is 2 x 3");
    let array = reason(dense::<Complex<f64>>("array complex hermitian\n1 1\n1 2\n"));
    assert_eq!(array, "1: value 1 of the diagonal is not real, in a hermitian matrix");
}

#[test]
fn dense_matrices_are_read_column_by_column_with_every_symmetry() {
    let general = dense::<f64>("array real general\n2 3\n1\n2\n3\n4\n5\n6\n").unwrap();
    assert_eq!(general, DenseMatrix { rows: 2, columns: 3, values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0] });
    let symmetric = dense::<f32>("array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n").unwrap();
    assert_eq!(symmetric.values, [1.0, 2.0, 3.0, 2.0, 4.0, 5.0, 3.0, 5.0, 6.0]);
    let skew = dense::<f64>("array real skew-symmetric\n3 3\n1\n2\n3\n").unwrap();
    assert_eq!(skew.values, [0.0, 1.0, 2.0, -1.0, 0.0, 3.0, -2.0, -3.0, 0.0]);
    let hermitian = dense::<Complex<f64>>("array complex hermitian\n2 2\n1 0\n2 3\n4 0\n").unwrap();
    assert_eq!(hermitian.values, [complex(1.0, 0.0), complex(2.0, 3.0), complex(2.0, -3.0), complex(4.0, 0.0)]);
    for empty in ["array real skew-symmetric\n0 0\n", "array real symmetric\n0 0\n", "array real general\n0 5\n"] {
        assert!(dense::<f64>(empty).unwrap().values.is_empty());
    }
    let short = reason(dense::<f64>("array real symmetric\n2 2\n1.000\n2\n"));
    assert_eq!(short, "4: the file ends after 2 of 3 entries announced");
    let sparse = reason(dense::<f64>("coordinate real general\n1 1 1\n1 1 1\n"));
    assert!(sparse.starts_with("1: a coordinate file holds a sparse matrix"), "{sparse}");
    let huge = reason(dense::<f64>("array real symmetric\n16777216 16777216\n1\n"));
    assert!(huge.contains("entries announced, more than"), "{huge}");
}

#[test]
fn what_is_written_is_read_back_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["m.mtx", "m.mtx.gz"] {
        let path = folder.path().join(name);
        let values = vec![complex(0.1, -0.0), complex(f64::MIN_POSITIVE, 1e300), complex(-1.0 / 3.0, f64::INFINITY)];
        let entries =
            Coordinates { rows: 4, columns: 2, row_indices: vec![3, 0, 3], column_indices: vec![1, 1, 0], values };
        write_coordinates(&path, &entries).unwrap();
        let (again, header) = read_coordinates::<Complex<f64>>(&path, &ReadOptions::default()).unwrap();
        assert_eq!(again, entries);
        assert_eq!(again.values[0].im.to_bits(), (-0.0f64).to_bits());
        assert_eq!((header.field, header.symmetry, header.entries), (Field::Complex, Symmetry::General, 3));

        let matrix = DenseMatrix { rows: 3, columns: 1, values: entries.values };
        write_dense(&path, &matrix).unwrap();
        assert_eq!(read_dense::<Complex<f64>>(&path, &ReadOptions::default()).unwrap().0, matrix);
    }
}

#[test]
fn arrays_that_contradict_the_shape_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.mtx");
    let entries = |row_indices: Vec<u32>, column_indices, values| Coordinates {
        rows: 2,
        columns: 2,
        row_indices,
        column_indices,
        values,
    };
    for (entries, wrong) in [
        (entries(vec![0, 1], vec![0], vec![1.0, 2.0]), "column_indices has length 1, expected 2"),
        (entries(vec![0, 1], vec![0, 1], vec![1.0]), "values has length 1, expected 2"),
        (entries(vec![0, 2], vec![0, 1], vec![1.0, 2.0]), "entry 1 is in row 2 of 2"),
        (entries(vec![0, 1], vec![7, 1], vec![1.0, 2.0]), "entry 0 is in column 7 of 2"),
    ] {
        let error = write_coordinates(&path, &entries).unwrap_err().to_string();
        assert!(error.contains(wrong), "{error}");
    }
    // The largest index, one-based, does not fit into its own type.
    let entries = Coordinates {
        rows: 1 << 32,
        columns: 1 << 32,
        row_indices: vec![u32::MAX],
        column_indices: vec![0],
        values: vec![1.5],
    };
    write_coordinates(&path, &entries).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("\n4294967296 1 1.5\n"));
    std::fs::remove_file(&path).unwrap();
    let error = write_dense(&path, &DenseMatrix { rows: 2, columns: 2, values: vec![1.0] }).unwrap_err().to_string();
    assert!(error.contains("values has length 1, expected 4"), "{error}");
    assert!(!path.exists());
}

#[test]
fn entries_of_a_file_are_what_its_matrix_has() {
    let text = "coordinate real symmetric\n3 3 4\n2 1 1\n3 3 2\n2 1 0.5\n3 2 -1\n";
    let entries = coordinates::<f64>(text).unwrap();
    let (rows, columns) = (&entries.row_indices, &entries.column_indices);
    let matrix = Csr::try_from_triplets(3, 3, rows, columns, &entries.values).unwrap();
    let (read, _) = files::read_matrix_market::<f64>(file(text).path(), None).unwrap();
    assert_eq!(matrix, read);
}
