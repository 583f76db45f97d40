//! The structure of a matrix: where its entries are, and the lengths of its rows.

use plotters::style::RGBColor;

use super::axis::{Axis, short};
use super::bars::histogram;
use super::canvas::{Frame, figure};
use super::figure::Figure;
use crate::error::Error;
use crate::record::RowLengths;
use crate::report::contents::shortened;
use crate::spy::Spy;

/// ColorBrewer's Blues, which keep their order in greyscale and for colour-blind readers.
const SHADES: [RGBColor; 7] = [
    RGBColor(0xc6, 0xdb, 0xef),
    RGBColor(0x9e, 0xca, 0xe1),
    RGBColor(0x6b, 0xae, 0xd6),
    RGBColor(0x42, 0x92, 0xc6),
    RGBColor(0x21, 0x71, 0xb5),
    RGBColor(0x08, 0x51, 0x9c),
    RGBColor(0x08, 0x30, 0x6b),
];

const WIDTH: u32 = 960;
const LEFT: u32 = 190;
const LEGEND: u32 = 258;
/// Pixels of the longer side of the grid.
const SIDE: f64 = (WIDTH - LEFT - LEGEND) as f64;
/// Pixels above and below the grid.
const MARGINS: u32 = 82;

/// Draws where a matrix has entries, shaded by their density, and below that the histogram of its row lengths.
///
/// # Errors
/// When it cannot be drawn.
pub fn structure(name: &str, spy: &Spy, lengths: &RowLengths) -> Result<Figure, Error> {
    let name = shortened(name, 80);
    let figures = [pattern(&name, spy)?, histogram(&format!("Row lengths of {name}"), &lengths.histogram)?];
    let mut height = 0;
    let mut inner = String::new();
    for figure in figures {
        inner += &figure.svg.replacen("<svg", &format!("<svg y=\"{height}\""), 1);
        height += height_of(&figure.svg);
    }
    let svg = format!(
        "<svg width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n{inner}</svg>\n"
    );
    Ok(Figure { name: "structure".into(), svg })
}

/// The height in pixels that an SVG states.
fn height_of(svg: &str) -> u32 {
    let stated = svg.split(" height=\"").nth(1).and_then(|rest| rest.split('"').next());
    stated.and_then(|height| height.parse().ok()).unwrap_or(0)
}

fn pattern(name: &str, spy: &Spy) -> Result<Figure, Error> {
    let longer = spy.height().max(spy.width()).max(1) as f64;
    let pixels = |cells: usize| (SIDE * cells as f64 / longer).round() as u32;
    let densities: Vec<Vec<f64>> =
        (0..spy.height()).map(|line| (0..spy.width()).map(|place| spy.density(line, place)).collect()).collect();
    let filled = || densities.iter().flatten().copied().filter(|&density| density > 0.0);
    let (least, most) = (filled().fold(f64::INFINITY, f64::min), filled().fold(0.0, f64::max));
    let scale = Scale { least: least.ln(), most: most.ln() };
    let title = format!("Entries of {name}");
    let frame = Frame {
        name: "pattern",
        title: &title,
        description: "The matrix on a grid, its first row at the top; the more entries a cell has, the darker it is.",
        size: (WIDTH, MARGINS + pixels(spy.height()).max(SHADES.len() as u32 * 20 + 40)),
        left: LEFT,
        right: LEGEND + SIDE as u32 - pixels(spy.width()),
        x: (most > 0.0).then(|| Axis::indices("column", spy.columns(), false)),
        y: (most > 0.0).then(|| Axis::indices("row", spy.rows(), true)),
    };
    figure(frame, |canvas| {
        for (line, densities) in densities.iter().enumerate() {
            let shades: Vec<_> = densities.iter().map(|&density| scale.shade(density)).collect();
            let mut begin = 0;
            for run in shades.chunk_by(|left, right| left == right) {
                let end = begin + run.len();
                if let Some(shade) = run[0] {
                    let corner =
                        |place, line| canvas.place(spy.first_column(place) as f64, -(spy.first_row(line) as f64));
                    canvas.rectangle([corner(begin, line), corner(end, line + 1)], SHADES[shade])?;
                }
                begin = end;
            }
        }
        canvas.legend("density of a cell:", None, false)?;
        for shade in (0..SHADES.len()).filter(|&shade| filled().any(|density| scale.shade(density) == Some(shade))) {
            canvas.legend_box(&format!("from {}", short(scale.from(shade))), SHADES[shade])?;
        }
        Ok(())
    })
}

/// Logarithms of the least and the greatest density above 0.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    /// The shade of a density; `None` for 0. If all densities are the same, it is the darkest.
    fn shade(&self, density: f64) -> Option<usize> {
        let last = SHADES.len() - 1;
        let fraction = (density.ln() - self.least) / (self.most - self.least);
        (density > 0.0)
            .then(|| if fraction.is_nan() { last } else { ((fraction * SHADES.len() as f64) as usize).min(last) })
    }

    /// The least density of a shade.
    fn from(&self, shade: usize) -> f64 {
        if self.least == self.most {
            return self.least.exp();
        }
        (self.least + (self.most - self.least) * shade as f64 / SHADES.len() as f64).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row_lengths::RowLengths as Lengths;
    use host::Csr;

    fn drawn(matrix: &Csr<f64>) -> String {
        let lengths = Lengths::new(matrix.row_lengths());
        structure("a < b", &Spy::new(matrix), &(&lengths).into()).unwrap().svg
    }

    #[test]
    fn entries_are_drawn_where_they_are() {
        // Two entries in the upper left corner, one at the lower right.
        let svg = drawn(&Csr::try_from_triplets(4, 4, &[0, 0, 3], &[0, 1, 3], &[1.0; 3]).unwrap());
        assert!(svg.contains("Entries of a &lt; b") && svg.contains("Row lengths of a &lt; b"), "{svg}");
        assert_eq!(svg.matches("<svg").count(), 3);
        let shade = "fill=\"#08306B\"";
        let boxes: Vec<_> = svg.split("<rect ").filter(|text| text.contains(shade)).collect();
        // One run per row, and the legend.
        assert_eq!(boxes.len(), 3, "{boxes:?}");
        let number = |text: &str, name: &str| -> f64 {
            text.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
        };
        assert!((number(boxes[0], "width") / number(boxes[1], "width") - 2.0).abs() < 0.05, "{boxes:?}");
        assert!(number(boxes[1], "x") > number(boxes[0], "x") + number(boxes[0], "width"));
        assert!(number(boxes[1], "y") > number(boxes[0], "y") + number(boxes[0], "height"));
    }

    #[test]
    fn matrices_without_entries_have_no_grid() {
        for (rows, columns) in [(0, 0), (3, 0), (3, 5)] {
            let svg = drawn(&Csr::try_from_triplets(rows, columns, &[], &[], &[]).unwrap());
            assert!(svg.contains("no data"), "{svg}");
        }
    }

    #[test]
    fn shades_are_ordered_by_density() {
        let scale = Scale { least: 1e-6f64.ln(), most: 0.0 };
        let shades: Vec<_> = [0.0, 1e-6, 1e-3, 0.9, 1.0].iter().map(|&density| scale.shade(density)).collect();
        assert_eq!(shades, [None, Some(0), Some(3), Some(6), Some(6)]);
        assert!((scale.from(0) / 1e-6 - 1.0).abs() < 1e-9 && scale.from(6) < 1.0);
    }
}
