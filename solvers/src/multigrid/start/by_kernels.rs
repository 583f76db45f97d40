//! Nodes of equal size, and constants on them, by kernels.

use gpu_kernels::multigrid::start::{ConstantVectors, EqualNodes};
use host::error::Error;
use host::executor::KernelExecutor;
use host::kernels::{Array, launch};
use host::memory::Buffer;
use host::real::Scalar;

use super::super::graph::Nodes;

/// [`EqualNodes`](super::EqualNodes) by kernels; `size` divides `unknowns`.
pub(super) fn equal_nodes<K: KernelExecutor>(
    executor: &K,
    size: usize,
    unknowns: usize,
) -> Result<Nodes<K::Memory>, Error> {
    let mut first = executor.unwritten(unknowns / size + 1)?;
    let mut of_unknown = executor.unwritten(unknowns)?;
    let kernel = EqualNodes {
        unknowns: unknowns as u32,
        size: size as u32,
        first: first.global_mut(),
        of_unknown: of_unknown.global_mut(),
    };
    // SAFETY: the caller has checked that `size` is a divisor of the number of a matrix's rows, which is less than 2^31;
    // there is one number per unknown, and per node and for the end.
    unsafe { launch(executor, executor.device().grid(unknowns as u64 + 1), kernel) }?;
    Ok(Nodes { first, of_unknown })
}

/// [`ConstantVectors`](super::ConstantVectors) by kernels.
pub(super) fn constant_vectors<W: Scalar, K: KernelExecutor>(
    executor: &K,
    rows: usize,
    vectors: usize,
) -> Result<Array<K, W>, Error> {
    let mut elements = executor.unwritten::<W>(rows.saturating_mul(vectors))?;
    let count = elements.len() as u64;
    let kernel = ConstantVectors { count, vectors: vectors as u32, elements: elements.global_mut() };
    // SAFETY: the count is that of the elements; without a vector there is none, and no thread divides by 0.
    unsafe { launch(executor, executor.device().grid(count), kernel) }?;
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use host::Complex;
    use host::executor::Executor;
    use host::executor::operation::{Arithmetic, Operation};

    use super::super::super::examples::{bits, emulators};
    use super::super::{ConstantVectors, EqualNodes};
    use super::*;

    fn check<W: Scalar>(rows: usize, vectors: usize) {
        let expected = ConstantVectors::<W>::on_host(Arithmetic::Parallel, (rows, vectors)).unwrap();
        assert!((0..rows * vectors).all(|place| {
            expected[place] == if place / vectors % vectors == place % vectors { W::ONE } else { W::ZERO }
        }));
        for executor in emulators() {
            let found = executor.run::<ConstantVectors<W>>((rows, vectors)).unwrap();
            assert_eq!(bits(&found), bits(&expected));
        }
    }

    #[test]
    fn nodes_and_constants_are_the_hosts() {
        for (size, count) in [(1, 0), (1, 1), (1, 700), (2, 0), (3, 100), (32, 9)] {
            let expected = EqualNodes::on_host(Arithmetic::Parallel, (size, size * count)).unwrap();
            assert_eq!(expected.len(), count);
            for executor in emulators() {
                let found = executor.run::<EqualNodes>((size, size * count)).unwrap();
                assert_eq!((&found.first, &found.of_unknown), (&expected.first, &expected.of_unknown));
            }
            check::<f64>(size * count, size);
            check::<Complex<f64>>(size * count, size);
        }
        for executor in emulators() {
            let error = executor.run::<EqualNodes>((3, 4)).err().unwrap().to_string();
            assert_eq!(error, "the number of unknowns of a node is 3, expected a divisor of the number of rows");
        }
    }
}
