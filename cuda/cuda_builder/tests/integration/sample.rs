//! A small workspace of kernels, written to a temporary folder: a kernel crate, the crate it is written against, a
//! procedural macro, and an emulator that is not part of the device build. The libraries of the first two have
//! different names from their packages.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_builder::{CompilerChoice, CudaBuilder, Error, Policy, PtxFile};

const FILES: [(&str, &str); 10] = [
    (
        "Cargo.toml",
        "[workspace]\nmembers = ['kernels', 'device', 'macros', 'emulator']\nresolver = '3'\n\
         [workspace.package]\nedition = '2024'\n[profile.release]\nopt-level = 0\ndebug = 2\n",
    ),
    ("Cargo.lock", LOCK),
    (
        "kernels/Cargo.toml",
        "[package]\nname = 'sample-kernels'\nversion = '0.1.0'\nedition.workspace = true\n\
         [lib]\nname = 'kernels'\n\
         [dependencies]\ndevice = { package = 'sample-device', path = '../device' }\n[dev-dependencies]\nemulator = { path = '../emulator' }\n",
    ),
    ("kernels/src/lib.rs", KERNEL),
    (
        "device/Cargo.toml",
        "[package]\nname = 'sample-device'\nversion = '0.1.0'\nedition = '2024'\n[lib]\nname = 'device'\n\
         [dependencies]\nmacros = { path = '../macros' }\n\
         [target.'cfg(not(target_arch = \"nvptx64\"))'.dependencies]\nemulator = { path = '../emulator' }\n",
    ),
    (
        "device/src/lib.rs",
        "#![no_std]\n#[cfg(target_arch = \"nvptx64\")]\n#[panic_handler]\n\
         fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n\
         #[cfg(not(target_arch = \"nvptx64\"))]\npub use emulator::twice;\n\
         #[cfg(target_arch = \"nvptx64\")]\npub fn twice(x: f64) -> f64 { macros::two!() * x }\n",
    ),
    (
        "macros/Cargo.toml",
        "[package]\nname = 'macros'\nversion = '0.1.0'\nedition = '2024'\n[lib]\nproc-macro = true\n",
    ),
    (
        "macros/src/lib.rs",
        "#[proc_macro]\npub fn two(_: proc_macro::TokenStream) -> proc_macro::TokenStream { \"2.0\".parse().unwrap() }\n",
    ),
    ("emulator/Cargo.toml", "[package]\nname = 'emulator'\nversion = '0.1.0'\nedition = '2024'\n"),
    ("emulator/src/lib.rs", "pub fn twice(x: f64) -> f64 { 2.0 * x }\n"),
];

const LOCK: &str = r#"version = 4

[[package]]
name = "emulator"
version = "0.1.0"

[[package]]
name = "macros"
version = "0.1.0"

[[package]]
name = "sample-device"
version = "0.1.0"
dependencies = ["emulator", "macros"]

[[package]]
name = "sample-kernels"
version = "0.1.0"
dependencies = ["emulator", "sample-device"]
"#;

/// A kernel whose PTX contains the name of its own source file.
pub const KERNEL: &str = r#"#![no_std]
/// y := 2 x, and the name of this file.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn double(x: *const f64, y: *mut f64, name: *mut u8, i: usize) {
    unsafe {
        *y.add(i) = device::twice(*x.add(i));
        *name.add(i) = *file!().as_bytes().as_ptr().add(i);
    }
}
"#;

/// Held during compilation: the tests share one build folder, so that `core` is compiled only once.
pub fn compile_alone() -> MutexGuard<'static, ()> {
    static COMPILING: Mutex<()> = Mutex::new(());
    COMPILING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The compiler named in the environment, or else the first one found.
pub fn any_compiler() -> CompilerChoice {
    let named = std::env::var_os("CUDA_BUILDER_RUSTC").filter(|name| name != "none");
    named.map_or(CompilerChoice::Search, |rustc| CompilerChoice::Exactly { rustc: rustc.into(), cargo: None })
}

/// Builds for one architecture; if this machine cannot, prints a message and returns `None`.
pub fn compile(builder: CudaBuilder) -> Option<Result<PtxFile, Error>> {
    let _alone = compile_alone();
    match builder.compiler(any_compiler()).build() {
        Err(error @ (Error::NoDeviceCompiler { .. } | Error::Stale { .. })) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => Some(Err(error)),
        Ok(mut files) => {
            assert_eq!(files.len(), 1);
            files.pop().map(Ok)
        }
    }
}

pub struct Sample(tempfile::TempDir);

impl Sample {
    pub fn new() -> Self {
        let sample = Self(tempfile::tempdir().unwrap());
        for (name, text) in FILES {
            sample.write(name, text);
        }
        sample
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn replace(&self, name: &str, old: &str, new: &str) {
        let text = std::fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(old), "{name} has no {old:?}");
        self.write(name, &text.replace(old, new));
    }

    /// A builder for this workspace on a machine without a device compiler.
    pub fn builder(&self, policy: Policy) -> CudaBuilder {
        CudaBuilder::new(self.path("kernels"))
            .arch("sm_75")
            .copy_to(self.path("kernels/ptx"))
            .out_dir(Path::new(env!("CARGO_TARGET_TMPDIR")).join("sample"))
            .policy(policy)
            .compiler(CompilerChoice::Nothing)
            .regenerate_command("make ptx")
    }

    /// The start of the sources' hash, from the message about a stale file.
    pub fn hash(&self) -> String {
        let header = "// crate: x\n// architecture: sm_75\n// source hash: 0\n// compiler: x\n// regenerate: x\n";
        self.write("kernels/ptx/sample-kernels.sm_75.ptx", header);
        let message = self.builder(Policy::Committed).build().unwrap_err().to_string();
        let hash = message.split_once("now they are ").and_then(|(_, rest)| rest.get(..12));
        hash.unwrap_or_else(|| panic!("no hash in: {message}")).to_owned()
    }
}
