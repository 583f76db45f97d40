//! The choice of a format, which is the default of `run`, `solve` and `pagerank`; `info --explain` and `tune`.

use crate::command::{Folder, command, spmv};

#[test]
fn auto_says_what_it_chose_and_why() {
    // A folder without measurements of other tests.
    let data = Folder::new();
    for executor in ["reference", "cpu", "emulated"] {
        let run = |arguments: &[&str]| {
            let all = ["run", "stencil:5:20", "--format", "auto", "--executor", executor, "--measure", "0"];
            let mut command = command(all.iter().chain(arguments));
            crate::command::Outcome::from(command.env("XDG_DATA_HOME", data.path("data")).output().unwrap())
        };
        let record = run(&["--json"]).record();
        assert_eq!(record["choice"]["format"], record["format"]);
        assert_eq!(record["verification"]["passed"], true);
        let candidates = record["choice"]["candidates"].as_array().unwrap();
        assert!(candidates.len() > 40 && candidates[0]["format"] == record["format"]);
        let text = run(&["--multiplications", "1000000000"]).succeeded();
        let choice = text.lines().find(|line| line.starts_with("choice        ")).unwrap();
        let says = ": predicted to be the fastest for 1000000000 multiplications with the conversion; ";
        assert!(choice.contains(says), "{choice}");
        assert!(run(&[]).succeeded().contains(" for 1000 multiplications with the conversion"), "{executor}");
    }
    let default = spmv(["run", "stencil:5:20", "--json"]).record();
    assert_eq!((&default["choice"]["format"], default["choice"].is_null()), (&default["format"], false));
    assert!(spmv(["run", "stencil:5:20", "--format", "coo", "--json"]).record()["choice"].is_null());
}

#[test]
fn solvers_and_rankings_choose_too() {
    for command in [&["solve"][..], &["pagerank", "--unweighted"]] {
        let run = |arguments: &[&str]| spmv([command, &["stencil:5:20", "--executor", "cpu"], arguments].concat());
        let record = run(&["--format", "auto", "--multiplications", "100", "--json"]).record();
        assert_eq!((&record["choice"]["format"], &record["converged"]), (&record["format"], &true.into()));
        assert!(record["choice"]["candidates"][0]["multiply"].as_f64().unwrap() > 0.0, "{record}");
        let text = run(&["--format", "auto"]).succeeded();
        assert!(text.contains("\nchoice        "), "{text}");
        assert_eq!(run(&["--format", "ell", "--measure"]).refused(), "--measure requires --format auto");
        assert!(run(&["--format", "ell", "--json"]).record()["choice"].is_null());
    }
}

#[test]
fn measured_formats_are_remembered() {
    let data = Folder::new();
    let run = |arguments: &[&str]| {
        let all = ["run", "stencil:5:20", "--executor", "cpu", "--format", "auto", "--json"];
        let mut command = command(all.iter().chain(arguments));
        crate::command::Outcome::from(command.env("XDG_DATA_HOME", data.path("data")).output().unwrap()).record()
    };
    let count = |record: &serde_json::Value| {
        let candidates = record["choice"]["candidates"].as_array().unwrap();
        candidates.iter().filter(|candidate| !candidate["measured"].is_null()).count()
    };
    assert_eq!(count(&run(&["--measure", "0"])), 0);
    assert_eq!(count(&run(&["--measure"])), 3);
    assert_eq!(count(&run(&["--measure", "0"])), 3);
    assert_eq!(count(&run(&["--measure", "4"])), 4);
}

#[test]
fn the_explanation_lists_all_candidates() {
    let text = spmv(["info", "pareto:rows=500,k=1", "--explain", "--executor", "cpu"]).succeeded();
    for says in ["predicted, µs", "\ncoo-atomic ", "not the same bits every time", "(calibration of a CPU)"] {
        assert!(text.contains(says), "{says}: {text}");
    }
    assert!(!spmv(["info", "pareto:rows=500,k=1"]).succeeded().contains("predicted"));
    let one =
        ["info", "stencil:5:20", "--explain", "--multiplications", "1", "--executor", "cpu", "--precision", "float32"];
    let record = spmv(one.iter().chain(&["--json"])).record();
    assert!(record["choice"]["format"].as_str().unwrap().starts_with("csr-"), "{record}");
    assert!(spmv(one).succeeded().contains("fastest for one multiplication with its conversion"));
}

#[test]
fn a_budget_and_misuse_are_one_line() {
    let run = ["run", "stencil:5:20", "--executor", "cpu"];
    let refused = |more: &[&str]| spmv(run.iter().chain(more)).refused();
    let message = refused(&["--format", "auto", "--memory-budget", "100"]);
    // All but the one that stands for other formats.
    let formats = warp_spmv::Format::ALL.len() - 1;
    let beginning = format!("none of {formats} formats can be chosen: the smallest takes ");
    assert!(message.starts_with(&beginning), "{message}");
    assert!(message.ends_with(" bytes, and the budget is 100"), "{message}");
    assert_eq!(refused(&["--format", "coo", "--measure"]), "--measure requires --format auto");
    assert_eq!(spmv(["info", "stencil:5:20", "--any-order"]).refused(), "--any-order requires --explain");
}

/// Measures two small matrices, calibrates from the results, and checks the choice with it.
#[test]
fn a_calibration_from_results() {
    let folder = Folder::new();
    let [results, calibration] = ["results.json", "calibration.json"].map(|name| folder.path(name));
    let [results, calibration] = [&results, &calibration].map(|path| path.to_str().unwrap());
    let bench = ["bench", "--matrix", "stencil:5:30", "--matrix", "dense:rows=60", "--matrix", "rmat:scale=9"];
    let more = ["--format", "all", "--executor", "cpu", "--repeat", "5", "--seconds", "0.01", "--peers", "none"];
    spmv(bench.iter().chain(&more).chain(&["--format", "auto", "--out", results])).succeeded();
    let table = spmv(["tune", "--from", results, "--out", calibration, "--all"]).succeeded();
    assert!(table.contains("| auto | ") && table.ends_with(&format!("\n{calibration}\n")), "{table}");
    // `auto` is not a kernel of its own.
    let kernels = std::fs::read_to_string(calibration).unwrap();
    assert!(kernels.contains("\"coo\"") && !kernels.contains("\"auto\""), "{kernels}");
    let checked = spmv(["tune", "--from", results, "--check", "--calibration", calibration]).succeeded();
    assert_eq!(table, format!("{checked}\n{calibration}\n"));
    // A file that is not a calibration.
    let message = spmv(["tune", "--from", results, "--check", "--calibration", results]).refused();
    assert!(message.starts_with(results), "{message}");
    // Results that do not describe the matrices.
    let old = folder.file("old.json", r#"[{"schema": 1, "filename": "a", "rows": 1, "cols": 1, "nonzeros": 1}]"#);
    let message = spmv(["tune", "--from", &old, "--check"]).refused();
    assert!(message.starts_with("no calibration: no entry has an analysis of its matrix"), "{message}");
}
