//! Reasons for excluding a format.

use std::fmt::{self, Display};

use serde::Serialize;

/// Why a format cannot be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exclusion {
    /// It does not give the same bits every time.
    NotReproducible,
    /// It does not multiply several vectors at once.
    NoMultivectors,
    /// It does not multiply values that are stored narrower than they are computed with.
    NoNarrowValues,
    /// It does not multiply the transpose.
    NoTranspose,
    /// It has too much padding.
    Fill,
    /// It does not fit into the budget.
    Memory,
    /// The matrix has more columns than the format can index.
    TooLarge,
    /// It is made for kernels, and the executor has none.
    NoKernels,
    /// Its blocks need more shared memory than is available to them.
    SharedMemory,
    /// It is unknown which rows share columns, perhaps because it would not matter, or a row has too many for a block.
    NotClustered,
    /// Few entries have an equal counterpart across the diagonal.
    NotSymmetric,
    /// It failed when it was tried.
    Failed,
}

impl Display for Exclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotReproducible => "not the same bits every time",
            Self::NoMultivectors => "no product with several vectors",
            Self::NoNarrowValues => "no product with narrow values",
            Self::NoTranspose => "no product with the transpose",
            Self::Fill => "too much padding",
            Self::Memory => "does not fit into the budget",
            Self::TooLarge => "too many columns",
            Self::NoKernels => "made for GPUs",
            Self::SharedMemory => "too much shared memory",
            Self::NotClustered => "no parts of rows known that share columns",
            Self::NotSymmetric => "few pairs of equal entries",
            Self::Failed => "failed when it was tried",
        })
    }
}
