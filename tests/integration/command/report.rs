//! `warp-spmv report`: the page, the figures and the table of results.

use std::path::Path;

use crate::command::{Folder, spmv};

/// Results of formats and a peer on one matrix.
const RESULTS: &str = r#"[{"schema": 1, "filename": "a<b>.mtx", "family": "stencil", "rows": 10, "cols": 10, "nonzeros": 50,
    "row_lengths": {"shortest": 5, "longest": 5, "mean": 5, "deviation": 0, "histogram": [0, 0, 0, 10]},
    "spmv": {
        "ell": {"completed": true, "time": 1e-6, "library": "warp-spmv", "bytes_needed": 900},
        "dia": {"completed": false, "error": "too much padding", "refused": true, "library": "warp-spmv"},
        "peer-csr": {"completed": true, "time": 2e-6, "library": "peer 1.0"}},
    "ceilings": {"copy_gbps": 1, "read_gbps": 1, "gather_gbps": 1, "launch": 0, "call": 0},
    "env": {"executor": "cuda", "precision": "float64"}}]"#;

const GINKGO: &str = r#"[
    {"filename": "x/a<b>.mtx", "problem": {"rows": 10, "cols": 10, "nonzeros": 50}, "spmv": {"csr": {"time": 5e-7}}},
    {"filename": "unknown.mtx", "problem": {"rows": 1, "cols": 1, "nonzeros": 1}, "spmv": {}}]"#;

#[test]
fn a_page_and_all_figures() {
    let folder = Folder::new();
    let results = folder.file("results.json", RESULTS);
    let [page, figures] = ["report.html", "figures"].map(|name| folder.path(name));
    let [page, figures] = [&page, &figures].map(|path| path.to_str().unwrap());
    let said = spmv(["report", &results, "-o", page, "--svg", figures]).succeeded();
    let counts = "1 entries, 2 formats, 1 peers";
    assert_eq!(said, format!("{page}: {counts}\n{figures}: {counts}\n"));
    assert_eq!(folder.names(), ["figures", "report.html", "results.json"]);
    let written = std::fs::read_to_string(page).unwrap();
    assert!(written.starts_with("<!DOCTYPE html>") && written.contains("a\\u003cb>.mtx"));
    let files = std::fs::read_dir(figures).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = files.collect();
    names.sort();
    let expected = ["conversion", "gflops", "profile", "roofline", "row-lengths", "speedup"];
    assert_eq!(names, expected.map(|name| format!("{name}.svg")));
    // Again, over the old files.
    spmv(["report", &results, &results, "-o", page, "--svg", figures]).succeeded();
}

#[test]
fn a_table() {
    let folder = Folder::new();
    let results = folder.file("results.json", RESULTS);
    let table = spmv(["report", &results, "--table"]).succeeded();
    let line = "| cuda | stencil | float64 | 1 | ell | 2.00 | 2.00, a&lt;b>.mtx | 0.90 | 0.90, a&lt;b>.mtx | 1.22 |";
    assert_eq!(table.lines().last(), Some(line));
    // A faster peer from another program's file; its entry for another matrix is left out, with a note.
    let ginkgo = folder.file("ginkgo.json", GINKGO);
    let outcome = spmv(["report", &results, "--import", &format!("ginkgo={ginkgo}"), "--table"]);
    assert!(outcome.stdout.contains("| ell | 0.50 | 0.50, "), "{}", outcome.stdout);
    let said = format!(
        "warp-spmv: {ginkgo}: 1 of 2 entries left out: no result here has their matrix, precision and executor\n"
    );
    assert_eq!((outcome.code, outcome.stderr), (Some(0), said));
}

#[test]
fn a_document_is_updated_and_checked() {
    let folder = Folder::new();
    folder.file("results.json", RESULTS);
    let text = "# Speed\n<!-- report speed-ups results.json\nall:\n-->\n<!-- report end -->\nThe end.\n";
    let document = folder.file("speed.md", text);
    let outcome = spmv(["report", "--document", &document, "--check"]);
    let says = format!(
        "warp-spmv: error: {document}:5: not what the results give; warp-spmv report --document {document} updates it\n"
    );
    assert_eq!((outcome.code, outcome.stderr), (Some(1), says));
    assert_eq!(std::fs::read_to_string(&document).unwrap(), text);
    assert_eq!(spmv(["report", "--document", &document]).succeeded(), format!("{document}: updated\n"));
    let table = "| matrices | number | peer, float64 |\n|---|--:|--:|\n| all | 1 | 2.00 (2.00) |\n";
    let expected = text.replace("-->\n<!--", &format!("-->\n{table}<!--"));
    assert_eq!(std::fs::read_to_string(&document).unwrap(), expected);
    assert_eq!(spmv(["report", "--document", &document, "--check"]).succeeded(), format!("{document}: unchanged\n"));
}

#[test]
fn documents_state_what_their_results_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for document in [
        "README.md",
        "docs/guide/benchmarks.md",
        "docs/performance.md",
        "docs/results/choice.md",
        "docs/results/real.md",
        "docs/results/suites.md",
        "docs/results/values.md",
        "docs/results/vectors.md",
    ] {
        let path = root.join(document);
        let path = path.to_str().unwrap();
        assert_eq!(spmv(["report", "--document", path, "--check"]).succeeded(), format!("{path}: unchanged\n"));
        assert!(std::fs::read_to_string(path).unwrap().contains("<!-- report end -->"), "{document} has no table");
    }
}

/// Draws figures of results in docs/results and compares them with their pictures there; `picture` maps a figure's file to the
/// picture, if there is one.
fn assert_drawn(results: &str, figures: &[&str], picture: impl Fn(&str) -> Option<String>) {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results");
    let (folder, results) = (Folder::new(), docs.join(results));
    let drawn = folder.name("drawn");
    let command = [&["report", results.to_str().unwrap()][..], figures, &["--svg", &drawn]].concat();
    spmv(&command).succeeded();
    for entry in std::fs::read_dir(&drawn).unwrap() {
        let entry = entry.unwrap();
        let Some(picture) = picture(entry.file_name().to_str().unwrap()) else { continue };
        let same = std::fs::read(entry.path()).unwrap() == std::fs::read(docs.join(&picture)).unwrap();
        assert!(same, "docs/results/{picture} is not what its results give; {command:?} draws it");
    }
}

#[test]
fn pictures_show_what_their_results_say() {
    let in_suites = |name: &str| ["profile.svg", "speedup.svg"].contains(&name);
    assert_drawn("h200/large.json.gz", &[], |name| in_suites(name).then(|| format!("h200/{name}")));
    assert_drawn("h200/real.json.gz", &[], |name| (name == "speedup.svg").then(|| "h200/real-speedup.svg".into()));
    // On the H200, this figure is drawn from other results, which compare it with its host.
    assert_drawn("h200/bg-16.json.gz", &["--figure", "bg-16"], |name| Some(format!("h200/figures/{name}")));
    for device in ["h200", "h100"] {
        let from_others = |name: &str| (device, name) == ("h200", "bg-16.svg");
        assert_drawn(&format!("{device}/figures.json.gz"), &["--figure", "all"], |name| {
            (!from_others(name)).then(|| format!("{device}/figures/{name}"))
        });
    }
}

#[test]
fn what_is_refused() {
    let folder = Folder::new();
    let results = folder.file("results.json", RESULTS);
    let cut = folder.file("cut.json", &RESULTS[..70]);
    let page = folder.path("report.html").into_os_string().into_string().unwrap();
    let nowhere = folder.path("no/report.html").into_os_string().into_string().unwrap();
    let missing = folder.path("missing.json").into_os_string().into_string().unwrap();
    let import = format!("ginkgo={missing}");
    for (arguments, says) in [
        (vec![&*results], "required arguments were not provided"),
        (vec![&missing, "-o", &page], "missing.json: No such file or directory"),
        (vec![&cut, "-o", &page], "cut.json:1:70: EOF while parsing"),
        // The folder is checked before the file is read.
        (vec![&missing, "-o", &nowhere], "no: No such file or directory"),
        (vec![&missing, "--svg", &nowhere], "no: No such file or directory"),
        (vec![&results, "--svg", &results], "results.json: "),
        (vec![&results, "-o", &results], "results.json: is an input, so it cannot be written"),
        (vec![&results, "-o", &page, "--format", "csr"], "unknown format 'csr' in the results; expected one of ell"),
        (vec![&results, "-o", &page, "--matrix", "b"], "unknown matrix with row lengths 'b'"),
        (vec!["--document", &missing], "missing.json: No such file or directory"),
        (vec![&results, "--document", &results], "cannot be used with"),
        (vec![&results, "-o", &page, "--check"], "cannot be used with"),
        (vec![&results, "-o", &page, "--import", "ginkgo"], "expected NAME=FILE"),
        (vec![&results, "-o", &page, "--import", &import], "missing.json: No such file or directory"),
        (vec![&results, "-o", &page, "--import", "warp-spmv=results.json"], "results.json: No such file"),
    ] {
        let message = spmv(["report"].into_iter().chain(arguments.iter().copied())).refused();
        assert!(message.contains(says), "{arguments:?}: {message}");
    }
    assert_eq!(folder.names(), ["cut.json", "results.json"]);
    assert_eq!(std::fs::read_to_string(&results).unwrap(), RESULTS);
}
