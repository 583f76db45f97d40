//! The histogram of a matrix's row lengths.

use plotters::style::text_anchor::HPos;

use super::axis::{Axis, short};
use super::canvas::{Frame, figure};
use super::figure::Figure;
use super::style::Style;
use crate::error::Error;
use crate::report::contents::{Report, shortened};

/// The longest bar is for the most rows, the shortest for a single one: the length of a bar is the logarithm of twice the
/// number of rows.
const LEAST: f64 = 0.5;

/// Draws the histogram of the row lengths of the chosen matrix.
pub fn row_lengths(report: &Report) -> Result<Figure, Error> {
    let entry = report.chosen_entry.and_then(|place| report.entries.get(place));
    let counts = entry.and_then(|entry| entry.row_lengths.as_ref()).map_or(&[][..], |lengths| &lengths.histogram);
    let title =
        entry.map_or("Row lengths".into(), |entry| format!("Row lengths of {}", shortened(&entry.filename, 80)));
    histogram(&title, counts)
}

/// Draws numbers of rows by length, in doubling ranges.
pub fn histogram(title: &str, histogram: &[u64]) -> Result<Figure, Error> {
    let used = histogram.iter().rposition(|&rows| rows > 0).map_or(0, |last| last + 1);
    let bins: Vec<_> = histogram[..used].iter().enumerate().map(|(bin, &rows)| (name(bin), rows)).collect();
    let most = bins.iter().map(|&(_, rows)| rows).max().unwrap_or(0);
    let frame = Frame {
        name: "row-lengths",
        title,
        description: "Numbers of rows by their number of entries.",
        size: (960, 90 + 26 * bins.len().clamp(3, 66) as u32),
        left: 190,
        right: 100,
        x: (most > 0).then(|| Axis::from_to("rows", LEAST, 2.0 * most as f64)),
        y: Some(Axis::names(bins.iter().map(|(name, _)| format!("{name} entries")))),
    };
    let style = Style::numbered(0);
    figure(frame, |canvas| {
        for (line, &(_, rows)) in bins.iter().enumerate().filter(|(_, (_, rows))| *rows > 0) {
            let (left, y) = canvas.on_line(LEAST, line);
            let (right, _) = canvas.on_line(rows as f64, line);
            canvas.rectangle([(left, y - 9), (right, y + 9)], style.colour)?;
            canvas.text((right + 6, y + 8), &short(rows as f64), HPos::Left)?;
        }
        Ok(())
    })
}

/// Returns the lengths of a bin.
fn name(bin: usize) -> String {
    match bin {
        0 | 1 => bin.to_string(),
        bin => format!("{}–{}", 1u128 << (bin - 1).min(126), (1u128 << bin.min(127)) - 1),
    }
}
