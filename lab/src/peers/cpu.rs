//! sprs and faer. Neither has a multithreaded product of a sparse matrix and a vector: faer accepts a degree of parallelism
//! and ignores it (0.24), and sprs uses threads only for products of two sparse matrices.

use std::any::Any;

use cpu_peers::SprsView;
use faer::Accum;
use faer::sparse::{SparseRowMatRef, SymbolicSparseRowMatRef};
use host::executor::HostExecutor;
use host::format::Offsets;
use host::memory::ElementType;
use host::{Csr, Error, Real, Scalar};
use sprs::SpIndex;

use super::peer::{Peer, PeerError, Prepared, check_vectors};

/// A number type that both libraries support.
trait Number: Real + cpu_peers::Number {}

impl Number for f32 {}
impl Number for f64 {}

/// Returns the peers on the CPU; none for complex numbers.
pub fn peers<T: Scalar>() -> Vec<Box<dyn Peer<T, HostExecutor>>> {
    fn all<T: Real + Number>() -> Box<dyn Any> {
        Box::new([Box::new(Sprs) as Box<dyn Peer<T, HostExecutor>>, Box::new(Faer)])
    }
    let peers = match T::TYPE {
        ElementType::Float32 => all::<f32>(),
        _ => all::<f64>(),
    };
    peers.downcast::<[Box<dyn Peer<T, HostExecutor>>; 2]>().map_or_else(|_| Vec::new(), |peers| Vec::from(*peers))
}

/// sprs: `mul_acc_mat_vec_csr`, which computes y ← y + A x.
struct Sprs;

impl<T: Real + Number> Peer<T, HostExecutor> for Sprs {
    fn name(&self) -> &'static str {
        "sprs"
    }

    fn library(&self) -> String {
        "sprs 0.11".into()
    }

    fn prepare<'a>(
        &'a self,
        matrix: &'a Csr<T>,
        _x: &Vec<T>,
        _y: &mut Vec<T>,
    ) -> Result<Box<dyn Prepared<T, HostExecutor> + 'a>, PeerError> {
        fn view<'a, T: Real + Number, O: SpIndex + 'static>(
            matrix: &'a Csr<T>,
            offsets: &'a [O],
            sprs: cpu_peers::Sprs<T, O>,
        ) -> Result<Box<dyn Prepared<T, HostExecutor> + 'a>, PeerError> {
            let shape = (matrix.rows(), matrix.columns());
            let view = (sprs.view)(shape, offsets, matrix.column_indices(), matrix.values())
                .map_err(|reason| PeerError::Unfit { library: "sprs", reason })?;
            Ok(Box::new(OfSprs { matrix, view, add_product: sprs.add_product, product: Vec::new() }))
        }
        match matrix.row_offsets() {
            Offsets::Narrow(offsets) => view(matrix, offsets, T::SPRS_NARROW),
            Offsets::Wide(offsets) => view(matrix, offsets, T::SPRS_WIDE),
        }
    }
}

struct OfSprs<'a, T: Real + Number, O: SpIndex> {
    matrix: &'a Csr<T>,
    view: SprsView<'a, T, O>,
    /// y ← y + A x.
    add_product: fn(SprsView<'_, T, O>, &[T], &mut [T]),
    /// A x, if it is not added directly to y.
    product: Vec<T>,
}

impl<T: Real + Number, O: SpIndex> Prepared<T, HostExecutor> for OfSprs<'_, T, O> {
    fn strategy(&self) -> String {
        "CSR, mul_acc_mat_vec_csr, one thread".into()
    }

    fn storage(&self) -> u64 {
        self.matrix.bytes() as u64
    }

    fn reproducible(&self) -> Option<bool> {
        Some(true)
    }

    fn multiply(&mut self, alpha: T, x: &Vec<T>, beta: T, y: &mut Vec<T>) -> Result<(), Error> {
        check_vectors(self.matrix, x, y)?;
        scale(beta, y);
        if alpha == T::ONE {
            (self.add_product)(self.view.view(), x, y);
        } else {
            self.product.clear();
            self.product.resize(y.len(), T::ZERO);
            (self.add_product)(self.view.view(), x, &mut self.product);
            y.iter_mut().zip(&self.product).for_each(|(y, &product)| *y = *y + alpha * product);
        }
        Ok(())
    }
}

/// faer: `sparse_dense_matmul` of a matrix by rows, which overwrites y with α A x or adds it to y.
struct Faer;

impl<T: Real + Number> Peer<T, HostExecutor> for Faer {
    fn name(&self) -> &'static str {
        "faer"
    }

    fn library(&self) -> String {
        "faer 0.24".into()
    }

    fn prepare<'a>(
        &'a self,
        matrix: &'a Csr<T>,
        _x: &Vec<T>,
        _y: &mut Vec<T>,
    ) -> Result<Box<dyn Prepared<T, HostExecutor> + 'a>, PeerError> {
        let offsets = match matrix.row_offsets() {
            // It checks its arrays by assertions, which hold for every valid matrix except for this bound.
            Offsets::Narrow(offsets) if matrix.nnz() <= i32::MAX as usize => offsets,
            _ => {
                let reason = "offsets are not of the same type as column indices".into();
                return Err(PeerError::Unfit { library: "faer", reason });
            }
        };
        let (rows, columns) = (matrix.rows(), matrix.columns());
        let pattern =
            SymbolicSparseRowMatRef::new_unsorted_checked(rows, columns, offsets, None, matrix.column_indices());
        Ok(Box::new(OfFaer { matrix, view: SparseRowMatRef::new(pattern, matrix.values()) }))
    }
}

struct OfFaer<'a, T: Real + Number> {
    matrix: &'a Csr<T>,
    view: SparseRowMatRef<'a, u32, T>,
}

impl<T: Real + Number> Prepared<T, HostExecutor> for OfFaer<'_, T> {
    fn strategy(&self) -> String {
        "CSR, sparse_dense_matmul, one thread".into()
    }

    fn storage(&self) -> u64 {
        self.matrix.bytes() as u64
    }

    fn reproducible(&self) -> Option<bool> {
        Some(true)
    }

    fn multiply(&mut self, alpha: T, x: &Vec<T>, beta: T, y: &mut Vec<T>) -> Result<(), Error> {
        check_vectors(self.matrix, x, y)?;
        let accumulate = if beta == T::ZERO {
            Accum::Replace
        } else {
            scale(beta, y);
            Accum::Add
        };
        T::faer(self.view, alpha, x, accumulate, y);
        Ok(())
    }
}

/// y ← β y, without reading y if β is 0.
fn scale<T: Real>(beta: T, y: &mut [T]) {
    if beta == T::ZERO {
        y.fill(T::ZERO);
    } else if beta != T::ONE {
        y.iter_mut().for_each(|y| *y = beta * *y);
    }
}

#[cfg(test)]
mod tests {
    use host::ValueStorage;
    use host::executor::Cpu;
    use host::verify::{exact, verify};

    use super::super::tests::{matrices, vector};
    use super::super::{BOUND, WithPeers};
    use super::*;

    fn check<T: Real>() {
        let cpu = HostExecutor::from(Cpu::new());
        let peers = cpu.peers::<T>(ValueStorage::Full);
        assert!(peers.absent.is_empty());
        assert_eq!(peers.present.iter().map(|peer| peer.name()).collect::<Vec<_>>(), ["sprs", "faer"]);
        for (name, matrix) in matrices::<T>() {
            let x = vector::<T>(matrix.columns());
            for peer in &peers.present {
                for (alpha, beta) in [(1.0, 0.0), (2.0, 0.0), (1.0, 1.0), (1.5, -0.5)] {
                    let (alpha, beta) = (T::from_f64(alpha), T::from_f64(beta));
                    let mut y = vec![T::from_f64(if beta == T::ZERO { f64::NAN } else { 3.25 }); matrix.rows()];
                    let exact = exact(&matrix, alpha, &x, beta, &y).unwrap();
                    let mut prepared = peer.prepare(&matrix, &x, &mut y).unwrap();
                    prepared.multiply(alpha, &x, beta, &mut y).unwrap();
                    let verification = verify(&y, &exact, BOUND).unwrap();
                    assert!(verification.passed(), "{}, {name}, {alpha}, {beta}: {verification:?}", peer.name());
                    assert_eq!(u128::from(prepared.storage()), matrix.bytes());
                    assert!(prepared.multiply(alpha, &x, beta, &mut vec![]).is_err());
                }
            }
        }
    }

    #[test]
    fn they_are_right_in_float32() {
        check::<f32>();
    }

    #[test]
    fn they_are_right_in_float64() {
        check::<f64>();
    }

    #[test]
    fn what_a_library_does_not_take_is_said_in_one_line() {
        let unsorted = Csr::try_new(1, 3, vec![0u32, 2], vec![2, 0], vec![1.0f64, 2.0]).unwrap();
        let wide = Csr::try_new(1, 3, Offsets::Wide(vec![0, 2]), vec![0, 2], vec![1.0f64, 2.0]).unwrap();
        let (x, mut y) = (vec![1.0; 3], vec![0.0]);
        for (peer, matrix) in [(&Sprs as &dyn Peer<f64, HostExecutor>, &unsorted), (&Faer, &wide)] {
            let error = peer.prepare(matrix, &x, &mut y).err().unwrap().to_string();
            assert!(error.starts_with(peer.name()) && !error.contains('\n'), "{error}");
        }
        // Each accepts what the other rejects.
        for (peer, matrix) in [(&Sprs as &dyn Peer<f64, HostExecutor>, &wide), (&Faer, &unsorted)] {
            peer.prepare(matrix, &x, &mut y).unwrap().multiply(1.0, &x, 0.0, &mut y).unwrap();
            assert_eq!(y, [3.0]);
        }
    }
}
