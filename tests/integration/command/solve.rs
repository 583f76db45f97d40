//! `warp-spmv solve`.

use serde_json::Value;
use warp_spmv::io::{read_vector, write_vector};
use warp_spmv::solver::MethodName;
use warp_spmv::solver::preconditioner::PreconditionerName;

use crate::command::{Folder, Outcome, SMALL, spmv};

/// Symmetric positive definite; the inverse is [3 -1; -1 4] / 11.
const DEFINITE: &str = "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 1\n2 2 3\n";

fn solve(arguments: &[&str]) -> Outcome {
    spmv(["solve"].iter().chain(arguments))
}

/// Returns the record and the message of a solver that did not converge.
#[track_caller]
fn not_converged(arguments: &[&str]) -> (Value, String) {
    let Outcome { code, stdout, stderr, .. } = solve(arguments);
    assert_eq!((code, stderr.lines().count()), (Some(3), 1), "{stderr}{stdout}");
    let message = stderr.trim_end().strip_prefix("warp-spmv: error: not converged: ");
    (serde_json::from_str(&stdout).unwrap(), message.unwrap_or_else(|| panic!("{stderr}")).to_owned())
}

#[test]
fn narrow_values_change_no_iteration() {
    let arguments = ["stencil:7:12", "--format", "dia", "--executor", "cpu", "--json"];
    let [full, narrow] = [&[][..], &["--narrow"]].map(|narrow| solve(&[&arguments, narrow].concat()).record());
    assert!(full["values"].is_null());
    assert_eq!((&narrow["values"]["type"], &narrow["values"]["largest_change"]), (&"table".into(), &0.0.into()));
    for what in ["history", "iterations", "residual", "error"] {
        assert_eq!(full[what], narrow[what], "{what}");
    }
    let text = solve(&["stencil:7:12", "--format", "dia", "--executor", "cpu", "--narrow"]).succeeded();
    assert!(text.contains("values        table (nothing lost)"), "{text}");
}

/// The residual is that of the given values, whatever values the corrections are computed with.
#[test]
fn rounded_values_come_to_the_residual_of_the_given_ones() {
    let arguments = ["elasticity:width=5", "--seed", "2", "--tolerance", "1e-12", "--executor", "cpu"];
    let number = |value: &Value| value.as_f64().unwrap();
    for more in [
        &["--values", "float32", "--json"][..],
        &["--values", "bfloat16", "--json"],
        &[
            "--values",
            "float32",
            "--json",
            "--format",
            "sell-p",
            "--preconditioner",
            "chebyshev-2",
            "--method",
            "minres",
        ],
    ] {
        let record = solve(&[&arguments, more].concat()).record();
        assert_eq!((&record["converged"], &record["values"]["type"]), (&true.into(), &more[1].into()), "{record}");
        assert!(number(&record["values"]["largest_change"]) > 1e-9, "{record}");
        let corrections = record["corrections"].as_u64().unwrap();
        assert!(corrections > 1 && record["restarts"].as_u64().unwrap() == corrections - 1, "{record}");
        let (residual, tolerance) = (&record["residual"], number(&record["tolerance"]["norm"]));
        assert!(number(&residual["norm"]) <= tolerance && number(&residual["exact"]) <= 1.1 * tolerance, "{record}");
        assert_eq!(residual["verification"]["passed"], true);
        assert!(number(&record["error"]) < 1e-9, "{record}");
    }
    let text = solve(&[&arguments[..], &["--values", "float32"]].concat()).succeeded();
    assert!(text.contains("values        float32 (rounded, by at most ") && text.contains(" corrections\n"), "{text}");
    // Nothing is lost, so nothing has to be corrected.
    let whole = solve(&["stencil:5:9", "--values", "float32", "--executor", "cpu", "--json"]).record();
    assert_eq!((&whole["values"]["largest_change"], &whole["corrections"]), (&0.0.into(), &Value::Null));
    let complex = ["helmholtz:grid=9", "--precision", "complex128", "--method", "gmres", "--values", "complex64"];
    let complex = solve(&[&complex[..], &["--tolerance", "1e-12", "--executor", "cpu", "--json"]].concat()).record();
    assert_eq!((&complex["converged"], &complex["values"]["type"]), (&true.into(), &"complex64".into()), "{complex}");
    assert!(complex["corrections"].as_u64().unwrap() > 1 && number(&complex["error"]) < 1e-9, "{complex}");
    // Rounding leaves too little of the values.
    let rough =
        ["elasticity:width=12", "--seed", "2", "--values", "bfloat16", "--method", "bicgstab", "--executor", "cpu"];
    let Outcome { code, stdout, .. } = solve(&[&rough[..], &["--iterations", "30", "--tolerance", "1e-13"]].concat());
    assert!(code == Some(3) && stdout.contains("outcome "), "{stdout}");
}

#[test]
fn every_method_on_every_executor() {
    for method in MethodName::ALL {
        for (executor, precision, tolerance) in [
            ("reference", "float64", "1e-10"),
            ("cpu", "float64", "1e-10"),
            ("cpu", "float32", "1e-4"),
            ("emulated", "float32", "1e-4"),
        ] {
            let arguments = ["--executor", executor, "--precision", precision, "--tolerance", tolerance, "--json"];
            let record =
                solve(&[&["stencil:7:6x5x4", "--seed", "5", "--method", method.name()], &arguments[..]].concat())
                    .record();
            assert_eq!(
                [&record["method"], &record["executor"], &record["precision"]],
                [method.name(), executor, precision]
            );
            assert_eq!((&record["converged"], &record["outcome"]), (&true.into(), &"converged".into()));
            let number = |value: &Value| value.as_f64().unwrap();
            let (residual, tolerance) = (&record["residual"], number(&record["tolerance"]["norm"]));
            assert!(
                number(&residual["norm"]) <= tolerance && number(&residual["exact"]) <= 1.1 * tolerance,
                "{record}"
            );
            assert_eq!(residual["verification"]["passed"], true);
            assert!(number(&record["error"]) < 100.0 * number(&record["tolerance"]["relative"]), "{record}");
            let iterations = record["iterations"].as_u64().unwrap();
            assert!((4..=120).contains(&iterations), "{record}");
            assert_eq!(record["history"].as_array().unwrap().len() as u64, iterations + 1);
            assert!(number(&record["times"]["iteration"]) > 0.0);
        }
    }
}

#[test]
fn every_preconditioner() {
    let iterations = |arguments: &[&str]| {
        let system = ["stencil:5:20", "--seed", "3", "--executor", "cpu", "--tolerance", "1e-9", "--json"];
        let record = solve(&[&system[..], arguments].concat()).record();
        assert_eq!(record["residual"]["verification"]["passed"], true);
        assert!(record["error"].as_f64().unwrap() < 1e-7, "{record}");
        (record["preconditioner"].clone(), record["iterations"].as_u64().unwrap())
    };
    let (none, plain) = iterations(&[]);
    assert_eq!(none, Value::Null);
    for preconditioner in PreconditionerName::ALL {
        let name = preconditioner.to_string();
        let (named, with) = iterations(&["--preconditioner", &name]);
        // The diagonal of this matrix is constant.
        assert!(
            named == *name && (if name == "jacobi" { with == plain } else { with < plain }),
            "{name}: {with}, {plain}"
        );
    }
    let report =
        solve(&["stencil:5:20", "--preconditioner", "block-jacobi-4", "--executor", "cpu", "--time"]).succeeded();
    for line in ["with          block-jacobi-4, made in ", ", 1 × the preconditioner's "] {
        assert!(report.contains(line), "{line:?} in {report}");
    }
}

#[test]
fn levels_of_multigrid() {
    let system = ["stencil:5:40", "--executor", "cpu"];
    let record = solve(&[&system[..], &["--preconditioner", "amg", "--json"]].concat()).record();
    let levels = record["multigrid"]["levels"].as_array().unwrap();
    assert!(levels[0]["rows"] == 1600 && levels[0]["nnz"] == 7840 && levels[0]["format"] == "csr-tiled", "{record}");
    let number = |value: &Value| value.as_f64().unwrap();
    assert!((1.9..2.1).contains(&number(&levels[0]["largest_eigenvalue"])), "{record}");
    assert!(levels.len() > 1 && levels[0]["solved"].is_null(), "{record}");
    assert_eq!(levels.last().unwrap()["solved"], "directly, by its inverse");
    assert!(levels.windows(2).all(|pair| number(&pair[1]["rows"]) < 0.4 * number(&pair[0]["rows"])), "{record}");
    let entries: f64 = levels.iter().map(|level| number(&level["nnz"])).sum();
    assert!((number(&record["multigrid"]["operator_complexity"]) - entries / 7840.0).abs() < 1e-12, "{record}");
    assert!(record["multigrid"]["setup"].as_array().unwrap().iter().all(|step| number(&step["seconds"]) >= 0.0));
    assert!(solve(&[&system[..], &["--json"]].concat()).record()["multigrid"].is_null());

    let options = ["--preconditioner", "amg:cycle=w,smoother=jacobi-1", "--explain"];
    let report = solve(&[&system[..], &options].concat()).succeeded();
    for line in [
        "with          amg:cycle=w,smoother=jacobi-1, made in ",
        " levels, operator complexity 1.",
        "  level      unknowns        entries  a row    prolongation  λ of D⁻¹A  format\n",
        "      0         1,600          7,840    4.9 ",
        ", solved directly, by its inverse\n",
        "  setup: copy to the executor ",
        ", formats of all levels ",
    ] {
        assert!(report.contains(line), "{line:?} in {report}");
    }
    let brief = solve(&[&system[..], &options[..2]].concat()).succeeded();
    assert!(brief.contains(" levels, operator complexity 1.") && !brief.contains("unknowns"), "{brief}");
}

#[test]
fn rigid_body_modes_from_coordinates() {
    let folder = Folder::new();
    let iterations = |arguments: &[&str]| {
        let system = ["elasticity:width=9", "--seed", "1", "--tolerance", "1e-8", "--executor", "cpu", "--json"];
        solve(&[&system[..], arguments].concat()).record()["iterations"].as_u64().unwrap()
    };
    let amg = ["--preconditioner", "amg"];
    let with_modes = iterations(&[&amg[..], &["--coordinates"]].concat());
    assert!(with_modes <= 30, "{with_modes}");
    // The coordinates of the mesh from a file, one row per node.
    let mesh = warp_spmv::synthetic::Elasticity::new(9);
    let positions = mesh.positions().unwrap();
    let by_columns = (0..3).flat_map(|axis| positions.iter().skip(axis).step_by(3)).copied().collect::<Vec<f64>>();
    let write = |name: &str, columns: usize, values: &[f64]| {
        let lines: Vec<_> = values.iter().map(f64::to_string).collect();
        let head = format!("%%MatrixMarket matrix array real general\n{} {columns}\n", values.len() / columns);
        folder.file(name, &(head + &lines.join("\n") + "\n"))
    };
    let file = write("nodes.mtx", 3, &by_columns);
    assert_eq!(iterations(&[&amg[..], &["--coordinates", &file]].concat()), with_modes);
    // As vectors: only the translations.
    let mut translations = vec![0.0; 3 * positions.len()];
    (0..positions.len()).for_each(|row| translations[row % 3 * positions.len() + row] = 1.0);
    let vectors = write("vectors.mtx", 3, &translations);
    let three = iterations(&["--preconditioner", "amg:node=3", "--near-null-space", &vectors]);
    assert_eq!(three, iterations(&["--preconditioner", "amg:node=3"]));

    let error = |arguments: &[&str]| solve(arguments).refused();
    let short = write("short.mtx", 3, &by_columns[..6]);
    let mut arguments =
        vec!["elasticity:width=9", "--executor", "cpu", "--preconditioner", "amg", "--coordinates", &short];
    assert_eq!(error(&arguments), format!("{short}: 6 unknowns, expected 2187 for the rows of the matrix"));
    arguments[5] = "--near-null-space";
    assert_eq!(error(&arguments), format!("{short}: 2 unknowns, expected 2187 for the rows of the matrix"));
    let grid = ["stencil:5:9", "--executor", "cpu"];
    let only = "--coordinates needs a file: only elasticity:… generates coordinates";
    assert_eq!(error(&[&grid[..], &amg, &["--coordinates"]].concat()), only);
    let goes_with = error(&[&grid[..], &["--preconditioner", "ic0", "--coordinates"]].concat());
    assert_eq!(goes_with, "--coordinates requires --preconditioner amg");
    let explain = error(&[&grid[..], &["--preconditioner", "ic0", "--explain"]].concat());
    assert_eq!(explain, "--explain requires --preconditioner amg or saddle");
    let unknown = error(&[&grid[..], &["--preconditioner", "amg:speed=9"]].concat());
    assert!(unknown.contains("unknown option of multigrid 'speed=9': expected cycle=, smoother="), "{unknown}");
}

#[test]
fn the_report_for_people() {
    let folder = Folder::new();
    let (out, plot) = (folder.path("x.mtx"), folder.path("history.svg"));
    let files = ["--out", out.to_str().unwrap(), "--plot", plot.to_str().unwrap()];
    let system = ["stencil:5:30", "--executor", "cpu", "--format", "csr-vector", "--time"];
    let report = solve(&[&system, &files[..]].concat()).succeeded();
    for line in [
        "matrix        stencil:5:30x30\n",
        "shape         900 rows, 900 columns, 4,380 stored entries\n",
        "method        cg, csr-vector, float64\n",
        "solve         ",
        " per iteration\n",
        // 11 vectors of 900 elements of 8 bytes.
        "iteration     1 × the product's ",
        " and 77.34 KiB of vectors at ",
        " times that\n",
        "outcome       converged after ",
        "residual      ",
        "error of x    ",
        &format!("output        {}\n", out.display()),
        &format!("plot          {}\n", plot.display()),
    ] {
        assert!(report.contains(line), "{line:?} in {report}");
    }
    // b is A x for an x of ones.
    let x = read_vector::<f64>(&out, None).unwrap();
    assert!(x.len() == 900 && x.iter().all(|x| (x - 1.0).abs() < 1e-4));
    let svg = std::fs::read_to_string(plot).unwrap();
    assert!(svg.contains("stencil:5:30x30, cg") && svg.contains("<polyline") && svg.contains("iteration"), "{svg}");
}

#[test]
fn b_and_the_first_x_come_from_files() {
    let folder = Folder::new();
    let matrix = folder.file("m.mtx", DEFINITE);
    let vector = |name: &str, values: &[f64]| {
        write_vector(folder.path(name), values).unwrap();
        folder.path(name).into_os_string().into_string().unwrap()
    };
    let b = vector("b.mtx", &[22.0, 0.0]);
    let out = folder.path("x.mtx");
    let arguments = [&*matrix, "--rhs", &b, "--out", out.to_str().unwrap(), "--executor", "cpu", "--json"];
    let record = solve(&arguments).record();
    assert_eq!((&record["iterations"], &record["error"]), (&2.into(), &Value::Null));
    assert_eq!(record["residual"]["right_hand_side"], 22.0);
    let x = read_vector::<f64>(&out, None).unwrap();
    assert!((x[0] - 6.0).abs() < 1e-12 && (x[1] + 2.0).abs() < 1e-12, "{x:?}");

    let start = vector("start.mtx", &[6.0, -2.0]);
    let record = solve(&[&arguments[..], &["--start", &start]].concat()).record();
    assert_eq!((&record["iterations"], &record["times"]["iteration"]), (&0.into(), &Value::Null));
    assert_eq!(read_vector::<f64>(&out, None).unwrap(), [6.0, -2.0]);

    // From any start, the solution for b = 0 is 0.
    let zero = vector("zero.mtx", &[0.0, -0.0]);
    solve(&[&matrix, "--rhs", &zero, "--start", &start, "--out", out.to_str().unwrap(), "--json"]).record();
    assert_eq!(read_vector::<f64>(&out, None).unwrap(), [0.0, 0.0]);
}

/// The right-hand side of a seed does not depend on the executor.
#[test]
fn a_seed_makes_another_b() {
    let norm = |arguments: &[&str]| {
        let arguments = [&["stencil:5:8", "--json"], arguments].concat();
        solve(&arguments).record()["residual"]["right_hand_side"].as_f64().unwrap()
    };
    let ones = norm(&["--executor", "cpu"]);
    let [first, second] = ["1", "2"].map(|seed| norm(&["--executor", "cpu", "--seed", seed]));
    assert!(ones != first && first != second && second != ones);
    assert!((norm(&["--executor", "reference", "--seed", "1"]) / first - 1.0).abs() < 1e-12);
}

#[test]
fn what_does_not_converge() {
    let folder = Folder::new();
    let out = folder.path("x.mtx");
    let grid = ["stencil:5:40", "--executor", "cpu", "--json"];
    let limited = [&grid[..], &["--iterations", "3", "--out", out.to_str().unwrap()]].concat();
    let (record, message) = not_converged(&limited);
    assert_eq!(message, "iteration limit, after 3 iterations");
    assert_eq!((&record["converged"], &record["iterations"]), (&false.into(), &3.into()));
    assert!(record["residual"]["norm"].as_f64() > record["tolerance"]["norm"].as_f64());
    // The current iterate is written, so that a solve can continue from it.
    let further = solve(&[&grid[..], &["--start", out.to_str().unwrap()]].concat()).record();
    assert_eq!(further["history"][0], record["residual"]["norm"]);

    let (_, message) = not_converged(&[&grid[..], &["--seconds", "0", "--check-interval", "1"]].concat());
    assert_eq!(message, "time limit, after 1 iterations");
    let (record, message) = not_converged(&[&grid[..], &["--tolerance", "0"]].concat());
    assert!(["stagnated, ", "breakdown: "].iter().any(|how| message.starts_with(how)), "{message}");
    assert!(record["residual"]["exact"].as_f64().unwrap() < 1e-12, "{record}");

    let indefinite = folder.file("m.mtx", DEFINITE.replace("2 2 3\n", "2 2 -3\n").replace("2 2 -3\n1", "2 2 3\n1"));
    let (record, message) = not_converged(&[&indefinite, "--executor", "cpu", "--json"]);
    assert!(message.starts_with("breakdown: the matrix is not positive definite, after "), "{message}");
    assert_eq!(record["outcome"], "breakdown: the matrix is not positive definite");
}

#[test]
fn values_that_are_not_finite() {
    let folder = Folder::new();
    let matrix = folder.file("m.mtx", DEFINITE);
    for (name, value) in [("inf.mtx", "inf"), ("nan.mtx", "nan")] {
        let b = folder.file(name, format!("%%MatrixMarket matrix array real general\n2 1\n{value}\n1\n"));
        let (record, message) = not_converged(&[&matrix, "--rhs", &b, "--executor", "cpu", "--json"]);
        assert!(message.starts_with("breakdown: a number that is not finite"), "{message}");
        assert_eq!(record["residual"]["right_hand_side"], Value::Null);
    }
}

#[test]
fn a_matrix_without_rows() {
    let folder = Folder::new();
    let matrix = folder.file("m.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
    for executor in ["reference", "cpu", "emulated"] {
        let record = solve(&[&matrix, "--executor", executor, "--json"]).record();
        assert_eq!(
            (&record["converged"], &record["iterations"], &record["error"]),
            (&true.into(), &0.into(), &0.0.into())
        );
    }
}

#[test]
fn what_is_refused() {
    let folder = Folder::new();
    let (matrix, wide) = (folder.file("m.mtx", DEFINITE), folder.file("wide.mtx", SMALL));
    let long = folder.file("long.mtx", "%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n");
    let nowhere = folder.path("nowhere/x");
    let nowhere = nowhere.to_str().unwrap();
    let no_number = "expected a number, 0 or more";
    for (arguments, says) in [
        (&[&*wide] as &[&str], &*format!("{wide}: 2 rows and 3 columns, expected a square matrix")),
        (&["missing.mtx"], "missing.mtx: "),
        (&[&matrix, "--rhs", &long], "long.mtx: a vector of length 3, expected 2 for the columns of the matrix"),
        (&[&matrix, "--start", &long], "long.mtx: a vector of length 3, expected 2 for the columns of the matrix"),
        (&[&matrix, "--rhs", "missing.mtx"], "missing.mtx: "),
        (&[&matrix, "--rhs", &long, "--seed", "1"], "'--rhs <FILE>' cannot be used with '--seed <N>'"),
        (&[&matrix, "--tolerance", "-1"], "'-1'"),
        (&[&matrix, "--tolerance", "nan"], no_number),
        (&[&matrix, "--absolute-tolerance", "inf"], no_number),
        (&[&matrix, "--seconds", "1e99"], "'1e99' for '--seconds <NUMBER>'"),
        (&[&matrix, "--check-interval", "0"], "0 is not in 1..="),
        (&[&matrix, "--method", "jacobi"], "'jacobi' for '--method <METHOD>' [possible values: cg, pipelined-cg"),
        (&[&matrix, "--preconditioner", "ilu"], "unknown preconditioner 'ilu': expected jacobi, block-jacobi-8, "),
        (&[&matrix, "--preconditioner", "neumann-101"], "the degree of the polynomial is 101, expected 0 to 100"),
        (&[&matrix, "--executor", "emulated", "--time"], "--time is meaningless on the executor emulated"),
        (&["stencil:5:9", "--values", "complex64"], "complex64"),
        (&["stencil:5:9", "--values", "float32", "--format", "hyb"], "hyb"),
        (&[&matrix, "--values", "float32", "--narrow"], "'--values <TYPE>' cannot be used with '--narrow'"),
        (&[&matrix, "--out", nowhere], "nowhere: "),
        (&[&matrix, "--plot", nowhere], "nowhere: "),
    ] {
        let message = solve(arguments).refused();
        assert!(message.contains(says), "{arguments:?}: {message}");
    }
    assert_eq!(folder.names(), ["long.mtx", "m.mtx", "wide.mtx"]);
}

#[test]
fn the_account_of_an_iteration() {
    let record =
        solve(&["stencil:7:20", "--tolerance", "0", "--iterations", "64", "--executor", "cpu", "--time", "--json"]);
    let record: Value = serde_json::from_str(&record.stdout).unwrap();
    let account = &record["account"];
    let number = |field: &str| account[field].as_f64().unwrap();
    assert_eq!((number("products"), number("vector_bytes")), (1.0, 11.0 * 8000.0 * 8.0));
    let expected = number("product") + number("vector_bytes") / number("copy_gbps") / 1e9;
    assert!((number("expected") / expected - 1.0).abs() < 1e-12);
    let ratio = record["times"]["iteration"].as_f64().unwrap() / expected;
    assert!((number("ratio") / ratio - 1.0).abs() < 1e-12, "{record}");
}

/// Without peers, the rest is unchanged.
#[test]
fn peers_that_are_not_there_are_said() {
    let Outcome { code, stdout, stderr, .. } = solve(&["stencil:5:9", "--executor", "cpu", "--peers", "--json"]);
    assert_eq!(code, Some(0), "{stderr}");
    let record: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(record["peers"], Value::Array(vec![]));
    let said = "warp-spmv: no cuBLAS: it supports only the executor cuda";
    assert!(stderr.lines().any(|line| line == said), "{stderr}");
    assert_eq!(solve(&["stencil:5:9", "--executor", "cpu", "--json"]).record()["peers"], Value::Null);
}

/// After Ctrl-C, the report and the file of the current iterate are complete.
#[cfg(target_os = "linux")]
#[test]
fn interrupted_by_the_user() {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    let folder = Folder::new();
    let out = folder.path("x.mtx");
    // Convergence would take thousands of iterations.
    let arguments =
        ["solve", "stencil:5:1200", "--executor", "cpu", "--tolerance", "0", "--check-interval", "1", "--json"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_warp-spmv"));
    command.args(arguments).arg("--out").arg(&out).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    // Until the process iterates, it treats the signal by default, or as the process that started this test wants.
    let begin = Instant::now();
    while !catches_interrupts(process.id()) {
        assert!(process.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_secs(300));
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &process.id().to_string()]).status().unwrap().success());
    let output = process.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let iterations = &record["iterations"];
    assert_eq!(record["outcome"], "stopped by the caller");
    assert_eq!(record["history"].as_array().unwrap().len() as u64, iterations.as_u64().unwrap() + 1);
    assert_eq!(record["residual"]["verification"]["passed"], true);
    let message = format!("warp-spmv: error: interrupted, after {iterations} iterations\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), message);
    assert_eq!(read_vector::<f64>(&out, None).unwrap().len(), 1200 * 1200);
}

/// Whether a process has a handler for SIGINT, which is signal 2.
#[cfg(target_os = "linux")]
fn catches_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 1 << (2 - 1) != 0
}
