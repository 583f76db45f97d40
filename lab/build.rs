//! Records the commit that the program is built from.

use std::process::Command;

fn main() {
    // Cargo writes this file into a package. A surrounding repository is not this one.
    if let Ok(published) = std::fs::read_to_string(".cargo_vcs_info.json") {
        if let Some(commit) = published.split_once("\"sha1\": \"").and_then(|(_, rest)| rest.get(..12)) {
            println!("cargo::rustc-env=LAB_COMMIT={commit}");
        }
        return;
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=LAB_COMMIT={commit}");
    }
    // This file changes with every commit, on any branch.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
}
