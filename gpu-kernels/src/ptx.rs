//! The kernels as PTX, for programs that launch them: the text in this package's folder `ptx`, which the build
//! script of `warp-spmv` keeps up to date.

/// A module for each architecture: its compute capability (10 · major + minor) and its text, oldest first. A GPU runs
/// every module whose compute capability is not above its own; the last of them is made for the most of it.
pub static MODULES: &[(u32, &str)] = &[
    (75, include_str!("../ptx/warp-spmv-kernels.sm_75.ptx")),
    (90, include_str!("../ptx/warp-spmv-kernels.sm_90.ptx")),
];
