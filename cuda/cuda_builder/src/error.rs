//! Errors, worded for the user of a build.

use std::path::{Path, PathBuf};

/// Advice for a machine without a device compiler.
const HOW_TO_INSTALL: &str = "\
to get one, do one of these:
  rustup target add nvptx64-nvidia-cuda
  rustup toolchain install nightly --component rust-src
  apt-get install rustc-web cargo-web rust-web-src   (Debian)
  set CUDA_BUILDER_RUSTC to a rustc that has the target or the standard library's source";

/// An error of this crate. Its text can be shown to the user as is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that is not that of an architecture.
    #[error("'{name}' is not a GPU architecture: expected sm_ and a number, such as sm_90")]
    Architecture {
        /// The name as given.
        name: String,
    },
    /// No architecture was requested.
    #[error("no GPU architecture to compile for: call arch(\"sm_90\") or the like")]
    NoArchitecture,
    /// An environment variable has an invalid value.
    #[error("environment variable {variable} is '{value}': expected {expected}")]
    Setting {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The valid values.
        expected: &'static str,
    },
    /// There is no folder to build in.
    #[error("OUT_DIR is not set: outside of a build script, call out_dir(..)")]
    NoOutDir,
    /// A manifest of the kernel crate or of one of its dependencies cannot be read.
    #[error("kernel crate {}: {source}", path.display())]
    Manifest {
        /// The crate's folder.
        path: PathBuf,
        /// Cargo's error.
        source: cargo_metadata::Error,
    },
    /// The kernel crate cannot be compiled to PTX.
    #[error("kernel crate {}: {reason}", path.display())]
    KernelCrate {
        /// The crate's folder.
        path: PathBuf,
        /// What is missing.
        reason: &'static str,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A program could not be started.
    #[error("cannot run {}: {source}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// Committed PTX does not match the kernel sources, and it could not be compiled.
    #[error("committed PTX is not up to date:\n{files}\n{reason}\nto update it: {command}")]
    Stale {
        /// One line per such file.
        files: String,
        /// The reason why nothing was compiled instead.
        reason: String,
        /// The command that regenerates the files.
        command: String,
    },
    /// No compiler for GPU code was found.
    #[error("no compiler for nvptx64-nvidia-cuda was found\n{tried}\n{}", HOW_TO_INSTALL)]
    NoDeviceCompiler {
        /// One line per location that was tried.
        tried: String,
    },
    /// The kernels do not compile.
    #[error("{crate_name} does not compile for {architecture} with {compiler}:\n{diagnostics}")]
    Compile {
        /// The kernel crate.
        crate_name: String,
        /// The architecture.
        architecture: String,
        /// The compiler.
        compiler: String,
        /// The messages of the compiler or cargo.
        diagnostics: String,
    },
    /// The kernels compiled to unusable PTX.
    #[error("PTX of {crate_name} for {architecture}: {reason}")]
    Ptx {
        /// The kernel crate.
        crate_name: String,
        /// The architecture.
        architecture: String,
        /// What is wrong with the PTX.
        reason: String,
    },
}

impl Error {
    /// For `map_err` on an operation on `path`.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }
}
