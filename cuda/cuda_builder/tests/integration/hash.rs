//! Dependencies of the kernel sources' hash.

use crate::sample::{KERNEL, Sample};

/// Whether `change` changes the hash.
fn changes(change: impl FnOnce(&Sample)) -> bool {
    let sample = Sample::new();
    let before = sample.hash();
    change(&sample);
    before != sample.hash()
}

#[test]
fn two_copies_have_the_same_hash() {
    assert_eq!(Sample::new().hash(), Sample::new().hash());
}

#[test]
fn sources_of_the_device_build_count() {
    assert!(changes(|s| s.replace("kernels/src/lib.rs", "y := 2 x", "y = 2 x")));
    assert!(changes(|s| s.replace("device/src/lib.rs", "loop {}", "loop { }")));
    assert!(changes(|s| s.replace("macros/src/lib.rs", "2.0", "2.00")));
    assert!(changes(|s| s.write("kernels/src/deep/table.bin", "")));
    assert!(changes(|s| s.write("device/build.rs", "fn main() {}\n")));
}

#[test]
fn moving_text_between_files_counts() {
    let at_end_of_a = Sample::new();
    at_end_of_a.write("kernels/src/a.rs", "xy");
    at_end_of_a.write("kernels/src/b.rs", "");
    let at_start_of_b = Sample::new();
    at_start_of_b.write("kernels/src/a.rs", "x");
    at_start_of_b.write("kernels/src/b.rs", "y");
    assert_ne!(at_end_of_a.hash(), at_start_of_b.hash());
}

#[test]
fn manifests_count_as_far_as_they_decide_about_compiling() {
    assert!(changes(|s| s.replace("Cargo.toml", "edition = '2024'", "edition = '2021'")));
    assert!(changes(|s| s.replace("device/Cargo.toml", "[dependencies]", "[features]\nfast = []\n[dependencies]")));
    assert!(changes(|s| s.replace("device/Cargo.toml", "[dependencies]", "[dependencies]\nlibm = '0.2'")));
    assert!(!changes(|s| s.replace("kernels/Cargo.toml", "version = '0.1.0'", "version = '0.2.0' # newer")));
    assert!(!changes(|s| s.replace("kernels/Cargo.toml", "[dev-dependencies]", "[dev-dependencies]\nrand = '0.9'")));
}

#[test]
fn what_is_not_in_the_device_build_does_not_count() {
    assert!(!changes(|s| s.replace("emulator/src/lib.rs", "2.0 * x", "x + x")));
    assert!(!changes(|s| s.write("kernels/tests/double.rs", "#[test] fn double() {}\n")));
    assert!(!changes(|s| s.write("kernels/src/.lib.rs.swp", "an editor's")));
    assert!(changes(|s| s.replace("device/Cargo.toml", "not(target_arch = \"nvptx64\")", "target_os = \"cuda\"")));
}

#[test]
fn line_endings_do_not_count() {
    assert!(!changes(|s| s.write("kernels/src/lib.rs", &KERNEL.replace('\n', "\r\n"))));
}
