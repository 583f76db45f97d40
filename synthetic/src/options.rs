//! The `KEY=VALUE,KEY=VALUE` part of a generator's text, and the values it accepts.

use std::fmt::{self, Display};
use std::ops::RangeInclusive;

use host::format::LARGEST_DIMENSION;

use crate::{Error, Help};

/// A type of option values.
pub(crate) trait Value: Sized {
    /// The expected text. Narrower ranges are checked later, in one place for texts and structs.
    const EXPECTED: &'static str;

    /// Parses a value.
    fn parse(text: &str) -> Option<Self>;
}

/// Declares types whose values are numbers.
macro_rules! numbers {
    ($($number:ty = $expected:literal),*) => {$(
        impl Value for $number {
            const EXPECTED: &'static str = $expected;

            fn parse(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        }
    )*};
}

numbers!(usize = "a whole number", u64 = "a whole number below 2^64", f64 = "a number");

/// Declares an enum whose values are written as words.
macro_rules! words {
    ($(#[$about:meta])* $kind:ident: $expected:literal { $($(#[$doc:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $kind {
            $($(#[$doc])* $variant,)*
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $word,)*
                })
            }
        }

        impl $crate::options::Value for $kind {
            const EXPECTED: &'static str = $expected;

            fn parse(text: &str) -> Option<Self> {
                match text {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

/// Implements the text form of a generator whose parameters are the fields of a struct: each field by its key, with its
/// default if it has one. A default can use the fields before it. Uses the file's constant `HELP`.
macro_rules! parameters {
    ($kind:ident { $($field:ident = $key:literal $(or $default:expr)?),* $(,)? }) => {
        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::options::write_pairs(f, HELP, &[$(($key, &self.$field)),*])
            }
        }

        impl $kind {
            fn from_pairs(text: &str) -> Result<Self, Error> {
                let options = $crate::options::Options::parse(HELP, text, &[$($key),*])?;
                $(let $field = parameters!(@value options, $key $(, $default)?);)*
                Ok(Self { $($field),* })
            }
        }
    };
    (@value $options:ident, $key:literal) => { $options.required($key)? };
    (@value $options:ident, $key:literal, $default:expr) => { $options.optional($key, $default)? };
}

/// Writes a generator's text: its name, and its parameters by their keys.
pub(crate) fn write_pairs(f: &mut fmt::Formatter<'_>, help: Help, pairs: &[(&str, &dyn Display)]) -> fmt::Result {
    f.write_str(help.name)?;
    for (place, (key, value)) in pairs.iter().enumerate() {
        write!(f, "{}{key}={value}", if place == 0 { ':' } else { ',' })?;
    }
    Ok(())
}

/// Takes `KEY=NUMBER` for one key out of a text, and returns the number and the rest.
pub(crate) fn take_number(help: Help, text: &str, key: &'static str) -> Result<(Option<usize>, String), Error> {
    let (value, rest) = take(text, key);
    Ok((value.map(|value| number(help, key, value)).transpose()?, rest))
}

/// Takes `values=complex` out of a text, and returns whether it was present and the rest.
pub(crate) fn take_values(help: Help, text: &str) -> Result<(bool, String), Error> {
    match take(text, "values") {
        (None, rest) => Ok((false, rest)),
        (Some("complex"), rest) => Ok((true, rest)),
        (Some(value), _) => Err(unfit(help, "values", value, "complex")),
    }
}

/// Takes `KEY=VALUE` for one key out of a text, and returns the value and the rest.
fn take<'t>(text: &'t str, key: &str) -> (Option<&'t str>, String) {
    let is_key = |option: &&str| option.split_once('=').is_some_and(|(name, _)| name == key);
    let Some(option) = text.split(',').find(is_key) else {
        return (None, text.to_owned());
    };
    let value = option.split_once('=').map_or("", |(_, value)| value);
    // A second one stays, for `Options::parse` to reject.
    let mut taken = false;
    let keep = |option: &&str| !is_key(option) || std::mem::replace(&mut taken, true);
    let rest: Vec<_> = text.split(',').filter(keep).collect();
    (Some(value), rest.join(","))
}

/// The options of one generator, as written.
pub(crate) struct Options<'a> {
    help: Help,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Options<'a> {
    /// Splits a text into options.
    ///
    /// # Errors
    /// When an option has no value, is given twice, or its key is not one of `keys`.
    pub(crate) fn parse(help: Help, text: &'a str, keys: &[&str]) -> Result<Self, Error> {
        let fail = |reason| Err(Error::Text { generator: help.name, reason, form: help.form });
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for option in text.split(',').filter(|_| !text.is_empty()) {
            let Some((key, value)) = option.split_once('=') else {
                return fail(format!("{option:?} is not KEY=VALUE"));
            };
            if !keys.contains(&key) {
                return fail(format!("unknown key {key:?}"));
            }
            if pairs.iter().any(|&(earlier, _)| earlier == key) {
                return fail(format!("key {key:?} is given twice"));
            }
            pairs.push((key, value));
        }
        Ok(Self { help, pairs })
    }

    /// Returns the text of a required option.
    pub(crate) fn text(&self, key: &'static str) -> Result<&'a str, Error> {
        self.find(key).ok_or_else(|| Error::Text {
            generator: self.help.name,
            reason: format!("no key {key:?}"),
            form: self.help.form,
        })
    }

    /// Returns the value of a required option.
    pub(crate) fn required<N: Value>(&self, key: &'static str) -> Result<N, Error> {
        number(self.help, key, self.text(key)?)
    }

    /// Returns the value of an option, or `default` if it is not given.
    pub(crate) fn optional<N: Value>(&self, key: &'static str, default: N) -> Result<N, Error> {
        self.find(key).map_or(Ok(default), |value| number(self.help, key, value))
    }

    fn find(&self, key: &str) -> Option<&'a str> {
        self.pairs.iter().find(|pair| pair.0 == key).map(|pair| pair.1)
    }
}

/// Parses a value from its text.
pub(crate) fn number<N: Value>(help: Help, parameter: &'static str, value: &str) -> Result<N, Error> {
    N::parse(value).ok_or_else(|| unfit(help, parameter, value, N::EXPECTED))
}

/// The error for an unusable parameter.
pub(crate) fn unfit(help: Help, parameter: &'static str, value: impl Display, expected: impl Into<String>) -> Error {
    Error::Parameter { generator: help.name, parameter, value: value.to_string(), expected: expected.into() }
}

/// Checks that a whole number is in a range.
pub(crate) fn check_range(
    help: Help,
    parameter: &'static str,
    value: usize,
    range: RangeInclusive<usize>,
) -> Result<(), Error> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(unfit(help, parameter, value, format!("a whole number from {} to {}", range.start(), range.end())))
}

/// Checks a number of rows or columns.
pub(crate) fn check_dimension(help: Help, parameter: &'static str, value: usize) -> Result<(), Error> {
    check_range(help, parameter, value, 1..=LARGEST_DIMENSION)
}

/// Checks that a number is finite.
pub(crate) fn check_finite(help: Help, parameter: &'static str, value: f64) -> Result<(), Error> {
    if value.is_finite() {
        return Ok(());
    }
    Err(unfit(help, parameter, value, "a finite number"))
}

/// Checks that a number is finite and above zero.
pub(crate) fn check_positive(help: Help, parameter: &'static str, value: f64) -> Result<(), Error> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(unfit(help, parameter, value, "a finite number above 0"))
}

/// Checks that a number is a fraction of a whole.
pub(crate) fn check_share(help: Help, parameter: &'static str, value: f64) -> Result<(), Error> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(unfit(help, parameter, value, "a number from 0 to 1"))
}
