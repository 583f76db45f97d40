//! Recipes for storing the values of a matrix narrower.

use std::str::FromStr;

use cuda_std::{BFloat16, Float16, Stored};

use super::distinct::{Distinct, MOST_DISTINCT};
use super::rounding::Rounding;
use super::search::Search;
use super::values::{NarrowType, not_for};
use crate::error::Error;
use crate::executor::{Cpu, Executor};
use crate::format::Csr;
use crate::memory::Buffer;
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// How a plan stores the values of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ValueStorage {
    /// As they are computed with.
    #[default]
    Full,
    /// [`Lossless`](Self::Lossless) if a format is chosen for a GPU, narrowing pays over the number of multiplications,
    /// and all requested products support narrow values; otherwise [`Full`](Self::Full).
    Automatic,
    /// In the narrowest type that preserves the bits of all values, so that products have the same bits as with
    /// [`Full`](Self::Full); as they are computed with if no such type exists.
    Lossless,
    /// In this type, each value rounded to the nearest number.
    Rounded(NarrowType),
}

impl ValueStorage {
    /// Returns the name, as [`FromStr`] takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Automatic => "automatic",
            Self::Lossless => "lossless",
            Self::Rounded(narrow_type) => narrow_type.name(),
        }
    }
}

impl FromStr for ValueStorage {
    type Err = Error;

    /// Parses "full", "automatic", "lossless" or the [name](NarrowType::name) of a type.
    fn from_str(text: &str) -> Result<Self, Error> {
        let plain = [Self::Full, Self::Automatic, Self::Lossless];
        if let Some(storage) = plain.into_iter().find(|storage| storage.name() == text) {
            return Ok(storage);
        }
        text.parse().map(Self::Rounded).map_err(|error| match error {
            Error::Name { what, name, expected } => {
                Error::Name { what, name, expected: format!("full, automatic, lossless, {expected}") }
            }
            other => other,
        })
    }
}

/// How values are stored.
pub(crate) struct Recipe<T> {
    pub narrow_type: NarrowType,
    /// Numbers stored for all: the only one, or those of a table; empty for other types.
    pub(super) distinct: Distinct<T>,
    /// Largest relative change of a value.
    pub largest_change: f64,
    /// Whether values stay as they are if they cannot be stored this way.
    pub is_optional: bool,
    /// Number of values. A storage with fewer entries has summed some.
    pub entries: usize,
}

impl<T: Scalar> Recipe<T> {
    /// Returns the recipe for the values of a matrix in an executor's memory; `None` if they stay as they are. Takes
    /// O(entries) work, about as much as some multiplications, and usually far less to see that there are more values
    /// than a table holds.
    ///
    /// # Errors
    /// When values are beyond the range of a type, the type does not support `T`, memory runs out, or the device fails.
    pub fn new<E: Executor>(
        executor: &E,
        matrix: &Csr<T, E::Memory>,
        storage: ValueStorage,
    ) -> Result<Option<Self>, Error> {
        let values = &matrix.values;
        let entries = values.len();
        match storage {
            ValueStorage::Full => Ok(None),
            ValueStorage::Automatic | ValueStorage::Lossless => executor.run::<Search<T>>(values),
            ValueStorage::Rounded(_) if entries == 0 => Ok(None),
            ValueStorage::Rounded(narrow_type @ (NarrowType::Same | NarrowType::Table)) => {
                let most = if narrow_type == NarrowType::Same { 1 } else { MOST_DISTINCT };
                match executor.run::<Search<T>>(values)? {
                    Some(recipe) if (1..=most).contains(&recipe.distinct.numbers.len()) => {
                        Ok(Some(Self { narrow_type, is_optional: false, ..recipe }))
                    }
                    _ => Err(Error::DistinctValues { most }),
                }
            }
            ValueStorage::Rounded(narrow_type) if !T::NARROW_TYPES.contains(&narrow_type) => {
                Err(not_for::<T>(narrow_type))
            }
            ValueStorage::Rounded(narrow_type) => match executor.run::<Rounding<T>>((values, narrow_type))? {
                Some(largest_change) => {
                    let distinct = Distinct::new()?;
                    Ok(Some(Self { narrow_type, distinct, largest_change, is_optional: false, entries }))
                }
                None => Err(beyond_range(&matrix.to_host(executor)?, narrow_type)),
            },
        }
    }

    /// Returns the recipe of a type that preserves `entries` values; `distinct` are the different ones, if they are
    /// few.
    pub(super) fn exact(narrow_type: NarrowType, distinct: Distinct<T>, entries: usize) -> Self {
        Self { narrow_type, distinct, largest_change: 0.0, is_optional: true, entries }
    }

    /// Returns whether a table has no code left to mark a slot without an entry.
    pub fn has_full_table(&self) -> bool {
        self.distinct.numbers.len() == MOST_DISTINCT
    }
}

impl<T: Scalar> Csr<T> {
    /// Rounds each value to the nearest number of a type, and returns the largest relative change of a value: 0 if all
    /// are numbers of the type. A plan that [rounds](ValueStorage::Rounded) the values gives the products of this
    /// matrix.
    ///
    /// ```
    /// use host::{Csr, NarrowType};
    ///
    /// # fn main() -> Result<(), host::Error> {
    /// let mut matrix = Csr::try_from_triplets(1, 2, &[0, 0], &[0, 1], &[0.5, 0.1])?;
    /// let change = matrix.round_values(NarrowType::Float32)?;
    /// assert!(change > 0.0 && change < 1e-7);
    /// assert!(matrix.row(0).eq([(0, 0.5), (1, f64::from(0.1_f32))]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for a plan that rounds the values; they are then unchanged.
    pub fn round_values(&mut self, narrow_type: NarrowType) -> Result<f64, Error> {
        let Some(recipe) = Recipe::new(&Cpu::new(), self, ValueStorage::Rounded(narrow_type))? else { return Ok(0.0) };
        if recipe.largest_change > 0.0 {
            parallel::chunks_mut(&mut self.values, ROWS_AT_ONCE, 1, &|(_, values)| {
                for value in values {
                    let [re, im] = rounded(*value, narrow_type);
                    *value = T::from_parts(re, im);
                }
            });
        }
        Ok(recipe.largest_change)
    }
}

/// Returns the parts of a value rounded to a type and widened again.
pub(super) fn rounded<T: Scalar>(value: T, narrow_type: NarrowType) -> [f64; 2] {
    // None of these types has a table.
    fn through<V: Stored<f64>>(part: f64) -> f64 {
        V::nearest(part, |_| 0).widen(|_| 0.0)
    }
    value.parts().map(match narrow_type {
        NarrowType::Float16 => through::<Float16>,
        NarrowType::BFloat16 => through::<BFloat16>,
        _ => through::<f32>,
    })
}

/// Returns the error for finite values that become infinite when rounded to a type.
fn beyond_range<T: Scalar>(matrix: &Csr<T>, narrow_type: NarrowType) -> Error {
    let values = matrix.values();
    let beyond = |value: T| value.is_finite() && !rounded(value, narrow_type).iter().all(|part| part.is_finite());
    let count = values.iter().filter(|&&value| beyond(value)).count();
    let entry = values.iter().position(|&value| beyond(value)).unwrap_or_default();
    let value = match values[entry].parts() {
        [re, im] if T::COMPLEX => format!("{re:?}{im:+?}i"),
        [re, _] => format!("{re:?}"),
    };
    let (row, column) = (matrix.row_of(entry), matrix.column_indices()[entry]);
    Error::BeyondRange { narrow_type: narrow_type.name(), count, row, column, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(values: &[f64]) -> Csr<f64> {
        let columns: Vec<u32> = (0..values.len() as u32).collect();
        Csr::try_new(1, values.len(), vec![0_u32, values.len() as u32], columns, values.to_vec()).unwrap()
    }

    /// Returns a power of two. Under Miri, `powi` may be inexact.
    fn two_to(exponent: i32) -> f64 {
        f64::from_bits(((1023 + exponent) as u64) << 52)
    }

    fn narrow_type(values: &[f64]) -> Option<NarrowType> {
        let recipe = Recipe::new(&Cpu::new(), &matrix(values), ValueStorage::Lossless).unwrap()?;
        assert_eq!(recipe.largest_change, 0.0);
        Some(recipe.narrow_type)
    }

    #[test]
    fn the_narrowest_type_is_taken_that_loses_nothing() {
        let many = |number: fn(i32) -> f64| (0..300).map(number).collect::<Vec<_>>();
        assert_eq!(narrow_type(&[]), None);
        assert_eq!(narrow_type(&[0.1; 3]), Some(NarrowType::Same));
        // Two zeros, and numbers that no arithmetic tells apart.
        assert_eq!(narrow_type(&[0.0, -0.0]), Some(NarrowType::Table));
        assert_eq!(narrow_type(&[f64::NAN, -f64::NAN, 0.1]), Some(NarrowType::Table));
        assert_eq!(narrow_type(&many(f64::from)[..256]), Some(NarrowType::Table));
        assert_eq!(narrow_type(&many(f64::from)), Some(NarrowType::Float16));
        assert_eq!(narrow_type(&many(|n| f64::from(n) * two_to(100))), None.or(Some(NarrowType::Float32)));
        assert_eq!(narrow_type(&many(|n| f64::from(n % 128 + 128) * two_to(n / 128 * 40))), Some(NarrowType::BFloat16));
        assert_eq!(narrow_type(&many(|n| f64::from(n) + 4096.5)), Some(NarrowType::Float32));
        assert_eq!(narrow_type(&many(|n| f64::from(n) * 0.1)), None);
        // A NaN may not keep its bits.
        let mut with_nan = many(f64::from);
        with_nan[7] = f64::NAN;
        assert_eq!(narrow_type(&with_nan), None);
    }

    #[test]
    fn rounding_says_by_how_much_and_what_it_cannot_hold() {
        let recipe =
            |values: &[f64], narrow_type| Recipe::new(&Cpu::new(), &matrix(values), ValueStorage::Rounded(narrow_type));
        let change = |values: &[f64], narrow_type| recipe(values, narrow_type).unwrap().unwrap().largest_change;
        assert_eq!(change(&[1.0, two_to(-30), 0.0, f64::INFINITY], NarrowType::Float32), 0.0);
        let relative =
            |values: &[f64], narrow_type, expected: f64| (change(values, narrow_type) / expected - 1.0).abs();
        assert!(relative(&[1.0, 1.0 + two_to(-24)], NarrowType::Float32, two_to(-24)) < 1e-6);
        assert!(relative(&[1.0, 1e-300], NarrowType::Float16, 1.0) < 1e-6);
        let error = recipe(&[1.0, 7e4, -1e9], NarrowType::Float16).err().unwrap();
        assert_eq!(
            error.to_string(),
            "float16 cannot hold 2 of the values: the first is 70000.0 in row 0, column 1, beyond its range"
        );
        let error = recipe(&[1.0, 2.0], NarrowType::Same).err().unwrap();
        assert_eq!(error.to_string(), "the matrix has more than 1 different value: store them in another type");
        let error = recipe(&[1.0], NarrowType::Complex64).err().unwrap();
        assert_eq!(
            error.to_string(),
            "unknown type of stored values for this precision 'complex64': expected same, table, float16, bfloat16, float32"
        );
    }
}
