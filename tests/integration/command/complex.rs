//! Complex matrices through the command.

use warp_spmv::Complex;
use warp_spmv::io::{read_container, read_matrix_market, read_vector};
use warp_spmv::solver::MethodName;

use crate::command::{Folder, spmv};

/// A hermitian matrix; the file holds one half.
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
fn factors_are_complex() {
    let folder = Folder::new();
    let text = folder.file("m.mtx", HERMITIAN);
    let x = folder.file("x.mtx", "%%MatrixMarket matrix array complex general\n3 1\n1 0\n0 1\n2 0\n");
    let y = folder.name("y.mtx");
    let run = |alpha, more: &[&str]| {
        let arguments = ["run", &text, "--precision", "complex128", "--executor", "cpu", "--x", &x, "--output", &y];
        spmv(arguments.into_iter().chain(["--alpha", alpha, "--json"]).chain(more.iter().copied())).record()
    };
    assert_eq!(run("-1+2i", &[])["alpha"], serde_json::json!([-1.0, 2.0]));
    let product = [(1.0, 0.5), (0.5, -7.0), (-5.0, 0.0)].map(|(re, im)| Complex { re, im });
    let expected = product.map(|element| element * Complex::new(-1.0, 2.0));
    assert_eq!(read_vector::<Complex<f64>>(&y, None).unwrap(), expected);
    for format in ["all", "csr-vector"] {
        let arguments = ["run", &text, "--precision", "complex64", "--repeat", "1", "--executor", "cpu", "--json"];
        let factors = ["--alpha", "i", "--beta", "-0.5-i", "--format", format];
        let record = spmv(arguments.into_iter().chain(factors)).record();
        assert_eq!(record["beta"], serde_json::json!([-0.5, -1.0]));
    }
    let message = spmv(["run", "stencil:5:3", "--beta", "1-2i"]).refused();
    assert_eq!(message, "--beta 1-2i: float64 has no imaginary parts, --precision complex128 does");
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
    let says = ": the values are complex, expected real ones; run, solve, bench, info and convert read them with \
                --precision complex128";
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

/// Every method on every executor finds the solution that the complex system was made from.
#[test]
fn complex_systems_are_solved() {
    let folder = Folder::new();
    // Hermitian, positive definite and tridiagonal.
    let mut text = String::from("%%MatrixMarket matrix coordinate complex hermitian\n30 30 59\n");
    (1..=30).for_each(|row| text += &format!("{row} {row} {} 0\n", 2.5 + 0.1 * f64::from(row % 4)));
    (1..30).for_each(|row| text += &format!("{} {row} 0.6 {}\n", row + 1, if row % 2 == 0 { 0.8 } else { -0.8 }));
    let matrix = folder.file("m.mtx", &text);
    for method in MethodName::ALL {
        for executor in ["reference", "cpu", "emulated"] {
            let options = ["--precision", "complex128", "--executor", executor, "--tolerance", "1e-10", "--json"];
            let arguments = ["solve", &matrix, "--method", method.name(), "--seed", "3"];
            let record = spmv(arguments.into_iter().chain(options)).record();
            assert_eq!((&record["precision"], &record["converged"]), (&"complex128".into(), &true.into()), "{record}");
            assert!(record["error"].as_f64().unwrap() < 1e-9, "{method}, {executor}: {record}");
            assert_eq!(record["residual"]["verification"]["passed"], true);
        }
    }
    for preconditioner in ["jacobi", "block-jacobi-4", "chebyshev-2", "ilu0", "ic0", "ic0-coloured", "ic0-sweeps-5"] {
        let options = ["--precision", "complex64", "--preconditioner", preconditioner, "--tolerance", "1e-4", "--json"];
        let record = spmv(["solve", &matrix, "--executor", "cpu"].into_iter().chain(options)).record();
        assert_eq!((&record["converged"], &record["precision"]), (&true.into(), &"complex64".into()), "{record}");
    }
    let x = folder.name("x.mtx");
    spmv(["solve", &matrix, "--precision", "complex128", "--executor", "cpu", "--out", &x]).succeeded();
    let ones = read_vector::<Complex<f64>>(&x, None).unwrap();
    assert!(ones.len() == 30 && ones.iter().all(|x| (x - 1.0).norm() < 1e-4), "{ones:?}");
    let message = spmv(["solve", &matrix, "--precision", "complex64", "--peers"]).refused();
    assert_eq!(message, "--peers solves real systems only, not those of complex64");
}

#[test]
fn complex_matrices_are_generated() {
    for (text, method) in [("helmholtz:grid=20x15", "gmres"), ("gauge:grid=4x4x4x4,mass=0.5,seed=1", "cg")] {
        let options = ["--precision", "complex128", "--executor", "cpu", "--json"];
        let record = spmv(["solve", text, "--method", method].into_iter().chain(options)).record();
        assert_eq!(record["converged"], true, "{record}");
        let record = spmv(["info", text, "--precision", "complex128", "--json"]).record();
        assert_eq!(record["field"], "complex");
        for command in ["run", "info", "solve", "pagerank"] {
            let message = spmv([command, text]).refused();
            assert!(message.contains(": the values are complex, expected real ones; run, solve"), "{message}");
        }
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
