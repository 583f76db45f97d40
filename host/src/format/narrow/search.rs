//! Search for the narrowest type that preserves the bits of all values.

use std::marker::PhantomData;

use gpu_kernels::convert::narrow::{LOSES_BFLOAT16, LOSES_FLOAT16, LOSES_FLOAT32};

use super::by_kernels::{Found, distinct, losses};
use super::distinct::Distinct;
use super::recipe::{Recipe, rounded};
use super::values::NarrowType;
use crate::convert::primitives::Array;
use crate::error::Error;
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::memory::{Buffer, Memory};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// The search. The recipe has the same table on every executor.
pub(super) struct Search<T>(PhantomData<T>);

impl<T: Scalar> Operation for Search<T> {
    /// The values.
    type Operands<'a, M: Memory> = &'a M::Buffer<T>;
    /// `None` if the values stay as they are.
    type Output<M: Memory> = Option<Recipe<T>>;

    fn by_kernels<K: KernelExecutor>(executor: &K, values: &Array<K, T>) -> Result<Option<Recipe<T>>, Error> {
        let found = match distinct(executor, values)? {
            Found::Unknown => return search(&executor.download(values)?),
            Found::All(distinct) => Some(distinct),
            Found::TooMany => None,
        };
        match (found, T::NARROW_TYPES) {
            (None, []) => Ok(None),
            (Some(distinct), _) => recipe(Some(distinct), values.len(), |_| false),
            (None, _) => {
                let losses = losses(executor, values)?;
                recipe(None, values.len(), |narrow_type| losses & loss(narrow_type) == 0)
            }
        }
    }

    fn on_host(_: Arithmetic, values: &Vec<T>) -> Result<Option<Recipe<T>>, Error> {
        search(values)
    }
}

/// Returns the narrowest type that preserves the bits of all values, if it exists.
///
/// # Errors
/// When memory runs out.
pub(crate) fn narrowest<T: Scalar>(values: &[T]) -> Result<Option<NarrowType>, Error> {
    Ok(search(values)?.map(|recipe| recipe.narrow_type))
}

fn search<T: Scalar>(values: &[T]) -> Result<Option<Recipe<T>>, Error> {
    recipe(Distinct::of(values)?, values.len(), |narrow_type| is_exact(values, narrow_type))
}

/// Returns the recipe for `entries` values: `distinct` are the different ones, if they are few; `is_exact` returns
/// whether another type preserves them all.
fn recipe<T: Scalar>(
    distinct: Option<Distinct<T>>,
    entries: usize,
    is_exact: impl Fn(NarrowType) -> bool,
) -> Result<Option<Recipe<T>>, Error> {
    let narrow_type = match &distinct {
        Some(distinct) => match distinct.numbers.len() {
            0 => None,
            1 => Some(NarrowType::Same),
            _ => Some(NarrowType::Table),
        },
        None => T::NARROW_TYPES.iter().copied().find(|&narrow_type| is_exact(narrow_type)),
    };
    let distinct = distinct.map_or_else(Distinct::new, Ok)?;
    Ok(narrow_type.map(|narrow_type| Recipe::exact(narrow_type, distinct, entries)))
}

/// Returns whether a type holds all values. It might not preserve the payload of a NaN.
fn is_exact<T: Scalar>(values: &[T], narrow_type: NarrowType) -> bool {
    let is_kept = |value: T| value.parts() == rounded(value, narrow_type);
    parallel::all(values.len(), ROWS_AT_ONCE, &|place| is_kept(values[place]))
}

/// Returns the bit that kernels set if a type does not preserve a value.
fn loss(narrow_type: NarrowType) -> u32 {
    match narrow_type {
        NarrowType::Float16 => LOSES_FLOAT16,
        NarrowType::BFloat16 => LOSES_BFLOAT16,
        _ => LOSES_FLOAT32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::complex::Complex;
    use crate::executor::operation::Executor;
    use crate::executor::{Cpu, Emulated};

    /// Returns the type; it and the table must be the same on every executor.
    fn check<T: Scalar>(values: &[T]) -> Option<NarrowType> {
        let values = values.to_vec();
        let expected = Cpu::new().run::<Search<T>>(&values).unwrap();
        let bits = |recipe: &Recipe<T>| recipe.distinct.numbers.iter().map(|number| number.bits()).collect::<Vec<_>>();
        for seed in 0..3 {
            let found = Emulated::new(seed).run::<Search<T>>(&values).unwrap();
            assert_eq!(found.as_ref().map(|recipe| recipe.narrow_type), expected.as_ref().map(|r| r.narrow_type));
            assert_eq!(found.as_ref().map(bits), expected.as_ref().map(bits));
        }
        expected.map(|recipe| recipe.narrow_type)
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no lanes")]
    fn kernels_find_the_same() {
        let numbers = |count: i32, number: fn(i32) -> f64| (0..count).map(number).collect::<Vec<_>>();
        assert_eq!(check::<f64>(&[]), None);
        assert_eq!(check(&numbers(3000, |_| 0.1)), Some(NarrowType::Same));
        assert_eq!(check(&[0.0, -0.0]), Some(NarrowType::Table));
        assert_eq!(check(&[f64::NAN, -f64::NAN, 0.1]), Some(NarrowType::Table));
        assert_eq!(check(&numbers(5000, |n| f64::from(n % 256) * 0.1)), Some(NarrowType::Table));
        assert_eq!(check(&numbers(5000, |n| f64::from(n % 257) * 0.1)), None);
        assert_eq!(check(&numbers(2000, f64::from)), Some(NarrowType::Float16));
        assert_eq!(check(&numbers(600, |n| f64::from(n) * 65536.0)), Some(NarrowType::Float32));
        let brain = |n: i32| f64::from_bits((1000 + (n as u64 >> 7)) << 52 | (n as u64 & 127) << 45);
        assert_eq!(check(&numbers(500, brain)), Some(NarrowType::BFloat16));
        assert_eq!(check(&numbers(500, |n| f64::from(n) + 4096.5)), Some(NarrowType::Float32));
        assert_eq!(check(&numbers(500, |n| if n == 333 { f64::NAN } else { n.into() })), None);
        assert_eq!(check(&numbers(500, |n| if n == 333 { 1e300 } else { n.into() })), None);
        // One new value at a time, at the end of what a warp reads: no search finds two of them.
        let rare = |n: i32| if n % 2048 == 2047 { f64::from(n / 2048) } else { 0.5 };
        assert_eq!(check(&numbers(2048 * 12, rare)), Some(NarrowType::Table));
        // Enough of them that the host takes over.
        let rare = |n: i32| if n % 768 == 767 { f64::from(n / 768) } else { 0.5 };
        assert_eq!(check(&numbers(768 * 40, rare)), Some(NarrowType::Table));
        assert_eq!(
            check(&numbers(600, f64::from).iter().map(|&n| n as f32).collect::<Vec<_>>()),
            Some(NarrowType::Float16)
        );
        let complex = |re: f64, im: f64| Complex { re, im };
        assert_eq!(
            check(&numbers(600, f64::from).iter().map(|&n| complex(n, 0.5)).collect::<Vec<_>>()),
            Some(NarrowType::Complex64)
        );
        assert_eq!(check(&numbers(600, f64::from).iter().map(|&n| complex(n, 0.1)).collect::<Vec<_>>()), None);
        let few = numbers(600, f64::from);
        assert_eq!(
            check(&few.iter().map(|&n| Complex { re: 1_f32, im: (n % 9.0) as f32 }).collect::<Vec<_>>()),
            Some(NarrowType::Table)
        );
    }
}
