//! Finding a compiler for GPU code.

use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::semver::Version;

use crate::sources::TARGET;
use crate::{Architecture, Error, environment};

pub const RUSTC_VARIABLE: &str = "CUDA_BUILDER_RUSTC";
pub const CARGO_VARIABLE: &str = "CUDA_BUILDER_CARGO";

/// The device compiler to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompilerChoice {
    /// The first suitable one, in the order given in the crate's documentation.
    Search,
    /// This `rustc`, with this `cargo` or else the one next to it.
    Exactly {
        /// The compiler.
        rustc: PathBuf,
        /// The cargo that runs it.
        cargo: Option<PathBuf>,
    },
    /// None, as on a machine without one.
    Nothing,
}

impl CompilerChoice {
    /// The choice in `CUDA_BUILDER_RUSTC` and `CUDA_BUILDER_CARGO`.
    pub(crate) fn from_environment() -> Result<Self, Error> {
        let cargo = environment::variable(CARGO_VARIABLE)?.map(PathBuf::from);
        Ok(match environment::variable(RUSTC_VARIABLE)? {
            None => Self::Search,
            Some(value) if value == "none" => Self::Nothing,
            Some(rustc) => Self::Exactly { rustc: rustc.into(), cargo },
        })
    }
}

/// A compiler that can produce PTX.
#[derive(Debug)]
pub struct DeviceCompiler {
    pub rustc: PathBuf,
    pub cargo: PathBuf,
    pub sysroot: PathBuf,
    /// Whether `core` must be compiled from source.
    pub build_core: bool,
    description: String,
}

impl DeviceCompiler {
    /// Finds the compiler of that choice that supports the architectures and is at least as new as `oldest`.
    pub fn find(
        choice: &CompilerChoice,
        architectures: &[&Architecture],
        oldest: Option<&Version>,
    ) -> Result<Self, Error> {
        let mut tried = Vec::new();
        for (place, candidate) in candidates(choice) {
            match candidate.and_then(|candidate| candidate.examine(architectures, oldest)) {
                Ok(found) => return Ok(found),
                Err(reason) => tried.push(format!("  {place}: {reason}")),
            }
        }
        Err(Error::NoDeviceCompiler { tried: tried.join("\n") })
    }

    /// Name and versions, without anything specific to this machine.
    pub fn description(&self) -> &str {
        &self.description
    }
}

/// A compiler that may be able to produce PTX.
struct Candidate {
    rustc: PathBuf,
    cargo: Option<PathBuf>,
}

/// The locations to try, in order, each with a candidate or the reason why it has none.
fn candidates(choice: &CompilerChoice) -> Vec<(String, Result<Candidate, String>)> {
    let candidate = |rustc| Candidate { rustc, cargo: None };
    match choice {
        CompilerChoice::Nothing => {
            vec![(format!("{RUSTC_VARIABLE}=none"), Err("compilers are disabled".to_owned()))]
        }
        CompilerChoice::Exactly { rustc, cargo } => {
            vec![(rustc.display().to_string(), Ok(Candidate { rustc: rustc.clone(), cargo: cargo.clone() }))]
        }
        CompilerChoice::Search => {
            let active = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
            // With the unmodified environment: rustup's choice for this build must apply.
            let active = output(Command::new(active).args(["--print", "sysroot"]));
            let nightly = output(Command::new("rustup").args(["which", "--toolchain", "nightly", "rustc"]));
            vec![
                ("active toolchain".to_owned(), active.map(|sysroot| candidate(Path::new(&sysroot).join("bin/rustc")))),
                ("rustup's nightly".to_owned(), nightly.map(|rustc| candidate(rustc.into()))),
                ("/usr/bin/rustc".to_owned(), Ok(candidate("/usr/bin/rustc".into()))),
            ]
        }
    }
}

impl Candidate {
    /// Checks whether the candidate can produce PTX for the architectures; the error is the reason why it cannot.
    fn examine(self, architectures: &[&Architecture], oldest: Option<&Version>) -> Result<DeviceCompiler, String> {
        let Self { rustc, cargo } = self;
        let ask = |arguments: &[&str]| {
            let mut command = Command::new(&rustc);
            environment::scrub(&mut command);
            output(command.args(arguments))
        };
        let version = ask(&["--version", "--verbose"])?;
        let line = |key: &str| version.lines().find_map(|line| line.strip_prefix(key)).unwrap_or("unknown").to_owned();
        if let Some(oldest) = oldest {
            // As in cargo's comparison: 1.97.0-nightly counts as 1.97.0.
            let release = line("release: ");
            let numbers = Version::parse(&release).map(|release| (release.major, release.minor, release.patch));
            if numbers.is_ok_and(|numbers| numbers < (oldest.major, oldest.minor, oldest.patch)) {
                return Err(format!("it is Rust {release}, and the kernel crate needs {oldest}"));
            }
        }
        let cargo = cargo.unwrap_or_else(|| rustc.with_file_name(format!("cargo{}", std::env::consts::EXE_SUFFIX)));
        if !cargo.is_file() {
            return Err(format!("there is no {}", cargo.display()));
        }
        let sysroot = PathBuf::from(ask(&["--print", "sysroot"])?);
        let installed = has_core(&sysroot.join("lib/rustlib").join(TARGET).join("lib"));
        let source = sysroot.join("lib/rustlib/src/rust/library/core/Cargo.toml").is_file();
        if !installed && !source {
            return Err(format!("it has neither the target {TARGET} nor the standard library's source"));
        }
        let known = ask(&["--print", "target-cpus", "--target", TARGET])?;
        let knows = |name: &str| known.lines().any(|line| line.split_whitespace().next() == Some(name));
        if let Some(unknown) = architectures.iter().find(|architecture| !knows(architecture.name())) {
            return Err(format!("it does not support {unknown}"));
        }
        // Distributions append a remark to the first line; the commit before it is the same everywhere.
        let rustc_version = line("rustc ");
        let rustc_version = rustc_version.split_inclusive(')').next().unwrap_or("unknown");
        let core = if installed { "installed" } else { "from source" };
        let description = format!("rustc {rustc_version}, LLVM {}, core {core}", line("LLVM version: "));
        Ok(DeviceCompiler { rustc, cargo, sysroot, build_core: !installed, description })
    }
}

/// Whether the folder contains a compiled `core`.
fn has_core(folder: &Path) -> bool {
    let is_core = |name: &str| name.starts_with("libcore-") && name.ends_with(".rlib");
    std::fs::read_dir(folder)
        .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name().to_str().is_some_and(is_core)))
}

/// The command's output, or the reason for its failure in one line.
fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(message.lines().find(|line| !line.trim().is_empty()).unwrap_or("it failed without a message").trim().to_owned())
}
