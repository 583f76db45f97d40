//! Files that several ranks read and write together, and the subcommands that do so: `convert`, `pagerank`, and vectors
//! and stored values of `run` and `solve`.

use std::fs;

use serde_json::Value;
use warp_spmv::io::{read_container, read_vector, write};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, Error};

use super::{Folder, Outcome, SMALL, spmv};

/// Numbers of ranks, including more than the rows of a small matrix.
const RANKS: [&str; 4] = ["1", "2", "3", "9"];

#[test]
fn files_are_those_that_one_rank_writes() {
    let folder = Folder::new();
    let unsorted = "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n5 5 6\n5 1 0.1\n2 2 3\n5 1 0.2\n\n4 3 -1\n\
                    1 1 7\n5 1 1e16\n";
    let text = folder.file("m.mtx", unsorted);
    for source in [&*text, "stencil:5:7x4", "rectangle:rows=5,columns=9,per-row=2", "permutation:rows=1"] {
        for (name, precision) in
            [("a.wspmv", "float64"), ("a.wspmv", "complex64"), ("a.mtx", "float32"), ("a.mtx.gz", "float64")]
        {
            let (alone, together) = (folder.name(name), folder.name(&name.replace('a', "b")));
            let line = spmv(["convert", source, &alone, "--precision", precision]).succeeded();
            for ranks in RANKS {
                let arguments = ["convert", source, &together, "--precision", precision, "--ranks", ranks];
                let told = spmv(arguments).succeeded();
                if name.ends_with("gz") {
                    // The gzip members differ.
                    let [alone, together] = [&alone, &together]
                        .map(|path| warp_spmv::io::read::<f64>(path, &Default::default()).unwrap().matrix);
                    assert_eq!(alone, together);
                } else {
                    assert_eq!(told.replace(&together, &alone), line);
                    assert!(fs::read(&alone).unwrap() == fs::read(&together).unwrap(), "{source}, {name}, {ranks}");
                }
                // The written file is read again and replaced by itself.
                spmv(["convert", &together, &together, "--precision", precision, "--ranks", "2"]).succeeded();
                fs::remove_file(&together).unwrap();
            }
        }
    }
    let path = folder.name("unsorted.wspmv");
    let disorder = Csr::try_new(3, 4, vec![0u32, 3, 3, 4], vec![3, 0, 3, 1], vec![2.0, 5.0, 1.0, 7.0]).unwrap();
    write(&path, &disorder).unwrap();
    let line = spmv(["convert", &path, &path, "--sort", "--ranks", "2"]).succeeded();
    assert!(line.contains("3 rows, 4 columns, 3 stored entries, CSR, float64"), "{line}");
    let sorted = Csr::try_new(3, 4, vec![0u32, 2, 2, 3], vec![0, 3, 1], vec![5.0, 3.0, 7.0]).unwrap();
    assert_eq!(read_container::<f64>(&path).unwrap(), sorted);
    assert_eq!(folder.names(), ["a.mtx", "a.mtx.gz", "a.wspmv", "m.mtx", "unsorted.wspmv"]);
}

#[test]
fn nothing_is_left_of_a_file_that_cannot_be_written() {
    let folder = Folder::new();
    let small = folder.file("m.mtx", SMALL);
    let npz = folder.name("m.npz");
    spmv(["convert", &small, &npz]).succeeded();
    let bad = folder.file("bad.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 4\n2 2 x\n3 9 1\n");
    let whole = folder.name("whole.wspmv");
    spmv(["convert", "stencil:5:9", &whole]).succeeded();
    let bytes = fs::read(&whole).unwrap();
    let cut = folder.file("cut.wspmv", &bytes[..bytes.len() - 5]);
    let mut bytes = bytes;
    let last = bytes.len() - 3;
    bytes[last] ^= 4;
    let altered = folder.file("altered.wspmv", bytes);
    let names = folder.names();
    let new = folder.name("new.wspmv");
    for (arguments, says) in [
        (&[&*bad, &new][..], "bad.mtx:4: expected a real number, found 'x'"),
        (&[&*cut, &new], "cut.wspmv: the file is truncated: "),
        (&[&*altered, &new], "altered.wspmv: the file is altered: section 'values' does not match its checksum"),
        (&[&*small, &folder.name("new.npz")], "a SciPy npz file is not written by several ranks"),
        (&[&*small, &new, "--format", "ell"], "--format ell does not go with several ranks"),
        (&[&*small, &folder.name("missing/new.wspmv")], "missing: "),
        (&["missing.mtx", &new], "missing.mtx: "),
    ] {
        for ranks in ["1", "3"] {
            let message = spmv(["convert"].iter().chain(arguments).chain(&["--ranks", ranks])).refused();
            assert!(message.contains(says), "{arguments:?}: {message}");
        }
    }
    assert_eq!(folder.names(), names);
    // A file that cannot be read by ranges is read as a whole, with a note about it.
    let Outcome { code, stderr, .. } = spmv(["convert", &npz, &new, "--ranks", "2"]);
    assert_eq!(code, Some(0));
    assert!(stderr.ends_with("is a SciPy npz file, which ranks cannot read by ranges: it was read as a whole\n"));
    assert_eq!(read_container::<f64>(&new).unwrap(), read(&small));
    #[cfg(target_os = "linux")]
    {
        // Like a disk that is full for some ranks only: the file size is limited.
        let mut shell = std::process::Command::new("sh");
        let limited = "trap '' XFSZ; ulimit -f 64; exec \"$0\" \"$@\"";
        shell.args(["-c", limited, env!("CARGO_BIN_EXE_warp-spmv"), "convert", "stencil:5:100", &new, "--ranks", "3"]);
        let outcome = Outcome::from(shell.output().unwrap()).refused();
        assert!(outcome.starts_with("rank ") && outcome.contains("new.wspmv: File too large"), "{outcome}");
        assert_eq!(read_container::<f64>(&new).unwrap(), read(&small));
    }
}

fn read(path: &str) -> Csr<f64> {
    warp_spmv::io::read_matrix_market(path, None).unwrap().0
}

#[test]
fn vertices_have_the_same_ranks() -> Result<(), Error> {
    let folder = Folder::new();
    let graph: Generator = "rmat:scale=7,seed=4".parse().unwrap();
    let graph = graph.generate::<f64>().unwrap();
    let positive = graph.values().iter().map(|value| value.abs()).collect();
    let (offsets, columns) = (graph.row_offsets().clone(), graph.column_indices().to_vec());
    let path = folder.name("graph.wspmv");
    write(&path, &Csr::try_new(graph.rows(), graph.columns(), offsets, columns, positive)?)?;
    let [alone, together] = ["alone.mtx", "together.mtx"].map(|name| folder.name(name));
    for more in [&["--unweighted"][..], &[], &["--damping", "0.5", "--precision", "float32", "--tolerance", "1e-5"]] {
        let common = ["pagerank", &path, "--top", "5", "--executor", "cpu", "--json", "--out"];
        let arguments = |out: &str, last: &[&str]| -> Vec<String> {
            common.iter().chain(&[out]).chain(more).chain(last).map(|&text| text.into()).collect()
        };
        let expected = spmv(arguments(&alone, &[])).record();
        for ranks in ["1", "2", "7", "150"] {
            let record = spmv(arguments(&together, &["--ranks", ranks])).record();
            assert_eq!((record["ranks"].to_string(), &record["converged"]), (ranks.into(), &Value::from(true)));
            for field in ["iterations", "matrix", "damping", "precision"] {
                assert_eq!(record[field], expected[field], "{record}");
            }
            let vertices = |record: &Value| -> Vec<u64> {
                record["top"].as_array().unwrap().iter().map(|ranked| ranked["vertex"].as_u64().unwrap()).collect()
            };
            assert_eq!(vertices(&record), vertices(&expected), "{record}");
            assert_eq!(record["parts"].as_array().unwrap().len().to_string(), ranks);
            let [alone, together] = [&alone, &together].map(|file| read_vector::<f64>(file, None).unwrap());
            let off = alone.iter().zip(&together).map(|(alone, together)| (alone - together).abs()).fold(0.0, f64::max);
            let allowed = if more.len() == 6 { 1e-7 } else { 1e-14 };
            assert!(alone.len() == together.len() && off < allowed, "{ranks} ranks: {off}");
        }
    }
    let text = spmv(["pagerank", &path, "--ranks", "2", "--executor", "cpu", "--top", "1"]).succeeded();
    for line in
        ["ranks         2 threads, float64, ", "the ranks add up to 1.000000\n            1 vertex ", "\nrank    "]
    {
        assert!(text.contains(line), "{line:?} in {text}");
    }
    let small = folder.file("m.mtx", SMALL);
    let message = spmv(["pagerank", &small, "--ranks", "2", "--executor", "cpu"]).refused();
    assert!(message.contains("expected a square matrix"), "{message}");
    let negative = folder.file("n.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1\n3 1 -2\n");
    let message = spmv(["pagerank", &negative, "--ranks", "2", "--executor", "cpu"]).refused();
    assert!(message.contains("row 2, column 0: weight -2 is not finite and non-negative"), "{message}");
    Ok(())
}

#[test]
fn a_vector_from_a_file_and_values_that_are_narrow() {
    let folder = Folder::new();
    let matrix =
        folder.file("m.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 4\n1 1 2\n1 2 0.1\n2 2 4\n3 1 5\n");
    let x = folder.file("x.mtx", "%%MatrixMarket matrix array real general\n2 1\n3\n10\n");
    let y = folder.name("y.mtx");
    for ranks in RANKS {
        spmv(["run", &matrix, "--ranks", ranks, "--executor", "cpu", "--x", &x, "--output", &y]).succeeded();
        assert_eq!(read_vector::<f64>(&y, None).unwrap(), [7.0, 40.0, 15.0]);
    }
    let arguments = ["run", &matrix, "--ranks", "2", "--executor", "cpu", "--x", &matrix];
    assert!(spmv(arguments).refused().contains("a coordinate file holds a sparse matrix"));
    let bytes = |more: &[&str]| {
        let common = ["run", "stencil:7:12", "--ranks", "3", "--executor", "cpu", "--format", "ell", "--json"];
        let record = spmv(common.iter().chain(more)).record();
        assert_eq!(record["verification"]["passed"], true, "{record}");
        record["bytes"].as_u64().unwrap()
    };
    let (full, narrow, rounded) = (bytes(&[]), bytes(&["--narrow"]), bytes(&["--values", "float16"]));
    assert!(narrow < full && rounded < full, "{full}, {narrow}, {rounded}");
    let arguments = ["solve", "stencil:7:9", "--ranks", "3", "--executor", "cpu", "--values", "float16", "--json"];
    assert_eq!(spmv(arguments).record()["converged"], true);
}
