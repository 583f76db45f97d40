//! The texts of formats in arguments.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Command};
use warp_spmv::Format;

/// Takes the names of `values`, and with parameters after a colon any format's; `parse` makes what they stand for of them.
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

/// What `--help` tells of the parameters of formats, before other text.
pub fn with_parameters(text: &str) -> String {
    let mut help = String::from("Parameters of formats, as in sell-p:slice=32,sigma=256:");
    let all = || Format::ALL.iter().map(|format| (format.name(), format.parameters()));
    for (place, (name, parameters)) in all().enumerate() {
        let known = all().take(place).any(|(_, known)| known == parameters);
        if parameters.is_empty() || known {
            continue;
        }
        let others = all().skip(place + 1).filter(|(_, known)| *known == parameters);
        let names: Vec<_> = [name].into_iter().chain(others.map(|(name, _)| name)).collect();
        let names = match names[..] {
            [first, .., last] if names.len() > 4 => format!("{first} to {last}"),
            _ => names.join(", "),
        };
        help += &format!("\n  {names}");
        for (parameter, expected) in parameters {
            help += &format!("\n      {parameter}: {expected}");
        }
    }
    format!("{help}\n\n{text}")
}
