//! Refused input: one line that says what and where, exit code 2, nothing printed, nothing written.

use crate::command::{Folder, SMALL, spmv};

const BANNER: &str = "%%MatrixMarket matrix coordinate real general\n";

/// Runs `run` and `info` on a matrix that both must refuse, and returns their common message.
#[track_caller]
fn refused(matrix: &str) -> String {
    let folder = Folder::new();
    let output = folder.path("y.mtx");
    let message = spmv(["run", matrix, "--executor", "cpu", "--output", output.to_str().unwrap()]).refused();
    assert!(folder.names().is_empty());
    for arguments in [["info", matrix, "--json"], ["run", matrix, "--json"]] {
        assert_eq!(spmv(arguments).refused(), message);
    }
    message
}

/// Each case: the text of the file, the number of the wrong line, and part of the message.
#[test]
fn files_that_are_not_what_they_say() {
    let file = |text: &str| format!("{BANNER}{text}").into_bytes();
    let folder = Folder::new();
    for (name, contents, line, says) in [
        ("empty", vec![], 1, "the file is empty"),
        ("banner", b"%%MatrixMarkt matrix coordinate real general\n1 1 0\n".to_vec(), 1, "unknown banner"),
        ("no banner", b"1 1 1\n1 1 1\n".to_vec(), 1, "unknown kind of file"),
        ("dense", b"%%MatrixMarket matrix array real general\n1 1\n1\n".to_vec(), 1, "expected a coordinate file"),
        ("complex", b"%%MatrixMarket matrix coordinate complex general\n".to_vec(), 1, "complex"),
        ("sizes missing", file("% only a comment\n"), 2, "ends before its size line"),
        ("sizes short", file("3 3\n"), 2, "expected the number of entries"),
        ("truncated", file("3 3 3\n1 1 1\n2 2 1\n"), 4, "the file ends after 2 of 3 entries"),
        ("surplus", file("3 3 1\n1 1 1\n2 2 1\n"), 4, "one entry more than the 1 announced"),
        ("row 0", file("3 3 1\n0 1 1\n"), 3, "expected a row index from 1 on, found '0'"),
        ("column 0", file("3 3 1\n1 0 1\n"), 3, "expected a column index from 1 on, found '0'"),
        ("row beyond", file("3 5 2\n3 5 1\n4 1 1\n"), 4, "row index '4' is beyond the 3 rows"),
        ("column beyond", file("5 3 1\n1 4 1\n"), 3, "column index '4' is beyond the 3 columns"),
        ("row huge", file("3 3 1\n99999999999999999999999 1 1\n"), 3, "99999999999999999999999"),
        ("negative", file("3 3 1\n-1 1 1\n"), 3, "'-1'"),
        ("no number", file("3 3 1\n1 1 one\n"), 3, "'one'"),
        ("no value", file("3 3 1\n1 1\n"), 3, "the end of the line"),
        ("four", file("3 3 1\n1 1 1 1\n"), 3, "expected the end of the line, found '1'"),
        ("quintillion", file("1000 1000 1000000000000000000\n1 1 1\n"), 2, "1000000000000000000 entries announced"),
        ("rows", file("1000000000000000000 1 1\n1 1 1\n"), 2, "1000000000000000000 rows"),
        ("not UTF-8", [BANNER.as_bytes(), b"3 3 1\n1 1 \xff\xfe\n"].concat(), 3, "'\\xff\\xfe'"),
        ("steering", file("3 3 1\n1 1 \x1b[31m\n"), 3, "'\\x1b[31m'"),
    ] {
        let path = folder.file(name, contents);
        let message = refused(&path);
        assert!(message.starts_with(&format!("{path}:{line}: ")), "{name}: {message}");
        assert!(message.contains(says), "{name}: {message}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new();
    let missing = folder.path("missing.mtx").into_os_string().into_string().unwrap();
    let message = refused(&missing);
    assert!(message.starts_with(&format!("{missing}: ")) && !message.contains("generator"), "{message}");
    let directory = folder.path("").into_os_string().into_string().unwrap();
    assert_eq!(refused(&directory), format!("{directory}: is a directory, expected a file"));
    let message = refused("no\nsuch\x1b[31m file");
    assert!(message.starts_with("no\\nsuch\\u{1b}[31m file: "), "{message}");
    assert!(refused("").starts_with(": "));
}

#[test]
fn generators_that_do_not_exist() {
    let hint = ": no such file, and no generator of that name: expected one of stencil, pareto, banded, ";
    for text in ["stencl:27:10", "poisson:", ":"] {
        let message = refused(text);
        assert!(message.starts_with(&format!("{text}{hint}")), "{message}");
    }
    for (text, message) in [
        ("stencil:4:10", "stencil: points is \"4\", expected 3, 5, 7, 9 or 27"),
        ("banded:rows=3", "banded: no key \"bands\"; expected banded:rows=N,bands=N[,seed=0]"),
    ] {
        assert_eq!(refused(text), message);
    }
    assert!(refused("stencil:27:100000").contains("expected a grid of at most"));
}

#[test]
fn vectors_that_do_not_fit() {
    let folder = Folder::new();
    let matrix = folder.file("small.mtx", SMALL);
    let run = |x: &str| {
        let output = folder.path("y.mtx");
        let message = spmv(["run", &matrix, "--x", x, "--output", output.to_str().unwrap()]).refused();
        assert!(!output.exists());
        message
    };
    let banner = "%%MatrixMarket matrix array real general\n";
    let x = folder.file("long.mtx", format!("{banner}4 1\n1\n2\n3\n4\n"));
    assert_eq!(run(&x), format!("{x}: a vector of length 4, expected 3 for the columns of the matrix"));
    let x = folder.file("word.mtx", format!("{banner}3 1\n1\ntwo\n3\n"));
    assert_eq!(run(&x), format!("{x}:4: expected a real number, found 'two'"));
    let x = folder.file("truncated.mtx", format!("{banner}3 1\n1.000000\n"));
    assert!(run(&x).starts_with(&format!("{x}:3: the file ends after 1 of 3")));
    assert!(run(&matrix).starts_with(&format!("{matrix}:1: ")));
    assert!(run("nowhere.mtx").starts_with("nowhere.mtx: "));
}

/// An existing file stays unchanged, and no other file is left behind.
#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new();
    let matrix = folder.file("small.mtx", SMALL);
    let output = folder.file("y.mtx", "precious");
    let bad = folder.file("bad.mtx", &SMALL[..SMALL.len() - 9]);
    spmv(["run", &bad, "--output", &output]).refused();
    assert_eq!(std::fs::read_to_string(&output).unwrap(), "precious");

    let in_missing_folder = folder.path("missing/y.mtx");
    let message = spmv(["run", &matrix, "--output", in_missing_folder.to_str().unwrap()]).refused();
    assert!(message.starts_with(folder.path("missing: ").to_str().unwrap()), "{message}");
    let below_a_file = folder.path("y.mtx/y.mtx");
    let message = spmv(["run", &matrix, "--output", below_a_file.to_str().unwrap()]).refused();
    assert!(message.starts_with(&format!("{output}: not a directory")), "{message}");
    let directory = folder.path("");
    let message = spmv(["run", &matrix, "--executor", "cpu", "--output", directory.to_str().unwrap()]).refused();
    assert!(message.contains("is a directory"), "{message}");
    assert_eq!(folder.names(), ["bad.mtx", "small.mtx", "y.mtx"]);
}

#[test]
fn arguments_that_do_not_exist() {
    for (arguments, says) in [
        (
            &[] as &[&str],
            "requires a subcommand but one was not provided [subcommands: info, run, solve, pagerank, bench, tune, scaling, convert, report, doctor, completions, manual, help]; try --help",
        ),
        (&["multiply"], "unrecognized subcommand 'multiply'"),
        (&["info"], "the following required arguments were not provided: <FILE|GENERATOR>"),
        (
            &["run", "stencil:5:3", "--format", "csr"],
            "'csr' for '--format <FORMAT>' [possible values: csr-scalar, csr-",
        ),
        (
            &["run", "stencil:5:3", "--format", "sell-p:slice=0"],
            "format \"sell-p:slice=0\": slice is 0, expected a number from 1 to 4294967295",
        ),
        (
            &["run", "stencil:5:3", "--format", "coo:slice=8"],
            "format \"coo:slice=8\": coo has no parameters; try --help",
        ),
        (&["run", "stencil:5:3", "--format", "csr:lanes=8"], "unknown format 'csr': expected csr-scalar, "),
        (&["solve", "stencil:5:3", "--format", "cmrs:"], "format \"cmrs:\": unknown parameter '', expected height"),
        (
            &["convert", "stencil:5:3", "m.wspmv", "--format", "bellpack-3x3:rows=3"],
            "format \"bellpack-3x3:rows=3\": rows is 3, expected 32, 64, 128 or 256",
        ),
        (
            &["run", "stencil:5:3", "--executor", "cpu", "--persistent"],
            "the executor is cpu with --persistent, expected cuda or emulated: other executors have no grids",
        ),
        (
            &["run", "stencil:5:3", "--executor", "emulated", "--threads-per-block", "33"],
            "the number of threads per block is 33, expected a multiple of 32 from 32 to 1024",
        ),
        (
            &["run", "stencil:5:3", "--executor", "emulated", "--waves", "0"],
            "the number of waves is 0, expected at least 1",
        ),
        (&["run", "stencil:5:3", "--oversubscription", "0"], "'0' for '--oversubscription <N>'"),
        (
            &["solve", "stencil:5:3", "--executor", "reference", "--waves", "2"],
            "the executor is reference with --waves 2, expected cuda or emulated: other executors have no grids",
        ),
        (&["run", "stencil:5:3", "--executor", "gpu"], "[possible values: reference, cpu, emulated, cuda]"),
        (&["run", "stencil:5:3", "--precision", "half"], "[possible values: float32, float64, complex64, complex128]"),
        (&["run", "stencil:5:3", "--repeat", "0"], "'0' for '--repeat <N>': 0 is not in 1..="),
        (&["run", "stencil:5:3", "--repeat", "-1"], "'-1'"),
        (&["run", "stencil:5:3", "--alpha", "one"], "'one' for '--alpha <NUMBER>'"),
        (
            &["run", "stencil:5:3", "--alpha", "1e99", "--precision", "float32"],
            "--alpha 1e99 is beyond the range of float32",
        ),
        (&["run", "stencil:5:3", "--alpha", "inf"], "--alpha is inf, expected a finite number"),
        (&["run", "stencil:5:3", "--beta", "nan"], "--beta is NaN, expected a finite number"),
        (
            &["run", "stencil:5:3", "--bta", "1"],
            "unexpected argument '--bta' found; tip: a similar argument exists: '--beta'",
        ),
        (&["info", "stencil:5:3", "stencil:5:4"], "unexpected argument 'stencil:5:4' found"),
        (&["info", "stencil:5:3", "a\nb\x1b[31m"], "unexpected argument 'a"),
    ] {
        let message = spmv(arguments).refused();
        assert!(message.contains(says), "{arguments:?}: {message}");
    }
}

#[cfg(not(feature = "cuda"))]
#[test]
fn an_executor_that_is_not_there() {
    let message = spmv(["run", "stencil:5:3", "--executor", "cuda"]).refused();
    assert_eq!(message, "executor cuda is not available: this program was built without the feature `cuda`");
}

#[test]
fn a_compressed_file_beyond_the_limit_is_refused_and_the_limit_can_be_raised() {
    let folder = Folder::new();
    let file = folder.path("m.mtx.gz");
    let file = file.to_str().unwrap();
    spmv(["convert", "stencil:5:10", file]).succeeded();
    let message = spmv(["info", file, "--decompressed-limit", "100"]).refused();
    assert!(message.contains("decompresses to more than the 100 bytes allowed"), "{message}");
    spmv(["info", file, "--decompressed-limit", "100000"]).succeeded();
}
