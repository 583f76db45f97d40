//! Conversion of values to a narrower type and back.

use std::marker::PhantomData;

use cuda_std::OfBits;

use super::by_kernels::{EncodeByKernels, WidenByKernels};
use super::distinct::MOST_DISTINCT;
use super::recipe::Recipe;
use super::values::{HostValues, HostValuesVisitor, NarrowType, NarrowValues, StoredAs, Storing};
use crate::convert::primitives::Array;
use crate::error::Error;
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::memory::{Buffer, Element, HostMemory, Memory, copy};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// Input of an encoding: the values of all slots of a storage.
pub(super) struct Places<'a, T: Scalar, M: Memory> {
    pub values: &'a M::Buffer<T>,
    /// Whether the storage [marks](gpu_kernels::absent) slots without an entry. Otherwise their contents are arbitrary.
    pub marks_absence: bool,
    pub recipe: &'a Recipe<T>,
}

impl<T: Scalar, M: Memory> Places<'_, T, M> {
    /// Returns the type, given that slots without an entry may need a mark, and the numbers that codes stand for.
    fn type_and_table(&self) -> Result<(NarrowType, Vec<T>), Error> {
        let Self { marks_absence, recipe, .. } = *self;
        if marks_absence && recipe.has_full_table() {
            return Err(Error::DistinctValues { most: MOST_DISTINCT - 1 });
        }
        Ok((recipe.narrow_type.with_marks(marks_absence), copy(&recipe.distinct.numbers)?))
    }
}

/// Encodes the values of all slots in the type of a recipe made for the storage's number of entries. Slots without an
/// entry keep their mark, if any.
pub(super) struct Encoding<T>(PhantomData<T>);

impl<T: Scalar> Operation for Encoding<T> {
    type Operands<'a, M: Memory> = Places<'a, T, M>;
    type Output<M: Memory> = NarrowValues<T, M>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        places: Places<'_, T, K::Memory>,
    ) -> Result<NarrowValues<T, K::Memory>, Error> {
        let (narrow_type, table) = places.type_and_table()?;
        let table: Array<K, T> = executor.upload(table)?;
        let Places { values, marks_absence, .. } = places;
        T::store_values(narrow_type, values.len(), table, EncodeByKernels { executor, values, marks_absence })
    }

    fn on_host(_: Arithmetic, places: Places<'_, T, HostMemory>) -> Result<NarrowValues<T, HostMemory>, Error> {
        let (narrow_type, table) = places.type_and_table()?;
        T::store_values(narrow_type, places.values.len(), table, EncodeOnHost(places))
    }
}

struct EncodeOnHost<'a, T: Scalar>(Places<'a, T, HostMemory>);

impl<T: Scalar> Storing<T> for EncodeOnHost<'_, T> {
    type Memory = HostMemory;

    fn store<V: StoredAs<T> + OfBits<Bits: Element>>(self, _: &Vec<T>) -> Result<Vec<V::Bits>, Error> {
        let Places { values, marks_absence, recipe } = self.0;
        let place = |number| u32::from(recipe.distinct.code(number));
        parallel::map(values.len(), ROWS_AT_ONCE, &|at| {
            let value = values[at];
            let stored = V::nearest(value, place);
            match marks_absence {
                true if value.is_absent() => V::MARK.bits(),
                true => stored.unmarked().bits(),
                false => stored.bits(),
            }
        })
    }
}

/// Widens the values of all slots to the type computed with. Slots without an entry keep their mark, if any.
pub(super) struct Widening<T>(PhantomData<T>);

impl<T: Scalar> Operation for Widening<T> {
    /// The values, and whether slots without an entry are marked.
    type Operands<'a, M: Memory> = (&'a NarrowValues<T, M>, bool);
    type Output<M: Memory> = M::Buffer<T>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (values, marks_absence): Self::Operands<'_, K::Memory>,
    ) -> Result<Array<K, T>, Error> {
        T::visit(values, WidenByKernels { executor, count: values.places(), marks_absence })
    }

    fn on_host(_: Arithmetic, (values, marks_absence): Self::Operands<'_, HostMemory>) -> Result<Vec<T>, Error> {
        T::visit_on_host(values, WidenOnHost { marks_absence })
    }
}

struct WidenOnHost {
    marks_absence: bool,
}

impl<T: Scalar> HostValuesVisitor<T> for WidenOnHost {
    type Output = Vec<T>;

    fn visit<V: StoredAs<T>>(self, values: HostValues<'_, V, T>) -> Result<Vec<T>, Error> {
        values.widened(self.marks_absence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuda_std::{BFloat16, Float16};
    use gpu_kernels::absent::Absent;

    use crate::complex::Complex;
    use crate::executor::operation::Executor;
    use crate::executor::{Cpu, Emulated};
    use crate::format::{Csr, ValueStorage};
    use crate::memory::same_bits;

    /// Numbers whose rounding is special: ties, the ends of ranges, tiny ones, NaNs, and the mark.
    fn numbers() -> Vec<f64> {
        let bits =
            [0, 1, 1 << 28, (1 << 29) - 1, 1 << 29, (1 << 29) + 1, 3 << 28, 1 << 41, 1 << 42, 3 << 41, (1 << 52) - 1];
        let exponents =
            [0, 1, 873, 874, 896, 897, 998, 999, 1008, 1009, 1022, 1023, 1038, 1039, 1150, 1151, 2046, 2047];
        let positive = exponents.iter().flat_map(|exponent| bits.iter().map(move |bits| exponent << 52 | bits));
        let both = positive.flat_map(|bits: u64| [bits, bits | 1 << 63]);
        both.chain([u64::MAX, u64::MAX >> 1, 0x3FF0_0200_0000_0001]).map(f64::from_bits).collect()
    }

    #[test]
    fn the_nearest_number_is_the_library_s() {
        // The library converts through 32 bits, so it rounds other numbers twice.
        for number in numbers().into_iter().map(|number| number as f32).filter(|number| !number.is_nan()) {
            let (half, brain) = (half::f16::from_f32(number), half::bf16::from_f32(number));
            assert_eq!(Float16::nearest_to(number.into()).0, half.to_bits(), "{number:e}");
            assert_eq!(BFloat16::nearest_to(number.into()).0, brain.to_bits(), "{number:e}");
        }
        assert_eq!((Float16::nearest_to(-f64::NAN).0, BFloat16::nearest_to(-f64::NAN).0), (0xFE00, 0xFFC0));
    }

    #[test]
    fn numbers_are_rounded_once() {
        let two_to = |exponent: i32| f64::from_bits(((1023 + exponent) as u64) << 52);
        // Just above the midpoint between two numbers of 16 bits, but on it in 32 bits.
        let middle = 1.0 + two_to(-11);
        for (value, bits) in [(middle, 0x3C00), (middle + two_to(-40), 0x3C01), (-middle - two_to(-40), 0xBC01)] {
            assert_eq!(Float16::nearest_to(value).0, bits);
        }
        let middle = 1.0 + two_to(-8);
        for (value, bits) in [(middle, 0x3F80), (middle + two_to(-40), 0x3F81), (f64::INFINITY, 0x7F80)] {
            assert_eq!(BFloat16::nearest_to(value).0, bits);
        }
        for (value, bits) in [(65519.99, 0x7BFF), (65520.0, 0x7C00), (1e300, 0x7C00), (-0.0, 0x8000), (1e-300, 0)] {
            assert_eq!(Float16::nearest_to(value).0, bits);
        }
        assert_eq!((Float16::nearest_to(two_to(-25)).0, Float16::nearest_to(two_to(-25) * 1.5).0), (0, 1));
    }

    /// Stores values by kernels and on the host, and widens them again.
    fn check<T: Scalar>(values: &[T], narrow_type: NarrowType) {
        let columns: Vec<u32> = (0..values.len() as u32).collect();
        let offsets = vec![0_u32, values.len() as u32];
        let few = vec![T::ONE; values.len()];
        let finite = Csr::try_new(1, values.len(), offsets.clone(), columns.clone(), few).unwrap();
        let recipe = match narrow_type {
            NarrowType::Same | NarrowType::Table => {
                let matrix = Csr::try_new(1, values.len(), offsets, columns, values.to_vec()).unwrap();
                Recipe::new(&Cpu::new(), &matrix, ValueStorage::Lossless)
            }
            // These numbers would be beyond its range.
            narrow_type => Recipe::new(&Cpu::new(), &finite, ValueStorage::Rounded(narrow_type)),
        };
        let mut recipe = recipe.unwrap().unwrap();
        let mut values = values.to_vec();
        for marks_absence in [false, true] {
            if marks_absence {
                values.extend([T::ABSENT, T::ONE]);
                recipe.entries += 1;
            }
            let places = || Places { values: &values, marks_absence, recipe: &recipe };
            let on_host = Cpu::new().run::<Encoding<T>>(places()).unwrap();
            let widened = Cpu::new().run::<Widening<T>>((&on_host, marks_absence)).unwrap();
            assert_eq!(
                widened.iter().filter(|value| marks_absence && value.is_absent()).count(),
                usize::from(marks_absence)
            );
            for seed in 0..3 {
                let emulated = Emulated::new(seed);
                let by_kernels = emulated.run::<Encoding<T>>(places()).unwrap();
                assert!(by_kernels == on_host, "{narrow_type:?}");
                let widened_by_kernels = emulated.run::<Widening<T>>((&by_kernels, marks_absence)).unwrap();
                assert!(same_bits(&widened_by_kernels, &widened), "{narrow_type:?}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no lanes")]
    fn kernels_store_the_same() {
        let real = numbers();
        let single: Vec<f32> = real.iter().map(|&number| number as f32).filter(|number| !number.is_absent()).collect();
        let plain: Vec<f64> = real.iter().copied().filter(|number| !number.is_absent()).collect();
        for narrow_type in [NarrowType::Float16, NarrowType::BFloat16, NarrowType::Float32] {
            check(&plain, narrow_type);
        }
        for narrow_type in [NarrowType::Float16, NarrowType::BFloat16] {
            check(&single, narrow_type);
        }
        let complex: Vec<_> = plain.iter().zip(plain.iter().rev()).map(|(&re, &im)| Complex { re, im }).collect();
        check(&complex, NarrowType::Complex64);
        check(&[2.5_f64; 70], NarrowType::Same);
        check(&complex[..255], NarrowType::Table);
        check(&plain[..200], NarrowType::Table);
        check(&[1.0, -0.0, 0.0, f32::NAN, -f32::NAN, f32::INFINITY, 1.0], NarrowType::Table);
    }
}
