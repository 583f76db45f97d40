//! The mark of a slot without an entry, in formats whose slots have no index of their own.
//!
//! The mark is a NaN that arithmetic never produces: all bits set. It costs no memory and keeps stored zeros apart from
//! padding. A value of the matrix that happens to equal the mark is stored as another NaN.

use cuda_std::{BFloat16, Code, Complex, Float16, GpuScalar, Same};

/// A number that can mark the absence of an entry.
///
/// # Safety
/// [`is_absent`](Self::is_absent) depends on the number's bits alone, is true for [`ABSENT`](Self::ABSENT), and is
/// never true for a result of [`present`](Self::present): conversions count entries first and write them later, and
/// slots outside the matrix hold the mark.
pub unsafe trait Absent: GpuScalar {
    /// The mark.
    const ABSENT: Self;

    /// Whether this is the mark.
    fn is_absent(self) -> bool;

    /// Whether all bits are set; among the numbers that an array holds, true of the mark alone.
    fn is_all_ones(self) -> bool;

    /// The number as stored for an entry: itself, or a plain NaN in place of the mark.
    fn present(self) -> Self;
}

/// A stored number that can mark the absence of an entry, whatever number it stands for.
pub trait Marked: Copy {
    /// The mark; [`Same`] has none.
    const MARK: Self;

    /// Whether this is the mark.
    fn is_mark(self) -> bool;

    /// Whether all bits are set; among the numbers that an array holds, true of the mark alone.
    fn is_all_ones(self) -> bool;

    /// The number as stored for an entry: itself, or a plain NaN in place of the mark. A code never stands for the
    /// mark.
    fn unmarked(self) -> Self;
}

impl<T: Absent> Marked for T {
    const MARK: Self = T::ABSENT;

    #[inline(always)]
    fn is_mark(self) -> bool {
        self.is_absent()
    }

    #[inline(always)]
    fn is_all_ones(self) -> bool {
        Absent::is_all_ones(self)
    }

    #[inline(always)]
    fn unmarked(self) -> Self {
        self.present()
    }
}

macro_rules! marked {
    ($($Type:ident: $mark:expr, $is_mark:expr, $unmarked:expr;)*) => {
        $(impl Marked for $Type {
            const MARK: Self = $mark;

            #[inline(always)]
            fn is_mark(self) -> bool {
                let is_mark: fn(Self) -> bool = $is_mark;
                is_mark(self)
            }

            #[inline(always)]
            fn is_all_ones(self) -> bool {
                self.is_mark()
            }

            #[inline(always)]
            fn unmarked(self) -> Self {
                if self.is_mark() { $unmarked } else { self }
            }
        })*
    };
}
marked! {
    Float16: Self(u16::MAX), |number| number.0 == u16::MAX, Self(0x7E00);
    BFloat16: Self(u16::MAX), |number| number.0 == u16::MAX, Self(0x7FC0);
    Code: Self(u8::MAX), |code| code.0 == u8::MAX, Self::MARK;
    // Where all are the same, none is absent.
    Same: Self, |_| false, Self;
}

// SAFETY: the mark is a single bit pattern, which `present` replaces.
unsafe impl Absent for f32 {
    const ABSENT: Self = Self::from_bits(u32::MAX);

    #[inline(always)]
    fn is_absent(self) -> bool {
        self.to_bits() == u32::MAX
    }

    #[inline(always)]
    fn is_all_ones(self) -> bool {
        self.is_absent()
    }

    #[inline(always)]
    fn present(self) -> Self {
        if self.is_absent() { Self::NAN } else { self }
    }
}

// SAFETY: `present` makes sure that no other stored number has the mark's upper half.
unsafe impl Absent for f64 {
    const ABSENT: Self = Self::from_bits(u64::MAX);

    /// Compares only the upper half, because a GPU compares 32 bits at a time.
    #[inline(always)]
    fn is_absent(self) -> bool {
        (self.to_bits() >> 32) as u32 == u32::MAX
    }

    #[inline(always)]
    fn is_all_ones(self) -> bool {
        self.to_bits() == u64::MAX
    }

    #[inline(always)]
    fn present(self) -> Self {
        if self.is_absent() { Self::NAN } else { self }
    }
}

// SAFETY: both parts of the mark are marks, and `present` leaves a mark in neither part.
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
    fn is_all_ones(self) -> bool {
        Absent::is_all_ones(self.re) && Absent::is_all_ones(self.im)
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
