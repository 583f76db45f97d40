//! `doctor`, which reports what works on this machine; `completions` and `manual`.

use serde_json::Value;

use super::{Folder, Outcome, command, spmv};

fn doctor(folder: &Folder, arguments: &[&str]) -> Outcome {
    command([&["doctor"], arguments].concat()).env("XDG_DATA_HOME", folder.path("")).output().unwrap().into()
}

#[test]
fn the_cpu_works_and_what_is_missing_has_advice() {
    let folder = Folder::new();
    let record = doctor(&folder, &["--json"]).record();
    let findings = record["findings"].as_array().unwrap();
    let of = |what: &str| findings.iter().find(|finding| finding["what"] == what).unwrap();
    assert!(of("program")["found"].as_str().unwrap().starts_with(env!("CARGO_PKG_VERSION")));
    assert_eq!(of("cpu")["state"], "works");
    assert!(of("cpu")["found"].as_str().unwrap().ends_with("; a product is right"));
    assert_eq!(of("cpu choice")["state"], "missing");
    for finding in findings {
        assert_eq!(finding["state"] == "works", finding["advice"].is_null(), "{finding}");
    }
    for what in ["NCCL", "MPI"] {
        assert_eq!(of(what)["state"] == "missing", of(what)["advice"].as_str().is_some(), "{what}");
    }
    let text = doctor(&folder, &[]).succeeded();
    assert!(text.starts_with("program       works    ") && text.contains("\ncpu           works    "), "{text}");
    assert!(text.contains("calibrate it for this machine with warp-spmv tune\n"), "{text}");
}

#[test]
fn what_is_broken_is_named() {
    let folder = Folder::new();
    let record = doctor(&folder, &["--json"]).record();
    assert!(record["findings"].as_array().unwrap().iter().all(|finding| finding["state"] != "broken"), "{record}");
    // An invalid calibration for the CPU.
    let cpu = warp_spmv::executor::Executor::device(&warp_spmv::executor::Cpu::new()).name.clone();
    let path = warp_spmv::select::Store::at(folder.path("warp-spmv")).calibration_path(&cpu);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "{}").unwrap();
    let outcome = doctor(&folder, &["--json"]);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(1), "warp-spmv: error: broken: cpu choice\n"));
    let findings: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let broken =
        findings["findings"].as_array().unwrap().iter().find(|finding| finding["what"] == "cpu choice").unwrap();
    assert!(broken["advice"].as_str().unwrap().starts_with("remove ") && broken["state"] == "broken", "{broken}");
}

#[test]
fn shells_complete_subcommands() {
    for (shell, begins) in [("bash", "_warp__spmv() {"), ("zsh", "#compdef warp-spmv"), ("fish", "# Print")] {
        let text = spmv(["completions", shell]).succeeded();
        assert!(text.contains(begins) && text.contains("pagerank") && text.contains("doctor"), "{shell}: {text:.200}");
    }
    let message = spmv(["completions", "cmd"]).refused();
    assert!(message.starts_with("invalid value 'cmd' for '<SHELL>'"), "{message}");
}

#[test]
fn every_subcommand_has_a_page() {
    let folder = Folder::new();
    spmv(["manual", &folder.name("man")]).succeeded();
    let pages: Vec<_> = std::fs::read_dir(folder.path("man")).unwrap().map(|page| page.unwrap().path()).collect();
    assert!(pages.len() >= 12, "{pages:?}");
    let page = std::fs::read_to_string(folder.path("man/warp-spmv-solve.1")).unwrap();
    assert!(
        page.contains(".TH warp-spmv-solve 1") && page.contains("tolerance") && page.contains("Examples:"),
        "{page}"
    );
    assert!(folder.path("man/warp-spmv.1").exists());
    let message = spmv(["manual", &folder.file("file", "")]).refused();
    assert!(message.ends_with("/file: File exists (os error 17)"), "{message}");
}
