//! Compiles a Rust crate of GPU kernels to PTX from a build script, with rustc's own `nvptx64-nvidia-cuda`
//! backend. The names are those of Rust-CUDA's crate of the same name.
//!
//! ```no_run
//! // build.rs
//! match cuda_builder::CudaBuilder::new("../gpu-kernels").arch("sm_75").arch("sm_90").copy_to("../gpu-kernels/ptx").build() {
//!     Ok(files) => { /* generate a file of include_str! from them */ }
//!     Err(error) => {
//!         eprintln!("{error}");
//!         std::process::exit(1);
//!     }
//! }
//! ```
//!
//! # The kernel crate
//! A library crate that is `#![no_std]` when compiled for `nvptx64`, with kernels that are `#[unsafe(no_mangle)] extern
//! "ptx-kernel"` functions. The feature gate `abi_ptx` is enabled from outside, so the crate needs no `cfg` and no
//! nightly attribute of its own. The builder chooses the crate type and the entire release profile (fat LTO, one
//! codegen unit, `panic = "abort"`, no debug information), whatever the workspace's; the workspace's `Cargo.lock` is
//! used and never changed.
//!
//! # Committed PTX
//! Few machines have a compiler for GPU code, so the PTX is meant to be committed. [`CudaBuilder::copy_to`] sets the
//! folder; a file there is `<crate>.<architecture>.ptx`, and its first lines are comments that hold the hash of its
//! sources. The [`Policy`] determines how [`CudaBuilder::build`] treats these files; the environment variable
//! `CUDA_BUILDER_PTX` sets it:
//!
//! | `CUDA_BUILDER_PTX` | committed file fresh | stale or missing |
//! |---|---|---|
//! | not set | used, nothing is compiled | compiled into `OUT_DIR` with a warning; without a device compiler an error |
//! | `committed` | used | an error |
//! | `regenerate` | compiled and written | compiled and written |
//!
//! The hash covers the source folders of the kernel crate and of every path dependency in the device build, the parts
//! of their manifests that affect compilation (edition, features, dependencies), and the build settings with the
//! architecture. It excludes dependencies whose `target` table does not apply to `nvptx64`, dev-dependencies, line
//! endings, the compiler's version, and the location on disk. Files outside the source folders
//! (`include_str!("../..")`) are not seen.
//!
//! # Packed PTX
//! The text of many kernels is long, and a program uses few of them. [`CudaBuilder::pack`] makes each file a ZIP
//! archive, `<crate>.<architecture>.zip`: its member `index` holds the comment lines, then for each family of kernels a
//! line `<family>: <entry point> ...`, and the member `<family>.ptx` is a separate module with these entry points. A
//! family is a kernel for one number type, or for one combination of them: it consists of the entry points whose names
//! share the parts, joined by underscores, up to the last of the number types (`f`, `bf` or `c` and digits). Entry
//! points without number types form the family `untyped`. A program thus unpacks and loads only what it uses. Nor does
//! a repository need text that no one reads: to see changes, unpack two versions.
//!
//! # The device compiler
//! The builder takes the first of these that has a `core` for `nvptx64-nvidia-cuda` (installed, or as source), supports
//! the architectures, and is no older than the `rust-version` of the kernel crate and its path dependencies:
//!
//! 1. the `rustc` in `CUDA_BUILDER_RUSTC`, with the `cargo` next to it or in `CUDA_BUILDER_CARGO`. If it is unsuitable,
//!    that is an error. The value `none` stands for a machine without a device compiler;
//! 2. the active toolchain (`rustup target add nvptx64-nvidia-cuda`, or `rustup component add rust-src`);
//! 3. rustup's `nightly`, likewise;
//! 4. `/usr/bin/rustc` (Debian: `apt-get install rustc-web cargo-web rust-web-src`).
//!
//! A stable compiler works, with `RUSTC_BOOTSTRAP=1`. If only the source is available, `core` is built (`-Zbuild-std`),
//! for which cargo fetches the standard library's own dependencies once. Nothing is linked, so no linker is needed.
//! Variables that an outer cargo, rustup or clippy sets do not reach the compiler.

mod architecture;
mod archive;
mod compile;
mod compiler;
mod environment;
mod error;
mod hash;
mod ptx;
mod sources;

use std::path::{Path, PathBuf};

pub use architecture::Architecture;
pub use compiler::CompilerChoice;
pub use error::Error;
pub use ptx::{Header, Origin, PtxFile};

use compiler::DeviceCompiler;
use ptx::{Form, Staleness};
use sources::KernelCrate;

/// How to treat committed PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Use fresh files, compile the rest into `OUT_DIR`.
    Automatic,
    /// Never compile; a file that is not fresh is an error.
    Committed,
    /// Compile everything and write the committed files.
    Regenerate,
}

impl Policy {
    const VARIABLE: &'static str = "CUDA_BUILDER_PTX";

    fn parse(value: Option<&str>) -> Result<Self, Error> {
        match value {
            None => Ok(Self::Automatic),
            Some("committed") => Ok(Self::Committed),
            Some("regenerate") => Ok(Self::Regenerate),
            Some(other) => Err(Error::Setting {
                variable: Self::VARIABLE,
                value: other.to_owned(),
                expected: "'committed', 'regenerate' or nothing",
            }),
        }
    }
}

/// Builder that compiles a kernel crate to PTX; see the crate's documentation.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    crate_path: PathBuf,
    architectures: Vec<String>,
    ptx_isa: (u32, u32),
    form: Form,
    copy_to: Option<PathBuf>,
    out_dir: Option<PathBuf>,
    policy: Option<Policy>,
    compiler: Option<CompilerChoice>,
    regenerate_command: Option<String>,
}

impl CudaBuilder {
    /// Creates a builder for the kernel crate whose `Cargo.toml` is in the folder `crate_path`. In a build script, a
    /// relative path starts at the folder of the package that is built.
    pub fn new(crate_path: impl AsRef<Path>) -> Self {
        Self {
            crate_path: crate_path.as_ref().to_owned(),
            architectures: Vec::new(),
            ptx_isa: (7, 8),
            form: Form::Text,
            copy_to: None,
            out_dir: None,
            policy: None,
            compiler: None,
            regenerate_command: None,
        }
    }

    /// Adds an architecture to compile for, such as `sm_90`. At least one is needed; each gives one [`PtxFile`].
    pub fn arch(mut self, architecture: &str) -> Self {
        self.architectures.push(architecture.to_owned());
        self
    }

    /// Sets the version of the PTX language. It determines which drivers accept the result, and each architecture
    /// requires a minimum version. The default is 7.8, which CUDA 11.8 and later accept.
    pub fn ptx_isa(mut self, major: u32, minor: u32) -> Self {
        self.ptx_isa = (major, minor);
        self
    }

    /// Packs the PTX, family by family.
    pub fn pack(mut self) -> Self {
        self.form = Form::Archive;
        self
    }

    /// Sets the folder of the committed PTX. Without it, everything is compiled into `OUT_DIR`.
    pub fn copy_to(mut self, folder: impl AsRef<Path>) -> Self {
        self.copy_to = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets the folder to build in. The default is `OUT_DIR`, which cargo sets for a build script.
    pub fn out_dir(mut self, folder: impl AsRef<Path>) -> Self {
        self.out_dir = Some(folder.as_ref().to_owned());
        self
    }

    /// Sets how to treat committed PTX, overriding `CUDA_BUILDER_PTX`.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Sets the compiler to use, overriding `CUDA_BUILDER_RUSTC`.
    pub fn compiler(mut self, choice: CompilerChoice) -> Self {
        self.compiler = Some(choice);
        self
    }

    /// Sets the command that messages and PTX headers give for regenerating the PTX. The default is
    /// `CUDA_BUILDER_PTX=regenerate cargo build -p` with the package whose build script runs.
    pub fn regenerate_command(mut self, command: &str) -> Self {
        self.regenerate_command = Some(command.to_owned());
        self
    }

    /// Finds or compiles the PTX: one file per architecture, in the order in which they were added. Because this is
    /// meant for a build script, it prints cargo's `rerun-if` lines, and warnings, to standard output.
    ///
    /// # Errors
    /// Returns an error if the PTX is stale and cannot be compiled, if the kernels do not compile, or if the crate, a
    /// setting or a file cannot be read. The text can be shown to the user as is.
    pub fn build(self) -> Result<Vec<PtxFile>, Error> {
        for variable in [Policy::VARIABLE, compiler::RUSTC_VARIABLE, compiler::CARGO_VARIABLE] {
            directive("rerun-if-env-changed", variable);
        }
        let mut architectures = Vec::new();
        for name in &self.architectures {
            architectures.push(name.parse::<Architecture>()?);
        }
        if architectures.is_empty() {
            return Err(Error::NoArchitecture);
        }
        let policy = match self.policy {
            Some(policy) => policy,
            None => Policy::parse(environment::variable(Policy::VARIABLE)?.as_deref())?,
        };
        let kernel_crate = KernelCrate::load(&self.crate_path)?;
        for path in kernel_crate.watched() {
            directive("rerun-if-changed", path.display());
        }

        let folder = self.copy_to.as_deref().map(sources::resolve).transpose()?;
        let mut requests = Vec::new();
        for architecture in architectures {
            let source_hash = hash::source_hash(&kernel_crate, &compile::settings(&architecture, self.ptx_isa))?;
            let file_name = format!("{}.{architecture}.{}", kernel_crate.name(), self.form.extension());
            let committed = folder.as_ref().map(|folder| folder.join(&file_name));
            if let Some(existing) = committed.as_deref().and_then(|path| path.ancestors().find(|path| path.exists())) {
                // The nearest existing folder if there is no file: a missing file would make the build script run every
                // time.
                directive("rerun-if-changed", existing.display());
            }
            let found = match &committed {
                Some(path) => ptx::read_committed(path, self.form, &source_hash),
                None => Err(Staleness::NotCommitted),
            };
            requests.push(Request { architecture, source_hash, file_name, committed, found });
        }

        let usable = |request: &Request| policy != Policy::Regenerate && request.found.is_ok();
        if requests.iter().all(usable) {
            return Ok(requests.into_iter().filter_map(|request| request.found.ok()).collect());
        }
        if policy == Policy::Committed {
            let reason = match self.policy {
                Some(_) => "this build uses only committed PTX",
                None => "CUDA_BUILDER_PTX=committed forbids compiling it",
            };
            return Err(self.stale(&requests, &kernel_crate, reason));
        }
        let choice = self.compiler.clone().map_or_else(CompilerChoice::from_environment, Ok)?;
        let to_compile: Vec<_> = requests.iter().filter(|r| !usable(r)).map(|r| &r.architecture).collect();
        let compiler =
            DeviceCompiler::find(&choice, &to_compile, kernel_crate.oldest_rust()).map_err(|error| match error {
                Error::NoDeviceCompiler { .. } if policy == Policy::Automatic && folder.is_some() => {
                    self.stale(&requests, &kernel_crate, &error.to_string())
                }
                error => error,
            })?;
        let mut files = Vec::new();
        for request in requests {
            files.push(match request.found {
                Ok(file) if policy != Policy::Regenerate => file,
                _ => self.compile(request, &kernel_crate, &compiler, policy)?,
            });
        }
        Ok(files)
    }

    fn compile(
        &self,
        request: Request,
        kernel_crate: &KernelCrate,
        compiler: &DeviceCompiler,
        policy: Policy,
    ) -> Result<PtxFile, Error> {
        let out_dir = self.build_folder()?;
        let target_dir = out_dir.join("cuda_builder");
        let body = compile::to_ptx(kernel_crate, &request.architecture, self.ptx_isa, compiler, &target_dir)?;
        let header = Header {
            crate_name: kernel_crate.name().to_owned(),
            architecture: request.architecture,
            source_hash: request.source_hash,
            compiler: compiler.description().to_owned(),
            regenerate: self.command(),
        };
        let path = match (request.committed, request.found) {
            (Some(path), _) if policy == Policy::Regenerate => path,
            (Some(path), Err(staleness)) => {
                let (path, compiler, command) = (kernel_crate.shown(&path), &header.compiler, &header.regenerate);
                let text =
                    format!("{path} {staleness}; this build uses PTX made by {compiler}; to update it: {command}");
                directive("warning", text);
                out_dir.join(request.file_name)
            }
            _ => out_dir.join(request.file_name),
        };
        let contents = match self.form {
            Form::Text => format!("{header}{body}").into_bytes(),
            Form::Archive => {
                archive::pack(&header.to_string(), &body).map_err(|error| Error::file(&path)(error.into()))?
            }
        };
        let written = ptx::write(&path, &contents)?;
        Ok(PtxFile { path, origin: Origin::Compiled, written, header })
    }

    fn build_folder(&self) -> Result<PathBuf, Error> {
        let folder = self.out_dir.clone().or_else(|| std::env::var_os("OUT_DIR").map(PathBuf::from));
        let folder = folder.ok_or(Error::NoOutDir)?;
        std::path::absolute(&folder).map_err(Error::file(&folder))
    }

    fn command(&self) -> String {
        self.regenerate_command.clone().unwrap_or_else(|| {
            let package = std::env::var("CARGO_PKG_NAME").unwrap_or_else(|_| "<package>".to_owned());
            format!("{}=regenerate cargo build -p {package}", Policy::VARIABLE)
        })
    }

    fn stale(&self, requests: &[Request], kernel_crate: &KernelCrate, reason: &str) -> Error {
        let line = |request: &Request| {
            let staleness = request.found.as_ref().err()?;
            let name = request.committed.as_ref().map_or(request.file_name.clone(), |path| kernel_crate.shown(path));
            Some(format!("  {name} {staleness}"))
        };
        let files: Vec<String> = requests.iter().filter_map(line).collect();
        Error::Stale { files: files.join("\n"), reason: reason.to_owned(), command: self.command() }
    }
}

/// The PTX of one architecture, as known before compilation.
struct Request {
    architecture: Architecture,
    source_hash: String,
    file_name: String,
    /// The path of the committed file, whether or not it exists.
    committed: Option<PathBuf>,
    found: Result<PtxFile, Staleness>,
}

/// Prints a directive for cargo.
fn directive(key: &str, value: impl std::fmt::Display) {
    println!("cargo::{key}={value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_named_in_the_environment() {
        for (value, policy) in [
            (None, Policy::Automatic),
            (Some("committed"), Policy::Committed),
            (Some("regenerate"), Policy::Regenerate),
        ] {
            assert_eq!(Policy::parse(value).unwrap(), policy);
        }
        let error = Policy::parse(Some("fresh")).unwrap_err().to_string();
        assert_eq!(
            error,
            "environment variable CUDA_BUILDER_PTX is 'fresh': expected 'committed', 'regenerate' or nothing"
        );
    }
}
