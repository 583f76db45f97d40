//! `warp-spmv bench`.

use std::fs;

use serde_json::Value;
use warp_spmv::Format;

use crate::command::{Folder, Outcome, SMALL, command, spmv};

/// Arguments of the shortest possible measurement.
const SHORT: &[&str] = &["bench", "--executor", "cpu", "--repeat", "2"];

fn bench(arguments: &[&str]) -> Outcome {
    spmv(SHORT.iter().chain(arguments))
}

fn results_in(folder: &Folder) -> String {
    folder.path("results.json").into_os_string().into_string().unwrap()
}

fn read(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn results_have_all_that_is_asked_for() {
    let folder = Folder::new();
    let out = results_in(&folder);
    let matrices = ["--matrix", "stencil:5:20", "--matrix", "uniform:rows=9000,per-row=4"];
    let told = bench(&[&matrices[..], &["--format", "dia", "--format", "coo", "--samples", "--out", &out]].concat());
    let told = told.succeeded();
    assert_eq!(told.lines().count(), 4, "{told}");
    assert!(told.lines().all(|line| line.contains("GFLOP/s")) && told.contains("[100 %, 0 s left]"), "{told}");

    let entries = read(&out);
    let found: Vec<_> =
        entries.as_array().unwrap().iter().map(|entry| (&entry["filename"], &entry["env"]["precision"])).collect();
    let expected = [
        ("stencil:5:20", "float64"),
        ("stencil:5:20", "float32"),
        ("uniform:rows=9000,per-row=4", "float64"),
        ("uniform:rows=9000,per-row=4", "float32"),
    ];
    assert!(
        found
            .iter()
            .zip(expected)
            .all(|(&(name, precision), expected)| (name, precision) == (&expected.0.into(), &expected.1.into())),
        "{found:?}"
    );
    for entry in entries.as_array().unwrap() {
        assert_eq!((&entry["rows"], &entry["schema"]), (&entry["cols"], &1.into()));
        assert_eq!(entry["env"]["executor"], "cpu");
        assert!(entry["ceilings"]["copy_gbps"].as_f64().unwrap() > 0.0);
        let runs = entry["spmv"].as_object().unwrap();
        for name in ["dia", "coo", "csr-vector"] {
            let run = &runs[name];
            if name == "dia" && entry["family"] == "irregular" {
                assert!(run["completed"] == false && run["refused"] == true, "{run}");
                assert!(run["error"].as_str().unwrap().contains("DIA would take"), "{run}");
                continue;
            }
            assert!(run["completed"] == true && run["repetitions"] == 2, "{run}");
            assert_eq!(run["samples"].as_array().unwrap().len(), 2);
            assert!(run["eta"].as_f64().unwrap() > 0.0 && run["error_of_bound"].as_f64().unwrap() <= 1.0, "{run}");
            // The program counts the bytes that its allocator hands out.
            assert_eq!(run["conversion"]["peak_bytes"].as_u64().is_some(), name != "csr-vector", "{run}");
        }
        assert!(runs.contains_key(entry["optimal"]["spmv"].as_str().unwrap()));
    }
}

#[test]
fn ranks_are_measured_and_told_apart() {
    let folder = Folder::new();
    let out = results_in(&folder);
    let common = ["--precision", "float64", "--format", "ell", "--format", "dia", "--out", &out];
    let matrices = ["--matrix", "stencil:5:20", "--matrix", "uniform:rows=9000,per-row=4"];
    let measure = |more: &[&str]| bench(&[&common[..], &matrices, more].concat()).succeeded();
    measure(&["--ranks", "3"]);
    measure(&["--resume"]);
    // Everything is measured already.
    assert_eq!(measure(&["--ranks", "3", "--resume"]), "");
    let entries = read(&out);
    let entries = entries.as_array().unwrap();
    let ranks: Vec<_> = entries.iter().map(|entry| &entry["env"]["ranks"]).collect();
    assert_eq!(ranks, [&Value::from(3), &3.into(), &Value::Null, &Value::Null]);
    for (together, alone) in entries[..2].iter().zip(&entries[2..]) {
        for field in ["filename", "rows", "cols", "nonzeros", "schema"] {
            assert_eq!(together[field], alone[field]);
        }
        let run = &together["spmv"]["ell"];
        assert_eq!((&run["completed"], &run["repetitions"]), (&true.into(), &2.into()), "{run}");
        for field in ["time", "gflops", "storage"] {
            assert!(run[field].as_f64().unwrap() > 0.0, "{run}");
        }
        assert!(run["max_relative_norm2"].as_f64().unwrap() < 1e-14, "{run}");
        assert_eq!(together["optimal"].is_null(), alone["optimal"].is_null());
    }
    // A random matrix has many diagonals on every rank.
    assert_eq!(entries[1]["spmv"]["dia"]["refused"], true);
    let message = bench(&["--ranks", "2", "--matrix", "stencil:5:9", "--vectors", "4"]).refused();
    assert_eq!(message, "--vectors does not go with several ranks");
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let folder = Folder::new();
    let out = results_in(&folder);
    let first = ["--matrix", "stencil:5:20", "--format", "coo", "--out", &out];
    bench(&first).succeeded();
    let old = read(&out);

    // Results are neither lost nor measured again.
    let error = bench(&first);
    assert_eq!(error.code, Some(2));
    assert!(
        error.stderr.ends_with("results.json exists: continue it with --resume, or give another --out\n"),
        "{}",
        error.stderr
    );
    assert_eq!(read(&out), old);
    assert_eq!(bench(&[&first[..], &["--resume"]].concat()).succeeded(), "");
    assert_eq!(read(&out), old);

    // New matrices are added.
    let small = folder.file("small.mtx", SMALL);
    let more = ["--matrix", "stencil:5:20", "--matrix", &small, "--format", "coo", "--out", &out, "--resume"];
    assert_eq!(bench(&more).succeeded().lines().count(), 2);
    let entries = read(&out);
    assert_eq!(entries.as_array().unwrap()[..2], old.as_array().unwrap()[..]);
    assert_eq!(entries.as_array().unwrap().len(), 4);

    // An entry that lacks a format is measured again.
    let more = ["--matrix", "stencil:5:20", "--precision", "float32", "--format", "ell", "--out", &out, "--resume"];
    assert_eq!(bench(&more).succeeded().lines().count(), 1);
    let entries = read(&out);
    assert_eq!(entries.as_array().unwrap().len(), 4);
    let of_new: Vec<_> = entries[3]["spmv"].as_object().unwrap().keys().collect();
    assert_eq!(of_new, ["coo", "csr-vector", "ell"]);
}

#[test]
fn complex_matrices_are_measured() {
    let folder = Folder::new();
    let out = results_in(&folder);
    let matrix = ["--matrix", "helmholtz:grid=9x8x7", "--format", "dia", "--out", &out];
    let all = ["float64", "complex64", "complex128"].map(|precision| ["--precision", precision]).concat();
    let Outcome { code, stderr, .. } = bench(&[&matrix[..], &all].concat());
    assert_eq!(code, Some(2));
    assert!(stderr.contains("float64: helmholtz: the values are complex") && !stderr.contains("wrong"), "{stderr}");
    let entries = read(&out);
    let entries: Vec<_> = entries.as_array().unwrap().iter().collect();
    assert_eq!(entries.len(), 3);
    assert!(entries[0]["error"].is_string() && entries[0]["spmv"].as_object().unwrap().is_empty());
    for (entry, (precision, bytes)) in entries[1..].iter().zip([("complex64", 8), ("complex128", 16)]) {
        assert_eq!(entry["env"]["precision"], precision);
        let csr = &entry["spmv"]["csr-vector"];
        for run in [&entry["spmv"]["dia"], csr] {
            assert!(run["completed"] == true && run["error_of_bound"].as_f64().unwrap() <= 1.0, "{entry}");
        }
        let (rows, nonzeros) = (entry["rows"].as_u64().unwrap(), entry["nonzeros"].as_u64().unwrap());
        assert_eq!(csr["storage"].as_u64().unwrap(), 4 * (rows + 1) + (4 + bytes) * nonzeros, "{entry}");
    }
    let complex = &all[2..];
    assert_eq!(bench(&[&matrix[..], complex, &["--resume"]].concat()).succeeded(), "");
}

#[test]
fn a_figure_is_drawn_from_what_is_measured() {
    let folder = Folder::new();
    let out = results_in(&folder);
    let formats = ["--format", "csr-scalar", "--format", "csr-vector-32"];
    let matrix = ["--matrix", "stencil:5:20", "--precision", "float32", "--out", &out];
    bench(&[&formats[..], &matrix].concat()).succeeded();
    // The figure's own matrices take too long here.
    let experiment: lab::figures::Experiment = "bg-10".parse().unwrap();
    let entry = read(&out)[0].clone();
    let entries = (experiment.matrices)().into_iter().map(|text| {
        let mut entry = entry.clone();
        entry["filename"] = text.into();
        entry
    });
    fs::write(&out, Value::from_iter(entries).to_string()).unwrap();

    let told = bench(&["--figure", "bg-10", "--out", &out, "--resume"]).succeeded();
    let beside = folder.path("bg-10.svg");
    assert_eq!(told, format!("{}\n", beside.display()));
    let svg = fs::read_to_string(&beside).unwrap();
    assert!(svg.contains("Bell &amp; Garland 2009, Fig. 10") && svg.contains("csr-vector-32"), "{svg}");
    assert_eq!(folder.names(), ["bg-10.svg", "results.json"]);

    let plots = folder.path("plots").into_os_string().into_string().unwrap();
    let told = bench(&["--figure", "bg-10", "--out", &out, "--resume", "--svg", &plots, "--json"]).succeeded();
    assert!(told.starts_with('[') && told.lines().count() == 1, "{told}");
    assert_eq!(fs::read_to_string(folder.path("plots/bg-10.svg")).unwrap(), svg);
    let again = folder.path("again").into_os_string().into_string().unwrap();
    spmv(["report", &out, "--figure", "bg-10", "--figure", "bg-8", "--svg", &again]).succeeded();
    assert_eq!(fs::read_to_string(folder.path("again/bg-10.svg")).unwrap(), svg);
    assert!(fs::read_to_string(folder.path("again/bg-8.svg")).unwrap().contains("no data"));
}

#[test]
fn the_help_has_a_line_for_each_figure() {
    let help = spmv(["bench", "--help"]).succeeded();
    for experiment in lab::figures::FIGURES {
        let name = format!("- {}:", experiment.name);
        let line = help.lines().find(|line| line.trim().starts_with(&name)).unwrap_or_else(|| panic!("{name} {help}"));
        assert!(line.contains(experiment.source), "{line}");
    }
}

#[test]
fn results_of_another_device_are_not_mixed_in() {
    let folder = Folder::new();
    let out = results_in(&folder);
    bench(&["--matrix", "stencil:5:20", "--format", "coo", "--out", &out]).succeeded();
    let text = fs::read_to_string(&out).unwrap();
    let device = read(&out)[0]["env"]["device"].as_str().unwrap().to_owned();
    fs::write(&out, text.replace(&device, "another")).unwrap();
    let error = bench(&["--matrix", "stencil:5:30", "--format", "coo", "--out", &out, "--resume"]);
    assert_eq!(error.code, Some(2));
    assert!(error.stderr.contains("are from another, but this is"), "{}", error.stderr);
}

#[test]
fn a_matrix_that_cannot_be_had_is_recorded_and_the_others_go_on() {
    let folder = Folder::new();
    let out = results_in(&folder);
    let broken = folder.file("broken.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n");
    let matrices = ["--matrix", &broken, "--matrix", "stencil:5:20", "--precision", "float64"];
    let outcome = bench(&[&matrices[..], &["--format", "coo", "--out", &out]].concat());
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.contains("broken.mtx:3: ") && outcome.stderr.contains("error: failed: "),
        "{}",
        outcome.stderr
    );
    let entries = read(&out);
    assert!(entries[0]["error"].as_str().unwrap().contains("broken.mtx:3: "));
    assert_eq!(entries[1]["spmv"]["coo"]["completed"], true);
}

#[test]
fn all_formats_as_json() {
    let folder = Folder::new();
    let small = folder.file("small.mtx", SMALL);
    let outcome = bench(&["--matrix", &small, "--format", "all", "--precision", "float32", "--json"]);
    let entries: Value = serde_json::from_str(&outcome.succeeded()).unwrap();
    assert_eq!(entries[0]["spmv"].as_object().unwrap().len(), Format::ALL.len());
}

/// The choice is measured like a format without being one, and leaves nothing behind that later choices depend on.
#[test]
fn the_choice_is_measured_with_what_it_takes() {
    let folder = Folder::new();
    let out = results_in(&folder);
    let run = |more: &[&str]| -> Outcome {
        let matrix = ["--matrix", "stencil:5:30", "--format", "auto", "--format", "ell", "--out", &out];
        let mut command = command(SHORT.iter().chain(&matrix).chain(more));
        command.env("XDG_DATA_HOME", folder.path("data")).output().unwrap().into()
    };
    let told = run(&["--multiplications", "20"]).succeeded();
    assert_eq!(told.lines().count(), 2, "{told}");
    let says = |line: &str| line.contains("; auto: ") && line.ends_with(" times the time of csr-vector");
    assert!(told.lines().all(says), "{told}");
    for entry in read(&out).as_array().unwrap() {
        let (auto, unit) = (&entry["spmv"]["auto"], &entry["spmv"]["csr-vector"]);
        assert!(auto["completed"] == true && auto["library"] == "warp-spmv" && auto["repetitions"] == 2, "{auto}");
        let format: Format = auto["strategy"].as_str().unwrap().parse().unwrap();
        assert!(Format::ALL.contains(&format) && format.reproducible(), "{auto}");
        assert_eq!((&auto["multiplications"], unit.get("multiplications")), (&20.into(), None));
        // Also if the matrix stays in CSR, without any conversion.
        let (ready, calls) = (&auto["conversion"]["warm"], &auto["conversion"]["csr_calls"]);
        let unit = unit["cold"]["time"].as_f64().or(unit["time"].as_f64()).unwrap();
        assert!((calls.as_f64().unwrap() * unit / ready.as_f64().unwrap() - 1.0).abs() < 1e-9, "{entry}");
        assert_ne!(entry["optimal"]["spmv"], "auto");
    }
    let table = spmv(["report", &out, "--table"]).succeeded();
    for precision in ["float32", "float64"] {
        let line = table.lines().find(|line| line.starts_with(&format!("| cpu | {precision} | 1 | ")));
        assert!(line.is_some_and(|line| line.ends_with(", stencil:5:30 |")), "{table}");
    }
    // The format is chosen again only for another number of multiplications.
    assert_eq!(run(&["--multiplications", "20", "--resume"]).succeeded(), "");
    assert_eq!(run(&["--resume"]).succeeded().lines().count(), 2);
    assert_eq!(read(&out)[0]["spmv"]["auto"]["multiplications"], 1000);
    assert_eq!(folder.names(), ["results.json"]);
}

/// Several vectors at once are measured beside a single one, in formats that support them.
#[test]
fn products_with_several_vectors() {
    let folder = Folder::new();
    let out = results_in(&folder);
    let matrix = ["--matrix", "stencil:5:20", "--format", "ell", "--format", "coo-16", "--precision", "float64"];
    let run = |more: &[&str]| bench(&[&matrix[..], &["--out", &out], more].concat()).succeeded();
    let told = run(&["--vectors", "4,2,4"]);
    // A line for one vector, then, per number of vectors and layout, a line for the matrix and one for all matrices.
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 1 + 4 + 4, "{told}");
    let shapes = ["2 vectors, row-major: ", "4 vectors, row-major: ", "2 vectors, column-major: "];
    for (place, shape) in shapes.iter().enumerate() {
        assert!(lines[1 + place].starts_with(&format!("  {shape}")), "{told}");
        assert!(lines[1 + place].ends_with(" times as fast as single products"), "{told}");
        assert!(lines[5 + place].starts_with(&format!("cpu, float64, {shape}")), "{told}");
        assert!(lines[5 + place].ends_with(" at worst (stencil:5:20)"), "{told}");
    }

    let entries = read(&out);
    let (runs, products) = (&entries[0]["spmv"], entries[0]["products"].as_object().unwrap());
    assert_eq!(products.keys().collect::<Vec<_>>(), ["csr-vector", "ell"]);
    for (name, products) in products {
        let products = products.as_array().unwrap();
        let found: Vec<_> = products.iter().map(|product| (&product["vectors"], &product["layout"])).collect();
        let expected = [(2, "row-major"), (2, "column-major"), (4, "row-major"), (4, "column-major")];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (product, (vectors, layout)) in products.iter().zip(expected) {
            assert_eq!((&product["vectors"], &product["layout"]), (&vectors.into(), &layout.into()));
            let run = &product["run"];
            assert!(run["completed"] == true && run["repetitions"] == 2 && run["library"] == "warp-spmv", "{run}");
            assert!(run["time"].as_f64().unwrap() > 0.0 && run["gbps"].as_f64().unwrap() > 0.0, "{run}");
            assert!(run["error_of_bound"].as_f64().unwrap() <= 1.0 && run["storage"] == runs[name]["storage"], "{run}");
            let stored = run["storage"].as_u64().unwrap() + vectors * 800 * 8;
            assert_eq!(run["bytes_stored"], stored);
            let single = &runs[name];
            let warm = single["time"].as_f64().unwrap();
            let first = single["cold"]["time"].as_f64().unwrap_or(warm);
            let singles = first + (vectors - 1) as f64 * warm;
            assert!((product["singles"].as_f64().unwrap() / singles - 1.0).abs() < 1e-9, "{product}");
        }
    }
    let table = spmv(["report", &out, "--table"]).succeeded();
    let line = |start: &str| table.lines().any(|line| line.starts_with(start));
    assert!(
        line("| cpu | float64 | column-major | 4 | 1 | ") && line("| cpu | stencil:5:20 | float64 | row-major | 2 | ")
    );

    // Only new shapes are measured, and then together with the old ones.
    assert_eq!(run(&["--vectors", "2", "--layout", "row-major", "--resume"]).lines().count(), 4);
    assert_eq!(run(&["--resume"]), "");
    assert_eq!(read(&out), entries);
    assert_eq!(run(&["--vectors", "3", "--layout", "column-major", "--resume"]).lines().count(), 1 + 5 + 5);
    assert_eq!(read(&out)[0]["products"]["ell"].as_array().unwrap().len(), 5);
}

/// All parameters distinguish formats.
#[test]
fn a_search_measures_all_parameters_and_says_what_the_best_is_worth() {
    let folder = Folder::new();
    let out = results_in(&folder);
    let arguments =
        ["--matrix", "stencil:5:30", "--precision", "float64", "--sweep", "cmrs-heights", "--sweep", "sell-p"];
    let told = bench(&[&arguments[..], &["--out", &out]].concat()).succeeded();
    let lines: Vec<_> = told.lines().collect();
    assert_eq!(lines.len(), 3, "{told}");
    assert!(lines[0].contains("; cmrs-heights: cmrs") && lines[0].ends_with(" times as fast as sell-p"), "{told}");
    for (line, usual) in [(lines[1], "cmrs"), (lines[2], "sell-p")] {
        assert!(line.starts_with(&format!("cpu, float64, {usual}")) && line.contains(" of 1 matrices, and "), "{told}");
    }
    let entries = read(&out);
    let runs = entries[0]["spmv"].as_object().unwrap();
    assert_eq!(runs.len(), 17 + 16 + 1);
    for (name, run) in runs {
        let format: Format = name.parse().unwrap();
        assert_eq!((format.to_string(), &run["strategy"]), (name.clone(), &name.as_str().into()));
        assert_eq!(run["completed"], true, "{name}");
    }
    let storage = |name: &str| runs[name]["storage"].as_u64().unwrap();
    // 180 strips of 5 rows: one offset per strip, and one more.
    assert_eq!(storage("cmrs:height=5"), 4380 * 12 + 181 * 4);
    assert!(storage("sell-p:slice=8") < storage("sell-p") && storage("sell-p:stride=4") > storage("sell-p"));
    assert_eq!(bench(&[&arguments[..], &["--out", &out, "--resume"]].concat()).succeeded().lines().count(), 2);
}

/// Times on grids of different sizes are not mixed.
#[test]
fn results_say_which_grids_were_asked_for() {
    let folder = Folder::new();
    let out = results_in(&folder);
    let bench = |options: &[&str]| {
        let arguments =
            ["bench", "--executor", "emulated", "--matrix", "stencil:5:9", "--precision", "float32", "--out", &out];
        spmv(arguments.iter().chain(&["--format", "coo-atomic"]).chain(options))
    };
    let grids = ["--threads-per-block", "32", "--waves", "2", "--persistent", "--oversubscription", "1"];
    bench(&grids).succeeded();
    let tuning = serde_json::json!({"threads_per_block": 32, "waves": 2, "persistent": true, "oversubscription": 1});
    assert_eq!(read(&out)[0]["env"]["tuning"], tuning);
    bench(&[&grids[..], &["--resume"]].concat()).succeeded();
    let message = bench(&["--waves", "3", "--resume"]).refused();
    let expected = "the results to resume are from --threads-per-block 32 --waves 2 --persistent \
                    --oversubscription 1, but this is --waves 3: give another --out";
    assert_eq!(message, expected);
    let message = bench(&["--resume"]).refused();
    assert!(message.ends_with("--oversubscription 1, but this is the default grids: give another --out"), "{message}");
}

/// The suite `real` consists of the matrices that a folder lists, with their families.
#[test]
fn a_folder_of_matrices_is_a_suite() {
    let folder = Folder::new();
    let list = r#"[{"name": "small", "family": "points", "rows": 3}, {"name": "gone", "family": "points"}]"#;
    fs::write(folder.path("matrices.json"), list).unwrap();
    spmv(["convert", &folder.file("m.mtx", SMALL), &folder.name("small.npz")]).succeeded();
    let suite =
        ["--suite", "real", "--folder", &folder.name(""), "--format", "coo", "--precision", "float64", "--json"];
    let missing = bench(&suite).refused();
    assert!(missing.contains("gone.npz: No such file"), "{missing}");
    fs::write(folder.path("matrices.json"), r#"[{"name": "small", "family": "points"}]"#).unwrap();
    let entries: Value = serde_json::from_str(&bench(&suite).succeeded()).unwrap();
    let [entry] = &entries.as_array().unwrap()[..] else { panic!("{entries}") };
    assert!(entry["filename"].as_str().unwrap().ends_with("/small.npz"), "{entry}");
    assert_eq!((&entry["family"], &entry["spmv"]["coo"]["completed"]), (&"points".into(), &true.into()));
}

#[test]
fn bad_arguments_are_refused_before_anything_is_measured() {
    for (arguments, says) in [
        (&["--matrix", "no-such-file.mtx"] as &[&str], "no-such-file.mtx: No such file"),
        (&["--matrix", "stencil:6:10"], "stencil"),
        (&["--suite", "huge"], "invalid value 'huge'"),
        (&["--suite", "quick", "--matrix", "stencil:5:20"], "cannot be used with"),
        (&["--suite", "quick", "--folder", "."], "--folder requires --suite real"),
        (&["--suite", "real"], "--suite real requires --folder, which scripts/real-matrices.py creates"),
        (&["--suite", "real", "--folder", "no-such-folder"], "no-such-folder/matrices.json: No such file"),
        (&["--folder", "."], "--suite <SUITE>"),
        (&["--figure", "bg-99"], "invalid value 'bg-99'"),
        (&["--figure", "bg-8", "--format", "coo"], "cannot be used with"),
        (&["--figure", "bg-8", "--matrix", "stencil:5:20"], "cannot be used with"),
        (&["--figure", "bg-8", "--svg", "no-such-folder/figures"], "no-such-folder: No such file"),
        (&["--svg", "figures"], "--figure <NAME>"),
        (&["--resume"], "--out <FILE>"),
        (&["--format", "cmrs:height=17"], "format \"cmrs:height=17\": height is 17, expected a number from 1 to 16"),
        (&["--format", "coo", "--multiplications", "9"], "--multiplications requires --format auto"),
        (&["--format", "auto", "--multiplications", "0"], "0 is not in 1.."),
        (&["--vectors", "0"], "0 is not in 1.."),
        (&["--vectors", "x"], "invalid value 'x' for '--vectors <K>'"),
        (&["--vectors", "2,"], "invalid value '' for '--vectors <K>'"),
        (&["--vectors", "2", "--layout", "diagonal"], "invalid value 'diagonal' for '--layout <LAYOUT>'"),
        (&["--layout", "both"], "--vectors <K>"),
        (&["--vectors", "2", "--narrow"], "cannot be used with"),
        (&["--vectors", "2", "--values", "float16"], "cannot be used with"),
        (&["--sweep", "heights"], "invalid value 'heights' for '--sweep <NAME>' [possible values: cmrs-heights, "),
        (&["--figure", "bg-8", "--sweep", "sell-p"], "cannot be used with"),
        (
            &["--waves", "2"],
            "the executor is cpu with --waves 2, expected cuda or emulated: other executors have no grids",
        ),
        (&["--seconds", "0"], "a number above 0 is expected"),
        (&["--out", "no-such-folder/results.json"], "no-such-folder: No such file"),
    ] {
        let outcome = bench(arguments);
        assert_eq!((outcome.code, &*outcome.stdout), (Some(2), ""), "{arguments:?}");
        assert!(outcome.stderr.contains(says) && outcome.stderr.lines().count() == 1, "{}", outcome.stderr);
    }
}
