//! Regressions: each of these tests failed before a fix.

use std::fs;

use super::{Folder, spmv};

/// No input is overwritten, whatever path names it, and no output replaces another.
#[cfg(unix)]
#[test]
fn what_is_read_is_not_written_over() {
    let folder = Folder::new();
    let square = "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n";
    let matrix = folder.file("m.mtx", square);
    let vector = folder.file("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n");
    let results = folder.file("r.json", "[]\n");
    std::os::unix::fs::symlink("m.mtx", folder.path("link.mtx")).unwrap();
    fs::hard_link(folder.path("m.mtx"), folder.path("hard.mtx")).unwrap();
    fs::create_dir(folder.path("sub")).unwrap();
    let before = folder.names();
    let matrices = [matrix.clone(), folder.name("link.mtx"), folder.name("hard.mtx"), folder.name("sub/../m.mtx")];
    let refused = |read: &str, arguments: &[&str]| {
        let message = spmv(arguments).refused();
        assert_eq!(message, format!("{read}: is an input, so it cannot be written"), "{arguments:?}");
    };
    for other in &matrices {
        refused(&matrix, &["run", &matrix, "--output", other]);
        refused(&matrix, &["solve", &matrix, "--out", other]);
        refused(&matrix, &["solve", &matrix, "--plot", other]);
        refused(&matrix, &["pagerank", &matrix, "--out", other]);
    }
    refused(&vector, &["run", &matrix, "--x", &vector, "--output", &vector]);
    refused(&vector, &["solve", &matrix, "--rhs", &vector, "--out", &vector]);
    refused(&vector, &["solve", &matrix, "--start", &vector, "--plot", &vector]);
    refused(&results, &["tune", "--from", &results, "--out", &results]);
    refused(&results, &["report", &results, "-o", &results]);
    for (out, plot) in [("new", "new"), ("new", "sub/../new")] {
        let (out, plot) = (folder.name(out), folder.name(plot));
        let message = spmv(["solve", &matrix, "--out", &out, "--plot", &plot]).refused();
        assert_eq!(message, format!("{plot}: would be written twice"));
    }
    assert_eq!(folder.names(), before);
    assert_eq!(fs::read_to_string(&matrix).unwrap(), square);
    assert_eq!(fs::read_to_string(&results).unwrap(), "[]\n");
    // An output that is not a file can be written to any number of times.
    spmv(["solve", &matrix, "--out", "/dev/null", "--plot", "/dev/null"]).succeeded();
}

/// A file name that is not Unicode is no reason to fail after the work is done.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_unicode() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::new();
    let square = folder.file("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 4\n2 2 3\n");
    let name = folder.path("").join(OsStr::from_bytes(b"y\xff.mtx"));
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    for (command, option, key) in [
        ("run", "--output", "output"),
        ("solve", "--out", "out"),
        ("solve", "--plot", "plot"),
        ("pagerank", "--out", "out"),
    ] {
        let mut arguments = words(&[command, &square, "--json", option]);
        arguments.push(name.clone().into());
        let record = spmv(arguments).record();
        assert!(record[key].as_str().unwrap().ends_with("y\u{fffd}.mtx"), "{command} {option}: {}", record[key]);
        fs::remove_file(&name).unwrap();
    }
}

/// A few bytes of input do not make the command allocate gigabytes, not even for columns.
#[test]
fn columns_are_not_believed_beyond_the_file() {
    let folder = Folder::new();
    let wide = "%%MatrixMarket matrix coordinate real general\n2 16777216 1\n1 16777216 1\n";
    let text = folder.file("wide.mtx", wide);
    let container = folder.name("wide.wspmv");
    spmv(["convert", &text, &container]).succeeded();
    let mut bytes = fs::read(&container).unwrap();
    // The container stores the number of columns here; the change also invalidates its checksum.
    assert_eq!(bytes[40..48], (1u64 << 24).to_le_bytes());
    bytes[40..48].copy_from_slice(&(i32::MAX as u64).to_le_bytes());
    let altered = folder.file("altered.wspmv", bytes);
    assert!(spmv(["run", &altered]).refused().starts_with(&format!("{altered}: the file is altered")));
    let beyond = folder.file("beyond.mtx", wide.replace("16777216", "16777217"));
    assert!(spmv(["run", &beyond]).refused().contains("16777217 columns in a file of "));
}

/// Endless input is not read further once its beginning shows that it is not a matrix.
#[cfg(target_os = "linux")]
#[test]
fn endless_input_is_refused_for_its_beginning() {
    use std::process::Stdio;
    let endless = "/dev/zero";
    let message = spmv(["info", endless]).refused();
    assert!(message.starts_with(&format!("{endless}:1: unknown kind of file: ")), "{message}");
    let message = spmv(["run", "stencil:5:3", "--x", endless]).refused();
    assert!(message.starts_with(&format!("{endless}:1: ")), "{message}");
    let mut yes = std::process::Command::new("yes").stdout(Stdio::piped()).spawn().unwrap();
    let output = super::command(["info", "/dev/stdin"]).stdin(yes.stdout.take().unwrap()).output().unwrap();
    yes.wait().unwrap();
    let message = super::Outcome::from(output).refused();
    assert!(message.starts_with("/dev/stdin:1: unknown kind of file: ") && message.ends_with("found 'y'"), "{message}");
}

/// Outcomes are stored in files: a pipe in place of one is ignored, without waiting for it.
#[cfg(unix)]
#[test]
fn a_pipe_remembers_nothing() {
    let folder = Folder::new();
    fs::create_dir(folder.path("warp-spmv")).unwrap();
    let pipe = folder.name("warp-spmv/outcomes.json");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = super::command(["run", "stencil:5:10", "--format", "auto", "--executor", "cpu", "--repeat", "1"]);
    let outcome = super::Outcome::from(command.env("XDG_DATA_HOME", folder.path("")).output().unwrap());
    let note = format!("not used      {pipe}: is not a regular file\n");
    assert!(outcome.succeeded().contains(&note));
}

/// The command works with fewer threads if the system refuses them, or if their number is unreasonable.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_had() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    let folder = Folder::new();
    let program = folder.path("warp-spmv");
    fs::copy(env!("CARGO_BIN_EXE_warp-spmv"), &program).unwrap();
    fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let user = String::from_utf8(Command::new("id").arg("-u").output().unwrap().stdout).unwrap();
    // The limit does not apply to root, so another user has to run the program.
    let mut command = if user.trim() == "0" {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "prlimit"]);
        command
    } else {
        Command::new("prlimit")
    };
    command.args(["--nproc=1".into(), program]).args(["run", "stencil:5:20", "--repeat", "1", "--json"]);
    let outcome = super::Outcome::from(command.args(["--executor", "cpu"]).output().unwrap());
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(0), 1), "{outcome:?}");
    assert!(outcome.stderr.contains(" threads: ") && outcome.stderr.ends_with("; using 1\n"));
    assert!(outcome.stdout.contains("\"passed\":true"), "{}", outcome.stdout);

    let mut command = super::command(["run", "stencil:5:20", "--repeat", "1", "--json"]);
    let outcome = super::Outcome::from(command.env("RAYON_NUM_THREADS", "20000").output().unwrap());
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(0), 1), "{outcome:?}");
    assert!(outcome.stderr.contains("RAYON_NUM_THREADS: ") && outcome.stdout.contains("\"passed\":true"));
}

/// Runs the commands concurrently, and waits until all have succeeded.
#[cfg(target_os = "linux")]
fn at_once(commands: impl Iterator<Item = std::process::Command>) {
    use std::process::Stdio;
    let pipes = |mut command: std::process::Command| {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).env("RAYON_NUM_THREADS", "1").spawn().unwrap()
    };
    let processes: Vec<_> = commands.map(pipes).collect();
    for process in processes {
        super::Outcome::from(process.wait_with_output().unwrap()).succeeded();
    }
}

/// Processes that add to one file of results keep the additions of the others.
#[cfg(target_os = "linux")]
#[test]
fn results_of_several_processes_are_kept() {
    let folder = Folder::new();
    let out = folder.name("results.json");
    at_once((3..9).map(|size| {
        let [first, second] = [size, size + 10].map(|size| format!("stencil:5:{size}"));
        super::command([
            "bench",
            "--matrix",
            &first,
            "--matrix",
            &second,
            "--format",
            "csr-scalar",
            "--precision",
            "float64",
            "--executor",
            "cpu",
            "--repeat",
            "1",
            "--seconds",
            "0.01",
            "--out",
            &out,
            "--resume",
        ])
    }));
    let results: serde_json::Value = serde_json::from_str(&fs::read_to_string(&out).unwrap()).unwrap();
    let mut names: Vec<_> =
        results.as_array().unwrap().iter().map(|entry| entry["filename"].as_str().unwrap()).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 12, "{names:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn outcomes_of_several_processes_are_remembered() {
    let folder = Folder::new();
    at_once((0..10).map(|number| {
        let matrix = format!("uniform:rows=300,per-row=5,seed={number}");
        let mut command = super::command([
            "run",
            &matrix,
            "--format",
            "auto",
            "--measure",
            "2",
            "--executor",
            "cpu",
            "--repeat",
            "1",
        ]);
        command.env("XDG_DATA_HOME", folder.path(""));
        command
    }));
    let outcomes = fs::read_to_string(folder.path("warp-spmv/outcomes.json")).unwrap();
    let outcomes: serde_json::Value = serde_json::from_str(&outcomes).unwrap();
    assert_eq!(outcomes.as_object().unwrap().len(), 10);
}

/// Running out of memory is a one-line error, wherever it happens, and nothing is left behind.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_runs_out() {
    let folder = Folder::new();
    let (matrix, output) = (folder.name("s.wspmv"), folder.name("new.npz"));
    spmv(["convert", "stencil:7:60", &matrix]).succeeded();
    let names = folder.names();
    let (mut refused, mut done) = (0, 0);
    // Kilobytes of address space: first little more than the program needs, then room for more and more of its arrays.
    for limit in (60_000..180_000).step_by(15_000) {
        for arguments in [
            &["run", &matrix, "--executor", "cpu", "--repeat", "1"][..],
            &["run", &matrix, "--executor", "cpu", "--repeat", "1", "--format", "sell-p"],
            &["solve", &matrix, "--executor", "cpu", "--iterations", "2"],
            &["solve", &matrix, "--executor", "cpu", "--iterations", "2", "--preconditioner", "ilu0"],
            &["convert", &matrix, &output],
            &["info", &matrix],
        ] {
            let mut shell = std::process::Command::new("sh");
            let limited = format!("ulimit -v {limit}; exec \"$0\" \"$@\"");
            shell.args(["-c", &limited, env!("CARGO_BIN_EXE_warp-spmv")]).args(arguments);
            let outcome = super::Outcome::from(shell.env("RAYON_NUM_THREADS", "1").output().unwrap());
            let _ = fs::remove_file(&output);
            match outcome.code {
                // Two iterations do not suffice to converge.
                Some(0 | 3) => done += 1,
                code => {
                    assert_eq!(code, Some(2), "{limit}, {arguments:?}: {outcome:?}");
                    outcome.refused();
                    refused += 1;
                }
            }
            assert_eq!(folder.names(), names, "{limit}, {arguments:?}");
        }
    }
    assert!(refused > 9 && done > 9, "{refused} refused, {done} done");
}
