//! Compiles a kernel crate to PTX outside of a build script, to look at it:
//! `cargo run -p warp-spmv-cuda-builder --example compile_kernels -- gpu-kernels target/ptx sm_75 sm_90`

use std::process::ExitCode;

use cuda_builder::{CudaBuilder, Policy};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kernel_crate, folder, architectures @ ..] = arguments.as_slice() else {
        eprintln!("usage: compile_kernels KERNEL_CRATE FOLDER ARCHITECTURE...");
        return ExitCode::from(2);
    };
    let builder = CudaBuilder::new(kernel_crate).out_dir(folder).policy(Policy::Regenerate);
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
