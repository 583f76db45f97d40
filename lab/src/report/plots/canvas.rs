//! The canvas of figures: a coordinate system with axes, and marks at positions in pixels.

use std::error::Error as AnyError;

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::element::{Circle, DashedPathElement, PathElement, Rectangle, Text};
use plotters::prelude::{Cartesian2d, ChartBuilder, DrawingArea, IntoDrawingArea, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, IntoFont, RGBColor, TextStyle, WHITE};

use super::axis::Axis;
use super::figure::Figure;
use super::style::{Dash, GRID, Marker, REST, Style, TEXT};
use crate::error::Error;
use crate::report::contents::{Report, shortened};

/// The result of drawing.
pub type Drawn = Result<(), Box<dyn AnyError>>;
/// A position in pixels.
pub type Place = (i32, i32);

type Ranged = Cartesian2d<RangedCoordf64, RangedCoordf64>;

/// In pixels. The backend divides font sizes by 1.24, for which this compensates.
const FONT: f64 = 13.0 * 1.24;
const TITLE_FONT: f64 = 16.0 * 1.24;
const TOP: i32 = 34;
const BOTTOM: i32 = 48;
const LEGEND_LINE: i32 = 20;

/// A figure without its marks.
pub struct Frame<'a> {
    pub name: &'a str,
    pub title: &'a str,
    /// A description of the figure, for those who cannot see it.
    pub description: &'a str,
    /// Width and height in pixels, including the legend.
    pub size: (u32, u32),
    /// Pixels for the labels of the vertical axis.
    pub left: u32,
    /// Pixels for the legend.
    pub right: u32,
    pub x: Option<Axis>,
    pub y: Option<Axis>,
}

/// A figure with its axes, on which marks are drawn.
pub struct Canvas<'a, 'b> {
    root: &'b DrawingArea<SVGBackend<'a>, Shift>,
    chart: ChartContext<'b, SVGBackend<'a>, Ranged>,
    x: Axis,
    y: Axis,
    /// The position of the next line of the legend.
    legend: Place,
}

/// Draws a figure; without axes, for lack of data, shows a note instead.
pub fn figure(frame: Frame, draw: impl FnOnce(&mut Canvas) -> Drawn) -> Result<Figure, Error> {
    let name = frame.name;
    let mut svg = String::new();
    draw_into(&mut svg, &frame, draw)
        .map_err(|error| Error::Figure { name: name.into(), reason: error.to_string() })?;
    let described = format!("<svg role=\"img\" aria-labelledby=\"{name}-title {name}-description\"",);
    let texts = format!(
        ">\n<title id=\"{name}-title\">{}</title>\n<desc id=\"{name}-description\">{}</desc>\n",
        escaped(frame.title),
        escaped(frame.description)
    );
    Ok(Figure { name: name.into(), svg: svg.replacen("<svg", &described, 1).replacen(">\n", &texts, 1) })
}

fn draw_into(svg: &mut String, frame: &Frame, draw: impl FnOnce(&mut Canvas) -> Drawn) -> Drawn {
    let root = SVGBackend::with_string(svg, frame.size).into_drawing_area();
    root.fill(&WHITE)?;
    text(&root, (12, 8), frame.title, TITLE_FONT, (HPos::Left, VPos::Top))?;
    let (Some(x), Some(y)) = (frame.x.clone(), frame.y.clone()) else {
        text(&root, (12, TOP + 12), "no data", FONT, (HPos::Left, VPos::Top))?;
        return Ok(root.present()?);
    };
    let chart = ChartBuilder::on(&root)
        .margin_top(TOP)
        .margin_bottom(BOTTOM)
        .margin_left(frame.left)
        .margin_right(frame.right)
        .build_cartesian_2d(x.low..x.high, y.low..y.high)?;
    let legend = (frame.size.0 as i32 - frame.right as i32 + 14, TOP + 10);
    let mut canvas = Canvas { root: &root, chart, x, y, legend };
    canvas.axes()?;
    draw(&mut canvas)?;
    Ok(root.present()?)
}

impl Canvas<'_, '_> {
    /// Grid, ticks and labels.
    fn axes(&self) -> Drawn {
        let ([bottom, top], [left, right]) = ([self.y.low, self.y.high], [self.x.low, self.x.high]);
        let at = |x: f64, y: f64| self.chart.backend_coord(&(x, y));
        for (x, words) in &self.x.ticks {
            let (foot, head) = (at(*x, bottom), at(*x, top));
            self.line(vec![foot, head], GRID, 1, None)?;
            text(self.root, (foot.0, foot.1 + 6), words, FONT, (HPos::Center, VPos::Top))?;
        }
        for (y, words) in &self.y.ticks {
            let (start, end) = (at(left, *y), at(right, *y));
            self.line(vec![start, end], GRID, 1, None)?;
            text(self.root, (start.0 - 8, start.1), words, FONT, (HPos::Right, VPos::Center))?;
        }
        let (corner, middle) = (at(left, bottom), at(f64::midpoint(left, right), f64::midpoint(bottom, top)));
        self.line(vec![at(left, top), corner, at(right, bottom)], TEXT, 1, None)?;
        text(self.root, (middle.0, corner.1 + 26), &self.x.label, FONT, (HPos::Center, VPos::Top))?;
        let upwards = style(FONT, (HPos::Center, VPos::Top)).transform(FontTransform::Rotate270);
        Ok(self.root.draw(&Text::new(printable(&self.y.label), (12, middle.1), upwards))?)
    }

    /// Returns the position of a pair of numbers.
    pub fn place(&self, x: f64, y: f64) -> Place {
        self.chart.backend_coord(&(self.x.at(x), self.y.at(y)))
    }

    /// Returns the position of a number on a line of an axis of names.
    pub fn on_line(&self, x: f64, line: usize) -> Place {
        self.place(x, -(line as f64))
    }

    /// Returns the ends of the vertical axis.
    pub fn vertical(&self, x: f64) -> [Place; 2] {
        [self.y.low, self.y.high].map(|y| self.chart.backend_coord(&(self.x.at(x), y)))
    }

    /// Returns the ends of the horizontal axis, at a height.
    pub fn horizontal(&self, y: f64) -> [Place; 2] {
        [self.x.low, self.x.high].map(|x| self.chart.backend_coord(&(x, self.y.at(y))))
    }

    pub fn marker(&self, place: Place, style: Style) -> Drawn {
        match style.marker {
            Marker::Point => self.root.draw(&Circle::new(place, 2, style.colour.mix(0.6).filled()))?,
            Marker::Circle => self.root.draw(&Circle::new(place, 4, style.colour.stroke_width(2)))?,
            marker => {
                for line in marker.lines() {
                    let line: Vec<_> = line.iter().map(|(right, down)| (place.0 + right, place.1 + down)).collect();
                    self.root.draw(&PathElement::new(line, style.colour.stroke_width(2)))?;
                }
            }
        }
        Ok(())
    }

    pub fn line(&self, places: Vec<Place>, colour: RGBColor, width: u32, dash: Dash) -> Drawn {
        let style = colour.stroke_width(width);
        match dash {
            None => self.root.draw(&PathElement::new(places, style))?,
            Some((length, gap)) => self.root.draw(&DashedPathElement::new(places, length, gap, style))?,
        }
        Ok(())
    }

    pub fn rectangle(&self, corners: [Place; 2], colour: RGBColor) -> Drawn {
        Ok(self.root.draw(&Rectangle::new(corners, colour.filled()))?)
    }

    /// Text that ends or begins at a position, or is centred above it.
    pub fn text(&self, place: Place, words: &str, side: HPos) -> Drawn {
        text(self.root, place, words, FONT, (side, VPos::Bottom))
    }

    /// The next line of the legend.
    pub fn legend(&mut self, words: &str, style: Option<Style>, lined: bool) -> Drawn {
        let (x, y) = self.legend;
        self.legend.1 += LEGEND_LINE;
        if let Some(style) = style {
            if lined {
                self.line(vec![(x, y), (x + 34, y)], style.colour, 2, style.dash)?;
            }
            self.marker((x + 17, y), style)?;
        }
        let words = shortened(words, 24);
        text(self.root, (x + 42, y), &words, FONT, (HPos::Left, VPos::Center))
    }

    /// The next line of the legend, for a line without marks.
    pub fn legend_line(&mut self, words: &str, colour: RGBColor, dash: Dash) -> Drawn {
        let (x, y) = self.legend;
        self.line(vec![(x, y), (x + 34, y)], colour, 1, dash)?;
        self.legend(words, None, false)
    }

    /// The next line of the legend, for an area.
    pub fn legend_box(&mut self, words: &str, colour: RGBColor) -> Drawn {
        let (x, y) = self.legend;
        self.rectangle([(x + 10, y - 7), (x + 24, y + 7)], colour)?;
        self.legend(words, None, false)
    }

    /// Adds the legend of a report's formats and peers for which `drawn` returns true.
    pub fn legend_of(&mut self, report: &Report, lined: bool, drawn: impl Fn(&str) -> bool) -> Drawn {
        for series in report.series.iter().filter(|series| series.shown && drawn(&series.name)) {
            self.legend(&series.name, Some(Style::of(series)), lined)?;
        }
        match report.series.iter().filter(|series| !series.shown && drawn(&series.name)).count() {
            0 => Ok(()),
            1 => self.legend("1 other", Some(REST), lined),
            others => self.legend(&format!("{others} others"), Some(REST), lined),
        }
    }
}

fn text(root: &DrawingArea<SVGBackend, Shift>, place: Place, words: &str, size: f64, anchor: (HPos, VPos)) -> Drawn {
    Ok(root.draw(&Text::new(printable(words), place, style(size, anchor)))?)
}

fn style<'a>(size: f64, (horizontal, vertical): (HPos, VPos)) -> TextStyle<'a> {
    TextStyle::from(("sans-serif", size).into_font()).color(&TEXT).pos(Pos::new(horizontal, vertical))
}

/// Returns the text with control characters escaped, which XML does not support.
fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\u{fffe}' | '\u{ffff}' => printable.push('\u{fffd}'),
            character if character.is_control() => printable.extend(character.escape_default()),
            character => printable.push(character),
        }
    }
    printable
}

pub fn escaped(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
