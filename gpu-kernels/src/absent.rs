//! The mark of a place that holds no entry, in formats whose places have no index of their own.
//!
//! The mark is a NaN that arithmetic does not give: all bits set. It costs no memory and keeps stored zeros apart
//! from padding. A value of the matrix that happens to look like it is stored as another NaN.

use cuda_std::{Complex, GpuScalar};

/// A number that can mark the absence of an entry.
///
/// # Safety
/// [`is_absent`](Self::is_absent) depends on the number's bits alone, is true for [`ABSENT`](Self::ABSENT), and never true
/// for what [`present`](Self::present) gives: conversions count entries once and write them later, and places outside
/// the matrix hold the mark.
pub unsafe trait Absent: GpuScalar {
    /// The mark.
    const ABSENT: Self;

    /// Whether this is the mark.
    fn is_absent(self) -> bool;

    /// The number as an entry is stored: itself, or a plain NaN in place of the mark.
    fn present(self) -> Self;
}

// SAFETY: the mark is one pattern of bits, and `present` gives another one for it.
unsafe impl Absent for f32 {
    const ABSENT: Self = Self::from_bits(u32::MAX);

    #[inline(always)]
    fn is_absent(self) -> bool {
        self.to_bits() == u32::MAX
    }

    #[inline(always)]
    fn present(self) -> Self {
        if self.is_absent() { Self::NAN } else { self }
    }
}

// SAFETY: the mark has an upper half that no other number is stored with, by `present`.
unsafe impl Absent for f64 {
    const ABSENT: Self = Self::from_bits(u64::MAX);

    /// Looks at the upper half alone: a GPU compares 32 bits at a time.
    #[inline(always)]
    fn is_absent(self) -> bool {
        (self.to_bits() >> 32) as u32 == u32::MAX
    }

    #[inline(always)]
    fn present(self) -> Self {
        if self.is_absent() { Self::NAN } else { self }
    }
}

// SAFETY: the mark has two marks as parts, and `present` leaves none in either.
unsafe impl<P: Absent> Absent for Complex<P>
where
    Complex<P>: GpuScalar,
{
    const ABSENT: Self = Self { re: P::ABSENT, im: P::ABSENT };

    #[inline(always)]
    fn is_absent(self) -> bool {
        self.re.is_absent() && self.im.is_absent()
    }

    #[inline(always)]
    fn present(self) -> Self {
        Self { re: self.re.present(), im: self.im.present() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Absent>(infinity: T) {
        assert!(T::ABSENT.is_absent());
        let plain = T::ABSENT.present();
        let again = plain;
        assert!(!plain.is_absent() && plain != again);
        for number in [T::ZERO, -T::ZERO, T::ONE, -T::ONE, infinity, -infinity, T::ZERO * infinity] {
            assert!(!number.is_absent() && !number.present().is_absent());
        }
        assert!(T::ONE.present() == T::ONE);
    }

    #[test]
    fn nothing_but_the_mark_is_absent() {
        check(f32::INFINITY);
        check(f64::INFINITY);
        check(Complex { re: 1f32, im: f32::INFINITY });
        check(Complex { re: 1f64, im: f64::INFINITY });
    }

    #[test]
    fn a_nan_that_looks_like_the_mark_is_stored_as_another() {
        let look_alike = f64::from_bits(u64::MAX << 32 | 5);
        assert!(look_alike.is_absent());
        assert!(look_alike.present().is_nan() && !look_alike.present().is_absent());
    }
}
