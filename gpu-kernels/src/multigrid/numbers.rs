//! Expressions shared by kernels and the host, so that both get the same bits.

use cuda_std::{GpuScalar, square_root};

/// One over a number with parts of 64 bits; for 0, not a finite number.
#[inline(always)]
pub fn inverse_of<W: GpuScalar>(number: W) -> W {
    let [re, im] = number.wide_parts();
    if !W::HAS_IMAGINARY_PART {
        return W::from_wide_parts([1.0 / re, 0.0]);
    }
    // Divided by the larger part, so that squares neither overflow nor vanish.
    let largest = re.abs().max(im.abs());
    let (re, im) = (re / largest, im / largest);
    let square = re * re + im * im;
    W::from_wide_parts([re / square / largest, -im / square / largest])
}

/// |z| without overflow in squares; NaN if a part is NaN. GPUs and the host have functions for it, but different ones.
#[inline(always)]
pub fn magnitude_of<W: GpuScalar>(number: W) -> f64 {
    let [re, im] = number.wide_parts().map(f64::abs);
    if !W::HAS_IMAGINARY_PART {
        return re;
    }
    let (large, small) = if re < im { (im, re) } else { (re, im) };
    if large == 0.0 || large == f64::INFINITY {
        return large + small;
    }
    let ratio = small / large;
    large * square_root(1.0 + ratio * ratio)
}

/// Whether all parts are finite.
#[inline(always)]
pub fn is_finite<W: GpuScalar>(number: W) -> bool {
    let [re, im] = number.wide_parts();
    re.is_finite() && im.is_finite()
}

/// The bits of the smallest 32-bit number that is not below `number`, which is not negative; those of a NaN for a NaN.
/// The bits are ordered like the numbers, and those of a NaN come last.
#[inline(always)]
pub fn bits_rounded_up(number: f64) -> u32 {
    let nearest = number as f32;
    // The next larger number has the next larger bits.
    nearest.to_bits() + u32::from(f64::from(nearest) < number)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use cuda_std::Complex;

    use super::*;

    #[test]
    fn magnitudes_are_those_of_the_standard_library() {
        let (largest, smallest) = (f64::MAX / 2.0, f64::from_bits(1));
        let parts = [0.0, -0.0, 1.0, -3.0, 4.0, 1e-300, 1e300, largest, smallest, f64::INFINITY, f64::NEG_INFINITY];
        for re in parts {
            assert_eq!(magnitude_of(re), re.abs());
            for im in parts {
                let (found, expected) = (magnitude_of(Complex::new(re, im)), re.hypot(im));
                let close = (found - expected).abs() <= 4.0 * f64::EPSILON * expected;
                assert!(found == expected || close, "{re} and {im}: {found}, not {expected}");
            }
            assert!(magnitude_of(Complex::new(re, f64::NAN)).is_nan());
            assert!(magnitude_of(Complex::new(f64::NAN, re)).is_nan());
        }
    }

    #[test]
    fn numbers_are_rounded_up() {
        let exact = [0.0, 1.0, 1.5, f64::INFINITY, f64::from(f32::MAX)];
        exact.into_iter().for_each(|number| assert_eq!(f64::from(f32::from_bits(bits_rounded_up(number))), number));
        let next = |number: f32| f32::from_bits(number.to_bits() + 1);
        for (number, expected) in [
            (1.0 + 1e-12, next(1.0)),
            (f64::from(next(1.0)) - 1e-12, next(1.0)),
            (1e-300, f32::from_bits(1)),
            (f64::from(f32::MAX) * (1.0 + 1e-12), f32::INFINITY),
            (1e300, f32::INFINITY),
        ] {
            assert_eq!(f32::from_bits(bits_rounded_up(number)), expected, "{number}");
        }
        for nan in [f64::NAN, -f64::NAN] {
            assert!(f32::from_bits(bits_rounded_up(nan)).is_nan());
            assert!(bits_rounded_up(nan) > f32::INFINITY.to_bits());
        }
    }
}
