//! Values of a matrix, stored narrower than computed with.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use cuda_std::{BFloat16, Code, Complex, Float16, Global, GpuScalar, OfBits, Same, Stored};
use gpu_kernels::absent::Marked;

use crate::error::Error;
use crate::executor::Executor;
use crate::memory::{Buffer, Element, HostMemory, Memory, Transfer, copy, same_bits};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// Storage of the values of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NarrowType {
    /// All have the same bits: stored once, without any bytes per value.
    Same,
    /// At most 256 different ones: one byte each, and a table.
    Table,
    /// Real, as IEEE 754's binary16.
    Float16,
    /// Real, as the upper half of a `float32`.
    BFloat16,
    /// `float64`, as `float32`.
    Float32,
    /// `complex128`, as `complex64`.
    Complex64,
}

impl FromStr for NarrowType {
    type Err = Error;

    /// Parses a [name](Self::name).
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::ALL.iter().copied().find(|narrow_type| narrow_type.name() == text).ok_or_else(|| Error::Name {
            what: "type of stored values",
            name: text.into(),
            expected: Self::ALL.iter().map(|narrow_type| narrow_type.name()).collect::<Vec<_>>().join(", "),
        })
    }
}

impl NarrowType {
    /// All of them, narrowest first.
    pub const ALL: &'static [Self] =
        &[Self::Same, Self::Table, Self::Float16, Self::BFloat16, Self::Float32, Self::Complex64];

    /// Returns the bytes per value, without a table.
    pub fn bytes(self) -> usize {
        match self {
            Self::Same => 0,
            Self::Table => 1,
            Self::Float16 | Self::BFloat16 => 2,
            Self::Float32 => 4,
            Self::Complex64 => 8,
        }
    }

    /// Returns the type in which values are stored if slots without an entry may need a mark: a mark is a code.
    pub(crate) fn with_marks(self, marks_absence: bool) -> Self {
        if self == Self::Same && marks_absence { Self::Table } else { self }
    }

    /// Returns the name, such as "float16".
    pub fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Table => "table",
            Self::Float16 => "float16",
            Self::BFloat16 => "bfloat16",
            Self::Float32 => f32::NAME,
            Self::Complex64 => Complex::<f32>::NAME,
        }
    }
}

/// Values of all slots of a storage, in its order.
pub(crate) enum NarrowValues<T: Scalar, M: Memory> {
    /// Number of slots, and the value: an array of one.
    Same(usize, M::Buffer<T>),
    /// Index into the table for each slot, and the table.
    Table(M::Buffer<u8>, M::Buffer<T>),
    Float16(M::Buffer<u16>),
    BFloat16(M::Buffer<u16>),
    Float32(M::Buffer<f32>),
    Complex64(M::Buffer<Complex<f32>>),
}

/// Evaluates an expression with each array of the values mapped by a function.
macro_rules! map_arrays {
    ($values:expr, $places:ident => $count:expr, $array:ident => $mapped:expr) => {
        match $values {
            NarrowValues::Same($places, $array) => NarrowValues::Same($count, $mapped),
            NarrowValues::Table(codes, table) => NarrowValues::Table(
                {
                    let $array = codes;
                    $mapped
                },
                {
                    let $array = table;
                    $mapped
                },
            ),
            NarrowValues::Float16($array) => NarrowValues::Float16($mapped),
            NarrowValues::BFloat16($array) => NarrowValues::BFloat16($mapped),
            NarrowValues::Float32($array) => NarrowValues::Float32($mapped),
            NarrowValues::Complex64($array) => NarrowValues::Complex64($mapped),
        }
    };
}

impl<T: Scalar, M: Memory> NarrowValues<T, M> {
    /// Returns how they are stored.
    pub fn narrow_type(&self) -> NarrowType {
        match self {
            Self::Same(..) => NarrowType::Same,
            Self::Table(..) => NarrowType::Table,
            Self::Float16(_) => NarrowType::Float16,
            Self::BFloat16(_) => NarrowType::BFloat16,
            Self::Float32(_) => NarrowType::Float32,
            Self::Complex64(_) => NarrowType::Complex64,
        }
    }

    /// Returns the number of slots.
    pub fn places(&self) -> usize {
        match self {
            Self::Same(places, _) => *places,
            Self::Table(codes, _) => codes.len(),
            Self::Float16(bits) | Self::BFloat16(bits) => bits.len(),
            Self::Float32(values) => values.len(),
            Self::Complex64(values) => values.len(),
        }
    }

    /// Returns the bytes of the arrays.
    pub fn bytes(&self) -> u128 {
        fn bytes_of<E: Element>(array: &impl Buffer<E>) -> u128 {
            array.len() as u128 * size_of::<E>() as u128
        }
        match self {
            Self::Same(_, value) => bytes_of(value),
            Self::Table(codes, table) => bytes_of(codes) + bytes_of(table),
            Self::Float16(bits) | Self::BFloat16(bits) => bytes_of(bits),
            Self::Float32(values) => bytes_of(values),
            Self::Complex64(values) => bytes_of(values),
        }
    }

    /// Moves the arrays to another memory.
    pub fn transfer<N: Memory>(self, to: &impl Transfer<M, N>) -> Result<NarrowValues<T, N>, Error> {
        Ok(map_arrays!(self, places => places, array => to.transfer(array)?))
    }

    /// Copies the arrays to the host's memory.
    pub fn to_host<E: Executor<Memory = M>>(&self, executor: &E) -> Result<NarrowValues<T, HostMemory>, Error> {
        Ok(map_arrays!(self, places => *places, array => executor.download(array)?))
    }
}

impl<T: Scalar> NarrowValues<T, HostMemory> {
    /// Returns a copy.
    pub fn try_clone(&self) -> Result<Self, Error> {
        Ok(map_arrays!(self, places => *places, array => copy(array)?))
    }
}

impl<T: Scalar> Clone for NarrowValues<T, HostMemory> {
    fn clone(&self) -> Self {
        map_arrays!(self, places => *places, array => array.clone())
    }
}

impl<T: Scalar> PartialEq for NarrowValues<T, HostMemory> {
    /// Returns whether the bits are the same.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Same(places, value), Self::Same(others, other)) => places == others && same_bits(value, other),
            (Self::Table(codes, table), Self::Table(others, other)) => codes == others && same_bits(table, other),
            (Self::Float16(left), Self::Float16(right)) | (Self::BFloat16(left), Self::BFloat16(right)) => {
                left == right
            }
            (Self::Float32(left), Self::Float32(right)) => same_bits(left, right),
            (Self::Complex64(left), Self::Complex64(right)) => same_bits(left, right),
            _ => false,
        }
    }
}

/// The values of a matrix as kernels take them: the stored ones, and the table for codes.
pub(crate) struct Values<V, T> {
    pub stored: Global<V>,
    pub table: Global<T>,
}

impl<T: Scalar> Values<T, T> {
    /// Wraps values stored as they are computed with.
    pub fn as_they_are(values: Global<T>) -> Self {
        Self { stored: values, table: Global::from_slice(&[]) }
    }
}

impl<V, T> Clone for Values<V, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V, T> Copy for Values<V, T> {}

/// [`Values`] in the host's memory.
pub(crate) struct HostValues<'a, V, T> {
    pub stored: &'a [V],
    pub table: &'a [T],
}

impl<V, T> Clone for HostValues<'_, V, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V, T> Copy for HostValues<'_, V, T> {}

impl<'a, T: Scalar> HostValues<'a, T, T> {
    /// Wraps values stored as they are computed with.
    pub fn as_they_are(values: &'a [T]) -> Self {
        Self { stored: values, table: &[] }
    }
}

impl<V: StoredAs<T>, T: Scalar> HostValues<'_, V, T> {
    /// Returns the value of a slot.
    #[inline(always)]
    pub fn at(&self, place: usize) -> T {
        self.widen(self.stored[place])
    }

    /// Returns all values; marks, if any, become those of `T`.
    ///
    /// # Errors
    /// When memory runs out.
    pub fn widened(&self, marks_absence: bool) -> Result<Vec<T>, Error> {
        parallel::map(self.stored.len(), ROWS_AT_ONCE, &|place| {
            if marks_absence && self.stored[place].is_mark() { T::ABSENT } else { self.at(place) }
        })
    }

    /// Widens a stored value.
    #[inline(always)]
    pub fn widen(&self, stored: V) -> T {
        stored.widen(|code| self.table[code as usize])
    }
}

/// A type in which values are stored, for products with numbers of `T`.
pub(crate) trait StoredAs<T: GpuScalar>: Stored<T> + Marked + Send + Sync {}

impl<V: Stored<T> + Marked + Send + Sync, T: GpuScalar> StoredAs<T> for V {}

/// A visitor of values stored in any type.
pub(crate) trait ValuesVisitor<T: Scalar> {
    /// The result.
    type Output;

    /// Visits the values.
    fn visit<V: StoredAs<T>>(self, values: Values<V, T>) -> Result<Self::Output, Error>;
}

/// A visitor of values in the host's memory.
pub(crate) trait HostValuesVisitor<T: Scalar> {
    /// The result.
    type Output;

    /// Visits the values.
    fn visit<V: StoredAs<T>>(self, values: HostValues<'_, V, T>) -> Result<Self::Output, Error>;
}

/// An encoder that stores values in any type.
pub(crate) trait Storing<T: Scalar> {
    /// Memory of the stored values.
    type Memory: Memory;

    /// Stores the values; codes are indices into the table.
    fn store<V: StoredAs<T> + OfBits<Bits: Element>>(
        self,
        table: &<Self::Memory as Memory>::Buffer<T>,
    ) -> Result<<Self::Memory as Memory>::Buffer<V::Bits>, Error>;
}

/// A number type whose values can be stored narrower.
#[doc(hidden)]
#[expect(private_bounds, private_interfaces, reason = "nobody else implements or calls it")]
pub trait Narrowed: Sized {
    /// Passes values to a visitor.
    fn visit<M: Memory, F: ValuesVisitor<Self>>(values: &NarrowValues<Self, M>, visitor: F) -> Result<F::Output, Error>
    where
        Self: Scalar;

    /// Passes values in the host's memory to a visitor.
    fn visit_on_host<F: HostValuesVisitor<Self>>(
        values: &NarrowValues<Self, HostMemory>,
        visitor: F,
    ) -> Result<F::Output, Error>
    where
        Self: Scalar;

    /// Stores the values of `places` slots in a type: the table holds the one value of [`NarrowType::Same`], and is
    /// empty for types without a table.
    fn store_values<S: Storing<Self>>(
        narrow_type: NarrowType,
        places: usize,
        table: <S::Memory as Memory>::Buffer<Self>,
        storing: S,
    ) -> Result<NarrowValues<Self, S::Memory>, Error>
    where
        Self: Scalar;

    /// The types besides [`NarrowType::Same`] and [`NarrowType::Table`], narrowest first.
    const NARROW_TYPES: &'static [NarrowType];
}

macro_rules! narrowed {
    ($($T:ty: [$($Name:ident $Type:ty),*];)*) => {
        $(
            #[expect(private_bounds, private_interfaces, reason = "as for the trait")]
            impl Narrowed for $T {
                fn visit<M: Memory, F: ValuesVisitor<Self>>(
                    values: &NarrowValues<Self, M>,
                    visitor: F,
                ) -> Result<F::Output, Error> {
                    #[allow(unused_variables, reason = "some types have a table always")]
                    let nothing = Global::<Self>::from_slice(&[]);
                    match values {
                        NarrowValues::Same(places, value) => {
                            let stored = Global::from_slice(Same::times(*places));
                            visitor.visit(Values { stored, table: value.global() })
                        }
                        NarrowValues::Table(codes, table) => {
                            let stored = codes.global().as_numbers::<Code>();
                            visitor.visit(Values { stored, table: table.global() })
                        }
                        $(NarrowValues::$Name(values) => {
                            visitor.visit(Values { stored: values.global().as_numbers::<$Type>(), table: nothing })
                        })*
                        other => Err(not_for::<Self>(other.narrow_type())),
                    }
                }

                fn visit_on_host<F: HostValuesVisitor<Self>>(
                    values: &NarrowValues<Self, HostMemory>,
                    visitor: F,
                ) -> Result<F::Output, Error> {
                    match values {
                        NarrowValues::Same(places, value) => {
                            visitor.visit(HostValues { stored: Same::times(*places), table: value })
                        }
                        NarrowValues::Table(codes, table) => {
                            visitor.visit(HostValues { stored: Code::of_bits(codes), table })
                        }
                        $(NarrowValues::$Name(values) => {
                            visitor.visit(HostValues { stored: <$Type>::of_bits(values), table: &[] })
                        })*
                        other => Err(not_for::<Self>(other.narrow_type())),
                    }
                }

                fn store_values<S: Storing<Self>>(
                    narrow_type: NarrowType,
                    places: usize,
                    table: <S::Memory as Memory>::Buffer<Self>,
                    storing: S,
                ) -> Result<NarrowValues<Self, S::Memory>, Error> {
                    Ok(match narrow_type {
                        NarrowType::Same => NarrowValues::Same(places, table),
                        NarrowType::Table => NarrowValues::Table(storing.store::<Code>(&table)?, table),
                        $(NarrowType::$Name => NarrowValues::$Name(storing.store::<$Type>(&table)?),)*
                        other => return Err(not_for::<Self>(other)),
                    })
                }

                const NARROW_TYPES: &'static [NarrowType] = &[$(NarrowType::$Name),*];
            }
        )*
    };
}
narrowed! {
    f32: [Float16 Float16, BFloat16 BFloat16];
    f64: [Float16 Float16, BFloat16 BFloat16, Float32 f32];
    Complex<f32>: [];
    Complex<f64>: [Complex64 Complex<f32>];
}

/// Returns the error for a type that does not support values of `T`.
pub(super) fn not_for<T: Scalar>(narrow_type: NarrowType) -> Error {
    let types = [NarrowType::Same, NarrowType::Table].iter().chain(T::NARROW_TYPES);
    Error::Name {
        what: "type of stored values for this precision",
        name: narrow_type.name().into(),
        expected: types.map(|narrow_type| narrow_type.name()).collect::<Vec<_>>().join(", "),
    }
}
