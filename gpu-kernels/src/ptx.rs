//! The kernels as PTX, for programs that launch them: the archives in this package's folder `ptx`, which the build
//! script of `warp-spmv` keeps up to date.

/// An archive for each architecture: its compute capability (10 · major + minor) and a ZIP archive, oldest first. A GPU
/// runs the modules of every archive whose compute capability does not exceed its own; the last such archive suits it
/// best.
///
/// An archive's member `index` has, after comment lines, a line `<family>: <entry point> ...` for each family of kernels;
/// the member `<family>.ptx` is a module with these entry points.
pub static ARCHIVES: &[(u32, &[u8])] = &[
    (75, include_bytes!("../ptx/warp-spmv-kernels.sm_75.zip")),
    (90, include_bytes!("../ptx/warp-spmv-kernels.sm_90.zip")),
];
