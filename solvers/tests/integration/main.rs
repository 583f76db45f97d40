//! Dense vectors and solvers, without a GPU.

mod solvers;
