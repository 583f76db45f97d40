//! Complex matrices through the command.

use warp_spmv::Complex;
use warp_spmv::io::{read_container, read_matrix_market, read_vector};

use crate::command::{Folder, spmv};

/// A hermitian matrix, of which the file has one half.
const HERMITIAN: &str = "%%MatrixMarket matrix coordinate complex hermitian\n3 3 4\n1 1 2 0\n2 1 0.5 -1\n3 2 0 3\n\
                         3 3 -1 0\n";

#[test]
fn a_complex_file_is_multiplied_in_every_format() {
    let folder = Folder::new();
    let text = folder.file("m.mtx", HERMITIAN);
    for precision in ["complex64", "complex128"] {
        for executor in ["reference", "cpu", "emulated"] {
            let arguments = ["--precision", precision, "--executor", executor, "--repeat", "1", "--json"];
            let record = spmv(["run", &text, "--format", "all"].into_iter().chain(arguments)).record();
            assert_eq!(record["precision"], precision);
            let records = record["formats"].as_array().unwrap();
            assert!(
                records.len() > 20 && records.iter().all(|row| row["result"]["verification"]["passed"] == true),
                "{record}"
            );
        }
        let record =
            spmv(["run", &text, "--precision", precision, "--executor", "cpu", "--json", "--beta", "2"]).record();
        assert_eq!((&record["matrix"]["nonzeros"], &record["verification"]["passed"]), (&6.into(), &true.into()));
    }
    let (x, y) = (
        folder.file("x.mtx", "%%MatrixMarket matrix array complex general\n3 1\n1 0\n0 1\n2 0\n"),
        folder.name("y.mtx"),
    );
    spmv(["run", &text, "--precision", "complex128", "--x", &x, "--output", &y, "--executor", "cpu"]).succeeded();
    let y = read_vector::<Complex<f64>>(&y, None).unwrap();
    let expected = [(1.0, 0.5), (0.5, -7.0), (-5.0, 0.0)].map(|(re, im)| Complex { re, im });
    assert_eq!(y, expected);
}

#[test]
fn complex_values_survive_every_kind_of_file() {
    let folder = Folder::new();
    let text = folder.file("m.mtx", HERMITIAN);
    let (expected, _) = read_matrix_market::<Complex<f64>>(&text, None).unwrap();
    let mut from = text;
    for to in ["a.npz", "a.mtx.gz", "a.wspmv", "b.npz", "b.wspmv"] {
        let to = folder.name(to);
        let line = spmv(["convert", &from, &to, "--precision", "complex128"]).succeeded();
        assert!(line.contains(", complex128, fill 1.00"), "{line}");
        from = to;
    }
    assert_eq!(read_container::<Complex<f64>>(&from).unwrap(), expected);
    let narrow = folder.name("c.wspmv");
    spmv(["convert", &from, &narrow, "--precision", "complex64", "--format", "sell-p"]).succeeded();
    assert_eq!(read_container::<Complex<f64>>(&narrow).unwrap(), expected);
}

#[test]
fn a_real_precision_names_the_one_that_reads_complex_values() {
    let folder = Folder::new();
    let text = folder.file("m.mtx", HERMITIAN);
    let says =
        ": the values are complex, expected real ones; run, info and convert read them with --precision complex128";
    for name in ["m.mtx", "m.npz", "m.wspmv"] {
        let path = folder.name(name);
        if name != "m.mtx" {
            spmv(["convert", &text, &path, "--precision", "complex128"]).succeeded();
        }
        for command in ["run", "info", "solve", "pagerank"] {
            let message = spmv([command, &path]).refused();
            assert!(message.starts_with(&path) && message.ends_with(says), "{message}");
        }
        let message = spmv(["convert", &path, &folder.name("out.mtx"), "--precision", "float32"]).refused();
        assert!(message.ends_with(says), "{message}");
    }
}

#[test]
fn info_describes_a_complex_matrix() {
    let folder = Folder::new();
    let text = folder.file("m.mtx", HERMITIAN);
    let record =
        spmv(["info", &text, "--precision", "complex128", "--json", "--explain", "--executor", "cpu"]).record();
    assert_eq!((&record["field"], &record["symmetry"]), (&"complex".into(), &"hermitian".into()));
    let csr = &record["storage"][0];
    // 4 offsets, 6 columns and 6 values.
    assert_eq!((&csr["complex128"]["bytes"], &csr["complex64"]["bytes"]), (&136.into(), &88.into()));
    assert!(csr["float64"].is_null() && record["choice"].is_object(), "{record}");
    let text = spmv(["info", &text, "--precision", "complex64"]).succeeded();
    assert!(text.contains("complex128     x CSR     complex64     x CSR\n"), "{text}");
}
