//! The residual history of an iterative solver.

use super::axis::Axis;
use super::canvas::{Frame, figure};
use super::figure::Figure;
use super::lines::{LEGEND, SIZE};
use super::style::{Style, TEXT};
use crate::error::Error;

/// More points are not visible.
const MOST_POINTS: usize = 2000;

/// Draws the norm of the residual before the first iteration and after each, and the tolerance. Norms that are 0 or not
/// finite cannot be drawn and are omitted.
///
/// # Errors
/// When it cannot be drawn.
pub fn residual_history(title: &str, history: &[f64], tolerance: f64) -> Result<Figure, Error> {
    let drawable = |norm: f64| norm > 0.0 && norm.is_finite();
    let every = history.len().div_ceil(MOST_POINTS).max(1);
    let last = history.len().saturating_sub(1);
    let points: Vec<_> = (0..)
        .zip(history.iter().copied())
        .filter(|&(iteration, norm)| drawable(norm) && (iteration % every == 0 || iteration == last))
        .collect();
    let tolerances = [tolerance].into_iter().filter(|&tolerance| drawable(tolerance));
    let norms = points.iter().map(|&(_, norm)| norm).chain(tolerances.clone());
    let frame = Frame {
        name: "residual",
        title,
        description: "The norm of the residual after each iteration, and the norm at which the solver has converged.",
        size: SIZE,
        left: 80,
        right: LEGEND,
        x: if points.is_empty() { None } else { Axis::linear("iteration", [last.max(1) as f64]) },
        y: Axis::logarithmic("norm of the residual", norms),
    };
    figure(frame, |canvas| {
        let style = Style::numbered(0);
        let dash = Some((7, 3));
        for tolerance in tolerances {
            canvas.line(canvas.horizontal(tolerance).to_vec(), TEXT, 1, dash)?;
            canvas.legend_line("converged", TEXT, dash)?;
        }
        let places = points.iter().map(|&(iteration, norm)| canvas.place(iteration as f64, norm)).collect();
        canvas.line(places, style.colour, 2, None)?;
        canvas.legend_line("residual", style.colour, None)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_goes_through_all_that_has_a_place() {
        let points = |history: &[f64], tolerance| {
            let svg = residual_history("a < b", history, tolerance).unwrap().svg;
            assert!(svg.contains("a &lt; b"), "{svg}");
            let lines = svg.split("<polyline").skip(1).filter_map(|line| line.split('>').next());
            let line = lines.filter(|line| line.contains("#0072B2")).max_by_key(|line| line.len());
            line.map(|line| {
                line.split("points=\"").nth(1).unwrap().split('"').next().unwrap().split_whitespace().count()
            })
        };
        assert_eq!(points(&[8.0, 4.0, 2.0, 1.0], 1.0), Some(4));
        assert_eq!(points(&[8.0, f64::NAN, 0.0, 1.0, 0.5], 0.0), Some(3));
        let long: Vec<f64> = (0..100_000).map(|iteration| 0.999f64.powi(iteration)).collect();
        assert!(points(&long, 1e-9).is_some_and(|points| (1000..=2001).contains(&points)));
    }

    #[test]
    fn what_has_no_points_says_so() {
        for history in [&[][..], &[0.0], &[f64::NAN]] {
            assert!(residual_history("", history, 0.0).unwrap().svg.contains("no data"));
        }
        assert!(!residual_history("", &[1.0], 0.0).unwrap().svg.contains("no data"));
    }
}
