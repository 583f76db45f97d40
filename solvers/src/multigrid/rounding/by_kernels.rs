//! Rounding by kernels.

use gpu_kernels::dense::mixed::MixedAxpby;
use host::error::Error;
use host::executor::KernelExecutor;
use host::kernels::{Array, launch};
use host::memory::Buffer;
use host::real::Scalar;

/// [`Round`](super::Round) by kernels: part by part, 1 times an array plus nothing.
pub(super) fn rounded<T: Scalar, K: KernelExecutor>(
    executor: &K,
    elements: &Array<K, T::Wide>,
) -> Result<Array<K, T>, Error> {
    let mut rounded = executor.unwritten::<T>(elements.len())?;
    let (x, y) = (elements.global_parts(), rounded.global_parts_mut());
    let count = (elements.len() * T::PARTS) as u64;
    let kernel = MixedAxpby { count, alpha: 1.0, x, beta: 0.0, y };
    // SAFETY: both arrays have the same number of parts, and y is never read, as its factor is 0.
    unsafe { launch(executor, executor.device().grid(count), kernel) }?;
    Ok(rounded)
}

#[cfg(test)]
mod tests {
    use host::Complex;
    use host::executor::operation::{Arithmetic, Operation};

    use super::super::super::examples::{bits, emulators, value};
    use super::super::Round;
    use super::*;

    fn check<T: Scalar>(numbers: &Vec<T::Wide>) {
        let expected = Round::<T>::on_host(Arithmetic::Parallel, numbers).unwrap();
        for executor in emulators() {
            assert_eq!(bits(&rounded::<T, _>(&executor, numbers).unwrap()), bits(&expected));
        }
    }

    #[test]
    fn numbers_become_the_nearest() {
        for count in [0, 1, 31, 1000] {
            let mut numbers: Vec<f64> = (0..count).map(value).collect();
            let strange = [0.0, -0.0, 1e300, -1e300, f64::INFINITY, 1e-40, -1e-300, f64::from(f32::MAX), 1.0 + 1e-9];
            numbers.iter_mut().zip(strange).for_each(|(number, strange)| *number = strange);
            check::<f32>(&numbers);
            check::<f64>(&numbers);
            let complex: Vec<_> = numbers.iter().map(|&number| Complex::new(number, 1.0 - number)).collect();
            check::<Complex<f32>>(&complex);
            check::<Complex<f64>>(&complex);
        }
    }
}
