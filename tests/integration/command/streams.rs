//! Standard output and standard error.

use std::io;

use crate::command::{Outcome, command, spmv};

const COMMANDS: [&[&str]; 9] = [
    &["--help"],
    &["--version"],
    &["info", "stencil:5:10"],
    &["run", "stencil:5:10", "--executor", "cpu"],
    &["run", "stencil:5:10", "--executor", "cpu", "--json"],
    &["run", "stencil:5:10", "--executor", "cpu", "--format", "all"],
    &["solve", "stencil:5:10", "--executor", "cpu"],
    &["solve", "stencil:5:10", "--executor", "cpu", "--json"],
    &["pagerank", "stencil:5:10", "--unweighted", "--executor", "cpu"],
];

#[test]
fn a_reader_that_has_gone_is_no_error() {
    for arguments in COMMANDS {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let outcome: Outcome = command(arguments).stdout(writer).output().unwrap().into();
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn standard_streams_may_be_closed() {
    for arguments in COMMANDS {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" >&- 2>&-", env!("CARGO_BIN_EXE_warp-spmv")]).args(arguments);
        assert_eq!(shell.status().unwrap().code(), Some(0), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    for arguments in COMMANDS {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let outcome: Outcome = command(arguments).stdout(full).output().unwrap().into();
        assert_eq!(outcome.refused(), "standard output: No space left on device (os error 28)", "{arguments:?}");
    }
    let message = spmv(["run", "stencil:5:10", "--executor", "cpu", "--output", "/dev/full"]).refused();
    assert_eq!(message, "/dev/full: No space left on device (os error 28)");
}

/// A closed standard error must not affect the exit code.
#[test]
fn nobody_need_read_the_error() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let outcome: Outcome = command(["run", "missing.mtx"]).stderr(writer).output().unwrap().into();
    assert_eq!((outcome.code, &*outcome.stdout), (Some(2), ""));
}

#[test]
fn help_and_version() {
    let version = spmv(["--version"]).succeeded();
    assert_eq!(version, format!("warp-spmv {}\n", env!("CARGO_PKG_VERSION")));
    let help = spmv(["--help"]).succeeded();
    assert!(help.contains("Examples:\n  warp-spmv info") && help.contains("Exit codes:"), "{help}");
    let help = spmv(["run", "--help"]).succeeded();
    for part in [
        "Generators:\n  stencil:POINTS:GRID\n",
        "times=N",
        "Examples:\n",
        "csr-vector-16",
        "emulated, cuda]",
        "float32,",
        "\n  bellpack-1x2 to bellpack-8x8\n      rows: block rows per partition, R; 32, 64, 128 or 256\n",
    ] {
        assert!(help.contains(part), "{part:?} in {help}");
    }
    for (command, summary) in
        [("info", "Describe a matrix"), ("run", "Multiply a matrix"), ("convert", "Write a matrix")]
    {
        assert!(spmv([command, "-h"]).succeeded().starts_with(summary));
        assert!(spmv(["help", command]).succeeded().starts_with(summary));
    }
}
