//! Rows that several tiles of csr-tiled share.

use warp_spmv::executor::Executor;
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Format, Layout, Multivector, Plan, Scalar};

use super::{Numbers, factor, with_rows};

/// Checks rows that begin shortly before a tile, end at its first item, or span one or `many` tiles of `items`, with
/// empty rows between them. One plan multiplies repeatedly, with multivector products in between: the last block to
/// arrive must restore the counts.
pub fn check_tiles<T: Scalar, E: Executor>(executor: &E, items: usize, many: usize) {
    const COLUMNS: usize = 1000;
    let lengths = [items - 11, many * items + 5, 0, 0, 3, items - 1, 1, 3 * items + 100, items / 2, 0, 2 * items, 7];
    let mut numbers = Numbers::new(items as u64);
    let matrix = with_rows::<T>(COLUMNS, &lengths, &mut numbers);
    let mut plan = Plan::with_format(executor, matrix.clone(), Format::CSR_TILED).unwrap();
    let (alpha, beta) = (factor::<T>(0.75), T::ZERO);
    for round in 0..3 {
        let x = numbers.vector::<T>(COLUMNS);
        let expected = exact(&matrix, alpha, &x, beta, &vec![T::ZERO; lengths.len()]).unwrap();
        let x = executor.upload(x).unwrap();
        let mut y = executor.upload(vec![T::from_f64(f64::NAN); lengths.len()]).unwrap();
        plan.apply(alpha, &x, beta, &mut y).unwrap();
        let result = verify(&executor.download(&y).unwrap(), &expected, plan.format()).unwrap();
        assert!(result.passed(), "tiles of {items}, {}, round {round}: {result:?}", T::NAME);
        let shape = Multivector { vectors: 1, layout: Layout::ColumnMajor };
        plan.apply_multivector(shape, alpha, &x, beta, &mut y).unwrap();
        let result = verify(&executor.download(&y).unwrap(), &expected, plan.format()).unwrap();
        assert!(result.passed(), "tiles of {items}, {}, round {round}, several vectors: {result:?}", T::NAME);
    }
}
