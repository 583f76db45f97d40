//! The tests that share a process: one program, so the library is linked once. `memory`, which counts allocations, and `gpu`
//! are separate programs. Other test programs share `scenarios`, `scipy` and `solvers`.

mod behaviour;
#[cfg(feature = "command")]
mod command;
#[path = "../scenarios/mod.rs"]
mod scenarios;
#[cfg(feature = "command")]
#[path = "../scipy/mod.rs"]
mod scipy;
#[path = "../solvers"]
#[allow(dead_code, reason = "the tests of `host` take the rest")]
mod solvers {
    pub mod dense;
    pub mod preconditioner;
    pub mod solver;

    use super::scenarios::Numbers;
}
