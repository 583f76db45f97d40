//! Every kind of file, with `info` and `run`.

use warp_spmv::Csr;
use warp_spmv::io::{Field, MatrixMarketOptions, write, write_matrix_market};

use crate::command::{Folder, SMALL, spmv};

/// The matrix of [`SMALL`].
fn small() -> Csr<f64> {
    Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 2, 0], &[4.0, 0.5, -1.0]).unwrap()
}

/// The matrix of [`SMALL`] as a Rutherford-Boeing file.
fn rutherford_boeing() -> String {
    let numbers = |first: &str, numbers: [u32; 4]| format!("{first}{}\n", numbers.map(|n| format!("{n:14}")).concat());
    let formats = format!("{:16}{:16}{:20}\n", "(4I3)", "(3I3)", "(3F5.1)");
    let title = format!("{:72}{:8}\n", "small", "key");
    let body = "  1  3  3  4\n  1  2  2\n  4.0 -1.0  0.5\n";
    [title, numbers("", [3, 1, 1, 1]), numbers(&format!("{:14}", "rra"), [2, 3, 3, 0]), formats, body.into()].concat()
}

#[test]
fn every_kind_is_described_and_multiplied() {
    let folder = Folder::new();
    for name in ["m.mtx", "m.mtx.gz", "m.npz", "m.wspmv"] {
        write(folder.path(name), &small()).unwrap();
    }
    folder.file("m.rb", rutherford_boeing());
    folder.file("text", SMALL);
    let x = folder.file("x", "%%MatrixMarket matrix array real general\n3 1\n1\n10\n100\n");
    for name in ["m.mtx", "m.mtx.gz", "m.npz", "m.wspmv", "m.rb", "text"] {
        let path = folder.path(name).into_os_string().into_string().unwrap();
        let record = spmv(["info", &path, "--json"]).record();
        assert_eq!((&record["matrix"]["nonzeros"], &record["bandwidth"]["above"]), (&3.into(), &1.into()), "{name}");
        assert_eq!((&record["field"], &record["symmetry"]), (&"real".into(), &"general".into()), "{name}");
        let y = folder.path("y").into_os_string().into_string().unwrap();
        spmv(["run", &path, "--executor", "cpu", "--x", &x, "--output", &y]).succeeded();
        let text = std::fs::read_to_string(&y).unwrap();
        assert!(text.ends_with("2 1\n4.0\n49.0\n"), "{name}: {text}");
    }
}

#[test]
fn files_say_what_their_values_are() {
    let folder = Folder::new();
    let matrix = Csr::try_from_triplets(2, 2, &[0, 1], &[1, 0], &[1.0, 1.0]).unwrap();
    let options = MatrixMarketOptions { field: Field::Pattern, ..MatrixMarketOptions::default() };
    write_matrix_market(folder.path("p.mtx.gz"), &matrix, options).unwrap();
    let record = spmv(["info", folder.path("p.mtx.gz").to_str().unwrap(), "--json"]).record();
    assert_eq!((&record["field"], &record["matrix"]["nonzeros"]), (&"pattern".into(), &2.into()));
    folder.file("s.rb", rutherford_boeing().replace("rra", "RRA"));
    assert_eq!(spmv(["info", folder.path("s.rb").to_str().unwrap(), "--json"]).record()["field"], "real");
}

#[test]
fn damaged_files_are_refused_in_one_line() {
    let folder = Folder::new();
    for (name, phrase) in [
        ("m.mtx.gz", "truncated"),
        ("m.npz", ""),
        ("m.wspmv", "the file is truncated: "),
        ("m.mtx", "the file ends after 2"),
    ] {
        write(folder.path(name), &small()).unwrap();
        let bytes = std::fs::read(folder.path(name)).unwrap();
        let path = folder.file(name, &bytes[..bytes.len() - 9]);
        for arguments in [&["info", &path][..], &["run", &path, "--executor", "cpu"]] {
            let message = spmv(arguments).refused();
            assert!(message.starts_with(&format!("{path}:")) && message.contains(phrase), "{message}");
        }
    }
    let short = rutherford_boeing();
    let path = folder.file("m.rb", &short[..short.len() - 11]);
    assert!(spmv(["info", &path]).refused().starts_with(&format!("{path}:7: the line has 1 of 3 values")));
}
