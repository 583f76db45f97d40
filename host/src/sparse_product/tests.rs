use proptest::prelude::*;

use super::{SparseProduct, by_kernels, listed, multiply, workspace};
use crate::Complex;
use crate::device::Tuning;
use crate::error::Error;
use crate::executor::{Cpu, Emulated, Executor, HostExecutor};
use crate::format::{Csr, Offsets};
use crate::memory::HostMemory;
use crate::real::Scalar;

/// The product by definition: entries in the order of their products, with sorted columns.
pub(super) fn naive<T: Scalar>(left: &Csr<T>, right: &Csr<T>) -> Csr<T> {
    let (mut offsets, mut columns, mut values) = (vec![0_u64], Vec::new(), Vec::new());
    for row in 0..left.rows() {
        let mut sums = std::collections::BTreeMap::<u32, T>::new();
        for (inner, factor) in left.row(row) {
            for (column, value) in right.row(inner as usize) {
                let product = factor * value;
                sums.entry(column).and_modify(|sum| *sum = *sum + product).or_insert(product);
            }
        }
        columns.extend(sums.keys());
        values.extend(sums.values());
        offsets.push(columns.len() as u64);
    }
    Csr::try_new(left.rows(), right.columns(), Offsets::try_from(offsets).unwrap(), columns, values).unwrap()
}

/// A matrix with rows of these lengths, unsorted, with duplicate columns if there are few.
pub(super) fn mixed<T: Scalar>(lengths: &[usize], columns: usize, seed: u32) -> Csr<T> {
    let mut state = seed.wrapping_mul(2_654_435_769) | 1;
    let mut next = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    };
    let mut offsets = vec![0_u32];
    let (mut column_indices, mut values) = (Vec::new(), Vec::new());
    for &length in lengths {
        for _ in 0..if columns == 0 { 0 } else { length } {
            column_indices.push(next() % columns as u32);
            let [re, im] = [next(), next()].map(|number| f64::from(number) / f64::from(1 << 23) - 1.0);
            values.push(T::from_parts(re, im));
        }
        offsets.push(column_indices.len() as u32);
    }
    Csr::try_new(lengths.len(), columns, offsets, column_indices, values).unwrap()
}

/// The same with 64-bit offsets.
pub(super) fn wide<T: Scalar>(matrix: &Csr<T>) -> Csr<T> {
    let offsets = (0..=matrix.rows()).map(|row| matrix.row_offsets().get(row) as u64).collect();
    Csr { row_offsets: Offsets::Wide(offsets), ..matrix.clone() }
}

/// Pairs of matrices with difficult products.
pub(super) fn hard_pairs<T: Scalar>() -> Vec<(Csr<T>, Csr<T>)> {
    let around_warps = [31, 32, 33, 0, 1, 63, 64, 65, 2, 0];
    let mut pairs = vec![
        (mixed(&[], 0, 1), mixed(&[], 0, 2)),
        (mixed(&[], 5, 1), mixed(&[1, 0, 2, 3, 4], 7, 2)),
        (mixed(&[0, 0, 0], 0, 1), mixed(&[], 4, 2)),
        (mixed(&[2, 0, 1], 3, 1), mixed(&[0, 0, 0], 0, 2)),
        (mixed(&[2, 0, 1], 3, 1), mixed(&[0, 0, 0], 9, 2)),
        (mixed(&around_warps, 10, 3), mixed(&around_warps, 200, 4)),
        (mixed(&around_warps, 10, 5), mixed(&around_warps, 3, 6)),
        // One dense row and one dense column.
        (mixed(&[0, 90, 1, 0], 40, 7), mixed(&[3; 40], 1000, 8)),
        (mixed(&[1; 70], 1, 9), mixed(&[150], 100, 10)),
        (mixed(&[3; 50], 60, 11), mixed(&[1; 60], 1, 12)),
    ];
    // Many products in few columns: with a duplicate column in a row of the right matrix, and without.
    let (left, mut right) = (mixed(&[400, 3, 0, 70], 30, 15), mixed(&[6; 30], 9, 16));
    pairs.push((left.clone(), right.clone()));
    right.sort_and_sum().unwrap();
    pairs.push((left, right));
    // Sorted, without duplicate columns.
    let lengths: Vec<usize> = (0..40).map(|row| row * 7 % 12).collect();
    let (mut left, mut right) = (mixed(&lengths, 40, 13), mixed(&lengths, 40, 14));
    left.sort_and_sum().unwrap();
    right.sort_and_sum().unwrap();
    pairs.push((left, right));
    pairs
}

fn check_on_cpu<T: Scalar>(left: &Csr<T>, right: &Csr<T>) {
    let expected = naive(left, right);
    let product = multiply(left, right).unwrap();
    assert!(product == expected, "{left:?}\n{right:?}\n{product:?}\n{expected:?}");
    assert_eq!(product.row_offsets().width(), 4);
    assert!(multiply(&wide(left), &wide(right)).unwrap() == expected);
    check_kept(&Cpu::new(), left, right);
}

/// A new product, and new values for it.
fn check_kept<T: Scalar, E: Executor<Memory = HostMemory>>(executor: &E, left: &Csr<T>, right: &Csr<T>) {
    let expected = naive(left, right);
    let mut kept = SparseProduct::new(executor, left, right).unwrap();
    assert!(*kept.matrix() == expected, "{left:?}\n{right:?}\n{:?}\n{expected:?}", kept.matrix());
    let (mut new_left, mut new_right) = (left.clone(), right.clone());
    for values in [new_left.values_mut(), new_right.values_mut()] {
        let new = |value: T, number: i32| value * T::from_f64(f64::from(number)) - T::ONE;
        values.iter_mut().zip(1..).for_each(|(value, number)| *value = new(*value, number));
    }
    assert!(*kept.compute(executor, &new_left, &new_right).unwrap() == naive(&new_left, &new_right));
    assert!(kept.compute(executor, left, right).is_ok() && kept.into_matrix() == expected);
}

/// New products with no room, little and enough for rows that are computed before their lengths are known, and with few
/// and many rows whose products are listed.
fn check_limits<T: Scalar>(emulator: &Emulated, left: &Csr<T>, right: &Csr<T>) {
    let expected = naive(left, right);
    let of_most = [0, 2_000, 20_000, u64::MAX].map(|most_temporary| (most_temporary, None));
    for (most_temporary, first_listed) in
        of_most.into_iter().chain([(200_000, Some(12)), (u64::MAX, Some(12)), (u64::MAX, Some(18))])
    {
        let limits = workspace::Limits { most_temporary, first_listed };
        let product = by_kernels::multiply(emulator, left, right, limits).unwrap();
        assert!(product == expected, "{limits:?}: {left:?}\n{right:?}\n{product:?}\n{expected:?}");
    }
}

/// Emulated GPUs of several sizes, some with so little shared memory that few or no rows have a hash table there.
fn emulators(seed: u64) -> Vec<Emulated> {
    let of = |multiprocessors, threads, threads_per_block, waves| {
        let tuning = Tuning::new(threads_per_block, waves).unwrap();
        Emulated::with_size(seed, multiprocessors, threads, tuning).unwrap()
    };
    vec![
        of(1, 32, 32, 1),
        of(2, 128, 64, 1),
        of(3, 64, 96, 2),
        of(1, 32, 32, 1).with_shared_bytes(1500),
        of(2, 256, 128, 3).with_shared_bytes(9000),
        of(2, 128, 64, 1).with_shared_bytes(500),
    ]
}

#[test]
#[cfg_attr(miri, ignore = "takes it half an hour, and does what small products do")]
fn hard_shapes_have_the_bits_of_the_definition() {
    fn check_all<T: Scalar>() {
        hard_pairs::<T>().iter().for_each(|(left, right)| check_on_cpu(left, right));
    }
    check_all::<f32>();
    check_all::<f64>();
    check_all::<Complex<f32>>();
    check_all::<Complex<f64>>();
}

#[test]
fn entries_that_cancel_stay() {
    let left = Csr::<f64>::try_new(1, 2, vec![0_u32, 2], vec![0, 1], vec![1.0, -1.0]).unwrap();
    let right = Csr::try_new(2, 2, vec![0_u32, 1, 3], vec![1, 1, 0], vec![5.0, 5.0, -0.0]).unwrap();
    let product = multiply(&left, &right).unwrap();
    let expected = Csr::try_new(1, 2, vec![0_u32, 2], vec![0, 1], vec![0.0, 0.0]).unwrap();
    assert_eq!(product, expected);
    // The first product starts the sum, so -0 is preserved.
    let right = Csr::try_new(2, 2, vec![0_u32, 1, 1], vec![0], vec![-0.0]).unwrap();
    let product = multiply(&left, &right).unwrap();
    assert_eq!(product.values()[0].to_bits(), (-0.0_f64).to_bits());
    for_all_executors(|executor| {
        let mut kept = SparseProduct::new(executor, &left, &right).unwrap();
        assert_eq!(kept.matrix().values()[0].to_bits(), (-0.0_f64).to_bits());
        assert_eq!(kept.compute(executor, &left, &right).unwrap().values()[0].to_bits(), (-0.0_f64).to_bits());
    });
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let rows = if cfg!(miri) { 60 } else { 1000 };
    let lengths: Vec<usize> = (0..rows).map(|row| if row == 77 { 400 } else { row * 5 % 9 }).collect();
    let (left, right) = (mixed::<f32>(&lengths, rows, 1), mixed::<f32>(&lengths, 300, 2));
    let expected = naive(&left, &right);
    for &threads in if cfg!(miri) { &[2][..] } else { &[1, 2, 7] } {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert!(pool.install(|| multiply(&left, &right)).unwrap() == expected, "{threads} threads");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let left = mixed::<f64>(&[2, 2], 3, 1);
    let right = mixed::<f64>(&[1, 1, 1], 4, 2);
    let error = multiply(&right, &right).unwrap_err().to_string();
    assert_eq!(error, "each column of the right matrix has length 3, expected 4");
    let mut kept = SparseProduct::new(&Cpu::new(), &left, &right).unwrap();
    let refused = [
        (mixed(&[2, 2], 4, 1), mixed(&[1, 1, 1, 1], 4, 2)),
        (mixed(&[2, 2, 0], 3, 1), right.clone()),
        (left.clone(), mixed(&[1, 1, 1], 5, 2)),
        (mixed(&[2, 3], 3, 1), right.clone()),
        (left.clone(), mixed(&[1, 1, 2], 4, 2)),
    ];
    for (left, right) in refused {
        assert!(matches!(kept.compute(&Cpu::new(), &left, &right), Err(Error::Length { .. })));
    }
    // The same number of entries, in other columns.
    let [mut left, mut right] = [left, right];
    left.column_indices.fill(0);
    let before = right.clone();
    right.column_indices.iter_mut().for_each(|column| *column = (*column + 1) % 4);
    for_all_executors(|executor| {
        let mut kept = SparseProduct::new(executor, &left, &before).unwrap();
        let error = kept.compute(executor, &left, &right).unwrap_err().to_string();
        assert!(error.contains("kept pattern"), "{error}");
        assert!(*kept.compute(executor, &left, &before).unwrap() == naive(&left, &before));
    });
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no lanes")]
fn kernels_give_new_values_to_products_of_the_cpu() {
    for (left, right) in hard_pairs::<f64>() {
        let mut kept = SparseProduct::new(&Cpu::new(), &left, &right).unwrap();
        assert!(*kept.compute(&Emulated::new(5), &left, &right).unwrap() == naive(&left, &right));
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no lanes")]
fn the_workspace_depends_on_shapes_alone() {
    let (left, empty) = (mixed::<f64>(&[40, 3, 9], 30, 1), mixed::<f64>(&[0; 3], 30, 1));
    let wide_right = |columns| Csr::<f64>::try_new(30, columns, vec![0_u32; 31], vec![], vec![]).unwrap();
    let emulator = Emulated::new(1);
    let list = listed::bytes_of_list::<f64>() + listed::most_bytes_of_rows::<f64>();
    let bytes = |left, columns| SparseProduct::workspace_bytes(&emulator, left, &wide_right(columns)) - list;
    assert_eq!(bytes(&left, 100), bytes(&empty, 100));
    assert!(bytes(&left, 100) < bytes(&left, 100_000));
    // A block has bits for all columns, however many there are.
    let all_columns = (1 << 31) - 1;
    assert!((256 << 20..(512 << 20) + 50_000).contains(&bytes(&left, all_columns)), "{}", bytes(&left, all_columns));
    // Short rows have room for 224 columns and values each, as far as it goes.
    let of_rows = |rows| workspace::workspace_bytes::<f64>(emulator.device(), rows, 30, 100) - list;
    assert!((224 * 12 * 1000..224 * 12 * 1000 + 200_000).contains(&of_rows(1000)), "{}", of_rows(1000));
    let most = workspace::MOST_TEMPORARY_BYTES;
    assert!((most..most + 60 * 100_000_000).contains(&of_rows(100_000_000)), "{}", of_rows(100_000_000));
    let on_cpu = SparseProduct::workspace_bytes(&Cpu::new(), &left, &wide_right(1000));
    assert!(on_cpu >= 8125 && on_cpu == SparseProduct::workspace_bytes(&Cpu::new(), &empty, &wide_right(1000)));
}

fn for_all_executors(check: impl Fn(&HostExecutor)) {
    check(&Cpu::new().into());
    // Miri does not support lanes.
    if !cfg!(miri) {
        check(&Emulated::new(1).into());
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no lanes")]
fn kernels_give_the_bits_of_the_definition() {
    fn check_all<T: Scalar>(seed: u64) {
        for (left, right) in hard_pairs::<T>() {
            for emulator in emulators(seed) {
                check_kept(&emulator, &left, &right);
            }
            check_kept(&emulators(seed)[1], &wide(&left), &right);
            check_kept(&emulators(seed)[3], &left, &wide(&right));
            check_limits(&emulators(seed)[2], &left, &right);
            check_limits(&emulators(seed)[4], &left, &wide(&right));
        }
    }
    (0..3).for_each(check_all::<f32>);
    (3..6).for_each(check_all::<f64>);
    check_all::<Complex<f32>>(6);
    check_all::<Complex<f64>>(7);
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no lanes")]
fn rows_of_every_class_have_the_bits_of_the_definition() {
    // Around three quarters of 32, 64 and more slots, and around the limit of what a block shares.
    let lengths = [1, 23, 24, 25, 47, 48, 49, 96, 97, 192, 193, 384, 385, 768, 769, 1600];
    let mut right = mixed::<f32>(&lengths, 1_000_000, 21);
    right.sort_and_sum().unwrap();
    let left = mixed(&[1, 1, 2, 0, 3, 1, 1, 2, 1, 1, 1, 4, 1, 1, 1, 1, 2, 1], lengths.len(), 22);
    let everywhere: Vec<u32> = (0..lengths.len() as u32).collect();
    let diagonal = Csr::try_from_triplets(lengths.len(), lengths.len(), &everywhere, &everywhere, &[1.0; 16]).unwrap();
    for emulator in emulators(8) {
        check_kept(&emulator, &left, &right);
        check_kept(&emulator, &diagonal, &right);
    }
    check_limits(&emulators(8)[1], &diagonal, &right);
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no lanes")]
fn few_lanes_sort_rows_of_every_class() {
    // Four or eight lanes with up to four columns each, with up to eight, and with more.
    let lengths = [1, 2, 7, 8, 9, 14, 15, 16, 17, 28, 29, 32, 33, 56, 57, 64, 65, 112, 113, 0, 200];
    for (repeats, columns) in [(false, 5000), (true, 5000), (true, 30)] {
        let mut right = mixed::<f64>(&[2; 300], columns, 23);
        if !repeats {
            right.sort_and_sum().unwrap();
        }
        let left = mixed(&lengths, 300, 24);
        for emulator in emulators(9) {
            check_kept(&emulator, &left, &right);
            check_limits(&emulator, &left, &right);
        }
    }
}

/// Which of some kinds of rows the one at this place of a class is: 0 for most, from 1 on for three of a hundred, none of
/// which is in a sample of every second, third or tenth row.
fn kind_of_row(place: usize) -> usize {
    [53, 55, 59].iter().position(|&rare| place % 100 == rare).map_or(0, |rare| rare + 1)
}

/// Two factors of a product with two classes of rows, `per_class` each, of which the first or the second number of products
/// is given, [most](kind_of_row) in the first of some numbers of different columns.
fn pair_with_rare_rows<T: Scalar>(per_class: u32, classes: [(usize, [usize; 4]); 2]) -> (Csr<T>, Csr<T>) {
    let columns_of = |different: usize, products: usize| (0..products).map(move |entry| (entry % different * 7) as u32);
    let rows = classes.map(|(products, different)| different.map(|different| columns_of(different, products)));
    let columns: Vec<u32> = rows.into_iter().flatten().flatten().collect();
    let values = mixed::<T>(&[columns.len()], 1, 30).values().to_vec();
    let [first, second] = classes.map(|(products, _)| products as u32);
    let offsets: Vec<u32> = (0..=8).map(|row| first * row.min(4) + second * (row.max(4) - 4)).collect();
    let right = Csr::try_new(8, 10_000, offsets, columns, values).unwrap();
    let left_column = |row: u32| kind_of_row((row % per_class) as usize) as u32 + row / per_class * 4;
    let left_columns = (0..2 * per_class).map(left_column).collect();
    let factors = mixed::<T>(&[2 * per_class as usize], 1, 31).values().to_vec();
    let left_offsets: Vec<u32> = (0..=2 * per_class).collect();
    (Csr::try_new(2 * per_class as usize, 8, left_offsets, left_columns, factors).unwrap(), right)
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no lanes")]
fn rows_longer_than_those_that_were_counted_have_the_bits_of_the_definition() {
    fn check_all<T: Scalar>() {
        // In tables of lanes, some rows just fit, or do not.
        let by_lanes = [4, 14, 15, 40];
        let (left, right) = pair_with_rare_rows::<T>(600, [(40, by_lanes), (300, by_lanes)]);
        for emulator in [&emulators(13)[1], &emulators(13)[4]] {
            check_kept(emulator, &left, &right);
            check_kept(emulator, &wide(&left), &right);
            check_limits(emulator, &left, &right);
            let launched = emulator.take_launched();
            let by_lanes = launched.iter().filter(|(entry, _)| entry.starts_with("product_lane_rows"));
            assert!(by_lanes.map(|(_, launches)| launches).sum::<u64>() >= 2 * 2, "{launched:?}");
        }
        // The same in tables of teams: three quarters of 128 and 256 slots, one more, and more than slots.
        let classes = [(230, [60, 96, 97, 140]), (1000, [110, 192, 193, 400])];
        let (left, right) = pair_with_rare_rows::<T>(150, classes);
        for emulator in [&emulators(15)[1], &emulators(15)[4]] {
            check_kept(emulator, &left, &right);
            check_kept(emulator, &wide(&left), &right);
            check_limits(emulator, &left, &right);
        }
        // Several teams in a warp, for rows of B are short: 240 products in 60 columns, but for a few rows in up to 220.
        for (length, repeats) in [(4, false), (8, false), (4, true)] {
            let per_row = 240 / length;
            let column = |place: usize, columns: usize| {
                let step = if repeats { place % length / 2 } else { place % length };
                ((place / length * length + step) % columns) as u32
            };
            let columns: Vec<u32> = [60, 96, 100, 220]
                .into_iter()
                .flat_map(|columns| (0..240).map(move |place| (place, columns)))
                .map(|(place, columns)| column(place, columns))
                .collect();
            let values = mixed::<T>(&[columns.len()], 1, 34).values().to_vec();
            let offsets: Vec<u32> = (0..=4 * per_row).map(|row| (row * length) as u32).collect();
            let right = Csr::try_new(4 * per_row, 300, offsets, columns, values).unwrap();
            let left_columns =
                (0..70).flat_map(|row| (0..per_row).map(move |entry| (kind_of_row(row) * per_row + entry) as u32));
            let left_offsets: Vec<u32> = (0..=70).map(|row| (row * per_row) as u32).collect();
            let factors = mixed::<T>(&[70 * per_row], 1, 35).values().to_vec();
            let left = Csr::try_new(70, 4 * per_row, left_offsets, left_columns.collect(), factors).unwrap();
            check_kept(&emulators(16)[1], &left, &right);
            check_kept(&emulators(16)[4], &left, &right);
        }
    }
    check_all::<f64>();
    check_all::<Complex<f32>>();
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no lanes")]
fn lanes_have_tables_of_every_size() {
    // Rows of as many columns: up to seven eighths of 16, 32 and 64 slots, and one more.
    for columns in [1, 8, 9, 14, 15, 16, 17, 28, 29, 47, 48, 49, 56, 57] {
        let everywhere: Vec<u32> = (0..columns).collect();
        let ones = vec![1.5; columns as usize];
        let right = Csr::try_new(1, columns as usize, vec![0, columns], everywhere, ones).unwrap();
        for repeated in [1, 2, 3] {
            let left = mixed(&[repeated; 150], 1, 33);
            for emulator in [&emulators(14)[1], &emulators(14)[4]] {
                check_kept(emulator, &left, &right);
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no lanes")]
fn rows_of_very_many_products_have_the_bits_of_the_definition() {
    // From 1,792 products on; sums of few and of thousands of products; one column, few and very many.
    let lengths = [300, 0, 1, 299, 40, 1000, 2, 301, 298];
    for (columns, length) in [(1, 6), (9, 6), (1000, 6), (1_000_000, 7)] {
        let mut right = mixed::<f64>(&[length; 50], columns, 25);
        for sorted in [false, true] {
            if sorted {
                right.sort_and_sum().unwrap();
            }
            let left = mixed(&lengths, 50, 26);
            for emulator in emulators(10) {
                check_kept(&emulator, &left, &right);
            }
            check_kept(&emulators(11)[1], &wide(&left), &right);
            check_limits(&emulators(12)[2], &left, &right);
        }
    }
    let product = |left: &Csr<f64>, right: &Csr<f64>| SparseProduct::new(&Emulated::new(1), left, right).unwrap();
    let (left, right) = (mixed(&lengths, 50, 27), mixed(&[6; 50], 1000, 28));
    let mut kept = product(&left, &right);
    // As many entries: a column moved, and rows that become empty and long.
    let mut moved = right.clone();
    moved.column_indices[77] ^= 1;
    let mut swapped = lengths;
    swapped.reverse();
    for (left, right) in [(left.clone(), moved), (mixed(&swapped, 50, 27), right.clone())] {
        let error = kept.compute(&Emulated::new(2), &left, &right).unwrap_err().to_string();
        assert!(error.contains("kept pattern"), "{error}");
    }
    assert!(*kept.compute(&Emulated::new(3), &left, &right).unwrap() == naive(&left, &right));
}

fn any_pair() -> impl Strategy<Value = (Csr<f64>, Csr<f64>)> {
    let lengths = |rows| prop::collection::vec(0..12_usize, rows);
    (0..20_usize, 0..20_usize, 0..40_usize, any::<u32>()).prop_flat_map(move |(rows, inner, columns, seed)| {
        (lengths(rows), lengths(inner))
            .prop_map(move |(left, right)| (mixed(&left, inner, seed), mixed(&right, columns, !seed)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 256 }, ..ProptestConfig::default() })]

    #[test]
    fn any_product_has_the_bits_of_the_definition((left, right) in any_pair(), seed in 0..1000_u64) {
        check_on_cpu(&left, &right);
        // Miri does not support lanes.
        if !cfg!(miri) {
            check_kept(&emulators(seed)[seed as usize % 6], &left, &right);
        }
    }
}
