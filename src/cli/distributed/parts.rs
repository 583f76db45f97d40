//! Each rank's part of a matrix, and the accuracy of its answer.

use std::fmt::{self, Display};

use serde::{Deserialize, Serialize};
use warp_spmv::distributed::{Communicator, DistributedMatrix, Remote};
use warp_spmv::executor::Executor;
use warp_spmv::io::Number;
use warp_spmv::verify::{ExactElement, Norm, Verification};

use crate::cli::error::Error;
use crate::cli::solution::norm;
use crate::cli::units::{self, HumanCount};

/// The part of one rank.
#[derive(Debug, Deserialize, Serialize)]
pub struct Part {
    rank: usize,
    rows: usize,
    nonzeros: usize,
    /// The format of the entries in columns of this rank.
    format: String,
    /// The format of the entries in columns of other ranks; null if there are none.
    remote_format: Option<String>,
    remote_nonzeros: usize,
    /// Elements of x that other ranks send for a product.
    halo: usize,
    /// Bytes of the arrays of both.
    bytes: u64,
}

/// The parts of all ranks.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Parts(Vec<Part>);

impl Part {
    pub fn new<T: Number, E: Executor>(matrix: &DistributedMatrix<T, E>) -> Self {
        let (local, remote) = (matrix.local(), matrix.remote());
        let remote_nonzeros = remote.map_or(0, Remote::nnz);
        let bytes = local.matrix().bytes() + remote.map_or(0, Remote::bytes);
        Self {
            rank: matrix.communicator().rank(),
            rows: local.matrix().rows(),
            nonzeros: local.matrix().nnz() + remote_nonzeros,
            format: local.format().to_string(),
            remote_format: remote.map(|remote| remote.format().to_owned()),
            remote_nonzeros,
            halo: matrix.halo(),
            bytes: bytes.try_into().unwrap_or(u64::MAX),
        }
    }
}

impl Parts {
    /// The parts of all ranks, on each of them.
    pub fn gathered(communicator: &Communicator, part: &Part) -> Result<Self, Error> {
        let text = serde_json::to_vec(part).map_err(|error| Error::Usage(error.to_string()))?;
        let parts = communicator.all_gather(&text)?;
        let parsed = parts.iter().map(|text| serde_json::from_slice(text)).collect::<Result<_, _>>();
        parsed.map(Self).map_err(|error| Error::Usage(error.to_string()))
    }

    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|part| part.bytes).sum()
    }

    /// Elements of x that ranks exchange for a product.
    pub fn volume(&self) -> u64 {
        self.0.iter().map(|part| part.halo as u64).sum()
    }
}

/// Formats a table.
impl Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "rank              rows     entries    from others       bytes  formats")?;
        for part in &self.0 {
            let Part { rank, rows, nonzeros, format, remote_format, halo, bytes, .. } = part;
            let [rows, nonzeros, halo] = [rows, nonzeros, halo].map(|&count| HumanCount(count as u64).to_string());
            let remote = remote_format.as_ref().map_or(String::new(), |format| format!(", {format}"));
            let bytes = units::bytes(u128::from(*bytes));
            writeln!(f, "{rank:<12} {rows:>9} {nonzeros:>11} {halo:>14} {bytes:>11}  {format}{remote}")?;
        }
        Ok(())
    }
}

/// Combines the verifications of a vector whose parts were checked by the ranks, each from row `first` on; also returns
/// the norm of the expected vector.
pub fn verified<T: Number>(
    communicator: &Communicator,
    first: u64,
    own: &Verification,
    expected: &[T::Exact],
) -> Result<(Verification, f64), Error> {
    let norm = norm_of::<T>(expected);
    let row = own.worst_row.map_or(u64::MAX, |row| first + row as u64);
    // A rank without rows has no error, relative or not.
    let error = if expected.is_empty() { 0.0 } else { own.relative_error * norm };
    let numbers = communicator.all_gather(&[own.worst, error, norm])?;
    let counts = communicator.all_gather(&[own.wrong as u64, row])?;
    let worst = (0..counts.len()).max_by(|&left, &right| worse(&numbers, &counts, left, right)).unwrap_or(0);
    let combined = |place: usize| numbers.iter().map(|numbers| numbers[place]).collect::<Norm>();
    let row = counts[worst][1];
    let verification = Verification {
        wrong: counts.iter().map(|counts| counts[0] as usize).sum(),
        worst: numbers[worst][0],
        worst_row: (row != u64::MAX).then_some(row as usize),
        relative_error: combined(1).over(&combined(2)),
    };
    Ok((verification, combined(2).value()))
}

/// Which of two ranks has the larger error: NaN counts as the largest, and a rank without rows has none.
fn worse(numbers: &[Vec<f64>], counts: &[Vec<u64>], left: usize, right: usize) -> std::cmp::Ordering {
    let of = |rank: usize| match counts[rank][1] {
        u64::MAX => -1.0,
        _ if numbers[rank][0].is_nan() => f64::INFINITY,
        _ => numbers[rank][0],
    };
    // Of equal errors, the first.
    of(left).total_cmp(&of(right)).then(right.cmp(&left))
}

/// The Euclidean norm.
fn norm_of<T: Number>(elements: &[T::Exact]) -> f64 {
    norm(elements.iter().flat_map(|element| element.beside(T::ZERO).map(|(part, _)| part.value())))
}
