//! Exact fractions.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// A fraction of a whole. It is exact, so it selects the same row on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fraction {
    // In lowest terms.
    numerator: u32,
    denominator: NonZeroU32,
}

impl Fraction {
    /// Creates `numerator` / `denominator`.
    pub const fn new(numerator: u32, denominator: NonZeroU32) -> Self {
        let (mut divisor, mut rest) = (denominator.get(), numerator);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        match NonZeroU32::new(denominator.get() / divisor) {
            Some(denominator) => Self { numerator: numerator / divisor, denominator },
            // A divisor of a number is at most that number.
            None => Self { numerator, denominator },
        }
    }

    /// Returns this fraction of `count`, rounded down, and at most `count`.
    pub(super) fn of(self, count: usize) -> usize {
        let part = count as u128 * u128::from(self.numerator) / u128::from(self.denominator.get());
        part.min(count as u128) as usize
    }
}

/// As `1/3`, in lowest terms, or as an integer.
impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            NonZeroU32::MIN => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

impl FromStr for Fraction {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (numerator, denominator) = text.split_once('/').unwrap_or((text, "1"));
        Ok(Self::new(numerator.parse()?, denominator.parse()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_in_lowest_terms() {
        for (text, shown) in [
            ("1/3", "1/3"),
            ("2/6", "1/3"),
            ("0", "0"),
            ("0/7", "0"),
            ("1", "1"),
            ("9/3", "3"),
            ("4294967295/4294967294", "4294967295/4294967294"),
        ] {
            assert_eq!(text.parse::<Fraction>().unwrap().to_string(), shown);
        }
        assert_eq!("2/6".parse::<Fraction>().unwrap().of(10), 3);
        assert_eq!("3/2".parse::<Fraction>().unwrap().of(10), 10);
        for text in ["", "/", "1/0", "1/", "-1/3", "1/3/5", "0.5", "4294967296"] {
            assert!(text.parse::<Fraction>().is_err(), "{text}");
        }
    }
}
