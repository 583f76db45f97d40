//! Types that threads may share and move, and many threads at once, which get the same bits as one.

use warp_spmv::executor::{Cpu, Emulated, Reference};
use warp_spmv::format::Matrix;
use warp_spmv::{Csr, Error, Plan};

use crate::scenarios::threads::check_threads;

/// Compiles only if threads can share and move `T`.
fn shared_and_moved<T: Send + Sync>() {}

#[test]
fn threads_share_and_move_everything() {
    shared_and_moved::<Reference>();
    shared_and_moved::<Cpu>();
    shared_and_moved::<Emulated>();
    shared_and_moved::<Csr<f32>>();
    shared_and_moved::<Matrix<f64>>();
    shared_and_moved::<Plan<f32, Cpu>>();
    shared_and_moved::<Plan<f64, Emulated>>();
    shared_and_moved::<Error>();
}

#[cfg(feature = "cuda")]
#[test]
fn threads_share_and_move_what_is_on_a_gpu() {
    use warp_spmv::executor::{Cuda, CudaBuffer, CudaMemory};
    shared_and_moved::<Cuda>();
    shared_and_moved::<CudaBuffer<f64>>();
    shared_and_moved::<Matrix<f64, CudaMemory>>();
    shared_and_moved::<Plan<f32, Cuda>>();
}

#[test]
fn sixteen_threads_on_the_cpu_get_the_bits_of_one() {
    check_threads(Cpu::new, 20);
}

#[test]
fn sixteen_threads_on_emulators_get_the_bits_of_one() {
    check_threads(|| Emulated::new(5), 2);
}
