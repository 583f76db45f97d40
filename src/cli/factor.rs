//! Factors of products on the command line.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Serialize, Serializer};
use warp_spmv::{Real, Scalar};

use super::error::Error;

/// A number with or without an imaginary part, as text "-2.5", "1+2i", "1e3-0.5i" or "-i".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor {
    re: f64,
    im: f64,
}

impl Factor {
    /// 1.
    pub const ONE: Self = Self { re: 1.0, im: 0.0 };
    /// 0.
    pub const ZERO: Self = Self { re: 0.0, im: 0.0 };

    /// The nearest number of a type.
    ///
    /// # Errors
    /// Returns an error if the type has no such number; the message uses `name` for the option.
    pub fn of<T: Scalar>(self, name: &str) -> Result<T, Error> {
        let Self { re, im } = self;
        if !re.is_finite() || !im.is_finite() {
            return Err(Error::Usage(format!("--{name} is {self}, expected a finite number")));
        }
        if im != 0.0 && !T::COMPLEX {
            let reason = format!("{} has no imaginary parts, --precision complex128 does", T::NAME);
            return Err(Error::Usage(format!("--{name} {self}: {reason}")));
        }
        if re.abs().max(im.abs()) > T::Real::LARGEST {
            return Err(Error::Usage(format!("--{name} {self:e} is beyond the range of {}", T::NAME)));
        }
        Ok(T::from_parts(re, im))
    }
}

impl FromStr for Factor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |text: &str| text.parse::<f64>().map_err(|_| "expected a number such as -2.5, 1+2i or 1e3-0.5i".to_owned());
        let Some(sum) = text.strip_suffix('i') else {
            return Ok(Self { re: number(text)?, im: 0.0 });
        };
        // The last sign that is not part of an exponent, and not the first character.
        let sign = |&(place, byte): &(usize, u8)| {
            place > 0 && matches!(byte, b'+' | b'-') && !matches!(sum.as_bytes()[place - 1], b'e' | b'E')
        };
        let place = sum.bytes().enumerate().rfind(sign).map_or(0, |(place, _)| place);
        let (re, im) = sum.split_at(place);
        let im = match im {
            "" | "+" => 1.0,
            "-" => -1.0,
            im => number(im)?,
        };
        Ok(Self { re: if re.is_empty() { 0.0 } else { number(re)? }, im })
    }
}

impl Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.im {
            0.0 => write!(f, "{}", self.re),
            im => write!(f, "{}{im:+}i", self.re),
        }
    }
}

impl fmt::LowerExp for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.im {
            0.0 => write!(f, "{:e}", self.re),
            im => write!(f, "{:e}{im:+e}i", self.re),
        }
    }
}

impl Serialize for Factor {
    /// Serializes as one number, or two if it has an imaginary part.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.im {
            0.0 => serializer.serialize_f64(self.re),
            im => [self.re, im].serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_read_back() {
        for (text, re, im, shown) in [
            ("1", 1.0, 0.0, "1"),
            ("-2.5e-3", -2.5e-3, 0.0, "-0.0025"),
            ("1+2i", 1.0, 2.0, "1+2i"),
            ("-1e3-0.5i", -1e3, -0.5, "-1000-0.5i"),
            ("1e-3-5e+1i", 1e-3, -50.0, "0.001-50i"),
            ("2i", 0.0, 2.0, "0+2i"),
            ("-2e-1i", 0.0, -0.2, "0-0.2i"),
            ("i", 0.0, 1.0, "0+1i"),
            ("-i", 0.0, -1.0, "0-1i"),
            ("3+i", 3.0, 1.0, "3+1i"),
        ] {
            let factor: Factor = text.parse().unwrap();
            assert_eq!(factor, Factor { re, im }, "{text}");
            assert_eq!(factor.to_string(), shown);
            assert_eq!(shown.parse::<Factor>().unwrap(), factor);
        }
        for text in ["", "1+", "+-i", "1+2", "1+2j", "1 + 2i", "i2", "1+2ii", "e5i", "--i"] {
            assert!(text.parse::<Factor>().is_err(), "{text}");
        }
    }
}
