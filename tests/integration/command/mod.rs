//! The command `warp-spmv` as a user runs it.

mod bad_input;
mod bench;
mod choose;
mod complex;
mod convert;
mod doctor;
mod faults;
mod files;
mod info;
mod pagerank;
mod ranks;
mod ranks_files;
mod report;
mod run;
mod run_all;
mod scaling;
mod solve;
mod solve_scipy;
mod streams;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// Returns the command with its arguments.
fn command<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warp-spmv"));
    command.args(arguments);
    // Tests must not use what other runs of this user have stored.
    command.env("XDG_DATA_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Outcome of running the command.
#[derive(Debug)]
struct Outcome {
    code: Option<i32>,
    /// The exit status in words: a code or a signal.
    ending: String,
    stdout: String,
    stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            ending: output.status.to_string(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs the command.
fn spmv<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Outcome {
    command(arguments).output().unwrap().into()
}

impl Outcome {
    /// Returns the standard output of a successful run with empty standard error.
    #[track_caller]
    fn succeeded(self) -> String {
        assert_eq!((self.code, &*self.stderr), (Some(0), ""), "{}: {}", self.ending, self.stdout);
        self.stdout
    }

    /// Returns the only JSON record that a successful run printed.
    #[track_caller]
    fn record(self) -> Value {
        let stdout = self.succeeded();
        assert!(stdout.ends_with("}\n") && stdout.lines().count() == 1, "{stdout}");
        serde_json::from_str(&stdout).unwrap()
    }

    /// Returns the one-line error message of a failed run that printed nothing else.
    #[track_caller]
    fn refused(self) -> String {
        assert_eq!((self.code, &*self.stdout), (Some(2), ""), "{}", self.stderr);
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        assert!(!self.stderr.trim_end_matches('\n').contains(char::is_control), "{:?}", self.stderr);
        let message = self.stderr.strip_prefix("warp-spmv: error: ").unwrap_or_else(|| panic!("{}", self.stderr));
        message.strip_suffix('\n').unwrap().to_owned()
    }
}

/// A temporary folder that the test may fill with files.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the path of a name as text.
    fn name(&self, name: &str) -> String {
        self.path(name).into_os_string().into_string().unwrap()
    }

    /// Writes a file and returns its path.
    fn file(&self, name: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, contents).unwrap();
        path.into_os_string().into_string().unwrap()
    }

    /// Returns the names of the files, sorted.
    fn names(&self) -> Vec<String> {
        let entries = self.0.path().read_dir().unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A 2 x 3 matrix as a file.
const SMALL: &str = "%%MatrixMarket matrix coordinate real general\n% a comment\n2 3 3\n1 1 4\n2 3 0.5\n2 1 -1\n";
