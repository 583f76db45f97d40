//! The edges of regular grids.

use std::fmt;

use crate::options::{Value, check_dimension, unfit};
use crate::{Error, Help};
use host::format::LARGEST_DIMENSION;

/// The number of points along each direction of a grid, starting with the fastest-running coordinate. As text, the numbers
/// joined by `x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid(pub Vec<usize>);

impl Grid {
    /// Number of points.
    pub fn points(&self) -> usize {
        self.0.iter().fold(1, |points: usize, &edge| points.saturating_mul(edge))
    }

    /// A grid with `factor` times the points, along the slowest-running coordinate.
    pub(crate) fn times(&self, factor: usize) -> Self {
        let mut larger = self.clone();
        larger.0.iter_mut().last().into_iter().for_each(|edge| *edge = edge.saturating_mul(factor));
        larger
    }

    /// Checks the number of directions, of points along each, and of all points.
    pub(crate) fn check(&self, help: Help, directions: usize, least: usize) -> Result<(), Error> {
        if !(1..=directions).contains(&self.0.len()) {
            return Err(unfit(help, "grid", self, format!("from 1 to {directions} numbers joined by x")));
        }
        for &edge in &self.0 {
            check_dimension(help, "grid", edge)?;
            if edge < least {
                return Err(unfit(help, "grid", edge, format!("at least {least} points in each direction")));
            }
        }
        if self.points() > LARGEST_DIMENSION {
            return Err(unfit(help, "grid", self, format!("a grid of at most {LARGEST_DIMENSION} points")));
        }
        Ok(())
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, edge) in self.0.iter().enumerate() {
            write!(f, "{}{edge}", if place == 0 { "" } else { "x" })?;
        }
        Ok(())
    }
}

impl Value for Grid {
    const EXPECTED: &'static str = "whole numbers joined by x";

    fn parse(text: &str) -> Option<Self> {
        text.split('x').map(|edge| edge.parse().ok()).collect::<Option<_>>().map(Self)
    }
}
