//! What every executor must get right: the same list for the CPU, the emulator and the GPU.

pub mod conformance;
pub mod multivector;
mod numbers;
pub mod random;
pub mod threads;
pub mod tiles;
pub mod transposed;
pub mod updates;

pub use numbers::Numbers;
use warp_spmv::executor::Executor;
use warp_spmv::format::{FillLimit, Matrix, Offsets};
use warp_spmv::verify::{Verification, exact, verify};
use warp_spmv::{Csr, Error, Format, Plan, PlanOptions, Scalar};

/// A matrix with rows of the given lengths; columns in no order, some of them twice.
pub fn with_rows<T: Scalar>(columns: usize, lengths: &[usize], numbers: &mut Numbers) -> Csr<T> {
    let mut offsets = vec![0u32];
    let mut column_indices = Vec::new();
    for &length in lengths {
        column_indices.extend((0..length).map(|_| numbers.below(columns) as u32));
        offsets.push(column_indices.len() as u32);
    }
    let values = numbers.vector(column_indices.len());
    Csr::try_new(lengths.len(), columns, offsets, column_indices, values).unwrap()
}

/// What a generator makes; of a complex type, with imaginary parts besides.
pub fn generated<T: Scalar>(text: &str) -> Csr<T> {
    let real = text.parse::<warp_spmv::synthetic::Generator>().unwrap().generate::<f64>().unwrap();
    let (rows, columns) = (real.rows(), real.columns());
    let (offsets, column_indices, values) = real.into_parts();
    let imaginary = (0..).map(|place| f64::from(place % 7 - 3) / 4.0);
    let values = values.iter().zip(imaginary).map(|(&value, part)| T::from_parts(value, value * part)).collect();
    Csr::try_new(rows, columns, offsets, column_indices, values).unwrap()
}

/// A factor; of a complex type, with an imaginary part besides.
pub fn factor<T: Scalar>(real: f64) -> T {
    T::from_parts(real, real / -2.0)
}

/// Small matrices that have broken kernels before, and one of each generator.
pub fn matrices<T: Scalar>() -> Vec<(String, Csr<T>)> {
    let mut numbers = Numbers::new(1);
    let mut matrices: Vec<(String, Csr<T>)> = Vec::new();
    let mut dense_row = vec![0; 70];
    dense_row[41] = 5000;
    let mut last_row = vec![0; 300];
    last_row[299] = 7;
    let around_a_warp: Vec<usize> = [31, 32, 33, 0, 1, 63, 64, 65, 127, 128, 129].repeat(7);
    let empty_and_long: Vec<usize> = (0..400).map(|row| if row % 37 == 5 { 200 } else { row % 3 }).collect();
    let many_short: Vec<usize> = (0..1500).map(|row| 1 + row % 5).collect();
    for (name, columns, lengths) in [
        ("0 x 0", 0, vec![]),
        ("0 x 5", 5, vec![]),
        ("5 x 0", 0, vec![0; 5]),
        ("1 x 1, empty", 1, vec![0]),
        ("1 x 1", 1, vec![1]),
        ("1 x 3000", 3000, vec![2000]),
        ("3000 x 1", 1, vec![1; 3000]),
        ("no entry at all", 40, vec![0; 100]),
        ("only the last row", 50, last_row),
        ("one dense row among empty ones", 6000, dense_row),
        ("row lengths around a warp", 500, around_a_warp),
        ("empty and long rows", 900, empty_and_long),
        ("many short rows", 1500, many_short),
        ("wide", 100_000, vec![40; 9]),
        ("tall", 3, vec![2; 4000]),
        ("one row of a warp's step and one more entry", 100, vec![32, 1]),
        ("rows and columns that no block divides", 19, vec![11; 23]),
        ("a few rows of two", 20, [2, 1, 0, 2, 2].repeat(9)),
        ("a few rows of four", 20, [0, 4, 1, 2, 3].repeat(13)),
        ("five long rows", 500, vec![200, 64, 0, 1, 333]),
        ("many diagonals", 4000, vec![40; 40]),
        ("columns around 16 bits", 65_600, vec![3; 100]),
        ("one row more than two slices", 300, (0..129).map(|row| row * 5 % 23).collect()),
    ] {
        matrices.push((name.into(), with_rows(columns, &lengths, &mut numbers)));
    }
    // Neighbouring rows whose columns do not fit into 16 bits together.
    let far_apart: Vec<usize> = (0..130).map(|row| if row % 50 == 7 { 60 } else { row % 4 }).collect();
    matrices.push(("columns far apart".into(), with_rows(1 << 22, &far_apart, &mut numbers)));
    let diagonal: Vec<u32> = (0..777).collect();
    let values = numbers.vector(777);
    matrices.push(("one diagonal".into(), Csr::try_from_triplets(777, 777, &diagonal, &diagonal, &values).unwrap()));
    let column = vec![3u32; 777];
    let values = numbers.vector(777);
    matrices.push(("one dense column".into(), Csr::try_from_triplets(777, 8, &diagonal, &column, &values).unwrap()));
    for generator in [
        "stencil:3:501",
        "stencil:5:17x33",
        "stencil:7:7x9x11",
        "stencil:9:40x13",
        "stencil:27:9x7x5",
        "pareto:rows=400,k=1.5",
        "pareto:rows=700,k=1.0,base=3",
        "banded:rows=600,bands=9",
    ] {
        matrices.push((generator.into(), generated(generator)));
    }
    // 64-bit row offsets, which matrices of this size do not need.
    for name in ["row lengths around a warp", "empty and long rows", "pareto:rows=700,k=1.0,base=3"] {
        let (_, matrix) = matrices.iter().find(|(other, _)| other == name).unwrap();
        let wide = with_wide_offsets(matrix);
        matrices.push((format!("{name}, wide offsets"), wide));
    }
    matrices
}

/// The matrix as `format` stores it: some formats sort its rows, and some of them have one place for entries that are
/// there more than once.
pub fn as_stored<T: Scalar>(matrix: &Csr<T>, format: Format) -> Csr<T> {
    let mut matrix = matrix.clone();
    if format.sorts_rows() {
        matrix.sort_rows().unwrap();
    }
    if format.sums_duplicates() {
        matrix.sum_duplicates().unwrap();
    }
    matrix
}

/// The same matrix with 64-bit row offsets.
pub fn with_wide_offsets<T: Scalar>(matrix: &Csr<T>) -> Csr<T> {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let (offsets, column_indices, values) = matrix.clone().into_parts();
    let offsets = Offsets::Wide((0..=rows).map(|row| offsets.get(row) as u64).collect());
    Csr::try_new(rows, columns, offsets, column_indices, values).unwrap()
}

/// Converts `matrix` to `format` and back where the executor has it. Either gives the same arrays, bit for bit, as on
/// the host, or the same error.
pub fn check_conversion<T: Scalar, E: Executor>(executor: &E, name: &str, matrix: &Csr<T>, format: Format) {
    let place = format!("{name}, {format}, {}", T::NAME);
    let convert = || matrix.clone().upload(executor)?.convert(executor, format, FillLimit::default());
    let expected = match Matrix::try_from_csr(matrix.clone(), format, FillLimit::default()) {
        Err(expected) => {
            let error = convert().map(|_| ()).expect_err(&place);
            assert_eq!(error.to_string(), expected.to_string(), "{place}");
            return;
        }
        Ok(expected) => expected,
    };
    let same = |converted: Matrix<T, E::Memory>, expected: &Matrix<T>, what: &str| {
        let converted = converted.download(executor).unwrap();
        assert!(converted == *expected, "{place}: {what}");
        // Row offsets that are equal may differ in their width.
        assert_eq!(converted.bytes(), expected.bytes(), "{place}: {what}");
    };
    let converted = || convert().unwrap_or_else(|error| panic!("{place}: {error}"));
    same(converted(), &expected, "from CSR");
    let back = converted().into_csr_on(executor).unwrap_or_else(|error| panic!("{place}: {error}"));
    same(Matrix::Csr(back), &Matrix::Csr(expected.into_csr().unwrap()), "back to CSR");
}

/// A plan for a matrix that was converted on the host; that the executor converts it to the same arrays is checked by
/// [`check_conversion`].
pub fn plan<T: Scalar, E: Executor>(executor: &E, matrix: &Csr<T>, format: Format) -> Result<Plan<T, E>, Error> {
    let converted = Matrix::try_from_csr(matrix.clone(), format, FillLimit::default())?;
    Plan::from_matrix(executor, converted, format)
}

/// A matrix that the executor converts itself is multiplied right.
pub fn check_converted_product<T: Scalar, E: Executor>(executor: &E, format: Format) {
    let mut numbers = Numbers::new(13);
    let lengths: Vec<usize> = (0..400).map(|row| if row == 77 { 350 } else { row * 5 % 9 }).collect();
    let matrix = with_rows::<T>(200, &lengths, &mut numbers);
    let (x, y) = (numbers.vector::<T>(200), vec![T::ZERO; 400]);
    let expected = exact(&matrix, T::ONE, &x, T::ZERO, &y).unwrap();
    let fill_limit = FillLimit { times_csr: f64::INFINITY };
    let options = PlanOptions { fill_limit, ..PlanOptions::default() };
    let mut plan = Plan::with_options(executor, matrix.clone(), format, options).unwrap();
    assert_eq!(plan.format(), format.resolve(&matrix));
    let (x, mut y) = (executor.upload(x).unwrap(), executor.upload(y).unwrap());
    plan.apply(T::ONE, &x, T::ZERO, &mut y).unwrap();
    let result = verify(&executor.download(&y).unwrap(), &expected, plan.format()).unwrap();
    assert!(result.passed(), "{format}, {}: {result:?}", T::NAME);
}

/// The factors that each matrix is multiplied with.
pub const FACTORS: &[(f64, f64)] = &[(1.0, 0.0), (1.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (0.75, -1.5), (2.5, 0.0)];

/// One multiplication: α A x + β y from a y that is poisoned with NaN if β = 0. `None` if the format refuses
/// the matrix for its padding.
pub fn multiply<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    format: Format,
    (alpha, beta): (T, T),
    x: &[T],
    y: &[T],
) -> Result<Option<Vec<T>>, Error> {
    let mut plan = match plan(executor, matrix, format) {
        Err(Error::Fill { .. }) => return Ok(None),
        plan => plan?,
    };
    let poisoned = vec![T::from_f64(f64::NAN); y.len()];
    let x = executor.upload(x.to_vec())?;
    let mut y = executor.upload(if beta == T::ZERO { poisoned } else { y.to_vec() })?;
    plan.apply(alpha, &x, beta, &mut y)?;
    executor.download(&y).map(Some)
}

/// Multiplies `matrix` in `format` with each pair of factors and compares with the exact result. Gives the worst
/// error over its bound, `None` if the format does not apply.
pub fn check<T: Scalar, E: Executor>(executor: &E, name: &str, matrix: &Csr<T>, format: Format) -> Option<f64> {
    let mut numbers = Numbers::new(7);
    let x = numbers.vector(matrix.columns());
    let y = numbers.vector(matrix.rows());
    let mut worst = 0.0;
    for &(alpha, beta) in FACTORS {
        let (alpha, beta) = (factor::<T>(alpha), factor(beta));
        let place = format!("{name}, {format}, {}, alpha {alpha}, beta {beta}", T::NAME);
        let computed = multiply(executor, matrix, format, (alpha, beta), &x, &y)
            .unwrap_or_else(|error| panic!("{place}: {error}"))?;
        let exact = exact(matrix, alpha, &x, beta, &y).unwrap();
        let Verification { wrong, worst: here, worst_row, .. } = verify(&computed, &exact, format).unwrap();
        assert_eq!(wrong, 0, "{place}: rows are wrong, the worst is {worst_row:?}, off by {here} bounds");
        worst = f64::max(worst, here);
    }
    Some(worst)
}

/// Infinities and NaNs in x reach the rows that touch them, and no other: padding is never arithmetic.
pub fn check_special_values<T: Scalar, E: Executor>(executor: &E, format: Format) {
    let mut numbers = Numbers::new(3);
    let lengths: Vec<usize> = (0..200).map(|row| row % 7).collect();
    let (offsets, columns, mut values) = with_rows::<T>(90, &lengths, &mut numbers).into_parts();
    // A stored zero is no padding: times infinity it is NaN.
    values.iter_mut().step_by(5).for_each(|value| *value = T::ZERO);
    // Where duplicates are summed: 2 · ∞ - 1 · ∞ is NaN, and (2 - 1) · ∞ is not.
    let matrix = as_stored(&Csr::try_new(200, 90, offsets, columns, values).unwrap(), format);
    for special in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for place in [0, 1, 45, 89] {
            let mut x = numbers.vector::<T>(90);
            x[place] = T::from_f64(special);
            let y = numbers.vector(200);
            for beta in [T::ZERO, T::ONE] {
                let computed = multiply(executor, &matrix, format, (T::ONE, beta), &x, &y).unwrap().unwrap();
                let exact = exact(&matrix, T::ONE, &x, beta, &y).unwrap();
                let result = verify(&computed, &exact, format).unwrap();
                assert!(result.passed(), "{format}: {special} in x[{place}]: {result:?}");
            }
        }
    }
    // In y, they stay where they are, and with β = 0 they vanish.
    let x = numbers.vector::<T>(90);
    let y = vec![T::from_f64(f64::INFINITY); 200];
    let computed = multiply(executor, &matrix, format, (T::ONE, T::ONE), &x, &y).unwrap().unwrap();
    assert!(computed.iter().all(|y| y.parts()[0] == f64::INFINITY), "{format}");
}

/// With small whole numbers every sum is exact, so every format gives the same bits.
pub fn check_whole_numbers<T: Scalar, E: Executor>(executor: &E, format: Format) {
    let mut numbers = Numbers::new(11);
    let lengths: Vec<usize> = (0..300).map(|row| row * 7 % 100).collect();
    let (offsets, columns, values) = with_rows::<T>(123, &lengths, &mut numbers).into_parts();
    let values = values.iter().map(|_| numbers.whole()).collect();
    let matrix = Csr::<T>::try_new(300, 123, offsets, columns, values).unwrap();
    let x: Vec<T> = (0..123).map(|_| numbers.whole()).collect();
    let y: Vec<T> = (0..300).map(|_| numbers.whole()).collect();
    let (alpha, beta) = (T::from_parts(-3.0, 1.0), T::from_parts(2.0, -1.0));
    let computed = multiply(executor, &matrix, format, (alpha, beta), &x, &y).unwrap().unwrap();
    for (row, &computed) in computed.iter().enumerate() {
        let sum = matrix.row(row).fold(T::ZERO, |sum, (column, value)| sum + value * x[column as usize]);
        assert_eq!(computed, alpha * sum + beta * y[row], "{format}, row {row}");
    }
}

/// The same call twice gives the same bits, where the format promises it.
pub fn check_reproducible<T: Scalar, E: Executor>(executor: &E, format: Format) {
    if !format.reproducible() {
        return;
    }
    let matrix = generated::<T>("pareto:rows=500,k=1.2,base=3");
    let x = Numbers::new(5).vector(matrix.columns());
    let y = vec![T::ZERO; matrix.rows()];
    let once = || multiply(executor, &matrix, format, (T::ONE, T::ZERO), &x, &y).unwrap();
    assert_eq!(once(), once(), "{format}");
}
