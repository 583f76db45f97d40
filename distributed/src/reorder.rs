//! Orders of the rows of a matrix, computed by all ranks together.

mod components;
mod graph;
mod places;
mod reverse_cuthill_mckee;
mod search;

pub use reverse_cuthill_mckee::reverse_cuthill_mckee;
