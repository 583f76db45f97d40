//! Numbers as stored in memory: as wide as kernels compute with them, or narrower.

use crate::complex::Complex;
use crate::float::GpuScalar;
use crate::global::Scalar;
use crate::plain::Plain;
use crate::{EntryName, backend};

/// A number in memory that stands for a number of `T`, with which kernels compute.
///
/// # Safety
/// No two types have the same name for one `T`, and the name follows the rules of [`EntryName`]: a kernel with these types
/// as generic parameters is launched by the entry point of this name.
pub unsafe trait Stored<T: GpuScalar>: Scalar + Default {
    /// The name of both types in the names of entry points.
    const ENTRY_NAME: &'static str;

    /// The number that it stands for; `entry` returns an entry of the table that some types need.
    fn widen(self, entry: impl FnOnce(u32) -> T) -> T;

    /// The nearest number of this type, a NaN without its payload; `place` returns the index of a number in the table
    /// that some types need.
    fn nearest(number: T, place: impl FnOnce(T) -> u32) -> Self;
}

// SAFETY: a type's own name, which no other type has.
unsafe impl<T: GpuScalar> Stored<T> for T {
    const ENTRY_NAME: &'static str = <T as EntryName>::ENTRY_NAME;

    #[inline(always)]
    fn widen(self, _: impl FnOnce(u32) -> T) -> T {
        self
    }

    #[inline(always)]
    fn nearest(number: T, _: impl FnOnce(T) -> u32) -> T {
        number
    }
}

/// A number of IEEE 754 binary16, by its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Float16(pub u16);

/// The upper half of an `f32`, by its bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct BFloat16(pub u16);

/// The index of a number in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Code(pub u8);

/// Nothing: all numbers are the first entry of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Same;

/// A number by its bits.
///
/// # Safety
/// The type has the same memory layout as its bits, with `repr(transparent)`.
pub unsafe trait OfBits: Scalar {
    /// The type of the bits.
    type Bits;

    /// The bits.
    fn bits(self) -> Self::Bits;

    /// Views bits as numbers.
    fn of_bits(bits: &[Self::Bits]) -> &[Self] {
        // SAFETY: the types have the same memory layout.
        unsafe { core::slice::from_raw_parts(bits.as_ptr().cast(), bits.len()) }
    }
}

macro_rules! of_bits {
    ($($Type:ty: $Bits:ty, $number:ident => $bits:expr;)*) => {
        $(
            // SAFETY: the type has no other field, or the types are the same.
            unsafe impl OfBits for $Type {
                type Bits = $Bits;

                fn bits(self) -> $Bits {
                    let $number = self;
                    $bits
                }
            }
        )*
    };
}
of_bits! {
    Float16: u16, number => number.0;
    BFloat16: u16, number => number.0;
    Code: u8, code => code.0;
    // Numbers that also occur in other arrays.
    f32: Self, number => number;
    Complex<f32>: Self, number => number;
}

impl Same {
    /// A slice of `count` of them, which takes no memory.
    pub fn times(count: usize) -> &'static [Self] {
        // SAFETY: any aligned address holds any number of values of a type without bits.
        unsafe { core::slice::from_raw_parts(core::ptr::NonNull::dangling().as_ptr(), count) }
    }
}

macro_rules! stored {
    (
        $($Type:ty as $T:ty: $name:literal, ($stored:ident, $entry:ident) => $widened:expr, ($number:ident, $place:ident) =>
        $nearest:expr;)*
    ) => {
        $(
            // SAFETY: the names in this list differ from each other and from those of the types themselves.
            unsafe impl Stored<$T> for $Type {
                const ENTRY_NAME: &'static str = $name;

                #[inline(always)]
                fn widen(self, $entry: impl FnOnce(u32) -> $T) -> $T {
                    let $stored = self;
                    $widened
                }

                #[inline(always)]
                fn nearest($number: $T, $place: impl FnOnce($T) -> u32) -> Self {
                    $nearest
                }
            }
        )*
    };
}
// Each name begins with that of the type that kernels compute with.
stored! {
    f32 as f64: "f64of32", (stored, _entry) => stored.into(), (number, _place) => nearest_f32(number);
    Float16 as f32: "f32of16",
        (stored, _entry) => backend::half_to_f32(stored.0),
        (number, _place) => Self::nearest_to(number.into());
    Float16 as f64: "f64of16",
        (stored, _entry) => backend::half_to_f32(stored.0).into(),
        (number, _place) => Self::nearest_to(number);
    BFloat16 as f32: "f32ofb16", (stored, _entry) => stored.widened(), (number, _place) => Self::nearest_to(number.into());
    BFloat16 as f64: "f64ofb16", (stored, _entry) => stored.widened().into(), (number, _place) => Self::nearest_to(number);
    Complex<f32> as Complex<f64>: "c64of32",
        (stored, _entry) => Complex { re: stored.re.into(), im: stored.im.into() },
        (number, _place) => Complex { re: nearest_f32(number.re), im: nearest_f32(number.im) };
    Code as f32: "f32of8", (code, entry) => entry(code.0.into()), (number, place) => Self(place(number) as u8);
    Code as f64: "f64of8", (code, entry) => entry(code.0.into()), (number, place) => Self(place(number) as u8);
    Code as Complex<f32>: "c32of8", (code, entry) => entry(code.0.into()), (number, place) => Self(place(number) as u8);
    Code as Complex<f64>: "c64of8", (code, entry) => entry(code.0.into()), (number, place) => Self(place(number) as u8);
    Same as f32: "f32of0", (_same, entry) => entry(0), (_number, _place) => Self;
    Same as f64: "f64of0", (_same, entry) => entry(0), (_number, _place) => Self;
    Same as Complex<f32>: "c32of0", (_same, entry) => entry(0), (_number, _place) => Self;
    Same as Complex<f64>: "c64of0", (_same, entry) => entry(0), (_number, _place) => Self;
}

impl Float16 {
    /// The nearest number; a NaN without its payload.
    #[inline(always)]
    pub fn nearest_to(number: f64) -> Self {
        if number.is_nan() {
            Self(upper_half(nan(number)) >> 15 << 15 | 0x7E00)
        } else {
            Self(backend::half_of_f32(to_odd(number)))
        }
    }
}

impl BFloat16 {
    /// The nearest number; a NaN without its payload.
    #[inline(always)]
    pub fn nearest_to(number: f64) -> Self {
        if number.is_nan() {
            return Self(upper_half(nan(number)));
        }
        let bits = to_odd(number).to_bits();
        // Carries over half of the last kept place, or a tie if that place is odd.
        Self(upper_half(f32::from_bits(bits + 0x7FFF + (bits >> 16 & 1))))
    }

    /// The same number.
    #[inline(always)]
    fn widened(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

/// The upper half of a number's bits.
#[inline(always)]
fn upper_half(number: f32) -> u16 {
    (number.to_bits() >> 16) as u16
}

/// The nearest number; a NaN without its payload, because platforms differ in what they make of it.
#[inline(always)]
fn nearest_f32(number: f64) -> f32 {
    if number.is_nan() { nan(number) } else { number as f32 }
}

/// The plain NaN with a number's sign.
#[inline(always)]
fn nan(number: f64) -> f32 {
    f32::from_bits((number.to_bits() >> 63 << 31) as u32 | 0x7FC0_0000)
}

/// A 32-bit number that rounds to the same 16-bit number: rounded towards zero, with the last bit set if inexact.
/// Rounding to nearest would round twice. Not for NaN.
#[inline(always)]
fn to_odd(number: f64) -> f32 {
    let nearest = number as f32;
    if f64::from(nearest) == number {
        return nearest;
    }
    let (bits, widened) = (nearest.to_bits(), f64::from(nearest).to_bits());
    // Apart from the sign, bits are ordered like the numbers.
    let beyond = widened << 1 > number.to_bits() << 1;
    f32::from_bits((bits - u32::from(beyond)) | 1)
}

macro_rules! narrow_scalar {
    ($Type:ident, $bits:ident, $one:ident, $streaming:ident, $two:ident, $four:ident, $apart:ident) => {
        // SAFETY: a number of 8 or 16 bits.
        unsafe impl Plain for $Type {}

        impl Scalar for $Type {
            #[inline(always)]
            unsafe fn read(address: *const Self) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { backend::$one(address.cast::<$bits>()) })
            }

            #[inline(always)]
            unsafe fn read_streaming(address: *const Self) -> Self {
                // SAFETY: the caller's promise.
                Self(unsafe { backend::$streaming(address.cast::<$bits>()) })
            }

            #[inline(always)]
            unsafe fn read_streaming_2(address: *const Self) -> [Self; 2] {
                // SAFETY: the caller's promise.
                unsafe { backend::$two(address.cast::<$bits>()) }.map(Self)
            }

            #[inline(always)]
            unsafe fn read_streaming_4(address: *const Self) -> [Self; 4] {
                // SAFETY: the caller's promise.
                unsafe { backend::$four(address.cast::<$bits>()) }.map(Self)
            }

            #[inline(always)]
            unsafe fn read_streaming_apart(address: *const Self, step: u64, count: u32, absent: Self) -> [Self; 4] {
                // SAFETY: the caller's promise.
                unsafe { backend::$apart(address.cast::<$bits>(), step, count, absent.0) }.map(Self)
            }
        }
    };
}
narrow_scalar!(
    Float16,
    u16,
    read_16,
    read_streaming_16,
    read_streaming_2x16,
    read_streaming_4x16,
    read_streaming_apart_16
);
narrow_scalar!(
    BFloat16,
    u16,
    read_16,
    read_streaming_16,
    read_streaming_2x16,
    read_streaming_4x16,
    read_streaming_apart_16
);
narrow_scalar!(Code, u8, read_8, read_streaming_8, read_streaming_2x8, read_streaming_4x8, read_streaming_apart_8);

// SAFETY: a number without bits.
unsafe impl Plain for Same {}

impl Scalar for Same {
    #[inline(always)]
    unsafe fn read(_: *const Self) -> Self {
        Self
    }

    #[inline(always)]
    unsafe fn read_streaming(_: *const Self) -> Self {
        Self
    }

    #[inline(always)]
    unsafe fn read_streaming_2(_: *const Self) -> [Self; 2] {
        [Self; 2]
    }

    #[inline(always)]
    unsafe fn read_streaming_4(_: *const Self) -> [Self; 4] {
        [Self; 4]
    }

    #[inline(always)]
    unsafe fn read_streaming_apart(_: *const Self, _: u64, _: u32, _: Self) -> [Self; 4] {
        [Self; 4]
    }
}
