//! Compiles a kernel crate to PTX outside a build script, for inspection:
//! `cargo run -p warp-spmv-cuda-builder --example compile_kernels -- gpu-kernels target/ptx sm_75 sm_90`
//! With `--pack` before the other arguments it creates archives by families of kernels.

use std::process::ExitCode;

use cuda_builder::{CudaBuilder, Policy};

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let pack = arguments.first().is_some_and(|first| first == "--pack");
    arguments.drain(..usize::from(pack));
    let [kernel_crate, folder, architectures @ ..] = arguments.as_slice() else {
        eprintln!("usage: compile_kernels [--pack] KERNEL_CRATE FOLDER ARCHITECTURE...");
        return ExitCode::from(2);
    };
    let mut builder = CudaBuilder::new(kernel_crate).out_dir(folder).policy(Policy::Regenerate);
    if pack {
        builder = builder.pack();
    }
    match architectures.iter().fold(builder, |builder, architecture| builder.arch(architecture)).build() {
        Ok(files) => {
            for file in files {
                eprintln!("{} by {}", file.path.display(), file.header.compiler);
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
