//! The `KEY=VALUE,KEY=VALUE` part of a generator's text, and what its values may be.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use host::format::LARGEST_DIMENSION;

use crate::{Error, Help};

/// A type of number that an option can have.
pub(crate) trait Number: FromStr {
    /// What its text has to be. Narrower ranges are checked later, in one place for texts and structs.
    const EXPECTED: &'static str;
}

impl Number for usize {
    const EXPECTED: &'static str = "a whole number";
}

impl Number for u64 {
    const EXPECTED: &'static str = "a whole number below 2^64";
}

impl Number for f64 {
    const EXPECTED: &'static str = "a number";
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
    /// When an option has no value, is given twice, or its key is none of `keys`.
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

    /// The text of an option that must be there.
    pub(crate) fn text(&self, key: &'static str) -> Result<&'a str, Error> {
        self.find(key).ok_or_else(|| Error::Text {
            generator: self.help.name,
            reason: format!("no key {key:?}"),
            form: self.help.form,
        })
    }

    /// The number of an option that must be there.
    pub(crate) fn required<N: Number>(&self, key: &'static str) -> Result<N, Error> {
        number(self.help, key, self.text(key)?)
    }

    /// The number of an option, or what it is when not given.
    pub(crate) fn optional<N: Number>(&self, key: &'static str, default: N) -> Result<N, Error> {
        self.find(key).map_or(Ok(default), |value| number(self.help, key, value))
    }

    fn find(&self, key: &str) -> Option<&'a str> {
        self.pairs.iter().find(|pair| pair.0 == key).map(|pair| pair.1)
    }
}

/// A number from its text.
pub(crate) fn number<N: Number>(help: Help, parameter: &'static str, value: &str) -> Result<N, Error> {
    value.parse().map_err(|_| unfit(help, parameter, value, N::EXPECTED))
}

/// The error for a parameter that no matrix can be made of.
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

/// Checks that a number is finite and above zero.
pub(crate) fn check_positive(help: Help, parameter: &'static str, value: f64) -> Result<(), Error> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(unfit(help, parameter, value, "a finite number above 0"))
}
