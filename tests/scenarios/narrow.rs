//! Values stored narrower than computed with: products have the same bits as with the same values stored in full.

use warp_spmv::executor::Executor;
use warp_spmv::format::{Matrix, NarrowType};
use warp_spmv::{Csr, Error, Format, Plan, PlanOptions, Scalar, ValueStorage};

use super::{Numbers, as_stored, factor, generated};

/// Returns the types in which values of `T` can be stored.
pub fn types_of<T: Scalar>() -> &'static [NarrowType] {
    use NarrowType::*;
    match T::NAME {
        "float32" => &[Same, Table, Float16, BFloat16],
        "float64" => &[Same, Table, Float16, BFloat16, Float32],
        "complex64" => &[Same, Table],
        _ => &[Same, Table, Complex64],
    }
}

/// Returns a matrix of this pattern whose values `narrow_type` holds, and no narrower type.
pub fn held_by<T: Scalar>(pattern: &Csr<T>, narrow_type: NarrowType, numbers: &mut Numbers) -> Csr<T> {
    let mut number = |count: u32, scale: f64, offset: f64| numbers.below(count as usize) as f64 * scale + offset;
    let mut value = |place: usize| match narrow_type {
        NarrowType::Same => T::from_parts(-0.75, 0.1),
        // Including zeros of either sign, which only their bits distinguish.
        NarrowType::Table => [T::from_parts(0.0, 0.3), T::from_parts(-0.0, 0.0), T::from_parts(0.1, -7.0)]
            [(place + number(3, 1.0, 0.0) as usize) % 3],
        NarrowType::Float16 => T::from_f64(number(1 << 11, 2f64.powi(-9), 0.0)),
        NarrowType::BFloat16 => T::from_f64(number(1 << 8, 2f64.powi(20 + 20 * (place % 3) as i32), 0.0)),
        NarrowType::Float32 | NarrowType::Complex64 => {
            T::from_parts(number(1 << 23, 2f64.powi(-20), 1.0), number(1 << 23, 2f64.powi(-21), 0.25))
        }
    };
    let values = (0..pattern.nnz()).map(&mut value).collect();
    let (rows, columns) = (pattern.rows(), pattern.columns());
    let (offsets, column_indices, _) = pattern.clone().into_parts();
    Csr::try_new(rows, columns, offsets, column_indices, values).unwrap()
}

/// Returns the bits of α A x + β y for two pairs of factors and different y, and the plan.
fn product<T: Scalar, E: Executor>(
    executor: &E,
    matrix: &Csr<T>,
    format: Format,
    values: ValueStorage,
) -> Result<(Vec<u64>, Plan<T, E>), Error> {
    let options = PlanOptions { values, ..PlanOptions::default() };
    let mut plan = Plan::with_options(executor, matrix.clone(), format, options)?;
    let mut numbers = Numbers::new(5);
    let x = executor.upload(numbers.vector::<T>(matrix.columns()))?;
    let mut bits = Vec::new();
    for (alpha, beta) in [(T::ONE, T::ZERO), (factor(0.75), factor(-1.5))] {
        let start = match beta == T::ZERO {
            true => vec![T::from_f64(f64::NAN); matrix.rows()],
            false => numbers.vector(matrix.rows()),
        };
        let mut y = executor.upload(start)?;
        plan.apply(alpha, &x, beta, &mut y)?;
        bits.extend(executor.download(&y)?.iter().flat_map(|number| number.parts()).map(f64::to_bits));
    }
    Ok((bits, plan))
}

/// Stores values of a pattern in every type that holds them, and returns the number of correct products.
pub fn check_narrow<T: Scalar, E: Executor>(executor: &E, name: &str, pattern: &Csr<T>, format: Format) -> usize {
    let mut numbers = Numbers::new(17);
    let can = format.resolve(pattern).multiplies_narrow();
    let mut right = 0;
    for &narrow_type in types_of::<T>() {
        let place = format!("{name}, {format}, {} as {narrow_type:?}", T::NAME);
        let matrix = held_by(pattern, narrow_type, &mut numbers);
        let full = match product(executor, &matrix, format, ValueStorage::Full) {
            Ok((bits, plan)) => {
                let bytes = plan.matrix().bytes();
                (bits, bytes)
            }
            Err(Error::Fill { .. } | Error::TooLarge { .. }) => continue,
            Err(error) => panic!("{place}: {error}"),
        };
        for values in [ValueStorage::Lossless, ValueStorage::Rounded(narrow_type)] {
            let narrow = product(executor, &matrix, format, values);
            if !can && values != ValueStorage::Lossless {
                let error = narrow.map(|_| ()).unwrap_err().to_string();
                assert!(error.ends_with("has no kernel for values stored narrower than computed with"), "{error}");
                continue;
            }
            let (bits, plan) = match narrow {
                // Without values, there is no common value.
                Err(Error::DistinctValues { .. }) if matrix.nnz() == 0 => continue,
                // Sums of duplicates need not be representable in the narrow type.
                Err(Error::Unsupported { operation: "sums of entries in a narrow type", .. }) => {
                    assert!(as_stored(&matrix, format).nnz() < matrix.nnz(), "{place}");
                    continue;
                }
                narrow => narrow.unwrap_or_else(|error| panic!("{place}, {values:?}: {error}")),
            };
            assert!(!format.reproducible() || bits == full.0, "{place}, {values:?}: other bits");
            let fewer = can && matrix.nnz() > 2000 && as_stored(&matrix, format).nnz() == matrix.nnz();
            assert!(plan.matrix().bytes() <= full.1 || matrix.nnz() < 2000, "{place}, {values:?}: more bytes");
            assert!(!fewer || plan.matrix().bytes() < full.1, "{place}, {values:?}: no fewer bytes");
            let back = Matrix::Csr(plan.into_matrix().into_csr_on(executor).unwrap());
            let Matrix::Csr(back) = back.download(executor).unwrap() else { panic!("{place}") };
            assert!(back == as_stored(&matrix, format), "{place}, {values:?}: another matrix");
            right += 1;
        }
    }
    right
}

/// Numbers in the range of every type with special rounding: halfway between two numbers of a type or just beside that,
/// the largest ones, tiny ones, and zero.
fn special_for_rounding() -> Vec<f64> {
    let between = [11, 12, 8, 9, 24, 25].map(|bits| 1.0 + 2f64.powi(-bits));
    let tiny = [14, 15, 24, 25, 26, 40, 133, 149, 150, 300].map(|exponent| 2f64.powi(-exponent));
    let near = |number: f64| [number, number * (1.0 + 2f64.powi(-40)), number * (1.0 - 2f64.powi(-40)), number * 1.5];
    let mut numbers: Vec<f64> = between.into_iter().chain(tiny).flat_map(near).collect();
    numbers.extend([65504.0, 65519.99, 0.0]);
    numbers
}

/// Rounds values that no narrow type holds: the product must be that of the rounded values.
pub fn check_rounded<T: Scalar, E: Executor>(executor: &E, format: Format) {
    // Few diagonals, and no duplicate entries.
    let (offsets, columns, values) = generated::<T>("stencil:9:40x13").into_parts();
    let mut values = Numbers::new(3).vector::<T>(values.len());
    for (place, number) in special_for_rounding().into_iter().enumerate() {
        values[2 * place] = T::from_parts(number, -number);
    }
    let pattern = &Csr::try_new(520, 520, offsets, columns, values).unwrap();
    for &narrow_type in
        types_of::<T>().iter().filter(|narrow_type| !matches!(narrow_type, NarrowType::Same | NarrowType::Table))
    {
        let values = ValueStorage::Rounded(narrow_type);
        let (bits, plan) = product(executor, pattern, format, values).unwrap();
        let place = format!("{format}, {} as {narrow_type:?}", T::NAME);
        let rounded = Matrix::Csr(plan.into_matrix().into_csr_on(executor).unwrap());
        let Matrix::Csr(rounded) = rounded.download(executor).unwrap() else { panic!("{place}") };
        assert!(rounded.values() != pattern.values(), "{place}");
        let mut on_host = pattern.clone();
        on_host.round_values(narrow_type).unwrap();
        assert!(rounded == as_stored(&on_host, format), "{place}: rounded differently than on the host");
        let (full, _) = product(executor, &rounded, format, ValueStorage::Full).unwrap();
        assert!(bits == full, "{place}: not the product of the rounded values");
    }
}
