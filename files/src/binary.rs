//! Arrays as bytes in a file.
#![forbid(unsafe_code)]

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytemuck::Zeroable;

use crate::number::{COMPLEX_VALUES, Number};
use crate::text::Text;
use host::error::Error;
use host::format::Offsets;
pub(super) use host::memory::ElementType;
use host::memory::{Element, zeros};
use host::{Real, parallel};

/// Elements that a thread handles at a time.
const CHUNK: usize = 1 << 16;

/// An array in a file: whole elements of one type.
pub(super) struct Array<'a> {
    pub(super) name: &'a str,
    pub(super) element: ElementType,
    pub(super) big_endian: bool,
    pub(super) bytes: &'a [u8],
    /// The index in the file of the first of these elements.
    pub(super) first: usize,
}

/// A number in a file.
trait Scalar: Copy + Display {
    const WIDTH: usize;

    /// Decodes the number at the beginning of a slice of at least `WIDTH` bytes.
    fn read(bytes: &[u8], big_endian: bool) -> Self;
}

macro_rules! scalars {
    ($($scalar:ty)*) => {$(
        impl Scalar for $scalar {
            const WIDTH: usize = size_of::<Self>();

            fn read(bytes: &[u8], big_endian: bool) -> Self {
                let mut own = [0; Self::WIDTH];
                own.copy_from_slice(&bytes[..Self::WIDTH]);
                if big_endian { Self::from_be_bytes(own) } else { Self::from_le_bytes(own) }
            }
        }
    )*};
}

scalars!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

/// A complex number.
#[derive(Clone, Copy)]
struct Pair<P>(P, P);

impl<P: Display> Display for Pair<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.0, self.1)
    }
}

impl<P: Scalar> Scalar for Pair<P> {
    const WIDTH: usize = 2 * P::WIDTH;

    fn read(bytes: &[u8], big_endian: bool) -> Self {
        Self(P::read(bytes, big_endian), P::read(&bytes[P::WIDTH..], big_endian))
    }
}

impl<'a> Array<'a> {
    /// A range of the elements, which must exist.
    pub(super) fn part(&self, elements: Range<usize>) -> Array<'a> {
        let width = self.element.width();
        let bytes = &self.bytes[elements.start * width..elements.end * width];
        Array { bytes, first: self.first + elements.start, ..*self }
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.element.width()
    }

    /// The elements, which must be of this type: bit by bit, in parallel.
    pub(super) fn exact<E: Element>(&self) -> Result<Vec<E>, String> {
        if self.element != E::TYPE {
            let (found, expected) = (self.element.name(), E::TYPE.name());
            return Err(format!("'{}' is of type {found}, expected {expected}", self.name));
        }
        let mut elements = zeros::<E>(self.len()).map_err(|error| error.to_string())?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut elements);
        let (width, part) = (E::TYPE.width(), E::TYPE.part_width());
        parallel::chunks_mut(bytes, CHUNK * width, 1, &|(chunk, to)| {
            to.copy_from_slice(&self.bytes[chunk * CHUNK * width..][..to.len()]);
            if self.big_endian != cfg!(target_endian = "big") {
                to.chunks_exact_mut(part).for_each(<[u8]>::reverse);
            }
        });
        Ok(elements)
    }

    /// The elements as indices.
    pub(super) fn indices(&self) -> Result<Vec<u32>, String> {
        const EXPECTED: &str = "an index from 0 to 4294967295";
        match self.element {
            ElementType::Uint32 => self.decode(EXPECTED, |index: u32| Some(index)),
            ElementType::Int32 => self.decode(EXPECTED, |index: i32| index.try_into().ok()),
            ElementType::Uint64 => self.decode(EXPECTED, |index: u64| index.try_into().ok()),
            ElementType::Int64 => self.decode(EXPECTED, |index: i64| index.try_into().ok()),
            _ => Err(self.wrong_type()),
        }
    }

    /// The elements as offsets.
    pub(super) fn offsets(&self) -> Result<Offsets, String> {
        const EXPECTED: &str = "an offset from 0 on";
        let offsets: Result<Offsets, Error> = match self.element {
            ElementType::Uint32 => self.decode(EXPECTED, |offset: u32| Some(offset))?.try_into(),
            ElementType::Int32 => self.decode(EXPECTED, |offset: i32| u32::try_from(offset).ok())?.try_into(),
            ElementType::Uint64 => self.decode(EXPECTED, |offset: u64| Some(offset))?.try_into(),
            ElementType::Int64 => self.decode(EXPECTED, |offset: i64| u64::try_from(offset).ok())?.try_into(),
            _ => return Err(self.wrong_type()),
        };
        offsets.map_err(|error| error.to_string())
    }

    /// The elements as offsets, in 64 bits.
    pub(super) fn wide_offsets(&self) -> Result<Vec<u64>, String> {
        match self.element {
            ElementType::Uint32 => self.decode("an offset", |offset: u32| Some(offset.into())),
            _ => self.exact(),
        }
    }

    /// The elements as values, each rounded once to the nearest.
    pub(super) fn values<T: Number>(&self) -> Result<Vec<T>, String> {
        let expected = format!("a number in the range of {}", T::NAME);
        let expected = &*expected;
        match self.element {
            element if element == T::TYPE => self.exact(),
            ElementType::Float32 => self.decode(expected, |value: f32| rounded(value.into())),
            ElementType::Float64 => self.decode(expected, rounded),
            ElementType::Int8 => self.decode(expected, |value: i8| rounded(value.into())),
            ElementType::Int16 => self.decode(expected, |value: i16| rounded(value.into())),
            ElementType::Int32 => self.decode(expected, |value: i32| rounded(value.into())),
            ElementType::Int64 => self.decode(expected, |value: i64| rounded_integer(value)),
            ElementType::Uint8 => self.decode(expected, |value: u8| rounded(value.into())),
            ElementType::Uint16 => self.decode(expected, |value: u16| rounded(value.into())),
            ElementType::Uint32 => self.decode(expected, |value: u32| rounded(value.into())),
            ElementType::Uint64 => self.decode(expected, |value: u64| rounded_integer(value)),
            ElementType::Complex64 | ElementType::Complex128 if !T::COMPLEX => Err(COMPLEX_VALUES.into()),
            ElementType::Complex64 => {
                self.decode(expected, |Pair(re, im): Pair<f32>| rounded_parts([re.into(), im.into()]))
            }
            ElementType::Complex128 => self.decode(expected, |Pair(re, im): Pair<f64>| rounded_parts([re, im])),
        }
    }

    fn wrong_type(&self) -> String {
        format!("'{}' is of type {}, expected integers of 32 or 64 bits", self.name, self.element.name())
    }

    /// Converts the elements, in parallel.
    fn decode<S: Scalar, D: Zeroable + Send>(
        &self,
        expected: &str,
        convert: impl Fn(S) -> Option<D> + Sync,
    ) -> Result<Vec<D>, String> {
        let mut decoded = zeros::<D>(self.bytes.len() / S::WIDTH).map_err(|error| error.to_string())?;
        let first_wrong = AtomicUsize::new(usize::MAX);
        parallel::chunks_mut(&mut decoded, CHUNK, 1, &|(chunk, to)| {
            let first = chunk * CHUNK;
            let from = &self.bytes[first * S::WIDTH..];
            for (place, to) in to.iter_mut().enumerate() {
                match convert(S::read(&from[place * S::WIDTH..], self.big_endian)) {
                    Some(element) => *to = element,
                    None => {
                        first_wrong.fetch_min(first + place, Ordering::Relaxed);
                        return;
                    }
                }
            }
        });
        let index = first_wrong.into_inner();
        if index == usize::MAX {
            return Ok(decoded);
        }
        let element = S::read(&self.bytes[index * S::WIDTH..], self.big_endian);
        Err(format!("{}[{}] is {element}, expected {expected}", self.name, self.first + index))
    }
}

/// The nearest number of a type; `None` if a finite one is too large for it.
pub(super) fn rounded<T: Number>(value: f64) -> Option<T> {
    rounded_parts([value, 0.0])
}

/// The same for a complex number.
pub(super) fn rounded_parts<T: Number>(parts: [f64; 2]) -> Option<T> {
    let nearest = T::from_parts(parts[0], parts[1]);
    let fits = |(part, nearest): (f64, f64)| part.is_infinite() || !nearest.is_infinite();
    parts.into_iter().zip(nearest.parts()).all(fits).then_some(nearest)
}

/// The nearest number of a type to an integer, which may not be exact in `f64`.
fn rounded_integer<T: Number>(value: impl itoa::Integer) -> Option<T> {
    // Through text, so that it is rounded once.
    let (nearest, _) = T::Real::parse_prefix(itoa::Buffer::new().format(value).as_bytes())?;
    Some(T::from_f64(nearest.to_f64()))
}

/// Elements in memory, with parts of `width` bytes each, in little-endian order.
pub(super) fn little_endian(elements: &[u8], width: usize) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(elements)
    } else {
        Cow::Owned(elements.chunks(width).flat_map(|element| element.iter().rev()).copied().collect())
    }
}
