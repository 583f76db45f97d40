//! Products with an epilogue: requirements on every executor.

use warp_spmv::executor::Executor;
use warp_spmv::verify::Accumulator;
use warp_spmv::{Csr, Epilogue, Error, Format, PartialSums, Plan, ProductSums, Real};

use super::{Numbers, plan};

/// β, γ, and the number of sums.
pub type Case = (f64, Option<f64>, usize);

/// With and without each part.
const CASES: &[Case] =
    &[(0.0, None, 2), (0.0, None, 1), (-1.5, Some(0.5), 2), (0.0, Some(-2.0), 0), (1.0, Some(1.0), 1), (0.5, None, 0)];

/// Compares α A x + β y + γ z, with and without each of its parts and with zero, one or two sums, with the result of
/// [`Plan::apply`](warp_spmv::Plan::apply). If the format promises it, an epilogue changes no bit of the product, and
/// kernels (`by_kernels`) add γ z without rounding it first.
/// Returns the bits of all results; `None` if the format refuses the matrix because of padding.
pub fn check_fused<T: Real, E: Executor>(
    executor: &E,
    name: &str,
    matrix: &Csr<T>,
    format: Format,
    by_kernels: bool,
) -> Option<Vec<u64>> {
    match plan(executor, matrix, format) {
        Err(Error::Fill { .. }) => None,
        plan => Some(check_plan(&mut plan.unwrap(), name, format, by_kernels, CASES)),
    }
}

/// [`check_fused`] with a plan that was requested in `format`.
pub fn check_plan<T: Real, E: Executor>(
    plan: &mut Plan<T, E>,
    name: &str,
    format: Format,
    by_kernels: bool,
    cases: &[Case],
) -> Vec<u64> {
    let executor = plan.executor().clone();
    let (rows, columns) = (plan.matrix().rows(), plan.matrix().columns());
    let mut numbers = Numbers::new(41);
    let [x, y, z, w] = [columns, rows, rows, rows].map(|length| numbers.vector::<T>(length));
    let poisoned = vec![T::from_f64(f64::NAN); rows];
    let upload = |values: &[T]| executor.upload(values.to_vec()).unwrap();
    let (on_device, of_z, of_w) = (upload(&x), upload(&z), upload(&w));
    let mut into = PartialSums::new(&executor, 0).unwrap();
    let alpha = T::from_f64(0.75);
    let mut bits = Vec::new();
    for &(beta, gamma, sums) in cases {
        let place = format!("{name}, {format}, {}, β {beta}, γ {gamma:?}, {sums} sums", T::NAME);
        let (beta, gamma) = (T::from_f64(beta), gamma.map(T::from_f64));
        let before = if beta == T::ZERO { &poisoned } else { &y };
        let mut alone = upload(before);
        plan.apply(alpha, &on_device, beta, &mut alone).unwrap();
        let alone = executor.download(&alone).unwrap();
        let mut fused = upload(before);
        let epilogue = Epilogue {
            addend: gamma.map(|gamma| (gamma, &of_z)),
            sums: (sums > 0).then_some(ProductSums { with: &of_w, squares: sums == 2, into: &mut into }),
        };
        plan.apply_fused(alpha, &on_device, beta, &mut fused, epilogue).unwrap_or_else(|e| panic!("{place}: {e}"));
        let fused = executor.download(&fused).unwrap();
        for (row, (&fused, &alone)) in fused.iter().zip(&alone).enumerate() {
            let gamma = gamma.unwrap_or(T::ZERO);
            let expected = gamma.mul_add(z[row], alone);
            let same = fused.to_f64().to_bits() == expected.to_f64().to_bits();
            // Atomic sums differ from run to run.
            let size = alone.to_f64().abs() + (gamma * z[row]).to_f64().abs() + rows as f64;
            let close = (fused - expected).to_f64().abs() <= 4.0 * T::UNIT_ROUNDOFF * size;
            let exact = format.reproducible() && by_kernels;
            assert!(if exact { same } else { close }, "{place}, row {row}: {fused}, expected {expected}");
        }
        if sums > 0 {
            let totals = into.totals(&executor).unwrap();
            assert_eq!(totals.len(), sums, "{place}");
            check_sum(&place, totals[0], &w, &fused);
            if sums == 2 {
                check_sum(&place, totals[1], &fused, &fused);
            }
            bits.extend(totals.into_iter().map(f64::to_bits));
        }
        bits.extend(fused.into_iter().map(|element| element.to_f64().to_bits()));
    }
    bits
}

/// Checks that the sum of products is right within the rounding of additions in any order.
fn check_sum<T: Real>(place: &str, sum: f64, a: &[T], b: &[T]) {
    let (mut exact, mut size) = (Accumulator::default(), 0.0);
    for (a, b) in a.iter().zip(b) {
        exact.add_product(a.to_f64(), b.to_f64());
        size += (a.to_f64() * b.to_f64()).abs();
    }
    let exact = exact.combine(1.0, 0.0, 0.0).value();
    let bound = (a.len() + 2) as f64 * f64::EPSILON * size;
    assert!((sum - exact).abs() <= bound, "{place}: sum {sum}, expected {exact}, bound {bound}");
}
