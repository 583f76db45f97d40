//! With the feature `cuda`, checks that the PTX in `gpu-kernels/ptx` matches the kernels' sources, and regenerates it
//! if `CUDA_BUILDER_PTX=regenerate` is set. The library takes it from the package of the kernels.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "cuda")]
    if let Err(message) = check_kernels() {
        eprintln!("{message}");
        std::process::exit(1);
    }
}

#[cfg(feature = "cuda")]
fn check_kernels() -> Result<(), Box<dyn std::error::Error>> {
    use cuda_builder::{CudaBuilder, Policy};

    // As a dependency from a registry, this package has no kernel sources next to it.
    if !std::path::Path::new("gpu-kernels/Cargo.toml").exists() {
        return Ok(());
    }
    let mut builder = CudaBuilder::new("gpu-kernels")
        .arch("sm_75")
        .arch("sm_90")
        .pack()
        .copy_to("gpu-kernels/ptx")
        .regenerate_command("CUDA_BUILDER_PTX=regenerate cargo build --features cuda");
    if std::env::var_os("CUDA_BUILDER_PTX").is_none_or(|value| value.is_empty()) {
        // PTX in this script's OUT_DIR would not get into any library.
        builder = builder.policy(Policy::Committed);
    }
    if builder.build()?.iter().any(|file| file.written) {
        return Err("The kernels were recompiled, and their PTX is in gpu-kernels/ptx. \
                    Run the same command again, for this build may have taken the old PTX."
            .into());
    }
    Ok(())
}
