//! The plots of the papers' experiments.

use host::select::model_of;
use plotters::style::RGBColor;

use super::axis::Axis;
use super::canvas::{Frame, escaped, figure};
use super::dots::{LETTERS, NAMES, WIDTH, height};
use super::figure::Figure;
use super::lines::{LEGEND, SIZE, profile_as};
use super::style::{Dash, Style, TEXT};
use crate::error::Error;
use crate::figures::{Curve, Experiment, Plot, Quantity, Scale, Series, X};
use crate::record::Entry;
use crate::report::contents::{Report, matrix_name};
use crate::report::provenance::provenance;

/// Dash patterns of the curves.
const CURVES: [Dash; 3] = [None, Some((7, 3)), Some((2, 3))];
/// Number of straight segments of a curve.
const PIECES: usize = 100;

/// The measurements in one precision on one device.
struct Panel<'a> {
    name: String,
    title: String,
    /// In the order of the experiment's matrices.
    entries: Vec<&'a Entry>,
}

/// Height in pixels of the line below the panels.
const FOOTER: u32 = 24;

/// Draws an experiment: its panels from top to bottom, and a footer with their provenance.
pub fn draw(experiment: &Experiment, entries: &[Entry]) -> Result<Figure, Error> {
    let mut height = 0;
    let mut together = String::new();
    let panels = panels(experiment, entries);
    for panel in &panels {
        let (figure, pixels) = draw_panel(experiment, panel, entries)?;
        together += &figure.svg.replacen("<svg", &format!("<svg y=\"{height}\""), 1);
        height += pixels;
    }
    let measured: Vec<_> = panels.iter().flat_map(|panel| panel.entries.iter().copied()).collect();
    let origin = provenance(measured.iter().copied());
    if !origin.is_empty() {
        let RGBColor(red, green, blue) = TEXT;
        let (origin, baseline) = (escaped(&origin), height + FOOTER / 2);
        together += &format!(
            "<text x=\"12\" y=\"{baseline}\" font-family=\"sans-serif\" font-size=\"12\" \
             fill=\"#{red:02x}{green:02x}{blue:02x}\">\n{origin}\n</text>\n"
        );
        height += FOOTER;
    }
    let title = escaped(experiment.title);
    let svg = format!(
        "<svg role=\"img\" aria-label=\"{title}\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" xmlns=\"http://www.w3.org/2000/svg\">\n<rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n{together}</svg>\n"
    );
    Ok(Figure { name: experiment.name.into(), svg })
}

/// Returns the panels with data; a single one without entries if there are none.
fn panels<'a>(experiment: &Experiment, entries: &'a [Entry]) -> Vec<Panel<'a>> {
    let texts = (experiment.matrices)();
    let of_matrices: Vec<_> =
        texts.iter().flat_map(|text| entries.iter().filter(move |entry| entry.filename == *text)).collect();
    // Other precisions than the experiment's were requested if there are no others.
    let own = |entry: &Entry| match experiment.quantity() {
        Some(Quantity::OfFloat32) => entry.env.precision == "float64",
        _ => experiment.precisions.contains(&entry.env.precision.as_str()),
    };
    let any_own = of_matrices.iter().any(|entry| own(entry));
    let title = format!("{}: {}", experiment.source, experiment.title);
    let mut panels: Vec<Panel> = Vec::new();
    for entry in of_matrices.into_iter().filter(|entry| own(entry) || !any_own) {
        let place = &entry.env;
        let same = |other: &Entry| {
            let other = &other.env;
            (&other.executor, &other.device, &other.precision) == (&place.executor, &place.device, &place.precision)
        };
        match panels.iter_mut().find(|panel| same(panel.entries[0])) {
            Some(panel) => panel.entries.push(entry),
            None => {
                // There is no room for the driver here.
                let device = model_of(&place.device);
                panels.push(Panel {
                    name: format!("{}-{}", experiment.name, panels.len() + 1),
                    title: match experiment.quantity() {
                        Some(Quantity::OfFloat32) => format!("{title}; {device}"),
                        _ => format!("{title}; {}, {device}", place.precision),
                    },
                    entries: vec![entry],
                });
            }
        }
    }
    panels.sort_by_key(|panel| &panel.entries[0].env.precision);
    if panels.is_empty() {
        panels.push(Panel { name: experiment.name.into(), title, entries: Vec::new() });
    }
    panels
}

/// Draws a panel, and its height in pixels.
fn draw_panel(experiment: &Experiment, panel: &Panel, all: &[Entry]) -> Result<(Figure, u32), Error> {
    match experiment.plot {
        Plot::ByMatrix(quantity, scale) => by_matrix(experiment, panel, all, quantity, scale),
        Plot::Against { x, x_scale, y, y_scale, joined, curves } => {
            against(experiment, panel, all, (x, x_scale), (y, y_scale), joined, curves)
        }
        Plot::Means { axis, marks } => means(experiment, panel, all, axis, marks),
        Plot::Profile { least_nonzeros } => {
            let large = panel.entries.iter().filter(|entry| entry.nonzeros >= least_nonzeros);
            let reduced = large.map(|entry| Entry {
                nonzeros: entry.nonzeros,
                spmv: experiment
                    .series
                    .iter()
                    .filter_map(|series| Some((series.label.into(), series.run(entry)?.clone())))
                    .collect(),
                ..Entry::default()
            });
            let report = Report::new(reduced.collect(), None, None)?;
            Ok((profile_as(&report, &panel.name, &panel.title)?, SIZE.1))
        }
    }
}

fn axis(label: &str, scale: Scale, numbers: impl IntoIterator<Item = f64>) -> Option<Axis> {
    match scale {
        Scale::Linear => Axis::linear(label, numbers),
        Scale::Logarithmic => Axis::logarithmic(label, numbers),
    }
}

/// Draws a line per matrix, with a mark per series.
fn by_matrix(
    experiment: &Experiment,
    panel: &Panel,
    all: &[Entry],
    quantity: Quantity,
    scale: Scale,
) -> Result<(Figure, u32), Error> {
    let marks: Vec<Vec<_>> = experiment
        .series
        .iter()
        .map(|series| panel.entries.iter().map(|entry| quantity.of(series, entry, all)).collect())
        .collect();
    let pixels = height(panel.entries.len(), 22);
    let frame = Frame {
        name: &panel.name,
        title: &panel.title,
        description: &format!("{}, by matrix.", quantity.label()),
        size: (WIDTH, pixels),
        left: NAMES,
        right: LEGEND,
        x: axis(&quantity.label(), scale, marks.iter().flatten().copied().flatten()),
        y: Some(Axis::names(panel.entries.iter().map(|entry| matrix_name(entry, LETTERS)))),
    };
    let figure = figure(frame, |canvas| {
        for (number, (series, marks)) in experiment.series.iter().zip(&marks).enumerate() {
            let style = Style::numbered(number);
            for (line, mark) in marks.iter().enumerate() {
                if let Some(mark) = mark {
                    canvas.marker(canvas.on_line(*mark, line), style)?;
                }
            }
            if marks.iter().any(Option::is_some) {
                canvas.legend(series.label, Some(style), false)?;
            }
        }
        Ok(())
    });
    Ok((figure?, pixels))
}

/// Draws a line per series, with a mark for the mean of each quantity.
fn means(
    experiment: &Experiment,
    panel: &Panel,
    all: &[Entry],
    axis: &str,
    quantities: &[(&str, Quantity)],
) -> Result<(Figure, u32), Error> {
    let mean = |series: &Series, quantity: Quantity| {
        let numbers: Vec<_> = panel.entries.iter().filter_map(|entry| quantity.of(series, entry, all)).collect();
        Some(numbers.iter().sum::<f64>() / numbers.len() as f64).filter(|mean| mean.is_finite())
    };
    let with_marks = |series| quantities.iter().map(|&(_, quantity)| mean(series, quantity)).collect::<Vec<_>>();
    // Peers that were not measured have no line.
    let lines: Vec<_> = experiment.series.iter().map(|series| (series.label, with_marks(series))).collect();
    let lines: Vec<_> = lines.into_iter().filter(|(_, marks)| marks.iter().any(Option::is_some)).collect();
    let pixels = height(lines.len(), 22);
    let frame = Frame {
        name: &panel.name,
        title: &panel.title,
        description: &format!("{axis}."),
        size: (WIDTH, pixels),
        left: NAMES,
        right: LEGEND,
        x: Axis::linear(axis, lines.iter().flat_map(|(_, marks)| marks).copied().flatten()),
        y: Some(Axis::names(lines.iter().map(|&(label, _)| label.into()))),
    };
    let figure = figure(frame, |canvas| {
        for (number, &(label, _)) in quantities.iter().enumerate() {
            let style = Style::numbered(number);
            let marks = lines.iter().enumerate().filter_map(|(line, (_, marks))| Some((line, marks[number]?)));
            for (line, mark) in marks {
                canvas.marker(canvas.on_line(mark, line), style)?;
            }
            canvas.legend(label, Some(style), false)?;
        }
        Ok(())
    });
    Ok((figure?, pixels))
}

/// Draws a mark per matrix and series, between two numeric axes.
fn against(
    experiment: &Experiment,
    panel: &Panel,
    all: &[Entry],
    (x, x_scale): (X, Scale),
    (y, y_scale): (Quantity, Scale),
    joined: bool,
    curves: &[Curve],
) -> Result<(Figure, u32), Error> {
    let marks: Vec<Vec<_>> = experiment
        .series
        .iter()
        .map(|series| {
            let marks = panel.entries.iter().filter_map(|entry| Some((x.of(entry)?, y.of(series, entry, all)?)));
            let mut marks: Vec<_> = marks.collect();
            marks.sort_by(|(left, _), (right, _)| left.total_cmp(right));
            marks
        })
        .collect();
    let places = || marks.iter().flatten().map(|&(x, _)| x);
    let (first, last) = (places().fold(f64::INFINITY, f64::min), places().fold(0.0, f64::max));
    let curve = |curve: &Curve| -> Vec<(f64, f64)> {
        let at = |piece: usize| first * (last / first).powf(piece as f64 / PIECES as f64);
        (0..=PIECES).map(at).map(|x| (x, (curve.at)(x))).collect()
    };
    let curves: Vec<_> = if first > last { &[] } else { curves }.iter().map(|line| (line.label, curve(line))).collect();
    let heights =
        marks.iter().chain(curves.iter().map(|(_, line)| line)).flatten().map(|&(_, y)| y).collect::<Vec<_>>();
    let even = y.is_speed_up().then_some(1.0).filter(|_| !heights.is_empty());
    let frame = Frame {
        name: &panel.name,
        title: &panel.title,
        description: &format!("{} against {}.", y.label(), x.label()),
        size: SIZE,
        left: 80,
        right: LEGEND,
        x: axis(x.label(), x_scale, places()),
        y: axis(&y.label(), y_scale, heights.into_iter().chain(even)),
    };
    let figure = figure(frame, |canvas| {
        if y.is_speed_up() {
            canvas.line(canvas.horizontal(1.0).to_vec(), TEXT, 1, Some((4, 3)))?;
        }
        for ((label, line), dash) in curves.iter().zip(CURVES) {
            canvas.line(line.iter().map(|&(x, y)| canvas.place(x, y)).collect(), TEXT, 1, dash)?;
            canvas.legend_line(label, TEXT, dash)?;
        }
        for (number, (series, marks)) in experiment.series.iter().zip(&marks).enumerate() {
            let style = Style::numbered(number);
            let places: Vec<_> = marks.iter().map(|&(x, y)| canvas.place(x, y)).collect();
            for &place in &places {
                canvas.marker(place, style)?;
            }
            if !places.is_empty() {
                let label = match y {
                    Quantity::SpeedUpOf(_) => format!("over {}", series.label),
                    _ => series.label.into(),
                };
                canvas.legend(&label, Some(style), joined)?;
            }
            if joined && places.len() > 1 {
                canvas.line(places, style.colour, 2, style.dash)?;
            }
        }
        Ok(())
    });
    Ok((figure?, SIZE.1))
}
