//! The figures as SVG, one file per figure.

mod axis;
mod bars;
mod canvas;
mod dots;
mod experiment;
mod figure;
mod history;
mod lines;
mod structure;
mod style;

use super::contents::Report;
use crate::error::Error;

pub use experiment::draw;
pub use figure::Figure;
pub use history::residual_history;
pub use structure::structure;

/// Draws all figures.
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
