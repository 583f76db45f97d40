//! Orders of the rows of a matrix that all ranks find together.

mod components;
mod graph;
mod places;
mod reverse_cuthill_mckee;
mod search;

pub use reverse_cuthill_mckee::reverse_cuthill_mckee;
