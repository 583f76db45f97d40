//! `warp-spmv run` on good input.

use warp_spmv::Format;

use crate::command::{Folder, SMALL, spmv};

/// Every format, on every executor that needs no GPU, in both precisions.
#[test]
fn every_format_on_every_executor() {
    let generator: warp_spmv::synthetic::Generator = "stencil:7:5x6x4".parse().unwrap();
    let matrix = generator.generate::<f64>().unwrap();
    for named in Format::ALL {
        // The record has the strategy that an automatic one resolves to.
        let (format, resolved) = (named.name(), named.resolve(&matrix).name());
        for (executor, precision) in
            [("reference", "float64"), ("cpu", "float32"), ("cpu", "float64"), ("emulated", "float32")]
        {
            let record = spmv([
                "run",
                "stencil:7:5x6x4",
                "--format",
                format,
                "--executor",
                executor,
                "--precision",
                precision,
                "--repeat",
                "2",
                "--json",
            ])
            .record();
            assert_eq!(record["format"], resolved);
            assert_eq!(record["executor"], executor);
            assert_eq!(record["precision"], precision);
            assert_eq!(record["verification"]["passed"], true, "{record}");
            assert_eq!(record["times"]["multiply"]["repeats"], 2);
        }
    }
}

/// Parameters of formats and requested grids appear in the record.
#[test]
fn formats_with_parameters_on_grids_that_are_asked_for() {
    for (format, grids, tuning) in [
        ("sell-p:slice=32,stride=4,sigma=256", &[] as &[&str], serde_json::Value::Null),
        ("cmrs:height=5", &["--threads-per-block", "32"], serde_json::json!(32)),
        ("hyb-atomic:quantile=1/2", &["--oversubscription", "1", "--persistent"], serde_json::Value::Null),
        ("bellpack-2x2:rows=64", &["--waves", "3"], serde_json::Value::Null),
    ] {
        let arguments = ["run", "pareto:rows=300,k=1.5", "--executor", "emulated", "--format", format, "--json"];
        let record = spmv(arguments.iter().chain(grids)).record();
        assert_eq!((&record["format"], &record["verification"]["passed"]), (&format.into(), &true.into()));
        let found = &record["environment"]["tuning"];
        assert_eq!((found.is_null(), &found["threads_per_block"]), (grids.is_empty(), &tuning));
    }
    let told = spmv(["run", "stencil:5:9", "--executor", "emulated", "--waves", "3"]).succeeded();
    assert!(told.contains("warp emulator, seed 0, --waves 3\n"), "{told}");
}

/// The transpose is stored beside the matrix for reproducible results, or not stored.
#[test]
fn the_transpose_is_multiplied() {
    let run = |executor: &str, more: &[&str]| {
        let all = ["run", "pareto:rows=200,k=1.2,base=90", "--transposed", "--executor", executor, "--beta", "0.5"];
        spmv(all.iter().chain(more))
    };
    for executor in ["reference", "cpu", "emulated"] {
        for (more, stored) in [
            (&["--format", "sell-p"] as &[&str], true),
            (&["--format", "csr-tiled", "--precision", "float32"], true),
            (&["--format", "csr-tiled", "--any-order"], false),
            (&["--measure", "0"], true),
            (&["--measure", "0", "--any-order"], false),
        ] {
            let record = run(executor, &[more, &["--json"]].concat()).record();
            assert_eq!(record["verification"]["passed"], true, "{executor}, {more:?}: {record}");
            let transpose = &record["transpose"];
            let says = (transpose["format"].is_string(), transpose["bytes"].as_u64().unwrap() > 0);
            assert_eq!(says, (stored, stored), "{executor}, {more:?}: {transpose}");
        }
    }
    let text = run("cpu", &["--format", "sell-p"]).succeeded();
    assert!(text.contains("\ntranspose     sell-p, "), "{text}");
    let text = run("cpu", &["--format", "coo", "--any-order"]).succeeded();
    assert!(text.contains("\ntranspose     not stored, "), "{text}");
    assert!(spmv(["run", "stencil:5:9", "--json"]).record()["transpose"].is_null());
    // y has one element per column.
    let folder = Folder::new();
    let output = folder.path("y.mtx");
    spmv(["run", "dense:rows=3,columns=5", "--transposed", "--output", output.to_str().unwrap()]).succeeded();
    assert!(std::fs::read_to_string(output).unwrap().contains("\n5 1\n"));

    let message = run("cpu", &["--format", "all"]).refused();
    assert_eq!(message, "--transposed takes one format, not --format all");
    let message = run("emulated", &["--format", "coo-atomic"]).refused();
    assert!(message.starts_with("coo-atomic is not reproducible: "), "{message}");
    let message = run("emulated", &["--format", "ell", "--any-order"]).refused();
    assert_eq!(message, "format ell has no kernel for the transposed matrix");
    let message = run("cpu", &["--memory-budget", "5000"]).refused();
    assert!(message.starts_with("the matrix and its transpose take "), "{message}");
}

#[test]
fn a_json_record_has_every_field() {
    let record = spmv(["run", "stencil:27:16", "--executor", "cpu", "--format", "csr-vector", "--json"]).record();
    assert_eq!(record["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(record["matrix"]["name"], "stencil:27:16x16x16");
    assert_eq!([&record["matrix"]["rows"], &record["matrix"]["columns"]], [4096, 4096]);
    let nonzeros = 46u64.pow(3);
    assert_eq!(record["matrix"]["nonzeros"], nonzeros);
    assert_eq!((&record["format"], &record["precision"]), (&"csr-vector".into(), &"float64".into()));
    assert!(record["device"].as_str().unwrap().contains("thread"));
    let bytes = nonzeros * 12 + 4097 * 4;
    assert_eq!(record["bytes"], bytes);
    assert_eq!((&record["alpha"], &record["beta"]), (&1.0.into(), &0.0.into()));

    let times = &record["times"];
    assert_eq!(times["source"], "generate");
    assert!(["load", "convert", "upload"].iter().all(|step| times[step].as_f64().unwrap() > 0.0), "{times}");
    let [minimum, median, maximum] =
        ["minimum", "median", "maximum"].map(|which| times["multiply"][which].as_f64().unwrap());
    assert!(0.0 < minimum && minimum <= median && median <= maximum, "{times}");
    assert_eq!(times["multiply"]["repeats"], 50);
    let near = |field: &str, expected: f64| {
        let found = record[field].as_f64().unwrap();
        assert!((found / expected - 1.0).abs() < 1e-9, "{field}: {found}, expected {expected}");
    };
    near("gflops", 2.0 * nonzeros as f64 / median / 1e9);
    near("gbps", (bytes + 8 * (4096 + 4096)) as f64 / median / 1e9);

    let verification = &record["verification"];
    assert_eq!((&verification["passed"], &verification["wrong"]), (&true.into(), &0.into()));
    assert!((0.0..=1.0).contains(&verification["worst"].as_f64().unwrap()));
    assert!(verification["worst_row"].as_u64().unwrap() < 4096);
    // If x were zero, this would be zero, too.
    assert!((1e-18..1e-14).contains(&verification["relative_error"].as_f64().unwrap()), "{verification}");
    assert!(record["output"].is_null());
    assert_eq!(record["environment"]["system"], std::env::consts::OS);
    assert!(record["environment"]["threads"].as_u64().unwrap() > 0);
}

/// By default, the command uses a GPU if possible, and reports it if it was built for GPUs but found none.
#[test]
fn the_default_executor() {
    let outcome = spmv(["run", "stencil:5:10", "--json"]);
    let record: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!((outcome.code, &record["verification"]["passed"]), (Some(0), &true.into()));
    if cfg!(feature = "cuda") && record["executor"] == "cpu" {
        let note = &outcome.stderr;
        assert!(note.starts_with("warp-spmv: no GPU: ") && note.ends_with(", running on the CPU\n"), "{note}");
        assert_eq!(note.lines().count(), 1);
    } else {
        assert_eq!(record["executor"], if cfg!(feature = "cuda") { "cuda" } else { "cpu" });
        assert_eq!(outcome.stderr, "");
    }
}

#[test]
fn repeats_by_default() {
    for (executor, repeats) in [("reference", 1), ("emulated", 1), ("cpu", 50)] {
        let record = spmv(["run", "stencil:5:6", "--executor", executor, "--json"]).record();
        assert_eq!(record["times"]["multiply"]["repeats"], repeats, "{executor}");
    }
}

#[test]
fn the_report_for_people() {
    let report = spmv(["run", "stencil:5:30", "--executor", "cpu", "--format", "ell"]).succeeded();
    for line in [
        "matrix        stencil:5:30x30\n",
        "shape         900 rows, 900 columns, 4,380 stored entries\n",
        "format        ell, float64, 54.38 KiB\n",
        "executor      cpu, ",
        "generate      ",
        "convert       ",
        "upload        ",
        "multiply      ",
        " median of 50, ",
        " GFLOP/s, ",
        "verification  passed, largest error 0.",
    ] {
        assert!(report.contains(line), "{line:?} in {report}");
    }
    let emulated = spmv(["run", "stencil:5:5", "--executor", "emulated"]).succeeded();
    assert!(emulated.contains("timed once, which is no measure of a GPU\n"), "{emulated}");
}

#[test]
fn y_is_written_as_a_file() {
    let folder = Folder::new();
    let matrix = folder.file("small.mtx", SMALL);
    let x = folder.file("x.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
    let output = folder.path("y.mtx");
    let output = output.to_str().unwrap();
    for (executor, alpha, expected) in
        [("cpu", "1", "4.0\n0.5\n"), ("reference", "-2", "-8.0\n-1.0\n"), ("emulated", "0.5", "2.0\n0.25\n")]
    {
        let arguments =
            ["run", &matrix, "--x", &x, "--executor", executor, "--alpha", alpha, "--output", output, "--json"];
        assert_eq!(spmv(arguments).record()["output"], output);
        let header = "%%MatrixMarket matrix array real general\n2 1\n";
        assert_eq!(std::fs::read_to_string(output).unwrap(), format!("{header}{expected}"));
    }
    assert_eq!(folder.names(), ["small.mtx", "x.mtx", "y.mtx"]);
    assert!(
        spmv(["run", &matrix, "--executor", "cpu", "--output", output])
            .succeeded()
            .ends_with(&format!("output        {output}\n"))
    );
}

/// Each timed repeat starts from the same y, so that a β above 1 does not make y overflow; the first result is written,
/// so that the number of repeats does not matter.
#[test]
fn beta_starts_from_a_fixed_y() {
    let folder = Folder::new();
    let matrix = folder.file("small.mtx", SMALL);
    let written = |repeats: &str| {
        let output = folder.path("y.mtx");
        let name = output.to_str().unwrap();
        let arguments = [
            "run",
            &matrix,
            "--executor",
            "cpu",
            "--measure",
            "0",
            "--beta",
            "1e30",
            "--repeat",
            repeats,
            "--output",
            name,
            "--json",
        ];
        assert_eq!(spmv(arguments).record()["beta"], 1e30);
        std::fs::read_to_string(output).unwrap()
    };
    let once = written("1");
    assert_eq!(once, written("60"));
    assert!(once.lines().skip(2).all(|value| (1e26..1e30).contains(&value.parse::<f64>().unwrap().abs())), "{once}");
}

#[test]
fn matrices_without_entries_rows_or_columns() {
    let folder = Folder::new();
    for sizes in ["0 0 0", "0 5 0", "5 0 0", "3 4 0"] {
        let matrix = folder.file("empty.mtx", format!("%%MatrixMarket matrix coordinate real general\n{sizes}\n"));
        for format in ["csr-scalar", "csr-vector", "ell", "coo"] {
            for executor in ["reference", "cpu", "emulated"] {
                let arguments = ["run", &matrix, "--format", format, "--executor", executor, "--json"];
                let record = spmv(arguments).record();
                assert_eq!(record["verification"]["passed"], true, "{sizes} {format} {executor}");
            }
            assert!(spmv(["run", &matrix, "--executor", "cpu", "--format", format]).succeeded().contains("passed"));
        }
    }
}

/// Infinity and NaN are ordinary values: 0 · ∞ is NaN, and the result must be, too.
#[test]
fn values_that_are_not_finite() {
    let folder = Folder::new();
    let banner = "%%MatrixMarket matrix coordinate real general\n";
    let matrix = folder.file("special.mtx", format!("{banner}3 2 3\n1 1 0\n2 1 2\n3 2 1\n"));
    let x = folder.file("x.mtx", "%%MatrixMarket matrix array real general\n2 1\ninf\n-1\n");
    let output = folder.path("y.mtx");
    for executor in ["reference", "cpu", "emulated"] {
        let name = output.to_str().unwrap();
        spmv(["run", &matrix, "--x", &x, "--executor", executor, "--output", name]).succeeded();
        let written = std::fs::read_to_string(&output).unwrap();
        assert!(written.ends_with("3 1\nNaN\ninf\n-1.0\n"), "{written}");
    }
}

#[test]
fn a_name_that_is_no_unicode_or_steers_the_terminal() {
    let folder = Folder::new();
    let matrix = folder.file("a\x1b[31m\nb.mtx", SMALL);
    let report = spmv(["run", &matrix, "--executor", "cpu"]).succeeded();
    assert!(report.contains("a\\u{1b}[31m\\nb.mtx\n"), "{report}");
    assert_eq!(spmv(["run", &matrix, "--executor", "cpu", "--json"]).record()["matrix"]["name"], matrix);

    #[cfg(target_os = "linux")]
    {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let path = folder.path(OsStr::from_bytes(b"\xff:3.mtx"));
        std::fs::write(&path, SMALL).unwrap();
        assert!(
            spmv([OsStr::new("run"), path.as_os_str(), OsStr::new("--executor=cpu")])
                .succeeded()
                .contains("\u{fffd}:3.mtx\n")
        );
    }
}
