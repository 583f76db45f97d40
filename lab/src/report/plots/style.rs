//! Colours, markers and dashes. Those of a series are the same in every figure, and on the page (style.css and plots.js).

use plotters::style::RGBColor;

use crate::report::series::Series;

/// Okabe and Ito's colours without yellow and black, plus a purple, as in style.css. Markers and dashes distinguish series
/// as well.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xb3, 0x74, 0x00),
    RGBColor(0x3a, 0x9b, 0xd0),
    RGBColor(0x6a, 0x3d, 0x9a),
];

pub const TEXT: RGBColor = RGBColor(0x1a, 0x1a, 0x1a);
pub const GRID: RGBColor = RGBColor(0xdc, 0xdc, 0xdc);

/// Pixels of a dash and of the gap after it; `None` for a solid line.
pub type Dash = Option<(u32, u32)>;

const DASHES: [Dash; 5] = [None, Some((7, 3)), Some((2, 3)), Some((12, 3)), Some((4, 6))];

/// The style of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    pub colour: RGBColor,
    pub marker: Marker,
    pub dash: Dash,
}

/// Shapes of about the same size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Triangle,
    Square,
    Diamond,
    Times,
    Plus,
    Star,
    /// For those without a colour of their own.
    Point,
}

const MARKERS: [Marker; 7] =
    [Marker::Circle, Marker::Triangle, Marker::Square, Marker::Diamond, Marker::Times, Marker::Plus, Marker::Star];

/// The style of uncoloured series.
pub const REST: Style = Style { colour: RGBColor(0xa0, 0xa0, 0xa0), marker: Marker::Point, dash: None };

impl Style {
    /// Returns the style with this number. Up to 49, all differ in colour or marker.
    pub fn numbered(number: usize) -> Self {
        Self {
            colour: COLOURS[number % COLOURS.len()],
            marker: MARKERS[(number + number / MARKERS.len()) % MARKERS.len()],
            dash: DASHES[number % DASHES.len()],
        }
    }

    /// Returns the style of a series.
    pub fn of(series: &Series) -> Self {
        if series.shown { Self::numbered(series.style) } else { REST }
    }
}

impl Marker {
    /// Returns the lines of the marker around its position; none for round ones.
    pub fn lines(self) -> &'static [&'static [(i32, i32)]] {
        match self {
            Self::Circle | Self::Point => &[],
            Self::Triangle => &[&[(0, -5), (5, 4), (-5, 4), (0, -5)]],
            Self::Square => &[&[(-4, -4), (4, -4), (4, 4), (-4, 4), (-4, -4)]],
            Self::Diamond => &[&[(0, -6), (5, 0), (0, 6), (-5, 0), (0, -6)]],
            Self::Times => &[&[(-4, -4), (4, 4)], &[(-4, 4), (4, -4)]],
            Self::Plus => &[&[(-5, 0), (5, 0)], &[(0, -5), (0, 5)]],
            Self::Star => {
                &[&[(0, -7), (2, -2), (7, -2), (3, 1), (4, 6), (0, 3), (-4, 6), (-3, 1), (-7, -2), (-2, -2), (0, -7)]]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_differ() {
        for left in 0..49 {
            for right in 0..left {
                let [left, right] = [left, right].map(Style::numbered);
                assert!((left.colour, left.marker) != (right.colour, right.marker));
            }
        }
    }
}
