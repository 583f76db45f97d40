//! Axes: their ranges and ticks.

/// Largest number of ticks.
const MOST_TICKS: usize = 8;

/// An axis.
#[derive(Clone, Debug)]
pub struct Axis {
    pub label: String,
    /// Its ends, as coordinates, see [`at`](Self::at).
    pub low: f64,
    pub high: f64,
    /// Coordinates and texts of the ticks.
    pub ticks: Vec<(f64, String)>,
    logarithmic: bool,
}

impl Axis {
    /// From 0 to 1, as percentages.
    pub fn fraction(label: &str) -> Self {
        let ticks = (0..=5).map(|fifth| (f64::from(fifth) / 5.0, format!("{} %", 20 * fifth))).collect();
        Self { label: label.into(), low: 0.0, high: 1.0, ticks, logarithmic: false }
    }

    /// One line per name, from top to bottom.
    pub fn names(names: impl IntoIterator<Item = String>) -> Self {
        let ticks: Vec<_> = names.into_iter().enumerate().map(|(place, name)| (-(place as f64), name)).collect();
        Self { label: String::new(), low: 0.5 - ticks.len() as f64, high: 0.5, ticks, logarithmic: false }
    }

    /// Logarithmic, with a margin around all of these positive numbers; `None` without numbers.
    pub fn logarithmic(label: &str, numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let (low, high) = numbers
            .into_iter()
            .map(f64::log10)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), number| (low.min(number), high.max(number)));
        if !(low.is_finite() && high.is_finite()) {
            return None;
        }
        let room = (0.04 * (high - low)).max(0.05);
        Some(Self::between(label, low - room, high + room))
    }

    /// From 0 to the largest of these positive numbers, with a margin; `None` without numbers.
    pub fn linear(label: &str, numbers: impl IntoIterator<Item = f64>) -> Option<Self> {
        let high = 1.05 * numbers.into_iter().reduce(f64::max)?;
        let ticks = steps(high)?.map(|number| (number, short(number))).collect();
        Some(Self { label: label.into(), low: 0.0, high, ticks, logarithmic: false })
    }

    /// Indices below a positive `length`, from left to right or downwards; the coordinate of an index that grows downwards is
    /// negative.
    pub fn indices(label: &str, length: usize, downwards: bool) -> Self {
        let (length, sign) = (length as f64, if downwards { -1.0 } else { 1.0 });
        let ticks = steps(length).into_iter().flatten().map(|number| (sign * number, short(number))).collect();
        let [low, high] = if downwards { [-length, 0.0] } else { [0.0, length] };
        Self { label: label.into(), low, high, ticks, logarithmic: false }
    }

    /// Logarithmic, from one coordinate to another.
    fn between(label: &str, low: f64, high: f64) -> Self {
        let ticks = ticks(low, high).into_iter().map(|number| (number.log10(), short(number))).collect();
        Self { label: label.into(), low, high, ticks, logarithmic: true }
    }

    /// Logarithmic, from exactly one number to another.
    pub fn from_to(label: &str, from: f64, to: f64) -> Self {
        Self::between(label, from.log10(), to.log10())
    }

    /// Returns the coordinate of a number.
    pub fn at(&self, number: f64) -> f64 {
        if self.logarithmic { number.log10() } else { number }
    }
}

/// Returns multiples of a round number from 0 to `high`; `None` if `high` is not a positive number.
fn steps(high: f64) -> Option<impl Iterator<Item = f64>> {
    let power = 10f64.powf(high.log10().floor());
    let steps = [0.1, 0.2, 0.5, 1.0, 2.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| high / step <= MOST_TICKS as f64)?;
    Some((0..=MOST_TICKS).map(move |place| place as f64 * step).filter(move |&number| number <= high))
}

/// Returns round numbers between two powers of ten: 1, 2 and 5 of each decade, or only every few decades.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let decades = (low.floor() as i32)..=(high.ceil() as i32);
    let within = |&number: &f64| (low - 1e-9..=high + 1e-9).contains(&number.log10());
    let scaled = |factors: &[f64], every: usize| -> Vec<f64> {
        let powers = decades.clone().filter(|power| power.rem_euclid(every as i32) == 0);
        powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power))).filter(within).collect()
    };
    let fine = scaled(&[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0], 1);
    if fine.len() <= MOST_TICKS {
        return fine;
    }
    let coarse = scaled(&[1.0, 2.0, 5.0], 1);
    if coarse.len() <= MOST_TICKS {
        return coarse;
    }
    let span = (high - low).ceil() as usize;
    scaled(&[1.0], span.div_ceil(MOST_TICKS).max(1))
}

/// Returns a number with three digits.
pub fn short(number: f64) -> String {
    if number == 0.0 {
        return "0".into();
    }
    let magnitude = number.abs().log10().floor();
    if !(-3.0..6.0).contains(&magnitude) {
        return format!("{number:.1e}");
    }
    let text = format!("{number:.*}", (2.0 - magnitude).max(0.0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(0.0, 1.0).len(), 4);
        for (low, high) in [(0.0, 0.31), (-1.2, -0.8), (-0.5, 2.0), (-6.0, 14.0), (-2.0, 2.9)] {
            let ticks = ticks(low, high);
            assert!((2..=MOST_TICKS + 1).contains(&ticks.len()), "{low} {high}: {ticks:?}");
        }
    }

    #[test]
    fn an_axis_has_room_for_all_and_needs_one() {
        let axis = Axis::logarithmic("", [2.0, 50.0]).unwrap();
        assert!(axis.low < axis.at(2.0) && axis.at(50.0) < axis.high);
        let axis = Axis::logarithmic("", [3.0]).unwrap();
        assert!(axis.low < axis.high);
        assert!(Axis::logarithmic("", []).is_none());
    }

    #[test]
    fn a_linear_axis_begins_at_0() {
        for (largest, texts) in [
            (65.0, "0 10 20 30 40 50 60"),
            (4.0, "0 1 2 3 4"),
            (0.99, "0 0.2 0.4 0.6 0.8 1"),
            (120.0, "0 20 40 60 80 100 120"),
            (750.0, "0 100 200 300 400 500 600 700"),
            (1.7e-2, "0 0.005 0.01 0.015"),
        ] {
            let axis = Axis::linear("", [largest / 2.0, largest]).unwrap();
            let found: Vec<_> = axis.ticks.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(found.join(" "), texts);
            assert!(axis.at(largest) < axis.high);
        }
        assert!(Axis::linear("", []).is_none());
    }

    #[test]
    fn short_numbers() {
        for (number, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (1234.5, "1234"),
            (0.12345, "0.123"),
            (0.5, "0.5"),
            (12.0, "12"),
            (2e7, "2.0e7"),
            (1e-5, "1.0e-5"),
        ] {
            assert_eq!(short(number), text);
        }
    }
}
