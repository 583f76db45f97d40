//! Vectors of pseudo-random numbers.

use std::marker::PhantomData;

use gpu_kernels::dense::pseudo_random::{PseudoRandom as Kernel, pseudo_random_number};
use host::error::Error;
use host::executor::operation::{Arithmetic, KernelExecutor, Operation};
use host::kernels::{Array, launch};
use host::memory::{Buffer, HostMemory, Memory};
use host::parallel;
use host::real::Scalar;

/// Elements that a CPU thread takes at a time.
const ELEMENTS_AT_ONCE: usize = 4096;

/// Creates a reproducible vector of pseudo-random numbers with parts from −1 to 1. Its operands are the index of the first
/// element in an endless vector, and the number of elements.
pub(crate) struct PseudoRandom<T>(PhantomData<T>);

impl<T: Scalar> Operation for PseudoRandom<T> {
    type Operands<'a, M: Memory> = (usize, usize);
    type Output<M: Memory> = M::Buffer<T>;

    fn by_kernels<K: KernelExecutor>(executor: &K, (first, length): (usize, usize)) -> Result<Array<K, T>, Error> {
        let mut elements = executor.unwritten::<T>(length)?;
        let count = length as u64 * T::PARTS as u64;
        let kernel =
            Kernel { count, first: (first as u64).wrapping_mul(T::PARTS as u64), numbers: elements.global_parts_mut() };
        // SAFETY: there are `PARTS` numbers per element.
        unsafe { launch(executor, executor.device().grid(count), kernel) }?;
        Ok(elements)
    }

    fn on_host(_: Arithmetic, (first, length): (usize, usize)) -> Result<<HostMemory as Memory>::Buffer<T>, Error> {
        let number = |place: usize| pseudo_random_number(place as u64);
        let element = |place: usize| match T::COMPLEX {
            true => T::from_parts(number(2 * place), number(2 * place + 1)),
            false => T::from_f64(number(place)),
        };
        parallel::map(length, ELEMENTS_AT_ONCE, &|place| element(first.saturating_add(place)))
    }
}

#[cfg(test)]
mod tests {
    use host::Complex;
    use host::executor::{Emulated, Executor};
    use host::real::{Real, parts_of};

    use super::*;

    fn check<T: Scalar>() {
        for (first, length) in [(0, 0), (0, 1), (5, 1000), (1 << 40, 33)] {
            let expected = PseudoRandom::<T>::on_host(Arithmetic::Parallel, (first, length)).unwrap();
            let found = Emulated::new(1).run::<PseudoRandom<T>>((first, length)).unwrap();
            let bits =
                |elements: &[T]| parts_of(elements).iter().map(|part| part.to_f64().to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&found), bits(&expected), "{} from {first}", T::NAME);
            assert!(parts_of(&found).iter().all(|part| (-1.0..=1.0).contains(&part.to_f64())));
        }
        let [long, tail] = [(3, 100), (53, 50)].map(|place| Emulated::new(1).run::<PseudoRandom<T>>(place).unwrap());
        assert_eq!(parts_of(&long[50..]), parts_of(&tail));
        assert!(long.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no lanes")]
    fn kernels_write_the_numbers_of_the_host() {
        check::<f64>();
        check::<f32>();
        check::<Complex<f64>>();
        check::<Complex<f32>>();
    }
}
