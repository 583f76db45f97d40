//! Small random matrices of every shape, with numbers that are hard on arithmetic: cancelling ones, subnormal ones, and
//! ones of all magnitudes. Each product is compared with the exact one.

use std::collections::BTreeMap;
use std::fmt;

use warp_spmv::device::Tuning;
use warp_spmv::executor::{Emulated, Executor};
use warp_spmv::format::FillLimit;
use warp_spmv::verify::{ExactElement, exact, verify, verify_transposed};
use warp_spmv::{Complex, Csr, Error, Format, Layout, Multivector, Plan, PlanOptions, Real, Scalar};

use super::transposed::Which;
use super::{Numbers, as_stored, check_conversion};

/// Emulated GPUs of several sizes, the smallest of which is one warp.
#[allow(dead_code, reason = "the GPU program takes a GPU")]
pub fn emulators() -> [Emulated; 4] {
    [(1, 32, 32, 1), (2, 128, 64, 1), (3, 64, 32, 2), (2, 256, 128, 3)].map(
        |(multiprocessors, threads, threads_per_block, waves)| {
            Emulated::with_size(0, multiprocessors, threads, Tuning::new(threads_per_block, waves).unwrap()).unwrap()
        },
    )
}

/// Kind of the numbers of a matrix or a vector.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// In [-1, 1).
    Unit,
    /// Small whole numbers, and zeros of both signs.
    Whole,
    /// Few magnitudes far apart, so that large terms cancel and small ones remain.
    Cancelling,
    /// Below the smallest normal number.
    Subnormal,
    /// Any finite number, with all magnitudes equally likely.
    Wide,
    /// Near the largest number.
    Large,
    /// Infinities and NaNs among other numbers.
    Special,
}

impl Kind {
    const ALL: &[Self] =
        &[Self::Unit, Self::Whole, Self::Cancelling, Self::Subnormal, Self::Wide, Self::Large, Self::Special];

    fn any(numbers: &mut Numbers) -> Self {
        Self::ALL[numbers.below(Self::ALL.len())]
    }

    fn number<T: Scalar>(self, numbers: &mut Numbers) -> T {
        numbers.number(|numbers| self.part::<T::Real>(numbers).to_f64())
    }

    fn part<T: Real>(self, numbers: &mut Numbers) -> T {
        let unit: f64 = numbers.real();
        let number = match self {
            Self::Unit => unit,
            Self::Whole => (8.0 * unit).trunc(),
            Self::Cancelling => {
                let magnitudes = [1.0, 1.0 + 2.0 * T::UNIT_ROUNDOFF, 1.0 / T::UNIT_ROUNDOFF, T::UNIT_ROUNDOFF];
                magnitudes[numbers.below(magnitudes.len())].copysign(unit)
            }
            Self::Subnormal => (1000.0 * unit).trunc() * T::SMALLEST_SUBNORMAL,
            Self::Wide => {
                let magnitudes = T::LARGEST.log2() - T::SMALLEST_SUBNORMAL.log2();
                (T::SMALLEST_SUBNORMAL.log2() + magnitudes * numbers.real::<f64>().abs()).exp2().copysign(unit)
            }
            Self::Large => T::LARGEST * unit,
            Self::Special => match numbers.below(24) {
                0 => f64::INFINITY,
                1 => f64::NEG_INFINITY,
                2 => f64::NAN,
                _ => unit,
            },
        };
        let number = T::from_f64(number);
        // Rounding may exceed the largest number.
        if number.to_f64().is_infinite() && !matches!(self, Self::Special) { T::ONE } else { number }
    }

    fn vector<T: Scalar>(self, length: usize, numbers: &mut Numbers) -> Vec<T> {
        (0..length).map(|_| self.number(numbers)).collect()
    }
}

/// Returns a matrix whose row lengths distribute the work badly, with 0 to 64 rows and columns, occasionally more; in
/// some, columns are in no order and repeated.
fn any_matrix<T: Scalar>(kind: Kind, numbers: &mut Numbers) -> Csr<T> {
    let most = if numbers.below(16) == 0 { 400 } else { 65 };
    let (rows, columns) = (numbers.below(most), numbers.below(most));
    let longest = if columns == 0 { 0 } else { 1 + numbers.below(1 + columns.min(40)) };
    let lengths = numbers.below(4);
    let ascending = numbers.below(2) == 0;
    let mut offsets = vec![0u32];
    let mut column_indices = Vec::new();
    for row in 0..rows {
        let length = match lengths {
            // One long row, most rows empty, equal rows, any lengths.
            0 if row != rows / 2 => numbers.below(longest.min(2) + 1),
            0 if columns > 0 => 3 * longest,
            1 if numbers.below(6) > 0 => 0,
            2 => longest,
            _ => numbers.below(longest + 1),
        };
        let begin = column_indices.len();
        column_indices.extend((0..length).map(|_| numbers.below(columns) as u32));
        if ascending {
            column_indices[begin..].sort_unstable();
        }
        offsets.push(column_indices.len() as u32);
    }
    let values = kind.vector(column_indices.len(), numbers);
    Csr::try_new(rows, columns, offsets, column_indices, values).expect("the arrays form a valid matrix")
}

/// Tally of the products so far.
#[derive(Default)]
pub struct Tally {
    /// Number of cases, and the worst error over its bound, per format and precision.
    formats: BTreeMap<(String, &'static str), (u64, f64)>,
    /// Numbers of cases with one vector, several vectors, and the transposed matrix.
    operations: [u64; 3],
    conversions: u64,
}

impl Tally {
    /// Returns the sum of two tallies.
    #[allow(dead_code, reason = "some programs have one")]
    pub fn and(mut self, other: Self) -> Self {
        for (what, (cases, worst)) in other.formats {
            let known = self.formats.entry(what).or_default();
            *known = (known.0 + cases, known.1.max(worst));
        }
        for (known, more) in self.operations.iter_mut().zip(other.operations) {
            *known += more;
        }
        self.conversions += other.conversions;
        self
    }

    /// Number of matrices.
    pub fn matrices(&self) -> u64 {
        self.operations.iter().sum()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [single, several, transposed] = self.operations;
        writeln!(
            f,
            "{} matrices, none wrong: {single} times one vector, {several} times several, {transposed} transposed; {} \
             converted there and back\n\n| format | precision | matrices | worst error, of its bound |\n|---|---|--:|--:|",
            self.matrices(),
            self.conversions
        )?;
        self.formats.iter().try_for_each(|((format, precision), (cases, worst))| {
            writeln!(f, "| {format} | {precision} | {cases} | {worst:.3} |")
        })
    }
}

/// Makes matrix `number`, multiplies it in some format in one of the three ways, and compares the result.
///
/// # Errors
/// Returns a description of the error and the matrix if a call fails or a result is wrong.
pub fn check_random<E: Executor>(executor: &E, number: u64, tally: &mut Tally) -> Result<(), String> {
    let mut numbers = Numbers::new(number);
    match numbers.below(4) {
        0 => check_one::<f32, E>(executor, number, &mut numbers, tally),
        1 => check_one::<f64, E>(executor, number, &mut numbers, tally),
        2 => check_one::<Complex<f32>, E>(executor, number, &mut numbers, tally),
        _ => check_one::<Complex<f64>, E>(executor, number, &mut numbers, tally),
    }
}

fn check_one<T: Scalar, E: Executor>(
    executor: &E,
    number: u64,
    numbers: &mut Numbers,
    tally: &mut Tally,
) -> Result<(), String> {
    let format = Format::ALL[numbers.below(Format::ALL.len())];
    let (kind, kind_of_x, kind_of_y) = (Kind::any(numbers), Kind::any(numbers), Kind::any(numbers));
    let matrix = any_matrix::<T>(kind, numbers);
    // Factors are finite, and β is often 0.
    let factors = [Kind::Unit, Kind::Whole, Kind::Wide];
    let [alpha, beta]: [T; 2] = std::array::from_fn(|_| factors[numbers.below(factors.len())].number(numbers));
    let beta = if numbers.below(2) == 0 { T::ZERO } else { beta };
    let place = format!(
        "matrix {number}: {} x {}, {} entries, {format}, {}, {kind:?} times {kind_of_x:?} plus {kind_of_y:?}, α {alpha}, \
         β {beta}",
        matrix.rows(),
        matrix.columns(),
        matrix.nnz(),
        T::NAME
    );
    let failed = |error: Error| format!("{place}: {error}");
    // Sums of large duplicates may be NaN, and NaNs do not compare equal.
    if numbers.below(8) == 0 && !matches!(kind, Kind::Special | Kind::Large | Kind::Wide) {
        check_conversion(executor, &place, &matrix, format);
        tally.conversions += 1;
    }
    let fill_limit = FillLimit { times_csr: f64::INFINITY };
    let options = PlanOptions { fill_limit, ..PlanOptions::default() };
    let mut plan = Plan::with_options(executor, matrix.clone(), format, options).map_err(failed)?;
    let mut stored = as_stored(&matrix, format);
    let operation = match numbers.below(4) {
        0 if format.multiplies_multivectors() => 1,
        1 if format.multiplies_transposed() => 2,
        _ => 0,
    };
    let layout = if numbers.below(2) == 0 { Layout::RowMajor } else { Layout::ColumnMajor };
    let vectors = if operation == 1 { [1, 2, 5, 33][numbers.below(4)] } else { 1 };
    let shape = Multivector { vectors, layout };
    let which = Which::all::<T>()[numbers.below(Which::all::<T>().len())];
    if operation == 2 {
        stored = which.stored(&stored);
    }
    let x = kind_of_x.vector::<T>(stored.columns() * vectors, numbers);
    let y = kind_of_y.vector::<T>(stored.rows() * vectors, numbers);
    let (on_device, mut result) =
        (executor.upload(x.clone()).map_err(failed)?, executor.upload(y.clone()).map_err(failed)?);
    match operation {
        1 => plan.apply_multivector(shape, alpha, &on_device, beta, &mut result),
        2 if which == Which::Conjugate => plan.apply_conjugate_transposed(alpha, &on_device, beta, &mut result),
        2 => plan.apply_transposed(alpha, &on_device, beta, &mut result),
        _ => plan.apply(alpha, &on_device, beta, &mut result),
    }
    .map_err(failed)?;
    let result = executor.download(&result).map_err(failed)?;
    let tallied = tally.formats.entry((format.to_string(), T::NAME)).or_default();
    tallied.0 += 1;
    for vector in 0..vectors {
        let of = |values: &[T], length| -> Vec<T> {
            (0..length).map(|element| values[shape.place(length, element, vector)]).collect()
        };
        let expected =
            exact(&stored, alpha, &of(&x, stored.columns()), beta, &of(&y, stored.rows())).map_err(failed)?;
        let computed = of(&result, stored.rows());
        let verification = match operation {
            0 => verify(&computed, &expected, plan.format()),
            // Several vectors have one chain of additions per element.
            1 => verify(&computed, &expected, Format::CSR_SCALAR),
            _ => verify_transposed(&computed, &expected),
        }
        .map_err(failed)?;
        if !verification.passed() {
            let row = verification.worst_row.unwrap_or_default();
            let computed = result[shape.place(stored.rows(), row, vector)];
            let expected = expected[row].rounded();
            return Err(format!(
                "{place}, operation {operation}, {shape:?}, vector {vector}: {computed}, expected {expected}: {verification:?}"
            ));
        }
        tallied.1 = tallied.1.max(verification.worst);
    }
    tally.operations[operation] += 1;
    Ok(())
}
