//! Common parts of all storage formats: a shape, parameters, and arrays in some memory.

use super::Offsets;
use crate::memory::{Element, Memory};
use crate::real::Scalar;

/// A visitor of every array of a matrix.
#[doc(hidden)]
pub trait ArrayVisitor<'a, M: Memory> {
    /// Begins a part of the matrix, which is a matrix too; the following calls belong to it.
    fn part(&mut self, name: &'static str);

    /// Takes the parameters, if any.
    fn parameters(&mut self, numbers: Vec<u64>);

    /// Takes an array.
    fn visit<E: Element>(&mut self, name: &'static str, array: &'a M::Buffer<E>);
}

/// A source of a matrix's arrays, such as a file. The messages of its errors are sentences.
#[doc(hidden)]
pub trait ArraySource<T: Scalar> {
    /// Begins a part of the matrix, which is a matrix too; the following calls belong to it.
    fn part(&mut self, name: &'static str);

    /// Returns the parameters, exactly `COUNT` of them.
    fn parameters<const COUNT: usize>(&mut self) -> Result<[u64; COUNT], String>;

    /// Returns an array.
    fn elements<E: Element>(&mut self, name: &'static str) -> Result<Vec<E>, String>;

    /// Returns offsets of either width.
    fn offsets(&mut self, name: &'static str) -> Result<Offsets, String>;

    /// Returns the values.
    fn values(&mut self) -> Result<Vec<T>, String>;

    /// Returns the parameters as numbers of another type.
    fn sizes<N: TryFrom<u64> + Copy + Default, const COUNT: usize>(&mut self) -> Result<[N; COUNT], String> {
        let mut sizes = [N::default(); COUNT];
        for (size, number) in sizes.iter_mut().zip(self.parameters::<COUNT>()?) {
            *size = number.try_into().map_err(|_| format!("a parameter is {number}, which is too large"))?;
        }
        Ok(sizes)
    }
}

/// A parameter of a format.
pub(crate) trait Parameter {
    /// Appends it as numbers.
    fn append_to(self, numbers: &mut Vec<u64>);
}

impl Parameter for usize {
    fn append_to(self, numbers: &mut Vec<u64>) {
        numbers.push(self as u64);
    }
}

/// Declares a storage format: its parameters, its row offsets if any, and its arrays, in this order. Each gets a method
/// of its name; the code common to all arrays is written here once.
macro_rules! storage {
    (
        $(#[$attribute:meta])*
        pub struct $Format:ident {
            parameters { $($(#[$parameter_attribute:meta])* $parameter:ident: $Parameter:ty,)* }
            offsets { $($(#[$offsets_attribute:meta])* $offsets:ident,)? }
            arrays { $($(#[$array_attribute:meta])* $array:ident: $Element:ty,)* }
        }
    ) => {
        $(#[$attribute])*
        pub struct $Format<T: crate::real::Scalar, M: crate::memory::Memory = crate::memory::HostMemory> {
            pub(crate) rows: usize,
            pub(crate) columns: usize,
            pub(crate) stored: usize,
            $(pub(crate) $parameter: $Parameter,)*
            $(pub(crate) $offsets: crate::format::Offsets<M>,)?
            $(pub(crate) $array: M::Buffer<$Element>,)*
        }

        impl<T: crate::real::Scalar, M: crate::memory::Memory> $Format<T, M> {
            /// Returns the number of rows.
            pub fn rows(&self) -> usize {
                self.rows
            }

            /// Returns the number of columns.
            pub fn columns(&self) -> usize {
                self.columns
            }

            /// Returns the number of stored entries, not counting slots without one.
            pub fn nnz(&self) -> usize {
                self.stored
            }

            $($(#[$parameter_attribute])* pub fn $parameter(&self) -> $Parameter {
                self.$parameter
            })*

            $($(#[$offsets_attribute])* pub fn $offsets(&self) -> &crate::format::Offsets<M> {
                &self.$offsets
            })?

            $($(#[$array_attribute])* pub fn $array(&self) -> &M::Buffer<$Element> {
                &self.$array
            })*

            /// Returns the number of slots for entries, including padding.
            pub(crate) fn places(&self) -> usize {
                crate::memory::Buffer::len(&self.values)
            }

            /// Returns the values of all slots, if they are one array.
            pub(crate) fn values_of_places(&mut self) -> Option<&mut M::Buffer<T>> {
                Some(&mut self.values)
            }

            /// Returns the bytes of the arrays.
            pub fn bytes(&self) -> u128 {
                let mut bytes = 0;
                $(bytes += self.$offsets.bytes();)?
                $(bytes += crate::memory::Buffer::len(&self.$array) as u128 * size_of::<$Element>() as u128;)*
                bytes
            }

            /// Moves the arrays to another memory.
            pub(crate) fn transfer<N: crate::memory::Memory>(
                self,
                to: &impl crate::memory::Transfer<M, N>,
            ) -> Result<$Format<T, N>, crate::error::Error> {
                Ok($Format {
                    rows: self.rows,
                    columns: self.columns,
                    stored: self.stored,
                    $($parameter: self.$parameter,)*
                    $($offsets: self.$offsets.transfer(to)?,)?
                    $($array: to.transfer(self.$array)?,)*
                })
            }

            /// Copies the arrays to the host's memory.
            ///
            /// # Errors
            /// When the arrays belong to another executor, memory runs out, or the device fails.
            pub fn to_host<E: crate::executor::Executor<Memory = M>>(
                &self,
                executor: &E,
            ) -> Result<$Format<T>, crate::error::Error> {
                Ok($Format {
                    rows: self.rows,
                    columns: self.columns,
                    stored: self.stored,
                    $($parameter: self.$parameter,)*
                    $($offsets: self.$offsets.to_host(executor)?,)?
                    $($array: executor.download(&self.$array)?,)*
                })
            }

            /// Passes the parameters and every array to a visitor, in the order of the declaration.
            #[doc(hidden)]
            pub fn for_each_array<'a>(
                &'a self,
                visitor: &mut impl crate::format::storage::ArrayVisitor<'a, M>,
            ) {
                #[allow(unused_mut, reason = "there may be none")]
                let mut parameters = Vec::new();
                $(crate::format::storage::Parameter::append_to(self.$parameter, &mut parameters);)*
                visitor.parameters(parameters);
                $(self.$offsets.show(stringify!($offsets), visitor);)?
                $(visitor.visit(stringify!($array), &self.$array);)*
            }
        }

        impl<T: crate::real::Scalar> $Format<T> {
            /// Returns a copy.
            ///
            /// # Errors
            /// When memory runs out.
            pub fn try_clone(&self) -> Result<Self, crate::error::Error> {
                Ok(Self {
                    rows: self.rows,
                    columns: self.columns,
                    stored: self.stored,
                    $($parameter: self.$parameter,)*
                    $($offsets: self.$offsets.try_clone()?,)?
                    $($array: crate::memory::copy(&self.$array)?,)*
                })
            }
        }

        impl<T: crate::real::Scalar> Clone for $Format<T> {
            fn clone(&self) -> Self {
                Self {
                    rows: self.rows,
                    columns: self.columns,
                    stored: self.stored,
                    $($parameter: self.$parameter,)*
                    $($offsets: self.$offsets.clone(),)?
                    $($array: self.$array.clone(),)*
                }
            }
        }

        impl<T: crate::real::Scalar> PartialEq for $Format<T> {
            /// Returns whether shape, parameters and the bits of every array are the same.
            fn eq(&self, other: &Self) -> bool {
                (self.rows, self.columns, self.stored) == (other.rows, other.columns, other.stored)
                    $(&& self.$parameter == other.$parameter)*
                    $(&& self.$offsets == other.$offsets)?
                    $(&& crate::memory::same_bits(&self.$array, &other.$array))*
            }
        }
    };
}
pub(super) use storage;
