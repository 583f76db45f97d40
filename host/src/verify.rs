//! The exact result, and whether a computed one is as close to it as rounding allows.

use std::cmp::Ordering;

pub use crate::accumulator::{Accumulator, Exact, Norm};
use crate::error::{Error, check_length};
use crate::format::{Csr, Format};
use crate::parallel;
pub use crate::real::{ExactElement, ExactSum};
use crate::real::{Real, Scalar};

/// α A x + β y in twice the working precision; with β = 0, `y` is not read. O(nnz), rows in parallel.
///
/// # Errors
/// When a vector has the wrong length, or memory runs out.
pub fn exact<T: Scalar>(matrix: &Csr<T>, alpha: T, x: &[T], beta: T, y: &[T]) -> Result<Vec<T::Exact>, Error> {
    check_length("x", x.len(), matrix.columns())?;
    check_length("y", y.len(), matrix.rows())?;
    parallel::map(y.len(), 1, &|row| {
        let mut sum = T::Sum::default();
        for (column, value) in matrix.row(row) {
            sum.add(value, x[column as usize]);
        }
        sum.combined(alpha, beta, y[row])
    })
}

/// How far a computed result is from the exact one.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// Number of elements whose error exceeds what rounding explains, or that are not finite where the exact ones are,
    /// or vice versa.
    pub wrong: usize,
    /// The largest error, as a fraction of what rounding explains in that row. Infinite if an element has the wrong
    /// class (finite, infinite, NaN).
    pub worst: f64,
    /// The row with the largest error; `None` without rows.
    pub worst_row: Option<usize>,
    /// ‖computed − exact‖₂ / ‖exact‖₂ over the finite elements.
    pub relative_error: f64,
}

impl Verification {
    /// Whether every element is correct.
    pub fn passed(&self) -> bool {
        self.wrong == 0
    }
}

/// Compares `computed` with `exact`, row by row: |ŷ − y| ≤ γ_k (|α||A||x| + |β||y|) + (n + 2)(1 + |α|) η, where
/// γ_k = k u / (1 − k u), k is the longest chain of additions of `format` for a row of n entries, plus 3 for the
/// product, α and β, u is the precision's unit roundoff and η its smallest positive number: a product that underflows
/// is off by up to η / 2, which α scales (Higham 2002, §2.1 and §3.1). Where a GPU adds atomically, η is
/// [`Real::ATOMIC_UNDERFLOW`].
///
/// Complex elements are compared part by part, each with its own bound. The real part of a sum of n complex products is a
/// real sum of 2 n products, re a · re x and − im a · im x, and the imaginary part one of re a · im x and im a · re x.
/// Adding a complex product rounds each part twice if it is fused, and α and β y, with two products each, also round it
/// twice; adding a sum of a tree rounds it once. In either part the chain is therefore at most twice as long, and
///
/// |Re ŷ − Re y| ≤ γ_2k (|Re α| R + |Im α| I + |Re β||Re y| + |Im β||Im y|) + 2 (n + 2)(1 + |Re α| + |Im α|) η,
///
/// |Im ŷ − Im y| ≤ γ_2k (|Re α| I + |Im α| R + |Re β||Im y| + |Im β||Re y|) + 2 (n + 2)(1 + |Re α| + |Im α|) η,
///
/// with R = Σ |re a||re x| + |im a||im x| and I = Σ |re a||im x| + |im a||re x|. This is stricter than a bound of |ŷ − y|,
/// which would accept a real part without a correct digit next to a large imaginary one. Infinities and NaNs follow from the
/// same four products, without the special cases of C's annex G.
///
/// # Errors
/// When the lengths differ, or memory runs out.
pub fn verify<T: Scalar>(computed: &[T], exact: &[T::Exact], format: Format) -> Result<Verification, Error> {
    verify_sums(computed, exact, Sums { format, atomic: !format.reproducible() })
}

/// Compares the result of [`Plan::apply_transposed`](crate::Plan::apply_transposed), or of the conjugate product, with the
/// exact product of the stored transpose, as [`verify`] does, but with all n entries of a column in one chain, since GPUs
/// add them in any order, and with atomic additions.
///
/// # Errors
/// When the lengths differ, or memory runs out.
pub fn verify_transposed<T: Scalar>(computed: &[T], exact: &[T::Exact]) -> Result<Verification, Error> {
    verify_sums(computed, exact, Sums { format: Format::CSR_SCALAR, atomic: true })
}

/// How sums are computed.
#[derive(Clone, Copy)]
struct Sums {
    /// The format with the same longest chain of additions.
    format: Format,
    /// Whether a GPU's atomic units add.
    atomic: bool,
}

fn verify_sums<T: Scalar>(computed: &[T], exact: &[T::Exact], sums: Sums) -> Result<Verification, Error> {
    check_length("computed", computed.len(), exact.len())?;
    let parts = parallel::map(computed.len().div_ceil(ROWS_AT_ONCE), 1, &|chunk| {
        let rows = chunk * ROWS_AT_ONCE..computed.len().min((chunk + 1) * ROWS_AT_ONCE);
        Part::of::<T>(rows.start, &computed[rows.clone()], &exact[rows], sums)
    })?;
    // In row order, so that sums are the same for any number of threads.
    let whole = parts.into_iter().reduce(Part::and).unwrap_or_default();
    let Part { wrong, worst, worst_row, errors, elements } = whole;
    Ok(Verification { wrong, worst, worst_row, relative_error: errors.over(&elements) })
}

/// Rows that one thread compares at a time.
const ROWS_AT_ONCE: usize = 4096;

/// The result of comparing some of the rows.
#[derive(Default)]
struct Part {
    wrong: usize,
    worst: f64,
    worst_row: Option<usize>,
    errors: Norm,
    elements: Norm,
}

impl Part {
    fn of<T: Scalar>(first_row: usize, computed: &[T], exact: &[T::Exact], sums: Sums) -> Self {
        let mut part = Self::default();
        for (row, (&computed, exact)) in (first_row..).zip(computed.iter().zip(exact)) {
            // Written so that a NaN counts as wrong.
            let is_right = |ratio: f64| matches!(ratio.partial_cmp(&1.0), Some(Ordering::Less | Ordering::Equal));
            let mut right = true;
            for (exact, computed) in exact.beside(computed) {
                let ratio = error_over_bound::<T::Real>(computed, &exact, sums);
                right &= is_right(ratio);
                if part.worst_row.is_none() || ratio > part.worst {
                    (part.worst, part.worst_row) = (ratio, Some(row));
                }
                if exact.value().is_finite() && computed.is_finite() {
                    part.errors.add(exact.distance(computed));
                    part.elements.add(exact.value());
                }
            }
            part.wrong += usize::from(!right);
        }
        part
    }

    /// Appends the part with the following rows.
    fn and(mut self, next: Self) -> Self {
        self.wrong += next.wrong;
        if next.worst > self.worst {
            (self.worst, self.worst_row) = (next.worst, next.worst_row);
        }
        self.errors.join(next.errors);
        self.elements.join(next.elements);
        self
    }
}

fn error_over_bound<T: Real>(computed: f64, exact: &Exact, sums: Sums) -> f64 {
    let &Exact { sum, largest, alpha, products } = exact;
    let ku = (products * (sums.format.longest_chain(sum.terms) + 3)) as f64 * T::UNIT_ROUNDOFF;
    let smallest = if sums.atomic { T::ATOMIC_UNDERFLOW } else { T::SMALLEST_SUBNORMAL };
    let underflow = (products * (sum.terms + 2)) as f64 * (1.0 + alpha) * smallest;
    let bound = ku / (1.0 - ku) * sum.magnitude + underflow;
    let agrees = |same: bool| if same { 0.0 } else { f64::INFINITY };
    // If the sum of the terms' magnitudes exceeds the largest number, one order of summation overflows and another does
    // not: both are correct, even next to an infinity.
    let may_overflow = matches!((largest + bound).partial_cmp(&T::LARGEST), Some(Ordering::Greater) | None);
    if sum.special && !sum.high.is_finite() {
        let same = computed == sum.high || (computed.is_nan() && sum.high.is_nan());
        return agrees(same || (may_overflow && !computed.is_finite()));
    }
    if !computed.is_finite() || !sum.high.is_finite() {
        return agrees(may_overflow);
    }
    exact.distance(computed) / bound
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Complex;

    fn one_row(values: &[f64], x: &[f64]) -> Vec<Exact> {
        let columns = (0..values.len() as u32).collect();
        let matrix = Csr::try_new(1, values.len(), vec![0u32, values.len() as u32], columns, values.to_vec()).unwrap();
        exact(&matrix, 1.0, x, 0.0, &[f64::NAN]).unwrap()
    }

    #[test]
    fn the_sum_survives_cancellation() {
        let exact = one_row(&[1e17, 1.0, -1e17], &[1.0, 3.0, 1.0]);
        assert_eq!(exact[0].value(), 3.0);
    }

    #[test]
    fn one_rounding_is_right_and_a_lost_term_is_wrong() {
        let exact = one_row(&[1.0, 1e-9], &[1.0, 1.0]);
        assert!(verify(&[1.0 + 1e-9], &exact, Format::CSR_SCALAR).unwrap().passed());
        let lost = verify(&[1.0], &exact, Format::CSR_SCALAR).unwrap();
        assert_eq!((lost.wrong, lost.worst_row), (1, Some(0)));
        assert!(lost.worst > 1e5 && lost.relative_error > 1e-10);
    }

    #[test]
    fn classes_must_agree() {
        for (x, right, wrong) in [
            (1.0, 2.0, f64::NAN),
            (1.0, 2.0, f64::INFINITY),
            (f64::INFINITY, f64::INFINITY, f64::NEG_INFINITY),
            (f64::INFINITY, f64::INFINITY, f64::MAX),
            (f64::INFINITY, f64::INFINITY, f64::NAN),
            (f64::NAN, f64::NAN, 0.0),
        ] {
            let exact = one_row(&[2.0], &[x]);
            assert!(verify(&[right], &exact, Format::ELL).unwrap().passed(), "{x}: {right}");
            let refused = verify(&[wrong], &exact, Format::ELL).unwrap();
            assert!(!refused.passed() && refused.worst == f64::INFINITY, "{x}: {wrong}");
        }
    }

    #[test]
    fn an_overflow_on_the_way_is_nobodys_fault() {
        let exact = one_row(&[f64::MAX, f64::MAX, -f64::MAX], &[1.0, 1.0, 1.0]);
        assert!(verify(&[f64::INFINITY], &exact, Format::COO).unwrap().passed());
        assert!(verify(&[f64::MAX], &exact, Format::COO).unwrap().passed());
    }

    #[test]
    fn an_overflow_beside_an_infinity_may_cancel_it() {
        let exact = one_row(&[f64::MAX, f64::MAX, 1.0], &[1.0, 1.0, f64::NEG_INFINITY]);
        for (computed, passes) in [(f64::NAN, true), (f64::NEG_INFINITY, true), (1.0, false)] {
            assert_eq!(verify(&[computed], &exact, Format::COO).unwrap().passed(), passes, "{computed}");
        }
    }

    #[test]
    fn only_an_atomic_addition_in_float32_may_lose_a_subnormal_number() {
        let matrix = Csr::try_new(1, 1, vec![0u32, 1], vec![0], vec![1e-30f32]).unwrap();
        let sum = exact(&matrix, 1.0, &[1e-10], 0.0, &[0.0]).unwrap();
        assert!(!verify(&[0.0f32], &sum, Format::COO).unwrap().passed());
        assert!(verify(&[0.0f32], &sum, Format::COO_ATOMIC).unwrap().passed());
        assert!(verify_transposed(&[0.0f32], &sum).unwrap().passed());
        assert!(!verify_transposed(&[1e-36f32], &sum).unwrap().passed());
        let matrix = Csr::try_new(1, 1, vec![0u32, 1], vec![0], vec![1e-300]).unwrap();
        let sum = exact(&matrix, 1.0, &[1e-15], 0.0, &[0.0]).unwrap();
        assert!(!verify_transposed(&[0.0f64], &sum).unwrap().passed());
    }

    #[test]
    fn what_underflows_before_it_is_scaled_is_nobodys_fault() {
        let matrix = Csr::try_new(1, 1, vec![0u32, 1], vec![0], vec![1.5e-200]).unwrap();
        let exact = exact(&matrix, 1e200, &[1e-122], 0.0, &[0.0]).unwrap();
        let computed = (1.5e-200 * 1e-122) * 1e200;
        assert!((computed - 1.5e-122f64).abs() > 1e-125, "the product is subnormal");
        assert!(verify(&[computed], &exact, Format::CSR_SCALAR).unwrap().passed());
        assert!(!verify(&[computed + 1e-122], &exact, Format::CSR_SCALAR).unwrap().passed());
    }

    #[test]
    fn an_overflow_before_a_small_factor_is_nobodys_fault() {
        let matrix = Csr::try_new(1, 1, vec![0u32, 1], vec![0], vec![1e30f32]).unwrap();
        let exact = exact(&matrix, 1e-30, &[1e30f32], 0.0, &[0.0]).unwrap();
        assert!(verify(&[f32::INFINITY], &exact, Format::CSR_SCALAR).unwrap().passed());
        assert!(verify(&[1e30f32], &exact, Format::CSR_SCALAR).unwrap().passed());
        assert!(!verify(&[2e30f32], &exact, Format::CSR_SCALAR).unwrap().passed());
    }

    fn number(re: f64, im: f64) -> Complex<f64> {
        Complex { re, im }
    }

    /// α times (1e-9 + i) x + i.
    fn one_complex_element(alpha: Complex<f64>, x: Complex<f64>) -> Vec<Complex<Exact>> {
        let values = vec![number(1e-9, 1.0), number(0.0, 1.0)];
        let matrix = Csr::try_new(1, 2, vec![0u32, 2], vec![0, 1], values).unwrap();
        exact(&matrix, alpha, &[x, number(1.0, 0.0)], number(0.0, 0.0), &[number(f64::NAN, f64::NAN)]).unwrap()
    }

    #[test]
    fn each_part_of_a_complex_element_has_a_bound_of_its_own() {
        let one = number(1.0, 0.0);
        for (alpha, right, wrong) in [
            (one, number(1e-9, 2.0), number(1e-9 + 1e-20, 2.0)),
            (number(0.0, 1.0), number(-2.0, 1e-9), number(-2.0, 1e-9 + 1e-20)),
            (number(0.0, -1.0), number(2.0, -1e-9), number(2.0 + 1e-14, -1e-9)),
        ] {
            let exact = one_complex_element(alpha, one);
            assert!(verify(&[right], &exact, Format::CSR_SCALAR).unwrap().passed(), "{alpha}");
            let verification = verify(&[wrong], &exact, Format::CSR_SCALAR).unwrap();
            assert_eq!((verification.wrong, verification.worst_row), (1, Some(0)), "{alpha}");
        }
        let narrow = Csr::try_new(1, 1, vec![0u32, 1], vec![0], vec![Complex { re: 3.0f32, im: 1.0 }]).unwrap();
        let (one, zero) = (Complex { re: 1.0f32, im: 0.0 }, Complex { re: 0.0, im: 0.0 });
        let exact = exact(&narrow, one, &[Complex { re: 0.1f32, im: 0.2 }], zero, &[zero]).unwrap();
        let right = Complex { re: 0.1f32, im: 0.7 };
        assert!(verify(&[right], &exact, Format::ELL).unwrap().passed());
        assert!(!verify(&[Complex { im: 0.70001, ..right }], &exact, Format::ELL).unwrap().passed());
    }

    #[test]
    fn infinities_go_through_all_four_products_of_parts() {
        let exact = one_complex_element(number(1.0, 0.0), number(f64::INFINITY, 0.0));
        let nan = number(f64::NAN, f64::NAN);
        for (computed, passes) in [(nan, true), (number(f64::INFINITY, f64::NAN), false), (number(0.0, 0.0), false)] {
            assert_eq!(verify(&[computed], &exact, Format::COO).unwrap().passed(), passes, "{computed}");
        }
    }

    #[test]
    fn lengths_are_checked() {
        assert!(verify(&[1.0, 2.0], &one_row(&[1.0], &[1.0]), Format::COO).is_err());
        let matrix = Csr::try_new(1, 1, vec![0u32, 0], vec![], vec![]).unwrap();
        assert!(exact(&matrix, 1.0, &[], 0.0, &[0.0]).is_err());
        assert!(exact(&matrix, 1.0, &[1.0], 0.0, &[]).is_err());
    }
}
