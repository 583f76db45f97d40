//! `warp-spmv convert`.

use warp_spmv::io::{read_container, read_container_matrix, write};
use warp_spmv::{Csr, Format};

use crate::command::{Folder, SMALL, spmv};

/// A 5 x 6 matrix with an empty row and a stored zero.
const UNEVEN: &str = "%%MatrixMarket matrix coordinate real general\n5 6 9\n1 1 1\n1 4 2\n2 2 3\n3 1 4\n3 3 0\n5 1 5\n\
                      5 2 6\n5 3 7\n5 6 8\n";

#[test]
fn every_format_is_written_read_and_run() {
    let folder = Folder::new();
    let (text, output) = (folder.file("m.mtx", UNEVEN), folder.name("m.wspmv"));
    for format in Format::ALL {
        let name = format.name();
        for precision in ["float32", "complex64", "complex128", "float64"] {
            let line = spmv(["convert", &text, &output, "--format", name, "--precision", precision]).succeeded();
            let bytes = std::fs::metadata(&output).unwrap().len();
            let beginning =
                format!("{output}: 5 rows, 6 columns, 9 stored entries, {}, {precision}, fill ", format.storage());
            assert!(line.starts_with(&beginning) && line.lines().count() == 1, "{line}");
            assert!(bytes >= 1024 || line.ends_with(&format!(", {bytes} B\n")), "{line}");
            let arguments = ["--format", name, "--precision", precision, "--executor", "emulated", "--json"];
            let record = spmv(["run", &output].into_iter().chain(arguments)).record();
            assert_eq!(record["verification"]["passed"], true, "{record}");
            // The file holds the required format, so nothing is converted.
            assert!(record["bytes"] == spmv(["run", &text].into_iter().chain(arguments)).record()["bytes"]);
            let is_csr = format.storage() == "CSR";
            assert!(is_csr || record["times"]["convert"] == 0.0, "{record}");
        }
        assert!(read_container_matrix::<f64>(&output).unwrap().is_stored_as(*format).unwrap());
        let back = folder.name("back.mtx");
        spmv(["convert", &output, &back]).succeeded();
        assert!(std::fs::read_to_string(&back).unwrap().contains("5 6 9\n"));
        assert_eq!(spmv(["info", &output, "--json"]).record()["matrix"]["nonzeros"], 9);
    }
    assert_eq!(folder.names(), ["back.mtx", "m.mtx", "m.wspmv"]);
}

#[test]
fn every_kind_of_file_into_every_other() {
    let folder = Folder::new();
    let matrix = Csr::try_from_triplets(2, 3, &[0, 1, 1], &[0, 2, 0], &[4.0, 0.5, -1.0]).unwrap();
    let names = ["a.mtx", "a.mtx.gz", "a.npz", "a.wspmv"];
    for from in names {
        write(folder.path(from), &matrix).unwrap();
        for to in names {
            // Also over an existing file.
            let to = to.replace('a', "b");
            spmv(["convert", &folder.name(from), &folder.name(&to)]).succeeded();
            spmv(["convert", &folder.name(&to), &folder.name("c.wspmv"), "--format", "csr-vector"]).succeeded();
            assert_eq!(read_container::<f64>(folder.path("c.wspmv")).unwrap(), matrix, "{from} to {to}");
        }
    }
    let line = spmv(["convert", "stencil:5:3", &folder.name("g.mtx"), "--precision", "float32"]).succeeded();
    assert!(
        line.contains("/g.mtx: 9 rows, 9 columns, 33 stored entries, Matrix Market, float32, fill 1.00, "),
        "{line}"
    );
}

/// A file may replace itself: reading ends before writing begins.
#[test]
fn a_file_in_its_own_place() {
    let folder = Folder::new();
    let path = folder.name("m.wspmv");
    spmv(["convert", "stencil:7:9", &path]).succeeded();
    let matrix = read_container::<f64>(&path).unwrap();
    for format in ["ell", "hyb", "dia", "bellpack-3x3", "csr"] {
        spmv(["convert", &path, &path, "--format", format]).succeeded();
        assert_eq!(read_container::<f64>(&path).unwrap(), matrix, "{format}");
    }
    assert_eq!(folder.names(), ["m.wspmv"]);
}

#[test]
fn rows_are_sorted_and_summed_on_demand() {
    let folder = Folder::new();
    let path = folder.name("m.wspmv");
    let disorder = Csr::try_new(2, 4, vec![0u32, 3, 4], vec![3, 0, 3, 1], vec![2.0, 5.0, 1.0, 7.0]).unwrap();
    write(&path, &disorder).unwrap();
    spmv(["convert", &path, &path, "--format", "ell"]).succeeded();
    assert_eq!(read_container::<f64>(&path).unwrap(), disorder);
    spmv(["convert", &path, &path, "--format", "ell", "--sort"]).succeeded();
    let sorted = Csr::try_new(2, 4, vec![0u32, 2, 3], vec![0, 3, 1], vec![5.0, 3.0, 7.0]).unwrap();
    assert_eq!(read_container::<f64>(&path).unwrap(), sorted);
}

#[test]
fn what_is_refused() {
    let folder = Folder::new();
    let text = folder.file("m.mtx", SMALL);
    let precious = folder.file("old.wspmv", "precious");
    let refused = |arguments: &[&str]| spmv(["convert"].iter().chain(arguments)).refused();
    let only = "needs a file name ending in .wspmv: only containers have a storage format";
    for name in ["new.mtx", "new.mtx.gz", "new.npz"] {
        assert_eq!(refused(&[&text, &folder.name(name), "--format", "ell"]), format!("--format ell {only}"));
        spmv(["convert", &text, &folder.name(name), "--format", "csr-merge-path"]).succeeded();
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    let (new, other) = (folder.name("new.wspmv"), folder.name("new.txt"));
    assert!(refused(&[&text, &new, "--format", "elll"]).contains("[possible values: csr, dia, ell, sell-p, "));
    assert!(refused(&[&text, &new, "--format", "all"]).contains("invalid value 'all'"));
    assert!(refused(&[&text, &other]).starts_with(&format!("{other}: unknown kind of file: the name should end in ")));
    assert!(refused(&[&text]).contains("required arguments were not provided: <OUT>"));
    let missing = folder.name("missing/new.wspmv");
    assert!(refused(&[&text, &missing]).starts_with(&folder.name("missing: ")));
    let below_a_file = folder.name("m.mtx/new.wspmv");
    assert!(refused(&[&text, &below_a_file]).starts_with(&format!("{text}: not a directory")));
    std::fs::create_dir(folder.path("folder.wspmv")).unwrap();
    assert!(refused(&[&text, &folder.name("folder.wspmv")]).contains("is a directory"));
    assert!(refused(&["stencl:5:3", &new]).contains("no generator of that name: expected one of stencil, pareto, "));

    // Too much padding, a file that is not a matrix, a truncated one, and an altered one.
    let lengths: String = (1..=3000).map(|column| format!("1 {column} 1\n")).collect();
    let wide =
        folder.file("wide.mtx", format!("%%MatrixMarket matrix coordinate real general\n3000 3000 3000\n{lengths}"));
    assert!(refused(&[&wide, &precious, "--format", "ell"]).starts_with("ELL would take "));
    assert!(refused(&[&precious, &new]).starts_with(&format!("{precious}:1: unknown kind of file")));
    spmv(["convert", &text, &new, "--format", "bcsr-2x2"]).succeeded();
    let whole = std::fs::read(&new).unwrap();
    let short = folder.file("short.wspmv", &whole[..whole.len() - 1]);
    assert!(refused(&[&short, &precious]).starts_with(&format!("{short}: the file is truncated: ")));
    let mut altered = whole.clone();
    altered[whole.len() - 1] ^= 1;
    let altered = folder.file("altered.wspmv", altered);
    assert!(refused(&[&altered, &precious]).starts_with(&format!("{altered}: the file is altered: section 'values'")));
    assert!(spmv(["run", &altered, "--format", "bcsr-2x2"]).refused().contains("the file is altered"));
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    let names = ["altered.wspmv", "folder.wspmv", "m.mtx", "new.wspmv", "old.wspmv", "short.wspmv", "wide.mtx"];
    assert_eq!(folder.names(), names);
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files() {
    let folder = Folder::new();
    let text = folder.file("m.mtx", SMALL);
    assert!(spmv(["convert", &text, "/proc/m.wspmv"]).refused().starts_with("/proc/m.wspmv: "));
}

#[cfg(unix)]
mod processes {
    use std::process::{Child, Stdio};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::command::{Outcome, command};

    /// A pipe as input, and one as output.
    #[test]
    fn pipes() {
        let folder = Folder::new();
        let text = folder.file("m.mtx", SMALL);
        let output = folder.name("m.wspmv");
        let input = std::fs::File::open(&text).unwrap();
        let (reader, mut writer) = std::io::pipe().unwrap();
        let mut process = command(["convert", "/dev/stdin", &output, "--format", "coo"]);
        process.stdin(reader);
        let process = process.stdout(Stdio::piped()).spawn().unwrap();
        std::io::copy(&mut &input, &mut writer).unwrap();
        drop(writer);
        assert!(process.wait_with_output().unwrap().status.success());
        assert!(read_container_matrix::<f64>(&output).unwrap().is_stored_as(Format::COO).unwrap());

        let pipe = folder.name("pipe.mtx");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let process = command(["convert", &output, &pipe]).stdout(Stdio::piped()).spawn().unwrap();
        let written = std::fs::read_to_string(&pipe).unwrap();
        assert!(written.contains("\n2 3 3\n"), "{written}");
        let line = String::from_utf8(process.wait_with_output().unwrap().stdout).unwrap();
        assert!(line.ends_with("fill 1.00\n"), "{line}");
    }

    /// Waits until a process has opened a file in the folder, and so has begun to write it.
    #[cfg(target_os = "linux")]
    fn wait_for_output(process: &mut Child, folder: &Folder) {
        let start = Instant::now();
        let descriptors = format!("/proc/{}/fd", process.id());
        let open = || {
            let links = std::fs::read_dir(&descriptors).into_iter().flatten().flatten();
            links.filter_map(|link| std::fs::read_link(link.path()).ok()).any(|file| file.starts_with(folder.path("")))
        };
        while !open() {
            assert!(process.try_wait().unwrap().is_none(), "the process has already finished");
            assert!(start.elapsed() < Duration::from_secs(300));
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_is_ended_leaves_nothing_behind() {
        let folder = Folder::new();
        for signal in ["INT", "KILL"] {
            // Long enough to be interrupted while it writes.
            let arguments = ["convert", "uniform:rows=300000,per-row=50", &folder.name("m.mtx.gz")];
            // A test that runs in the background would pass on that the signal is ignored.
            let mut process = std::process::Command::new("env")
                .arg("--default-signal=INT")
                .arg(env!("CARGO_BIN_EXE_warp-spmv"))
                .args(arguments)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            wait_for_output(&mut process, &folder);
            let kill =
                std::process::Command::new("kill").args([format!("-{signal}"), process.id().to_string()]).status();
            assert!(kill.unwrap().success());
            let outcome: Outcome = process.wait_with_output().unwrap().into();
            assert_eq!((outcome.code, &*outcome.stdout), (None, ""), "{signal}");
            assert!(folder.names().is_empty(), "{signal}: {:?}", folder.names());
        }
    }
}
