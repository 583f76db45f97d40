//! Dense vectors and solvers, without a GPU.

mod complex;
mod dense;
mod eigen;
mod methods;
mod multigrid;
mod preconditioners;
mod ranges;
mod refinement;
#[path = "../../../../tests/solvers"]
mod scenarios {
    pub mod complex;
    pub mod dense;
    pub mod eigen;
    #[allow(dead_code, reason = "other tests take the rest")]
    #[path = "../scenarios/numbers.rs"]
    mod numbers;
    pub mod preconditioner;
    pub mod ranges;
    pub mod solver;

    pub use numbers::Numbers;
}
