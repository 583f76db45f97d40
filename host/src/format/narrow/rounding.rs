//! Changes of values by rounding to a narrower type.

use std::marker::PhantomData;

use gpu_kernels::convert::narrow::change;

use super::by_kernels::{ChangesByKernels, EncodeByKernels};
use super::recipe::rounded;
use super::values::NarrowType;
use crate::convert::primitives::Array;
use crate::error::Error;
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::memory::{HostMemory, Memory};
use crate::parallel::{self, ROWS_AT_ONCE};
use crate::real::Scalar;

/// Finds the largest relative change of a value; `None` if a finite one is beyond the range of the type. Kernels
/// temporarily take the memory of the rounded values.
pub(super) struct Rounding<T>(PhantomData<T>);

impl<T: Scalar> Operation for Rounding<T> {
    /// The values, and a type without a table.
    type Operands<'a, M: Memory> = (&'a M::Buffer<T>, NarrowType);
    type Output<M: Memory> = Option<f64>;

    fn by_kernels<K: KernelExecutor>(
        executor: &K,
        (values, narrow_type): Self::Operands<'_, K::Memory>,
    ) -> Result<Option<f64>, Error> {
        let no_table: Array<K, T> = executor.zeros(0)?;
        let encode = EncodeByKernels { executor, values, marks_absence: false };
        let stored = T::store_values(narrow_type, 0, no_table, encode)?;
        T::visit(&stored, ChangesByKernels { executor, values })
    }

    fn on_host(_: Arithmetic, (values, narrow_type): Self::Operands<'_, HostMemory>) -> Result<Option<f64>, Error> {
        let chunks = values.len().div_ceil(ROWS_AT_ONCE);
        let chunk = |number: usize| &values[number * ROWS_AT_ONCE..values.len().min((number + 1) * ROWS_AT_ONCE)];
        let found = parallel::map(chunks, 1, &|number| {
            let mut changes = chunk(number).iter().map(|&value| change(value.parts(), rounded(value, narrow_type)));
            changes.try_fold(0.0, |largest, change| Some(f64::max(largest, change?)))
        })?;
        Ok(found.into_iter().try_fold(0.0, |largest, change| Some(f64::max(largest, change?))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::complex::Complex;
    use crate::executor::operation::Executor;
    use crate::executor::{Cpu, Emulated};

    fn check<T: Scalar>(values: Vec<T>, narrow_type: NarrowType) -> Option<f64> {
        let expected = Cpu::new().run::<Rounding<T>>((&values, narrow_type)).unwrap();
        for seed in 0..3 {
            let found = Emulated::new(seed).run::<Rounding<T>>((&values, narrow_type)).unwrap();
            assert_eq!(found.map(f64::to_bits), expected.map(f64::to_bits));
        }
        expected
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no lanes")]
    fn kernels_find_the_same_change() {
        let values: Vec<f64> = (1..3000).map(|number| 1.0 / f64::from(number)).collect();
        let change = check(values.clone(), NarrowType::Float32).unwrap();
        assert!(change > 2f64.powi(-26) && change <= 2f64.powi(-24), "{change}");
        assert!(check(values.clone(), NarrowType::Float16).unwrap() <= 2f64.powi(-11));
        assert!(
            check(values.iter().map(|&value| value as f32).collect(), NarrowType::BFloat16).unwrap() > 2f64.powi(-10)
        );
        let special = |last: f64| vec![0.0, -0.0, f64::NAN, f64::INFINITY, 1.0, last];
        assert_eq!(check(special(2.0), NarrowType::Float32), Some(0.0));
        assert_eq!(check(special(1e-300), NarrowType::Float32), Some(1.0));
        assert_eq!(check(special(1e300), NarrowType::Float32), None);
        let complex = |re: f64, im: f64| Complex { re, im };
        let turned = values.iter().map(|&value| complex(value, 1.0 - value)).collect();
        assert!((0.0..2f64.powi(-23)).contains(&check(turned, NarrowType::Complex64).unwrap()));
        assert_eq!(check(vec![complex(1.0, 0.0), complex(0.0, 1e300)], NarrowType::Complex64), None);
        assert_eq!(check(vec![complex(3e-300, 4.0)], NarrowType::Complex64), Some(7.5e-301));
        assert_eq!(check(Vec::<f64>::new(), NarrowType::Float32), Some(0.0));
    }
}
