//! Archives written by SciPy and read by SciPy.

use std::path::Path;

use files::{Number, ReadOptions, read_npz, write_npz};
use host::{Complex, Csr};

use crate::common::{Folder, assert_same, matrices};
use crate::scipy::{self, has_scipy};

/// Runs the script for the other side of this test.
fn script(task: &str, folder: &Folder) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/integration/npz_scipy.py");
    scipy::script([script, task, folder.0.path().to_str().unwrap()]);
}

/// A matrix as text: the shape, then row, column and the bits of the value of each entry.
fn to_text<T: Number>(matrix: &Csr<T>) -> String {
    let mut text = format!("{} {}\n", matrix.rows(), matrix.columns());
    for row in 0..matrix.rows() {
        for (column, value) in matrix.row(row) {
            let [re, im] = value.parts().map(f64::to_bits);
            text += &format!("{row} {column} {re:016x}{im:016x}\n");
        }
    }
    text
}

fn from_text(path: &Path) -> Csr<Complex<f64>> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let shape: Vec<usize> = lines.next().unwrap().iter().map(|word| word.parse().unwrap()).collect();
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    for line in lines {
        rows.push(line[0].parse().unwrap());
        columns.push(line[1].parse().unwrap());
        let part = |text| f64::from_bits(u64::from_str_radix(text, 16).unwrap());
        values.push(Complex { re: part(&line[2][..16]), im: part(&line[2][16..]) });
    }
    Csr::try_from_triplets(shape[0], shape[1], &rows, &columns, &values).unwrap()
}

#[test]
fn what_scipy_writes() {
    if !has_scipy() {
        return;
    }
    let folder = Folder::new();
    script("write", &folder);
    let archives: Vec<_> = folder.names().into_iter().filter(|name| name.ends_with(".npz")).collect();
    assert!(archives.len() >= 60, "{archives:?}");
    for name in archives {
        println!("{name}");
        let expected = from_text(&folder.path(&name.replace(".npz", ".txt")));
        let mut found = read_npz::<Complex<f64>>(folder.path(&name), &ReadOptions::default()).unwrap();
        found.sort_rows().unwrap();
        assert_same(&found, &expected);
        match read_npz::<f64>(folder.path(&name), &ReadOptions::default()) {
            Ok(mut found) => {
                found.sort_rows().unwrap();
                assert_same(&found, &expected.cast().unwrap());
            }
            Err(error) => assert!(name.contains("complex") && error.to_string().contains("expected real"), "{error}"),
        }
    }
}

#[test]
fn what_scipy_reads() {
    if !has_scipy() {
        return;
    }
    fn write<T: Number>(folder: &Folder) {
        for (number, matrix) in matrices::<T>().iter().enumerate() {
            let name = format!("{number}-{}", T::NAME);
            write_npz(folder.path(&format!("{name}.npz")), matrix).unwrap();
            folder.file(&format!("{name}.txt"), to_text(matrix));
        }
    }
    let folder = Folder::new();
    write::<f64>(&folder);
    write::<f32>(&folder);
    write::<Complex<f64>>(&folder);
    write::<Complex<f32>>(&folder);
    script("check", &folder);
}
