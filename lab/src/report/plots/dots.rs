//! Figures with a line per name and a mark per measurement: speed, speed-up, conversion.

use plotters::style::text_anchor::HPos;

use super::axis::{Axis, short};
use super::canvas::{Canvas, Drawn, Frame, figure};
use super::figure::Figure;
use super::style::{Style, TEXT};
use crate::error::Error;
use crate::record::{Run, is_own_format};
use crate::report::contents::{Report, shortened};
use crate::statistics::{self, SpeedUps, speed_ups};

pub const WIDTH: u32 = 960;
pub const LEGEND: u32 = 230;
pub const NAMES: u32 = 290;
/// Letters that fit into [`NAMES`].
pub const LETTERS: usize = 35;

/// Returns the height in pixels of a figure with this number of lines.
pub fn height(lines: usize, each: u32) -> u32 {
    // More lines would not make a readable figure.
    90 + each * lines.clamp(3, 2_000) as u32
}

/// GFLOP/s by matrix.
pub fn gflops(report: &Report) -> Result<Figure, Error> {
    let entries: Vec<_> = report.entries.iter().enumerate().filter(|(_, entry)| !entry.spmv.is_empty()).collect();
    let mut marks = Vec::new();
    // Coloured ones come last, on top of the others.
    for shown in [false, true] {
        for series in report.series.iter().filter(|series| series.shown == shown) {
            for (line, (_, entry)) in entries.iter().enumerate() {
                let gflops = entry.spmv.get(&series.name).and_then(|run| statistics::gflops(entry, run));
                marks.extend(gflops.filter(|&gflops| gflops > 0.0).map(|gflops| (line, gflops, Style::of(series))));
            }
        }
    }
    let frame = Frame {
        name: "gflops",
        title: "Speed by matrix",
        description: "GFLOP/s of each format and peer, by matrix; farther right is faster.",
        size: (WIDTH, height(entries.len(), 22)),
        left: NAMES,
        right: LEGEND,
        x: Axis::logarithmic("GFLOP/s", marks.iter().map(|&(_, gflops, _)| gflops)),
        y: Some(Axis::names(entries.iter().map(|&(place, _)| report.label(place, LETTERS)))),
    };
    figure(frame, |canvas| {
        for &(line, gflops, style) in &marks {
            canvas.marker(canvas.on_line(gflops, line), style)?;
        }
        canvas.legend_of(report, false, |_| true)
    })
}

/// Draws our speed-up over each peer, and over the fastest of them.
pub fn speed_up(report: &Report) -> Result<Figure, Error> {
    let peers: Vec<_> = report.series.iter().filter(|series| series.peer).collect();
    let chosen = report.chosen_format.as_deref();
    let fastest = |isnt: &dyn Fn(&str, &Run) -> bool| {
        let of_ours = speed_ups(&report.entries, is_own_format, isnt);
        let of_chosen = chosen.map(|chosen| speed_ups(&report.entries, |name, _| name == chosen, isnt));
        (of_ours, of_chosen)
    };
    let mut lines = vec![("the fastest peer", fastest(&|_, run| run.is_peer()))];
    lines.extend(peers.iter().map(|peer| (peer.name.as_str(), fastest(&|name, _| name == peer.name))));
    lines.retain(|(_, (of_ours, _))| !of_ours.ratios.is_empty());
    let sides = lines.iter().flat_map(|(_, (ours, chosen))| std::iter::once(ours).chain(chosen));
    let ratios = sides.flat_map(|side| side.ratios.iter().map(|&(_, ratio)| ratio));
    let frame = Frame {
        name: "speedup",
        title: "Speed-up against peers",
        description: "The peer's time over ours, by matrix, with geometric means; right of 1 we are faster.",
        size: (WIDTH, height(lines.len(), 48)),
        left: NAMES,
        right: LEGEND,
        x: Axis::logarithmic("times as fast as the peer", ratios.chain([1.0])).filter(|_| !lines.is_empty()),
        y: Some(Axis::names(lines.iter().map(|(name, _)| shortened(name, LETTERS)))),
    };
    let styles = [0, 1].map(Style::numbered);
    figure(frame, |canvas| {
        canvas.line(canvas.vertical(1.0).to_vec(), TEXT, 1, Some((4, 3)))?;
        for (line, (_, (ours, of_chosen))) in lines.iter().enumerate() {
            one_side(canvas, line, -9, ours, styles[0])?;
            if let Some(of_chosen) = of_chosen {
                one_side(canvas, line, 11, of_chosen, styles[1])?;
            }
        }
        canvas.legend("our fastest", Some(styles[0]), false)?;
        if let Some(chosen) = chosen {
            canvas.legend(chosen, Some(styles[1]), false)?;
        }
        canvas.legend("number: geometric mean", None, false)
    })
}

/// The marks of one side, `down` pixels below the line, and its mean as a bar with the number.
fn one_side(canvas: &Canvas, line: usize, down: i32, found: &SpeedUps, style: Style) -> Drawn {
    let mean = found.mean();
    with_bar(canvas, (line, down), found.ratios.iter().map(|&(_, ratio)| ratio), mean, 8, style)?;
    if let Some(mean) = mean {
        let (x, y) = canvas.on_line(mean, line);
        canvas.text((x + 5, y + down - 4), &short(mean), HPos::Left)?;
    }
    Ok(())
}

/// A mark per number, `down` pixels below a line, and a bar of twice `half` pixels for the middle.
fn with_bar(
    canvas: &Canvas,
    (line, down): (usize, i32),
    numbers: impl Iterator<Item = f64>,
    middle: Option<f64>,
    half: i32,
    style: Style,
) -> Drawn {
    let place = |number: f64| {
        let (x, y) = canvas.on_line(number, line);
        (x, y + down)
    };
    for number in numbers {
        canvas.marker(place(number), style)?;
    }
    if let Some(middle) = middle {
        let (x, y) = place(middle);
        canvas.rectangle([(x - 2, y - half), (x + 2, y + half)], style.colour)?;
    }
    Ok(())
}

/// Draws the cost of a conversion, in multiplications with CSR, and the number after which it pays off.
pub fn conversion(report: &Report) -> Result<Figure, Error> {
    let mut lines: Vec<(&str, [Vec<f64>; 2], usize)> = Vec::new();
    for series in &report.series {
        let runs = report.entries.iter().filter_map(|entry| entry.spmv.get(&series.name));
        let calls = |run: &Run| run.conversion.as_ref().and_then(|conversion| conversion.csr_calls);
        let converted = runs.filter(|run| run.completed && calls(run).is_some_and(|calls| calls > 0.0));
        let converted: Vec<_> = converted.collect();
        let repaid = converted.iter().filter_map(|run| run.break_even.filter(|&count| count > 0.0)).collect();
        let never = converted.iter().filter(|run| run.break_even.is_none()).count();
        lines.push((&series.name, [converted.into_iter().filter_map(calls).collect(), repaid], never));
    }
    lines.retain(|(_, [calls, _], _)| !calls.is_empty());
    lines.sort_by(|(_, [left, _], _), (_, [right, _], _)| median(left).total_cmp(&median(right)));
    let numbers = lines.iter().flat_map(|(_, sides, _)| sides.iter().flatten().copied());
    let frame = Frame {
        name: "conversion",
        title: "Conversion from CSR",
        description: "Time of conversion in multiplications with CSR, and multiplications until it is repaid.",
        size: (WIDTH, height(lines.len(), 32)),
        left: NAMES,
        right: LEGEND,
        x: Axis::logarithmic("multiplications", numbers),
        y: Some(Axis::names(lines.iter().map(|(name, _, never)| match never {
            0 => shortened(name, LETTERS),
            never => format!("{} (never repaid: {never})", shortened(name, LETTERS - 18)),
        }))),
    };
    let styles = [0, 1].map(Style::numbered);
    figure(frame, |canvas| {
        for (line, (_, sides, _)) in lines.iter().enumerate() {
            for ((side, style), down) in sides.iter().zip(styles).zip([-6, 7]) {
                let middle = (!side.is_empty()).then(|| median(side));
                with_bar(canvas, (line, down), side.iter().copied(), middle, 6, style)?;
            }
        }
        canvas.legend("cost, in CSR calls", Some(styles[0]), false)?;
        canvas.legend("calls until repaid", Some(styles[1]), false)?;
        canvas.legend("bars: medians", None, false)
    })
}

/// Returns the median; 0 without numbers.
fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}
