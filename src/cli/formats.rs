//! The texts of formats in arguments.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};
use warp_spmv::Format;
use warp_spmv::format::Parameter;

/// Accepts the names of `values`, and any format's name with parameters after a colon; `parse` converts them.
pub fn parser<V: Clone + Send + Sync + 'static>(
    values: impl Into<PossibleValuesParser>,
    parse: impl Fn(&str) -> Result<V, warp_spmv::Error> + Clone + Send + Sync + 'static,
) -> impl TypedValueParser<Value = V> {
    Texts(values.into()).try_map(move |text| parse(&text))
}

/// The names of all formats.
pub fn names() -> impl Iterator<Item = &'static str> {
    Format::ALL.iter().map(|format| format.name())
}

/// Names, and texts with a colon.
#[derive(Clone)]
struct Texts(PossibleValuesParser);

impl TypedValueParser for Texts {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        match value.to_str() {
            Some(text) if text.contains(':') => Ok(text.to_owned()),
            _ => self.0.parse_ref(command, argument, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// The `--help` text for the parameters of formats, followed by `text`.
pub fn with_parameters(text: &str) -> String {
    let mut help = String::from("Parameters of formats, as in sell-p:slice=32,sigma=256:");
    let all = || Format::ALL.iter().map(|format| (format.name(), format.parameters()));
    for (place, (_, parameters)) in all().enumerate().filter(|(_, (_, parameters))| !parameters.is_empty()) {
        if all().take(place).any(|(_, known)| known == parameters) {
            continue;
        }
        let places: Vec<_> = all()
            .enumerate()
            .filter(|(_, (_, same))| *same == parameters)
            .map(|(place, (name, _))| (place, name))
            .collect();
        let names = match places[..] {
            // All formats in between have the same parameters.
            [(from, first), .., (to, last)] if places.len() > 4 && to - from + 1 == places.len() => {
                format!("{first} to {last}")
            }
            _ => places.iter().map(|&(_, name)| name).collect::<Vec<_>>().join(", "),
        };
        help += &format!("\n  {names}");
        for Parameter { name, about, expected } in parameters {
            help += &format!("\n      {name}: {about}; {expected}");
        }
    }
    format!("{help}\n\n{text}")
}
