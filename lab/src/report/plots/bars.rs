//! The histogram of a matrix's row lengths.

use plotters::style::text_anchor::HPos;

use super::axis::{Axis, short};
use super::canvas::{Frame, figure};
use super::figure::Figure;
use super::style::Style;
use crate::error::Error;
use crate::report::contents::{Report, shortened};

/// A bar's greatest length is for the most rows, and its least is for one: bars are as long as the logarithm of twice
/// the number of rows.
const LEAST: f64 = 0.5;

/// How many rows of the chosen matrix have how many entries.
pub fn row_lengths(report: &Report) -> Result<Figure, Error> {
    let entry = report.chosen_entry.and_then(|place| report.entries.get(place));
    let histogram = entry.and_then(|entry| entry.row_lengths.as_ref()).map_or(&[][..], |lengths| &lengths.histogram);
    let used = histogram.iter().rposition(|&rows| rows > 0).map_or(0, |last| last + 1);
    let bins: Vec<_> = histogram[..used].iter().enumerate().map(|(bin, &rows)| (name(bin), rows)).collect();
    let most = bins.iter().map(|&(_, rows)| rows).max().unwrap_or(0);
    let title =
        entry.map_or("Row lengths".into(), |entry| format!("Row lengths of {}", shortened(&entry.filename, 80)));
    let frame = Frame {
        name: "row-lengths",
        title: &title,
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

/// The lengths of a bin.
fn name(bin: usize) -> String {
    match bin {
        0 | 1 => bin.to_string(),
        bin => format!("{}–{}", 1u128 << (bin - 1).min(126), (1u128 << bin.min(127)) - 1),
    }
}
