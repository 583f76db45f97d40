//! Build script of the package `host`: with the feature `cuda`, it takes the PTX of `gpu-kernels` into the library.

fn main() {
    println!("cargo::rerun-if-changed=../build.rs");
    #[cfg(feature = "cuda")]
    if let Err(message) = embed_kernels() {
        eprintln!("{message}");
        std::process::exit(1);
    }
}

/// Writes `ptx.rs` to `OUT_DIR`, which lists the PTX by compute capability, from the lowest on.
#[cfg(feature = "cuda")]
fn embed_kernels() -> Result<(), Box<dyn std::error::Error>> {
    let files = cuda_builder::CudaBuilder::new("../gpu-kernels")
        .arch("sm_75")
        .arch("sm_90")
        .copy_to("../gpu-kernels/ptx")
        .regenerate_command("CUDA_BUILDER_PTX=regenerate cargo build -p warp-spmv-host --features cuda")
        .build()?;
    let mut list = String::from("pub static EMBEDDED: &[(u32, &str)] = &[\n");
    for file in files {
        let capability = file.header.architecture.compute_capability();
        let path = file.path.to_str().ok_or_else(|| format!("{}: the path is not Unicode", file.path.display()))?;
        list.push_str(&format!("    ({capability}, include_str!({path:?})),\n"));
    }
    list.push_str("];\n");
    let list_path = std::path::Path::new(&std::env::var("OUT_DIR")?).join("ptx.rs");
    std::fs::write(&list_path, list).map_err(|error| format!("{}: {error}", list_path.display()))?;
    Ok(())
}
