//! Storage of a matrix's values.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use warp_spmv::format::{Matrix, NarrowType, ValueStorage};
use warp_spmv::{Memory, Scalar};

#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "Values of the matrix")]
pub struct Values {
    /// Round them to this type in memory, and compute in --precision; same and table round nothing, and are for matrices
    /// with one value, and with at most 256
    #[arg(long, value_name = "TYPE", value_parser = type_parser(), conflicts_with = "narrow")]
    values: Option<NarrowType>,
    #[command(flatten)]
    narrow: Narrow,
}

/// The part of [`Values`] that changes no answer.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "Values of the matrix")]
pub struct Narrow {
    /// Store them in the narrowest type that keeps all their bits, in formats that can; the answer is the same, to the bit
    #[arg(long)]
    narrow: bool,
}

impl Narrow {
    /// The requested storage.
    pub fn storage(self) -> ValueStorage {
        if self.narrow { ValueStorage::Lossless } else { ValueStorage::Full }
    }
}

fn type_parser() -> impl TypedValueParser<Value = NarrowType> {
    PossibleValuesParser::new(NarrowType::ALL.iter().map(|narrow_type| narrow_type.name()))
        .try_map(|name| name.parse::<NarrowType>())
}

impl Values {
    /// The requested storage.
    pub fn storage(self) -> ValueStorage {
        self.values.map_or(self.narrow.storage(), ValueStorage::Rounded)
    }

    /// The name of the option that was given, if any.
    pub fn given(self) -> Option<&'static str> {
        match self.storage() {
            ValueStorage::Full | ValueStorage::Automatic => None,
            ValueStorage::Lossless => Some("--narrow"),
            ValueStorage::Rounded(_) => Some("--values"),
        }
    }
}

/// The storage of values that is narrower than they are computed with.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Stored {
    /// The type, as `--values` takes it.
    #[serde(rename = "type")]
    narrow_type: &'static str,
    /// The largest relative change of a value.
    pub largest_change: f64,
}

impl Stored {
    /// The storage of a matrix whose values were changed by at most `largest_change`.
    pub fn of<T: Scalar, M: Memory>(matrix: &Matrix<T, M>, largest_change: f64) -> Option<Self> {
        let Matrix::Narrow(narrow) = matrix else { return None };
        Some(Self { narrow_type: narrow.narrow_type().name(), largest_change })
    }
}

impl std::fmt::Display for Stored {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.narrow_type)?;
        match self.largest_change {
            0.0 => write!(f, " (nothing lost)"),
            change => write!(f, " (rounded, by at most {change:.1e} of a value)"),
        }
    }
}
