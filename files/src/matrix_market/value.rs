//! Types for the values of a file.

use num_complex::Complex;

use super::cursor::{Cursor, Problem};
use crate::header::{Field, Symmetry};
use crate::text::Text;

/// A type for the values of Matrix Market files: `f32`, `f64`, or complex numbers of either. A complex type also
/// accepts files of real numbers; a real one rejects files of complex ones.
pub trait Value: Entry {}

impl Value for f32 {}
impl Value for f64 {}
impl Value for Complex<f32> {}
impl Value for Complex<f64> {}

/// The methods of [`Value`], private to this crate.
pub trait Entry: Copy + Default + Send + Sync + 'static {
    /// The field in the banner of a file with such values.
    const FIELD: Field;
    /// Reads a value of a file.
    fn read_value(cursor: &mut Cursor<'_>, field: Field) -> Result<Self, Problem>;

    /// The corresponding value across the diagonal.
    fn twin(self, symmetry: Symmetry) -> Self;

    /// Whether it can be on the diagonal of a hermitian matrix.
    fn is_real(self) -> bool;

    /// Appends the shortest text that reads back as the same value.
    fn append_value(self, text: &mut Vec<u8>);
}

macro_rules! real_entry {
    ($type:ty) => {
        impl Entry for $type {
            const FIELD: Field = Field::Real;

            #[inline]
            fn read_value(cursor: &mut Cursor<'_>, field: Field) -> Result<Self, Problem> {
                match field {
                    Field::Integer => cursor.integer(),
                    Field::Pattern => Ok(1.0),
                    Field::Real | Field::Complex => cursor.real(),
                }
            }

            fn twin(self, symmetry: Symmetry) -> Self {
                if symmetry == Symmetry::SkewSymmetric { -self } else { self }
            }

            fn is_real(self) -> bool {
                true
            }

            fn append_value(self, text: &mut Vec<u8>) {
                Text::append_to(self, text);
            }
        }

        impl Entry for Complex<$type> {
            const FIELD: Field = Field::Complex;

            fn read_value(cursor: &mut Cursor<'_>, field: Field) -> Result<Self, Problem> {
                let re = <$type>::read_value(cursor, field)?;
                let im = if field == Field::Complex { cursor.real()? } else { 0.0 };
                Ok(Self { re, im })
            }

            fn twin(self, symmetry: Symmetry) -> Self {
                match symmetry {
                    Symmetry::SkewSymmetric => -self,
                    Symmetry::Hermitian => self.conj(),
                    Symmetry::General | Symmetry::Symmetric => self,
                }
            }

            fn is_real(self) -> bool {
                self.im == 0.0
            }

            fn append_value(self, text: &mut Vec<u8>) {
                Text::append_to(self.re, text);
                text.push(b' ');
                Text::append_to(self.im, text);
            }
        }
    };
}

real_entry!(f32);
real_entry!(f64);
