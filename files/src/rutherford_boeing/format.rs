//! Fortran formats such as `(26I3)` and `(1P,4E20.12)`, and numbers written with them.

use crate::quote::quote;
use crate::text::Text;

/// Maximum number of columns or fields per line.
const LARGEST: usize = 1 << 12;

/// The layout of an array's fields in its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FortranFormat {
    /// Fields per line.
    pub(super) repeat: usize,
    /// Columns per field.
    pub(super) width: usize,
    /// Digits after the point, for a number without a point.
    decimals: i32,
    /// The power of ten by which a number without an exponent was multiplied.
    scale: i32,
}

impl FortranFormat {
    /// Parses a format with one kind of field.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let unknown = || format!("unknown Fortran format {}: expected one such as (26I3) or (4E20.12)", quote(text));
        let compact: Vec<u8> =
            text.iter().filter(|byte| !byte.is_ascii_whitespace()).map(u8::to_ascii_uppercase).collect();
        Self::parse_compact(&compact).ok_or_else(unknown)
    }

    fn parse_compact(text: &[u8]) -> Option<Self> {
        let mut rest = text.strip_prefix(b"(")?.strip_suffix(b")")?;
        let mut scale = 0;
        if let Some(place) = rest.iter().position(|&byte| byte == b'P') {
            let factor = i32::try_from(parse_integer(&rest[..place])?).ok()?;
            scale = Some(factor).filter(|factor| factor.unsigned_abs() < 100)?;
            rest = &rest[place + 1..];
            rest = rest.strip_prefix(b",").unwrap_or(rest);
        }
        let mut repeat = 1;
        if rest.first()?.is_ascii_digit() {
            repeat = count(&mut rest)?;
        }
        let (letter, mut rest) = rest.split_first()?;
        let real = match letter {
            b'I' => false,
            b'E' | b'D' | b'F' | b'G' => true,
            _ => return None,
        };
        let width = count(&mut rest)?;
        let mut decimals = 0;
        if let Some(behind) = rest.strip_prefix(b".") {
            rest = behind;
            decimals = count(&mut rest)?;
        }
        // Digits of the exponent, which are not needed for reading.
        if let Some(behind) = rest.strip_prefix(b"E").filter(|_| real) {
            rest = behind;
            count(&mut rest)?;
        }
        if !rest.is_empty() || repeat == 0 || width == 0 {
            return None;
        }
        // The number of digits in `Iw.m` concerns leading zeros, which do not matter here.
        let decimals = if real { decimals as i32 } else { 0 };
        Some(Self { repeat, width, decimals, scale })
    }

    /// Parses a number, rounded once; `None` if a finite one is too large for its type.
    pub(super) fn parse_real<T: Text>(&self, text: &[u8]) -> Option<T> {
        let plain = |text: &[u8]| {
            let (value, length) = T::parse_prefix(text)?;
            let named = !text.iter().any(u8::is_ascii_digit);
            (length == text.len() && (named || !value.to_f64().is_infinite())).then_some(value)
        };
        let has_point = text.contains(&b'.');
        if has_point
            && self.scale == 0
            && let Some(value) = plain(text)
        {
            return Some(value);
        }
        if !text.iter().any(u8::is_ascii_digit) {
            return plain(text);
        }
        let mantissa_end =
            1 + text.get(1..)?.iter().position(|byte| b"eEdDqQ+-".contains(byte)).unwrap_or(text.len() - 1);
        let (mantissa, exponent) = text.split_at(mantissa_end);
        let shift = match exponent {
            [] => -i64::from(self.scale),
            [letter, digits @ ..] if letter.is_ascii_alphabetic() => parse_integer(digits)?,
            digits => parse_integer(digits)?,
        };
        // An exponent may be any 64-bit integer.
        let decimals = if has_point { 0 } else { self.decimals };
        let shift = shift.saturating_sub(decimals.into()).clamp(-100_000, 100_000);
        let mut text = mantissa.to_vec();
        text.extend_from_slice(format!("e{shift}").as_bytes());
        plain(&text)
    }
}

/// Takes a count from the front of a text.
fn count(text: &mut &[u8]) -> Option<usize> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    parse_integer(digits).and_then(|count| usize::try_from(count).ok()).filter(|&count| count <= LARGEST)
}

/// A 64-bit integer, with or without a sign.
pub(super) fn parse_integer(text: &[u8]) -> Option<i64> {
    str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_that_files_have() {
        let format = |repeat, width, decimals, scale| FortranFormat { repeat, width, decimals, scale };
        for (text, expected) in [
            ("(26I3)", format(26, 3, 0, 0)),
            ("(4E20.12)", format(4, 20, 12, 0)),
            ("(4D20.13)", format(4, 20, 13, 0)),
            ("(1P,5E16.8)", format(5, 16, 8, 1)),
            ("(1P5D16.8)", format(5, 16, 8, 1)),
            (" ( 3f20.0 ) ", format(3, 20, 0, 0)),
            ("(-2P8F10.1)", format(8, 10, 1, -2)),
            ("(G25.16E3)", format(1, 25, 16, 0)),
            ("(10I8.4)", format(10, 8, 0, 0)),
        ] {
            assert_eq!(FortranFormat::parse(text.as_bytes()), Ok(expected), "{text}");
        }
    }

    #[test]
    fn formats_that_are_none() {
        for text in ["", "26I3", "(26I3", "()", "(26)", "(I)", "(0I3)", "(3I0)", "(26I3,I2)", "(3X5)", "(P5E16.8)"] {
            assert!(FortranFormat::parse(text.as_bytes()).unwrap_err().contains("unknown Fortran format"), "{text}");
        }
        for text in ["(99999999999999999999I3)", "(3I5000)", "(1000P3E8.2)", "(3I3E2)", "(3E8.)", "(3E8.2E)"] {
            assert!(FortranFormat::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers() {
        for (format, text, expected) in [
            ("(4E20.12)", "1.5", 1.5),
            ("(4E20.12)", "-1.5D+03", -1500.0),
            ("(4E20.12)", "1.5d2", 150.0),
            ("(4E20.12)", "1.5-100", 1.5e-100),
            ("(4E20.12)", "1.5+2", 150.0),
            ("(4E20.2)", "150", 1.5),
            ("(4E20.2)", "-150E2", -150.0),
            ("(4E20.2)", ".5", 0.5),
            ("(4F20.0)", "3.", 3.0),
            ("(4F20.0)", "3", 3.0),
            ("(2P,4F20.2)", "150.0", 1.5),
            ("(2P,4F20.2)", "150.0E0", 150.0),
            ("(1P,4E20.2)", "0.1", 0.01),
            ("(4E20.2)", "Inf", f64::INFINITY),
            ("(4E20.2)", "1.0E-99999999999", 0.0),
            ("(26I3)", "12", 12.0),
            ("(26I3)", "7", 7.0),
        ] {
            let format = FortranFormat::parse(format.as_bytes()).unwrap();
            assert_eq!(format.parse_real::<f64>(text.as_bytes()), Some(expected), "{text}");
        }
        let format = FortranFormat::parse(b"(4E20.12)").unwrap();
        assert!(format.parse_real::<f64>(b"NaN").unwrap().is_nan());
        for text in ["", "-", "x", "1.5x", "1.5E", "1.5E+", "1 5", "1.5E5E5", "1.0E999", "1.5-", "--1", "E5", "0x1."] {
            assert_eq!(format.parse_real::<f64>(text.as_bytes()), None, "{text}");
        }
        assert_eq!(format.parse_real::<f32>(b"1.0E39"), None);
    }
}
