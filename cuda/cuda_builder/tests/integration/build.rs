//! Builds sample kernels as a build script would. Tests that compile for the GPU are skipped, with a message, if there
//! is no compiler for it.

use std::process::Command;

use cuda_builder::{CompilerChoice, CudaBuilder, Error, Header, Origin, Policy};

use crate::sample::{Sample, any_compiler, compile, compile_alone};

const COMMITTED: &str = "kernels/ptx/sample-kernels.sm_75.ptx";

#[test]
fn committed_ptx_is_written_used_and_found_stale() {
    let sample = Sample::new();
    let Some(compiled) = compile(sample.builder(Policy::Regenerate)) else { return };
    let compiled = compiled.unwrap();
    assert!(compiled.written);
    assert_eq!((compiled.origin, compiled.path), (Origin::Compiled, sample.path(COMMITTED).canonicalize().unwrap()));

    let text = std::fs::read_to_string(sample.path(COMMITTED)).unwrap();
    assert_eq!(Header::parse(&text).unwrap(), compiled.header);
    for expected in [".version 7.8\n", ".target sm_75\n", ".visible .entry double(", "// regenerate: make ptx\n"] {
        assert!(text.contains(expected), "no {expected:?} in:\n{text}");
    }
    // The optimiser ran although the workspace's profile disables it.
    assert!(text.contains("ld.global") && !text.contains(".local") && !text.contains("call"), "{text}");
    assert!(!text.contains(sample.path("").to_str().unwrap()), "{text}");

    // From now on no compiler is needed.
    let committed = || sample.builder(Policy::Committed).build();
    let automatic = || sample.builder(Policy::Automatic).build();
    for files in [committed(), automatic()] {
        let files = files.unwrap();
        assert_eq!((files.len(), files[0].origin, &files[0].header), (1, Origin::Committed, &compiled.header));
    }
    sample.replace("emulator/src/lib.rs", "2.0 * x", "x + x");
    assert_eq!(committed().unwrap()[0].origin, Origin::Committed);

    sample.replace("device/src/lib.rs", "* x }", "* x * x }");
    for error in [committed().unwrap_err(), automatic().unwrap_err()] {
        let message = error.to_string();
        assert!(matches!(error, Error::Stale { .. }), "{message}");
        assert!(message.contains(&format!("{COMMITTED} is stale")), "{message}");
        assert!(message.ends_with("to update it: make ptx"), "{message}");
    }

    let fresh = compile(sample.builder(Policy::Automatic)).unwrap().unwrap();
    assert_eq!(fresh.origin, Origin::Compiled);
    assert_ne!(fresh.header.source_hash, compiled.header.source_hash);
    assert!(fresh.path.starts_with(env!("CARGO_TARGET_TMPDIR")), "{}", fresh.path.display());
    assert_eq!(std::fs::read_to_string(sample.path(COMMITTED)).unwrap(), text, "the committed file was touched");
}

#[test]
fn without_a_compiler_the_error_says_what_to_do() {
    let sample = Sample::new();
    let message = sample.builder(Policy::Automatic).build().unwrap_err().to_string();
    for expected in [&format!("{COMMITTED} does not exist"), "rustup target add", "apt-get install", "make ptx"] {
        assert!(message.contains(expected), "no {expected:?} in:\n{message}");
    }
    let error = sample.builder(Policy::Regenerate).build().unwrap_err();
    assert!(matches!(error, Error::NoDeviceCompiler { .. }), "{error}");
    assert!(!sample.path("kernels/ptx").exists());
}

#[test]
fn a_compiler_that_does_not_fit_is_not_replaced_by_another() {
    let sample = Sample::new();
    let choice = CompilerChoice::Exactly { rustc: sample.path("bin/rustc"), cargo: None };
    let message = sample.builder(Policy::Regenerate).compiler(choice).build().unwrap_err().to_string();
    assert!(message.contains("bin/rustc: "), "{message}");

    let builder = sample.builder(Policy::Regenerate).compiler(CompilerChoice::Search).arch("sm_1");
    let error = builder.build().unwrap_err();
    assert!(matches!(error, Error::NoDeviceCompiler { .. }), "{error}");
}

#[test]
fn a_compiler_too_old_for_the_kernel_crate_is_passed_over() {
    let sample = Sample::new();
    sample.replace("kernels/Cargo.toml", "edition", "rust-version = '1.9999'\nedition");
    let error = sample.builder(Policy::Regenerate).compiler(any_compiler()).build().unwrap_err();
    assert!(matches!(error, Error::NoDeviceCompiler { .. }), "{error}");
    // The message concerns a compiler that would otherwise fit.
    let without = Sample::new();
    if compile(without.builder(Policy::Regenerate)).is_some() {
        assert!(error.to_string().contains("the kernel crate needs 1.9999.0"), "{error}");
    }
}

#[test]
fn an_architecture_too_new_for_the_ptx_version_is_explained() {
    let sample = Sample::new();
    let Some(result) = compile(sample.builder(Policy::Regenerate).arch("sm_90").ptx_isa(7, 0)) else { return };
    let message = result.unwrap_err().to_string();
    assert!(message.contains("PTX version 7.0 does not support target 'sm_90'"), "{message}");
    assert!(!message.contains("--check-cfg"), "a command line is in:\n{message}");
}

#[test]
fn an_error_in_a_kernel_is_shown_with_its_place() {
    let sample = Sample::new();
    sample.replace("kernels/src/lib.rs", "device::twice(*x.add(i))", "device::thrice(*x.add(i))");
    sample.replace("kernels/src/lib.rs", "name: *mut u8, i: usize", "name: *mut u8, i: u32");
    let Some(result) = compile(sample.builder(Policy::Regenerate)) else { return };
    let message = result.unwrap_err().to_string();
    for expected in ["kernels/src/lib.rs:6:29", "thrice", "expected `usize`, found `u32`", "sm_75"] {
        assert!(message.contains(expected), "no {expected:?} in:\n{message}");
    }
    for noise in ["warning", "aborting", "Compiling", "could not compile"] {
        assert!(!message.contains(noise), "{noise:?} in:\n{message}");
    }
    assert!(!sample.path("kernels/ptx").exists());
}

#[test]
fn a_crate_without_kernels_is_an_error() {
    let sample = Sample::new();
    sample.replace("kernels/src/lib.rs", "#[unsafe(no_mangle)]", "");
    sample.replace("kernels/src/lib.rs", "extern \"ptx-kernel\" ", "");
    let Some(result) = compile(sample.builder(Policy::Regenerate)) else { return };
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Ptx { .. }), "{error}");
}

#[test]
fn a_folder_of_this_machine_does_not_get_into_ptx() {
    let sample = Sample::new();
    sample.replace("kernels/src/lib.rs", "file!()", "env!(\"CARGO_MANIFEST_DIR\")");
    let Some(result) = compile(sample.builder(Policy::Regenerate)) else { return };
    let message = result.unwrap_err().to_string();
    assert!(message.contains(sample.path("").canonicalize().unwrap().to_str().unwrap()), "{message}");
}

#[test]
fn an_outdated_lock_file_is_named_and_left_alone() {
    let sample = Sample::new();
    let lock = std::fs::read(sample.path("Cargo.lock")).unwrap();
    sample.replace("device/Cargo.toml", "version = '0.1.0'", "version = '0.2.0'");
    let Some(result) = compile(sample.builder(Policy::Regenerate)) else { return };
    let message = result.unwrap_err().to_string();
    assert!(message.contains("note: Cargo.lock is out of date"), "{message}");
    assert_eq!(std::fs::read(sample.path("Cargo.lock")).unwrap(), lock);
}

#[test]
fn the_environment_of_an_outer_build_does_not_leak() {
    let _alone = compile_alone();
    let poisoned = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "build::committed_ptx_is_written_used_and_found_stale"])
        .env("RUSTFLAGS", "-Cno-such-option")
        .env("CARGO_ENCODED_RUSTFLAGS", "-Cno-such-option")
        .env("CARGO_BUILD_TARGET", "no-such-target")
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .env("CARGO_TARGET_DIR", "/dev/null/target")
        .env("RUSTC_WRAPPER", "/dev/null/wrapper")
        .env("RUSTC_WORKSPACE_WRAPPER", "/dev/null/wrapper")
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&poisoned.stdout);
    assert!(poisoned.status.success() && report.contains("1 passed"), "{report}");
}

#[test]
fn bad_requests_are_refused() {
    let sample = Sample::new();
    let error = CudaBuilder::new(sample.path("kernels")).build().unwrap_err();
    assert!(matches!(error, Error::NoArchitecture), "{error}");
    let error = CudaBuilder::new(sample.path("kernels")).arch("90").build().unwrap_err();
    assert!(matches!(error, Error::Architecture { .. }), "{error}");
    let error = CudaBuilder::new(sample.path("macros")).arch("sm_90").build().unwrap_err();
    assert!(matches!(error, Error::KernelCrate { .. }), "{error}");
    let error = CudaBuilder::new(sample.path("")).arch("sm_90").build().unwrap_err();
    assert!(matches!(error, Error::KernelCrate { .. }), "{error}");
    let error = CudaBuilder::new(sample.path("nowhere")).arch("sm_90").build().unwrap_err();
    assert!(matches!(error, Error::Manifest { .. }), "{error}");
}

/// Lanes reach the shuffle from both sides of a branch and diverge again on the same condition. If a compiler copies
/// the shuffle into the two paths, as rustc's jump threading does, they never meet.
#[test]
fn a_shuffle_is_not_copied_into_the_branches_around_it() {
    let sample = Sample::new();
    sample.write(
        "kernels/src/lib.rs",
        r#"#![no_std]
#![feature(link_llvm_intrinsics, abi_unadjusted)]
#![allow(internal_features)]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shuffle(mask: u32, value: u32, distance: u32, clamp: u32) -> u32;
}
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn pairs(y: *mut u32, row: u32, rows: u32) {
    unsafe {
        let mut sum = device::twice(0.0) as u32;
        if row < rows {
            sum = *y.add(row as usize);
        }
        let sum = sum + shuffle(u32::MAX, sum, 1, 31);
        if row < rows {
            *y.add(row as usize) = sum;
        }
    }
}
"#,
    );
    let Some(compiled) = compile(sample.builder(Policy::Regenerate)) else { return };
    let text = std::fs::read_to_string(compiled.unwrap().path).unwrap();
    assert_eq!(text.matches("shfl.sync").count(), 1, "{text}");
}
