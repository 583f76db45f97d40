//! Report on the multigrid levels of a matrix.

use std::time::Duration;

use host::Format;

/// The levels of a multigrid preconditioner, and the duration of their setup.
#[derive(Clone, Debug, PartialEq)]
pub struct MultigridReport {
    /// The levels, from fine to coarse.
    pub levels: Vec<LevelReport>,
    /// The steps of the setup, each with its duration over all levels.
    pub times: Vec<(&'static str, Duration)>,
}

/// A level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelReport {
    /// Number of unknowns.
    pub rows: usize,
    /// Entries of its matrix.
    pub nnz: usize,
    /// The format of its matrix; of its inverse, if the level is solved directly.
    pub format: Format,
    /// Entries of the prolongation from the next level; 0 on the last level.
    pub prolongation_nnz: usize,
    /// An estimate of the largest eigenvalue of its matrix scaled by the diagonal; `None` if the smoother needs none.
    pub largest_eigenvalue: Option<f64>,
    /// How the last level is solved.
    pub coarsest: Option<&'static str>,
}

impl MultigridReport {
    /// Returns the ratio of the entries of all levels' matrices to those of the finest.
    pub fn operator_complexity(&self) -> f64 {
        ratio(&self.levels, |level| level.nnz)
    }

    /// Returns the ratio of the unknowns of all levels to those of the finest.
    pub fn grid_complexity(&self) -> f64 {
        ratio(&self.levels, |level| level.rows)
    }
}

fn ratio(levels: &[LevelReport], number: fn(&LevelReport) -> usize) -> f64 {
    let finest = levels.first().map_or(0, number);
    if finest == 0 { 1.0 } else { levels.iter().map(number).sum::<usize>() as f64 / finest as f64 }
}
