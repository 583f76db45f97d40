//! Selected elements of vectors, copied out of an executor's memory or within it.

use std::marker::PhantomData;

use gpu_kernels::dense::gather::Gather;

use crate::convert::primitives::{Array, launch};
use crate::error::{Error, check_length};
use crate::executor::Executor;
use crate::executor::operation::{Arithmetic, KernelExecutor, Operation};
use crate::memory::{Buffer, HostMemory, Memory};
use crate::parallel;
use crate::real::Scalar;

/// Elements that a host thread copies at a time.
const AT_ONCE: usize = 4096;

/// A selection of elements of vectors of a certain length, in an executor's memory.
pub struct Elements<M: Memory> {
    /// The length of a vector; each of `elements` is less than it.
    length: usize,
    elements: M::Buffer<u32>,
}

impl<M: Memory> Elements<M> {
    /// Moves a list of elements to an executor.
    ///
    /// # Errors
    /// When an element is not less than `length`, or memory runs out.
    pub fn new<E: Executor<Memory = M>>(executor: &E, length: usize, elements: Vec<u32>) -> Result<Self, Error> {
        let bound = u64::try_from(length).unwrap_or(u64::MAX);
        match elements.iter().find(|&&element| u64::from(element) >= bound) {
            Some(element) => Err(Error::structure("vector", format!("element {element} of {length}"))),
            None => Ok(Self { length, elements: executor.upload(elements)? }),
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Copies elements of several vectors to the host's memory. From a GPU's memory, only these elements are transferred.
pub struct CopyElements<T>(PhantomData<T>);

/// The operands of [`CopyElements`].
pub struct CopyOperands<'a, T: Scalar, M: Memory> {
    /// Which elements of each vector.
    pub elements: &'a Elements<M>,
    /// The vectors, stored consecutively.
    pub x: &'a M::Buffer<T>,
    /// One destination per vector, as long as the list of elements.
    pub to: &'a mut dyn Iterator<Item = &'a mut [T]>,
}

impl<T: Scalar> Operation for CopyElements<T> {
    type Operands<'a, M: Memory> = CopyOperands<'a, T, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: CopyOperands<'_, T, K::Memory>) -> Result<(), Error> {
        let CopyOperands { elements, x, to } = operands;
        let count = elements.len();
        if count == 0 {
            return Ok(());
        }
        let mut gathered: Array<K, T> = executor.unwritten(count)?;
        for (vector, to) in to.enumerate() {
            let first = first_of(vector, elements.length, x.len())?;
            check_length("the room for elements", to.len(), count)?;
            let kernel = Gather {
                count: count as u64,
                elements: elements.elements.global(),
                x: x.global().after(first),
                gathered: gathered.global_mut(),
            };
            // SAFETY: the arrays have `count` elements; the vector is complete, and longer than each of its elements.
            unsafe { launch(executor, executor.device().grid(count as u64), kernel) }?;
            to.copy_from_slice(&executor.download(&gathered)?);
        }
        Ok(())
    }

    fn on_host(_: Arithmetic, operands: CopyOperands<'_, T, HostMemory>) -> Result<(), Error> {
        let CopyOperands { elements, x, to } = operands;
        for (vector, to) in to.enumerate() {
            let x = &x[first_of(vector, elements.length, x.len())?..];
            check_length("the room for elements", to.len(), elements.len())?;
            parallel::fill(to, AT_ONCE, &|place| x[elements.elements[place] as usize]);
        }
        Ok(())
    }
}

/// Copies the same elements of several vectors to another array in the same memory.
pub struct PackElements<T>(PhantomData<T>);

/// The operands of [`PackElements`].
pub struct PackOperands<'a, T: Scalar, M: Memory> {
    /// Which elements of each vector.
    pub elements: &'a Elements<M>,
    /// Number of vectors.
    pub vectors: usize,
    /// The vectors, stored consecutively.
    pub x: &'a M::Buffer<T>,
    /// The destination: the elements of the first vector, then those of the second, and so on.
    pub to: &'a mut M::Buffer<T>,
}

impl<T: Scalar> Operation for PackElements<T> {
    type Operands<'a, M: Memory> = PackOperands<'a, T, M>;
    type Output<M: Memory> = ();

    fn by_kernels<K: KernelExecutor>(executor: &K, operands: PackOperands<'_, T, K::Memory>) -> Result<(), Error> {
        let PackOperands { elements, vectors, x, to } = operands;
        let count = elements.len();
        check_length("the room for elements", to.len(), count.saturating_mul(vectors))?;
        if count == 0 {
            return Ok(());
        }
        for vector in 0..vectors {
            let first = first_of(vector, elements.length, x.len())?;
            let kernel = Gather {
                count: count as u64,
                elements: elements.elements.global(),
                x: x.global().after(first),
                gathered: to.global_mut().after(vector * count),
            };
            // SAFETY: `count` elements are read, and the destination has room for them; the vector is complete, and longer
            // than each of its elements.
            unsafe { launch(executor, executor.device().grid(count as u64), kernel) }?;
        }
        Ok(())
    }

    fn on_host(_: Arithmetic, operands: PackOperands<'_, T, HostMemory>) -> Result<(), Error> {
        let PackOperands { elements, vectors, x, to } = operands;
        check_length("the room for elements", to.len(), elements.len().saturating_mul(vectors))?;
        if elements.is_empty() {
            return Ok(());
        }
        for (vector, to) in to.chunks_exact_mut(elements.len()).enumerate() {
            let x = &x[first_of(vector, elements.length, x.len())?..];
            parallel::fill(to, AT_ONCE, &|place| x[elements.elements[place] as usize]);
        }
        Ok(())
    }
}

/// Returns the index of a vector's first element, after checking that the whole vector lies within `elements`.
fn first_of(vector: usize, length: usize, elements: usize) -> Result<usize, Error> {
    let first = vector.saturating_mul(length);
    match elements.checked_sub(first) {
        Some(rest) if rest >= length => Ok(first),
        _ => Err(Error::Length { what: "x", found: elements, expected: first.saturating_add(length) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executor::{Cpu, Emulated};

    fn check<E: Executor<Memory = HostMemory>>(executor: &E, count: usize) {
        let length = 50;
        let list: Vec<u32> = (0..count).map(|place| (place * 7 % length) as u32).collect();
        let elements = Elements::new(executor, length, list.clone()).unwrap();
        let x: Vec<f64> = (0..2 * length).map(|number| number as f64).collect();
        let mut rooms = [vec![-1.0; count], vec![-1.0; count]];
        let to = &mut rooms.iter_mut().map(Vec::as_mut_slice);
        executor.run::<CopyElements<f64>>(CopyOperands { elements: &elements, x: &x, to }).unwrap();
        for (vector, room) in rooms.iter().enumerate() {
            assert!(
                room.iter().zip(&list).all(|(&found, &element)| found == (vector * length) as f64 + f64::from(element))
            );
        }
        // NaNs reveal elements that were not written.
        let mut packed = vec![f64::NAN; 2 * count];
        let pack = |x: &Vec<f64>, to: &mut Vec<f64>| {
            executor.run::<PackElements<f64>>(PackOperands { elements: &elements, vectors: 2, x, to })
        };
        pack(&x, &mut packed).unwrap();
        assert_eq!(packed, rooms.concat());
        let error = pack(&x, &mut vec![0.0; 2 * count + 1]).unwrap_err().to_string();
        assert_eq!(error, format!("the room for elements has length {}, expected {}", 2 * count + 1, 2 * count));
        let copy = |x: &Vec<f64>, room: usize| {
            let mut room = vec![0.0; room];
            let to = &mut std::iter::once(room.as_mut_slice());
            executor.run::<CopyElements<f64>>(CopyOperands { elements: &elements, x, to })
        };
        if count > 0 {
            assert_eq!(pack(&vec![0.0; 99], &mut packed).unwrap_err().to_string(), "x has length 99, expected 100");
            assert_eq!(copy(&vec![0.0; 49], count).unwrap_err().to_string(), "x has length 49, expected 50");
            let error = copy(&x, count + 1).unwrap_err().to_string();
            assert_eq!(error, format!("the room for elements has length {}, expected {count}", count + 1));
        }
    }

    #[test]
    fn elements_are_copied_in_their_order() {
        for count in [0, 1, 3, 120] {
            check(&Cpu::new(), count);
            // Miri does not support lanes.
            if !cfg!(miri) {
                (0..3).for_each(|seed| check(&Emulated::new(seed), count));
            }
        }
        let error = Elements::new(&Cpu::new(), 3, vec![0, 3]).err().unwrap();
        assert!(error.to_string().contains("element 3 of 3"), "{error}");
    }
}
