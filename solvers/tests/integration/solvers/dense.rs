//! Dense vectors on every executor that needs no GPU.

use proptest::prelude::*;
use warp_spmv::device::Tuning;
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::solver::dense::{Columns, Dot, FIRST_SLOT, Multicolumn, ONE, PartMut, Scaled, Space};
use warp_spmv::{HostMemory, Real};

use super::scenarios::Numbers;
use super::scenarios::dense::{
    check_columns, check_lengths, check_passes, check_programs, check_ranks_in_memory, check_stop, check_sum,
};

fn check_all<T: Real, E: Executor>(executor: &E) {
    check_passes::<T, E>(executor);
    check_columns::<T, E>(executor);
    check_stop::<T, E>(executor);
    check_lengths::<T, E>(executor);
    check_programs(executor);
    check_ranks_in_memory(executor);
}

#[test]
fn the_reference_is_right_with_dense_vectors() {
    check_all::<f32, _>(&Reference::new());
    check_all::<f64, _>(&Reference::new());
}

#[test]
fn the_cpu_is_right_with_dense_vectors() {
    check_all::<f32, _>(&Cpu::new());
    check_all::<f64, _>(&Cpu::new());
}

#[test]
fn the_emulator_is_right_with_dense_vectors_in_float32() {
    check_all::<f32, _>(&Emulated::new(1));
}

#[test]
fn the_emulator_is_right_with_dense_vectors_in_float64() {
    check_all::<f64, _>(&Emulated::new(2));
}

#[test]
fn the_emulator_is_right_with_dense_vectors_on_other_grids() {
    for (multiprocessors, threads, threads_per_block) in [(1, 32, 32), (3, 96, 32), (40, 256, 128)] {
        let tuning = Tuning::new(threads_per_block, 1).unwrap();
        check_all::<f64, _>(&Emulated::with_size(5, multiprocessors, threads, tuning).unwrap());
    }
}

/// x · y, and the products of two blocks.
fn sums<E: Executor>(executor: &E, x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut space = Space::new(executor, FIRST_SLOT + 7, 6).unwrap();
    let nothing = space.program(&[]).unwrap();
    let block = |array: &[f64], columns: usize| {
        let rows = array.len() / columns;
        Multicolumn::from_array(executor.upload(array[..rows * columns].to_vec()).unwrap(), rows, columns).unwrap()
    };
    let (x, y) = (block(x, 1), block(y, 1));
    space.pass(Dot, [], [x.array(), y.array()], []).unwrap();
    space.finish(FIRST_SLOT, &nothing).unwrap();
    let columns = |block_of: &Multicolumn<f64, E::Memory>, columns: usize| {
        let rows = x.rows() / 6;
        block(&executor.download(block_of.array()).unwrap()[..rows * columns], columns)
    };
    space.gram(columns(&x, 3).all(), columns(&y, 2).all()).unwrap();
    space.finish(FIRST_SLOT + 1, &nothing).unwrap();
    space.scalars().unwrap().split_off(FIRST_SLOT as usize)
}

#[test]
fn sums_do_not_depend_on_the_number_of_threads() {
    let mut numbers = Numbers::new(3);
    let (x, y) = (numbers.vector(60_000), numbers.vector(60_000));
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sums(&Cpu::new(), &x, &y))
    };
    let one = with_threads(1);
    assert!((2..6).all(|threads| with_threads(threads) == one));
}

#[test]
fn sums_do_not_depend_on_the_schedule() {
    let mut numbers = Numbers::new(4);
    let (x, y) = (numbers.vector(3000), numbers.vector(3000));
    let one = sums(&Emulated::new(0), &x, &y);
    assert!((1..6).all(|seed| sums(&Emulated::new(seed), &x, &y) == one));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_dot_product_is_right_on_any_grid(
        length in 0usize..700,
        seed in 0u64..100,
        multiprocessors in 1u32..6,
        warps in 1u32..9,
        warps_per_block in 1u32..5,
    ) {
        let tuning = Tuning::new(32 * warps_per_block, 1).unwrap();
        let executor = Emulated::with_size(seed, multiprocessors, 32 * warps, tuning).unwrap();
        let mut numbers = Numbers::new(seed);
        let (x, y) = (numbers.vector::<f64>(length), numbers.vector::<f64>(length));
        let computed = sums(&executor, &x, &y);
        check_sum(computed[0], x.iter().copied().zip(y.iter().copied()), "x · y");
        let rows = length / 6;
        for (i, j) in [(0, 0), (2, 0), (1, 1), (2, 1)] {
            let (x, y) = (&x[i * rows..][..rows], &y[j * rows..][..rows]);
            check_sum(computed[1 + i + 3 * j], x.iter().copied().zip(y.iter().copied()), "XᵀY");
        }
    }
}

/// Closures that write to an array may replace it, where arrays are host vectors: that is an error, and nothing is written
/// out of bounds.
fn check_replaced_array<E: Executor<Memory = HostMemory>>(executor: &E) {
    for length in [0, 1, 99, 101] {
        let mut block = Multicolumn::<f64, HostMemory>::from_array(vec![1.0; 100], 50, 2).unwrap();
        let written = block.write(|array: &mut Vec<f64>| {
            *array = vec![1.0; length];
            Ok(())
        });
        let message = format!("the block of vectors has length {length}, expected 100");
        assert_eq!(written.unwrap_err().to_string(), message);
        assert_eq!((block.rows(), block.columns()), (0, 0));
        let mut space = Space::new(executor, FIRST_SLOT + 4, 4).unwrap();
        let ones = vec![1.0; 50];
        let error = space.combine(1.0, Columns::of(&ones), FIRST_SLOT, 0.0, block.range_mut(1..2)).unwrap_err();
        assert_eq!(error.to_string(), "a column of Y has length 0, expected 50");
        let error = space.gram(Columns::of(&ones), block.all()).unwrap_err();
        assert_eq!(error.to_string(), "a column of Y has length 0, expected 50");
    }
    let mut block = Multicolumn::<f64, HostMemory>::from_array(vec![1.0; 100], 50, 2).unwrap();
    let filled = block.write(|array: &mut Vec<f64>| {
        array.fill(2.0);
        Ok(())
    });
    filled.unwrap();
    assert_eq!((block.columns(), block.array()), (2, &vec![2.0; 100]));
}

#[test]
fn a_replaced_array_is_an_error() {
    check_replaced_array(&Cpu::new());
    check_replaced_array(&Reference::new());
    check_replaced_array(&Emulated::new(0));
}

/// A closure that writes to an array may replace it and then panic.
#[test]
fn a_replaced_array_has_no_columns_after_a_panic() {
    let mut block = Multicolumn::<f64, HostMemory>::from_array(vec![1.0; 100], 50, 2).unwrap();
    let written = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        block.write(|array: &mut Vec<f64>| {
            *array = vec![1.0; 10];
            panic!("as meant")
        })
    }));
    assert!(written.is_err());
    assert_eq!((block.rows(), block.columns()), (0, 0));
}

/// Blocks without columns, which can have any number of rows, and ranges of missing columns.
fn check_no_columns<E: Executor>(executor: &E) {
    let none = || Multicolumn::<f64, E::Memory>::zeros(executor, usize::MAX, 0).unwrap();
    let (x, mut y) = (none(), none());
    let mut space = Space::new(executor, FIRST_SLOT, 4).unwrap();
    let nothing = space.program(&[]).unwrap();
    space.gram(x.all(), y.all()).unwrap();
    space.finish(FIRST_SLOT, &nothing).unwrap();
    space.combine(1.0, x.all(), FIRST_SLOT, 0.0, y.all_mut()).unwrap();

    let block = Multicolumn::<f64, E::Memory>::zeros(executor, 3, 2).unwrap();
    for column in [2, 3, usize::MAX - 1, usize::MAX] {
        let mut empty = executor.zeros::<f64>(0).unwrap();
        space.pass_over_parts(Scaled, [ONE], [block.column(column)], [PartMut::whole(&mut empty)]).unwrap();
    }
    let error = Multicolumn::<f64, E::Memory>::zeros(executor, usize::MAX, 2).err().unwrap().to_string();
    assert!(error.starts_with("out of memory: "), "{error}");
}

#[test]
fn nothing_is_done_without_columns() {
    check_no_columns(&Cpu::new());
    check_no_columns(&Reference::new());
    check_no_columns(&Emulated::new(0));
}
