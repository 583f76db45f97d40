//! Tests of all loops, on any number of threads.

use super::*;
use crate::real::Real;

/// Rows of 0 to 33 entries, some as long as the row before, with infinity and NaN among the values.
fn matrix<T: Real>(rows: usize) -> Csr<T> {
    let columns = 97;
    let lengths = (0..rows).map(|row| if row % 8 < 4 { row * row % 34 } else { row / 8 % 11 });
    let offsets = Offsets::from_lengths(lengths.collect::<Vec<_>>().into_iter()).unwrap();
    let entries = offsets.get(rows);
    let value = |entry: usize| match entry % 1000 {
        500 => f64::INFINITY,
        750 => f64::NAN,
        _ => (entry as f64).sin() * 10f64.powi((entry % 7) as i32),
    };
    let values = (0..entries).map(|entry| T::from_f64(value(entry))).collect();
    let column_indices = (0..entries).map(|entry| (entry * entry % columns) as u32).collect();
    Csr::try_new(rows, columns, offsets, column_indices, values).unwrap()
}

fn bits<T: Real>(y: &[T]) -> Vec<u64> {
    // All NaNs count as equal.
    y.iter().map(|y| if y.to_f64().is_nan() { f64::NAN } else { y.to_f64() }.to_bits()).collect()
}

fn check_loops<T: Real, const READS_AHEAD: bool>() {
    let matrix = matrix::<T>(if cfg!(miri) { 100 } else { 700 });
    let Offsets::Narrow(offsets) = matrix.row_offsets() else { panic!("{:?}", matrix.row_offsets()) };
    let x: Vec<T> = (0..matrix.columns()).map(|column| T::from_f64((column as f64 + 0.3).cos() - 0.1)).collect();
    let (columns, values) = (matrix.column_indices(), HostValues::as_they_are(matrix.values()));
    let (alpha, beta) = (T::from_f64(1.5), T::ZERO);
    let rows = Multiplication::<T, T, READS_AHEAD> { columns, values, x: &x, alpha, beta, learnt: false };
    // The order of additions described in the module's documentation.
    let plain = (0..matrix.rows()).map(|row| {
        let products: Vec<T> = matrix.row(row).map(|(column, value)| value * x[column as usize]).collect();
        let (eights, rest) = products.as_chunks::<8>();
        let mut sums = [T::ZERO; 8];
        eights.iter().for_each(|eight| (0..8).for_each(|lane| sums[lane] = sums[lane] + eight[lane]));
        let mut four: [T; 4] = each_lane(|lane| sums[lane] + sums[lane + 4]);
        rest.iter().enumerate().for_each(|(place, &product)| four[place % 4] = four[place % 4] + product);
        alpha * ((four[0] + four[2]) + (four[1] + four[3]))
    });
    let plain: Vec<T> = plain.collect();
    assert!(plain.iter().any(|y| y.to_f64().is_infinite()) && plain.iter().any(|y| y.to_f64().is_nan()));
    let mut y = vec![T::from_f64(f64::NAN); matrix.rows()];
    type Loop<'a, T> = &'a dyn Fn(&[u32], &mut [T]);
    let loops: [(&str, Loop<'_, T>); 4] = [
        ("rows", &|offsets, y| rows.rows(offsets, y)),
        ("regular_rows", &|offsets, y| rows.regular_rows(offsets, y)),
        ("surprising_rows", &|offsets, y| rows.surprising_rows(offsets, y)),
        ("share_out", &|offsets, y| rows.share_out(offsets, y)),
    ];
    for (name, multiply) in loops {
        y.fill(T::from_f64(f64::NAN));
        multiply(offsets, &mut y);
        assert_eq!(bits(&y), bits(&plain), "{name}");
    }
}

#[test]
fn all_loops_give_the_same_bits() {
    check_loops::<f32, false>();
    check_loops::<f64, true>();
    // Each takes long under Miri.
    if !cfg!(miri) {
        check_loops::<f32, true>();
        check_loops::<f64, false>();
    }
}

#[test]
fn no_loop_leaves_a_negative_zero() {
    let offsets = Offsets::from_lengths(0..30usize).unwrap();
    let entries = offsets.get(30);
    let matrix = Csr::try_new(30, 1, offsets, vec![0; entries], vec![-0.0; entries]).unwrap();
    let Offsets::Narrow(offsets) = matrix.row_offsets() else { panic!("{:?}", matrix.row_offsets()) };
    let (columns, values) = (matrix.column_indices(), HostValues::as_they_are(matrix.values()));
    let rows = Multiplication::<f64, f64, false> { columns, values, x: &[1.0], alpha: 1.0, beta: 0.0, learnt: false };
    let mut y = [f64::NAN; 30];
    rows.rows(offsets, &mut y);
    assert_eq!(bits(&y), [0; 30]);
    rows.regular_rows(offsets, &mut y);
    assert_eq!(bits(&y), [0; 30]);
    rows.surprising_rows(offsets, &mut y);
    assert_eq!(bits(&y), [0; 30]);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let matrix = matrix::<f64>(if cfg!(miri) { 300 } else { 60_000 });
    assert!(matrix.nnz() > 4 * WORK_AT_ONCE);
    let x: Vec<f64> = (0..matrix.columns()).map(|column| (column as f64).cos()).collect();
    let product = |threads| {
        let mut y = vec![0.25; matrix.rows()];
        let operands = HostOperands { alpha: -1.5, x: &x, beta: 3.0, y: &mut y };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| multiply_on_cpu(&matrix, HostValues::as_they_are(matrix.values()), operands));
        bits(&y)
    };
    let one = product(1);
    for &threads in if cfg!(miri) { &[3][..] } else { &[2, 3, 16] } {
        assert_eq!(product(threads), one, "{threads} threads");
    }
}

#[test]
fn a_chain_is_never_longer_than_the_row() {
    assert!((0..100).all(|length| longest_chain(length) <= length));
    assert_eq!(longest_chain(1000), 130);
}
