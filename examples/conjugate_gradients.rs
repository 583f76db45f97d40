//! Reads a symmetric positive definite matrix from a Matrix Market file and solves A x = b, with 1 everywhere in b, by
//! conjugate gradients; on the GPU with the feature `cuda`, otherwise on the CPU: `conjugate_gradients FILE`.

#[cfg(not(feature = "cuda"))]
use warp_spmv::executor::Cpu;
#[cfg(feature = "cuda")]
use warp_spmv::executor::Cuda;
use warp_spmv::executor::Executor;
use warp_spmv::solver::{Cg, Solver};
use warp_spmv::{Plan, io::read_matrix_market};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).ok_or("usage: conjugate_gradients FILE")?;
    let (matrix, _) = read_matrix_market::<f64>(file, None)?;
    #[cfg(feature = "cuda")]
    let executor = Cuda::new(0)?;
    #[cfg(not(feature = "cuda"))]
    let executor = Cpu::new();
    let b = executor.upload(vec![1.0; matrix.rows()])?;
    let mut x = executor.zeros(matrix.columns())?;
    let mut plan = Plan::new(&executor, matrix)?;
    let report = Solver::new(&executor, &mut plan).solve(&Cg, &b, &mut x)?;
    println!("{}: {} iterations, residual norm {}", report.outcome, report.iterations, report.residual_norm);
    Ok(())
}
