//! Figures with lines: performance profile and roofline.

use plotters::style::text_anchor::HPos;

use super::axis::{Axis, short};
use super::canvas::{Frame, figure};
use super::figure::Figure;
use super::style::{Dash, REST, Style, TEXT};
use crate::error::Error;
use crate::record::Ceilings;
use crate::report::contents::Report;
use crate::statistics::{self, performance_profiles};

pub const SIZE: (u32, u32) = (960, 480);
pub const LEGEND: u32 = 230;
/// The largest factor of the best time that is shown.
const WORST_FACTOR: f64 = 10.0;
/// Markers per line.
const MARKED: usize = 9;

/// Draws the fraction of the matrices on which a format is within a factor of the best (Anzt et al. 2020, eq. 8).
pub fn profile(report: &Report) -> Result<Figure, Error> {
    profile_as(report, "profile", "Performance profile")
}

/// Draws the same under another name.
pub fn profile_as(report: &Report, name: &str, title: &str) -> Result<Figure, Error> {
    let profiles = performance_profiles(&report.entries);
    let worst = profiles.iter().map(|profile| profile.worst()).fold(1.5, f64::max).min(WORST_FACTOR);
    let style = |name: &str| {
        let series = report.series.iter().find(|series| series.name == name);
        series.map_or(REST, Style::of)
    };
    let frame = Frame {
        name,
        title,
        description: "The fraction of the matrices on which each format is within a factor of the fastest.",
        size: SIZE,
        left: 80,
        right: LEGEND,
        x: (!profiles.is_empty()).then(|| Axis::from_to("times the best time", 1.0, worst)),
        y: Some(Axis::fraction("fraction of the matrices")),
    };
    figure(frame, |canvas| {
        // Coloured ones come last, on top of the others.
        let mut ordered: Vec<_> = profiles.iter().map(|profile| (profile, style(&profile.name))).collect();
        ordered.sort_by_key(|(_, style)| *style != REST);
        for (profile, style) in ordered {
            let mut places = vec![canvas.place(1.0, profile.within(1.0))];
            for factor in profile.steps().filter(|&factor| factor > 1.0 && factor < worst).chain([worst]) {
                let before = places.last().map_or(0, |&(_, y)| y);
                let (x, y) = canvas.place(factor, profile.within(factor));
                places.extend([(x, before), (x, y)]);
            }
            places.dedup();
            let width = if style == REST { 1 } else { 2 };
            canvas.line(places, style.colour, width, style.dash)?;
            if style != REST {
                for step in 0..=MARKED {
                    let factor = worst.powf(step as f64 / MARKED as f64);
                    canvas.marker(canvas.place(factor, profile.within(factor)), style)?;
                }
            }
        }
        canvas.legend_of(report, true, |name| profiles.iter().any(|profile| profile.name == name))
    })
}

/// Draws arithmetic intensity versus speed, below the limits of the memory.
pub fn roofline(report: &Report) -> Result<Figure, Error> {
    let mut marks = Vec::new();
    for shown in [false, true] {
        for series in report.series.iter().filter(|series| series.shown == shown) {
            for entry in &report.entries {
                let Some(run) = entry.spmv.get(&series.name) else { continue };
                let rates = (statistics::intensity(entry, run), statistics::gflops(entry, run));
                if let (Some(intensity), Some(gflops)) = rates
                    && gflops > 0.0
                {
                    marks.push((intensity, gflops, Style::of(series)));
                }
            }
        }
    }
    let x = Axis::logarithmic("floating-point operations per byte", marks.iter().map(|mark| mark.0));
    let ceilings = ceilings(report);
    let ends = x.as_ref().map(|x| [x.low, x.high].map(|exponent| 10f64.powf(exponent))).unwrap_or_default();
    let roofs = ceilings.iter().flat_map(|(_, gbps, _)| ends.map(|intensity| intensity * gbps));
    let frame = Frame {
        name: "roofline",
        title: "Roofline",
        description: "Arithmetic intensity against GFLOP/s, with lines for what copying, reading and gathering allow.",
        size: SIZE,
        left: 80,
        right: LEGEND,
        y: Axis::logarithmic("GFLOP/s", marks.iter().map(|mark| mark.1).chain(roofs).filter(|&number| number > 0.0)),
        x,
    };
    figure(frame, |canvas| {
        for (label, gbps, dash) in &ceilings {
            let ends = ends.map(|intensity| canvas.place(intensity, intensity * gbps));
            canvas.line(ends.to_vec(), TEXT, 1, *dash)?;
            let (x, y) = ends[1];
            let highest = ceilings.iter().all(|(_, other, _)| other <= gbps);
            let up = if highest { -2 } else { 20 };
            canvas.text((x - 4, y + up), &format!("{label} {} GB/s", short(*gbps)), HPos::Right)?;
        }
        for &(intensity, gflops, style) in &marks {
            canvas.marker(canvas.place(intensity, gflops), style)?;
        }
        canvas.legend_of(report, false, |_| true)
    })
}

/// Returns the name, 10^9 bytes per second and dashes of each line. Of several measurements of a device, the highest
/// counts.
fn ceilings(report: &Report) -> Vec<(String, f64, Dash)> {
    type Kind = (&'static str, fn(&Ceilings) -> f64, Dash);
    let kinds: [Kind; 3] = [
        ("copy", |ceilings| ceilings.copy_gbps, None),
        ("read", |ceilings| ceilings.read_gbps, Some((8, 4))),
        ("gather", |ceilings| ceilings.gather_gbps, Some((2, 3))),
    ];
    let measured = report
        .entries
        .iter()
        .filter_map(|entry| Some((format!("{} {}", entry.env.executor, entry.env.device), entry.ceilings.as_ref()?)));
    let mut devices: Vec<(String, Vec<&Ceilings>)> = Vec::new();
    for (device, ceilings) in measured {
        match devices.iter_mut().find(|(known, _)| *known == device) {
            Some((_, all)) => all.push(ceilings),
            None => devices.push((device, vec![ceilings])),
        }
    }
    let several = devices.len() > 1;
    let lines = devices.iter().flat_map(|(device, all)| {
        kinds.iter().map(move |(kind, gbps, dash)| {
            let highest = all.iter().map(|ceilings| gbps(ceilings)).fold(0.0, f64::max);
            (if several { format!("{kind}, {device}") } else { (*kind).into() }, highest, *dash)
        })
    });
    lines.filter(|&(_, gbps, _)| gbps > 0.0).collect()
}
