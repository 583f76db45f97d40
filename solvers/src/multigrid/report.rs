//! What multigrid made of a matrix.

use std::time::Duration;

use host::Format;

/// The levels of a multigrid preconditioner, and what it took to make them.
#[derive(Clone, Debug, PartialEq)]
pub struct MultigridReport {
    /// The levels, the finest first.
    pub levels: Vec<LevelReport>,
    /// The steps of the setup, and the time of each over all levels.
    pub times: Vec<(&'static str, Duration)>,
}

/// A level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelReport {
    /// Number of unknowns.
    pub rows: usize,
    /// Entries of its matrix.
    pub nnz: usize,
    /// How its matrix is stored; of a level that is solved directly, its inverse.
    pub format: Format,
    /// Entries of the prolongation from the next level; 0 on the last.
    pub prolongation_nnz: usize,
    /// An estimate of the largest eigenvalue of its matrix scaled by the diagonal; none where the smoother needs none.
    pub largest_eigenvalue: Option<f64>,
    /// How it is solved with, if it is the last one.
    pub coarsest: Option<&'static str>,
}

impl MultigridReport {
    /// Entries of all levels' matrices over those of the finest.
    pub fn operator_complexity(&self) -> f64 {
        ratio(&self.levels, |level| level.nnz)
    }

    /// Unknowns of all levels over those of the finest.
    pub fn grid_complexity(&self) -> f64 {
        ratio(&self.levels, |level| level.rows)
    }
}

fn ratio(levels: &[LevelReport], number: fn(&LevelReport) -> usize) -> f64 {
    let finest = levels.first().map_or(0, number);
    if finest == 0 { 1.0 } else { levels.iter().map(number).sum::<usize>() as f64 / finest as f64 }
}
