//! The figures as SVG, one file a figure.

mod axis;
mod bars;
mod canvas;
mod dots;
mod experiment;
mod history;
mod lines;
mod style;

pub use canvas::shortened;

use super::{Error, Report};

pub use experiment::draw;
pub use history::residual_history;

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// The text of the SVG file.
    pub svg: String,
}

impl Figure {
    /// The name of its file.
    pub fn file_name(&self) -> String {
        format!("{}.svg", self.name)
    }
}

/// All figures.
pub fn figures(report: &Report) -> Result<Vec<Figure>, Error> {
    [
        dots::gflops(report),
        lines::profile(report),
        dots::speed_up(report),
        lines::roofline(report),
        dots::conversion(report),
        bars::row_lengths(report),
    ]
    .into_iter()
    .collect()
}
