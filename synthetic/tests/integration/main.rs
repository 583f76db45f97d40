//! The tests in one program, so the library is linked once.

mod banded;
mod elasticity;
mod graphs;
mod like;
mod pareto;
mod reorder;
mod reproducible;
mod stencil;
mod structure;
mod text;
