//! Running cargo for the GPU target.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cargo_metadata::Message;
use cargo_metadata::diagnostic::DiagnosticLevel;

use crate::compiler::DeviceCompiler;
use crate::sources::{KernelCrate, TARGET};
use crate::{Architecture, Error, environment, ptx};

/// The release profile, whatever the workspace's.
const PROFILE: [(&str, &str); 9] = [
    ("CODEGEN_UNITS", "1"),
    ("DEBUG", "false"),
    ("DEBUG_ASSERTIONS", "false"),
    ("INCREMENTAL", "false"),
    ("LTO", "fat"),
    ("OPT_LEVEL", "3"),
    ("OVERFLOW_CHECKS", "false"),
    ("PANIC", "abort"),
    ("STRIP", "none"),
];

/// Arguments of rustc for the kernel crate only. `-Zno-link` stops at the PTX, where a linker would otherwise be
/// needed.
const KERNEL_FLAGS: [&str; 2] = ["-Zcrate-attr=feature(abi_ptx)", "-Zno-link"];

/// Arguments of rustc for every crate of the device build.
///
/// rustc's own optimiser does not know that some calls are collective operations of a warp's lanes: its jump threading
/// (from level 2 on) copies a shuffle into the branches before it, so that lanes that meet in the source no longer meet
/// in the PTX. LLVM knows, and otherwise produces the same PTX.
fn flags(architecture: &Architecture, (major, minor): (u32, u32)) -> Vec<String> {
    vec![
        format!("-Ctarget-cpu={architecture}"),
        format!("-Ctarget-feature=+ptx{major}{minor}"),
        "-Zmir-opt-level=1".to_owned(),
    ]
}

/// All compilation settings that affect the PTX.
pub fn settings(architecture: &Architecture, ptx_isa: (u32, u32)) -> Vec<String> {
    let mut settings = flags(architecture, ptx_isa);
    settings.extend(KERNEL_FLAGS.map(str::to_owned));
    settings.extend(PROFILE.map(|(name, value)| format!("{name}={value}")));
    settings.push(TARGET.to_owned());
    settings
}

/// Compiles the kernel crate, with `target_dir` for cargo, and returns the PTX.
pub fn to_ptx(
    kernel_crate: &KernelCrate,
    architecture: &Architecture,
    ptx_isa: (u32, u32),
    compiler: &DeviceCompiler,
    target_dir: &Path,
) -> Result<String, Error> {
    let foreign = foreign_folders(kernel_crate, compiler);
    let mut flags = flags(architecture, ptx_isa);
    flags.extend(foreign.iter().map(|(path, name)| format!("--remap-path-prefix={}={name}", path.display())));
    let assembly = target_dir.join(format!("{}.{architecture}.s", kernel_crate.name()));

    let mut command = Command::new(&compiler.cargo);
    environment::scrub(&mut command);
    // Empty wrappers take precedence over those of a configuration file.
    command.env("RUSTC", &compiler.rustc).env("RUSTC_WRAPPER", "").env("RUSTC_WORKSPACE_WRAPPER", "");
    command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    command.envs(PROFILE.map(|(name, value)| (format!("CARGO_PROFILE_RELEASE_{name}"), value)));
    // A manifest's settings for a package take precedence over the environment.
    for member in kernel_crate.members() {
        let of_package = format!("profile.release.package.\"{}\"", member.package.name);
        command.arg("--config").arg(format!("{of_package}.opt-level=3"));
        command.arg("--config").arg(format!("{of_package}.codegen-units=1"));
    }
    command.current_dir(kernel_crate.folder());
    command.args(["rustc", "--quiet", "--release", "--locked", "--lib", "--crate-type=cdylib", "--target", TARGET]);
    command.args(["--color=never", "--message-format=json", "--package", kernel_crate.name()]);
    command.arg("--target-dir").arg(target_dir);
    if compiler.build_core {
        command.arg("-Zbuild-std=core");
    }
    command.arg("--").args(KERNEL_FLAGS).arg(format!("--emit=asm={}", assembly.display()));
    let output = command.output().map_err(|source| Error::Run { program: compiler.cargo.clone(), source })?;
    if !output.status.success() {
        return Err(Error::Compile {
            crate_name: kernel_crate.name().to_owned(),
            architecture: architecture.to_string(),
            compiler: compiler.description().to_owned(),
            diagnostics: diagnostics(&output),
        });
    }

    let ptx = std::fs::read_to_string(&assembly).map_err(Error::file(&assembly))?;
    let unusable = |reason: String| Error::Ptx {
        crate_name: kernel_crate.name().to_owned(),
        architecture: architecture.to_string(),
        reason,
    };
    if !ptx::has_kernel(&ptx) {
        return Err(unusable(
            "it contains no kernel; is a function `#[unsafe(no_mangle)] extern \"ptx-kernel\"`?".to_owned(),
        ));
    }
    let folders = foreign.iter().map(|(folder, _)| folder.as_path()).chain([kernel_crate.workspace_root()]);
    match folders.map(|folder| folder.display().to_string()).find(|folder| mentions(&ptx, folder)) {
        Some(folder) => Err(unusable(format!("it names the folder {folder} of this machine"))),
        None => Ok(ptx),
    }
}

/// Folders outside the workspace that contain source files, and the names that replace them. For files in the
/// workspace, cargo gives paths relative to the workspace's folder.
fn foreign_folders(kernel_crate: &KernelCrate, compiler: &DeviceCompiler) -> Vec<(PathBuf, String)> {
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let members = kernel_crate.members().iter().filter(|m| !m.folder().starts_with(kernel_crate.workspace_root()));
    let mut folders = vec![(compiler.sysroot.join("lib/rustlib"), "/rustlib".to_owned())];
    folders.extend(cargo_home.map(|folder| (folder, "/cargo".to_owned())));
    folders.extend(members.map(|member| (member.folder().to_owned(), format!("/{}", member.package.name))));
    folders
}

/// Whether the PTX contains the text, as text or as the bytes of a string constant.
fn mentions(ptx: &str, text: &str) -> bool {
    let bytes: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
    ptx.contains(text) || ptx.contains(&bytes.join(", "))
}

/// The relevant messages of a failed run: the compiler's errors or, if there are none, cargo's.
fn diagnostics(output: &Output) -> String {
    let mut errors = String::new();
    for message in Message::parse_stream(output.stdout.as_slice()).flatten() {
        let Message::CompilerMessage(message) = message else { continue };
        let message = message.message;
        let error = matches!(message.level, DiagnosticLevel::Error | DiagnosticLevel::Ice);
        if error && !message.message.starts_with("aborting due to") {
            errors.push_str(&message.rendered.unwrap_or(message.message));
        }
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    if errors.is_empty() {
        errors = without_command_lines(&stderr);
    }
    if stderr.contains("because --locked was passed") {
        errors.push_str("\nnote: Cargo.lock is out of date; `cargo update --workspace` updates it");
    }
    errors.trim_end().to_owned()
}

/// Cargo's messages, and LLVM's between them, without the command lines of rustc, each of which is pages long.
fn without_command_lines(stderr: &str) -> String {
    let mut kept = Vec::new();
    for line in stderr.trim_end().lines() {
        if line.trim_start().starts_with("process didn't exit successfully: `") {
            while kept.pop_if(|line| matches!(*line, "" | "Caused by:")).is_some() {}
        } else {
            kept.push(line);
        }
    }
    kept.join("\n")
}
