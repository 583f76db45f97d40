//! Other libraries' multiplications, timed in the same process on the same arrays, and
//! [conjugate gradients](conjugate_gradients()) made of them.
//!
//! [`WithPeers::peers`] lists those of an executor, and [`WithPeers::blas`] is what works on vectors there. The feature `peers` brings sprs and faer for the CPU; with the
//! feature `cuda` as well, cuSPARSE and cuBLAS for the GPU, which are loaded when they are asked for: the folders of
//! `libcusparse.so.12`, of the `libnvJitLink` that it needs and of `libcublas.so` must be where the system's loader looks, for which
//! `LD_LIBRARY_PATH` is the usual way. What is not there is listed with the reason, and is no error.

#[cfg(all(feature = "peers", any(feature = "cuda", test)))]
mod blocks;
mod conjugate_gradients;
#[cfg(feature = "peers")]
mod cpu;
#[cfg(all(feature = "peers", feature = "cuda"))]
mod cublas;
#[cfg(all(feature = "peers", feature = "cuda"))]
mod cusparse;
#[cfg(all(feature = "peers", any(feature = "cuda", test)))]
mod slices;

use host::executor::{Executor, HostExecutor};
use host::{Csr, Error, Format, Real, Vector};

pub use conjugate_gradients::{Solved, Stop, conjugate_gradients};

/// The format whose error bound holds for every peer in [`host::verify::verify`]: nothing is known of their order of
/// additions, and no order has a longer chain than one sum over the row.
pub const BOUND: Format = Format::CSR_SCALAR;

/// The libraries that there are peers of, as the peers' names begin.
pub const LIBRARIES: &[&str] = &["cusparse", "faer", "sprs"];

/// A rival.
pub trait Peer<T: Real, E: Executor> {
    /// What it is called in files and on the command line: the library, and where there are several ways, which.
    fn name(&self) -> &'static str;

    /// The library and its version.
    fn library(&self) -> String;

    /// Makes a matrix ready to be multiplied, preprocessing included. Neither vector is read or written; they are what
    /// a library is shown that wants to see some of the right lengths.
    ///
    /// # Errors
    /// When the library does not take such a matrix, it would be blown up beyond the default
    /// [`FillLimit`](host::format::FillLimit), memory runs out, or the device fails.
    fn prepare<'a>(
        &'a self,
        matrix: &'a Csr<T, E::Memory>,
        x: &Vector<T, E>,
        y: &mut Vector<T, E>,
    ) -> Result<Box<dyn Prepared<T, E> + 'a>, PeerError>;
}

/// A matrix that a peer has made ready.
pub trait Prepared<T: Real, E: Executor> {
    /// What the library was told.
    fn strategy(&self) -> String;

    /// Bytes of the matrix as it is stored, with the buffers that multiplying takes.
    fn storage(&self) -> u64;

    /// Whether the library says that it gives the same bits every time; none where it says nothing.
    fn reproducible(&self) -> Option<bool>;

    /// y ← α A x + β y; with β = 0, y is overwritten and never read. On a GPU it is queued on the executor's stream.
    ///
    /// # Errors
    /// When a vector does not fit the matrix, or the device fails.
    fn multiply(&mut self, alpha: T, x: &Vector<T, E>, beta: T, y: &mut Vector<T, E>) -> Result<(), Error>;
}

/// A library's operations on dense vectors. Scalars are on the host.
pub trait Blas<T: Real, E: Executor> {
    /// The library and its version.
    fn library(&self) -> String;

    /// x · y. Waits for it.
    ///
    /// # Errors
    /// When the lengths differ or the library does not take such long ones, or the device fails.
    fn dot(&self, x: &Vector<T, E>, y: &Vector<T, E>) -> Result<T, Error>;

    /// y ← α x + y.
    ///
    /// # Errors
    /// As for [`dot`](Self::dot).
    fn axpy(&self, alpha: T, x: &Vector<T, E>, y: &mut Vector<T, E>) -> Result<(), Error>;

    /// x ← α x.
    ///
    /// # Errors
    /// As for [`dot`](Self::dot).
    fn scale(&self, alpha: T, x: &mut Vector<T, E>) -> Result<(), Error>;
}

/// Why a peer does not multiply a matrix.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The library does not take such a matrix.
    #[error("{library} does not take it: {reason}")]
    Unfit {
        /// The library.
        library: &'static str,
        /// What is wrong with the matrix.
        reason: String,
    },
    /// Memory ran out, the matrix would be blown up, or the device or the library failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// A library that cannot be had.
#[derive(Clone, Debug, PartialEq)]
pub struct Absent {
    /// What it is called.
    pub library: &'static str,
    /// Why it is not there.
    pub reason: String,
}

/// The peers of an executor.
pub struct Peers<'e, T: Real, E: Executor> {
    /// Those that are there.
    pub present: Vec<Box<dyn Peer<T, E> + 'e>>,
    /// The libraries that are not.
    pub absent: Vec<Absent>,
}

impl<T: Real, E: Executor> Peers<'_, T, E> {
    fn none() -> Self {
        Self { present: Vec::new(), absent: Vec::new() }
    }

    #[cfg(not(feature = "peers"))]
    fn not_built(libraries: &[&'static str]) -> Self {
        let absent = libraries.iter().map(|&library| Absent { library, reason: NOT_BUILT.into() });
        Self { present: Vec::new(), absent: absent.collect() }
    }
}

/// An executor that knows what else runs where it does.
pub trait WithPeers: Executor + Sized {
    /// The peers that work on arrays in its memory.
    fn peers<T: Real>(&self) -> Peers<'_, T, Self>;

    /// The library that works on vectors in its memory.
    ///
    /// # Errors
    /// Why there is none.
    fn blas<T: Real>(&self) -> Result<Box<dyn Blas<T, Self> + '_>, Absent> {
        Err(Absent { library: CUBLAS, reason: "it works on the executor cuda alone".into() })
    }
}

const CUBLAS: &str = "cuBLAS";

#[cfg(not(feature = "peers"))]
const NOT_BUILT: &str = "this program was built without the feature `peers`";

impl WithPeers for HostExecutor {
    fn peers<T: Real>(&self) -> Peers<'_, T, Self> {
        match self {
            #[cfg(feature = "peers")]
            Self::Cpu(_) => Peers { present: cpu::peers(), ..Peers::none() },
            #[cfg(not(feature = "peers"))]
            Self::Cpu(_) => Peers::not_built(&["sprs", "faer"]),
            Self::Reference(_) | Self::Emulated(_) => Peers::none(),
        }
    }
}

#[cfg(feature = "cuda")]
impl WithPeers for host::executor::Cuda {
    #[cfg(feature = "peers")]
    fn peers<T: Real>(&self) -> Peers<'_, T, Self> {
        match cusparse::peers(self) {
            Ok(present) => Peers { present, ..Peers::none() },
            Err(reason) => Peers { absent: vec![Absent { library: "cuSPARSE", reason }], ..Peers::none() },
        }
    }

    #[cfg(not(feature = "peers"))]
    fn peers<T: Real>(&self) -> Peers<'_, T, Self> {
        Peers::not_built(&["cuSPARSE"])
    }

    #[cfg(feature = "peers")]
    fn blas<T: Real>(&self) -> Result<Box<dyn Blas<T, Self> + '_>, Absent> {
        match cublas::CuBlas::new(self) {
            Ok(library) => Ok(Box::new(library)),
            Err(reason) => Err(Absent { library: CUBLAS, reason }),
        }
    }

    #[cfg(not(feature = "peers"))]
    fn blas<T: Real>(&self) -> Result<Box<dyn Blas<T, Self> + '_>, Absent> {
        Err(Absent { library: CUBLAS, reason: NOT_BUILT.into() })
    }
}

/// Checks that vectors fit a matrix.
#[cfg(feature = "peers")]
fn check_vectors<T: Real, M: host::Memory>(
    matrix: &Csr<T, M>,
    x: &M::Buffer<T>,
    y: &M::Buffer<T>,
) -> Result<(), Error> {
    use host::memory::Buffer;
    for (what, found, expected) in [("x", x.len(), matrix.columns()), ("y", y.len(), matrix.rows())] {
        if found != expected {
            return Err(Error::Length { what, found, expected });
        }
    }
    Ok(())
}

#[cfg(all(test, feature = "peers"))]
mod tests {
    use host::verify::{exact, verify};
    use synthetic::Generator;

    use super::*;

    pub fn generated<T: Real>(text: &str) -> Csr<T> {
        text.parse::<Generator>().unwrap().generate().unwrap()
    }

    /// Small matrices of several structures.
    pub fn matrices<T: Real>() -> Vec<(String, Csr<T>)> {
        let generators = [
            "stencil:27:9x7x5",
            "stencil:5:20x31",
            "elasticity:width=4",
            "pareto:rows=400,k=1.2,base=3",
            "rectangle:rows=90,columns=700,per-row=11",
            "rectangle:rows=1000,columns=8,per-row=2",
        ];
        let mut matrices: Vec<_> = generators.iter().map(|text| (text.to_string(), generated(text))).collect();
        // Empty rows at both ends, and a long one.
        let rows: Vec<u32> = (0..300).map(|entry| if entry % 7 == 0 { 5 + entry / 7 } else { 40 }).collect();
        let columns: Vec<u32> = (0..300).collect();
        let values: Vec<T> = (0..300).map(|entry| T::from_f64(f64::from(entry) / 7.0 - 20.0)).collect();
        let csr = |rows, columns, entries: [&[u32]; 2], values| {
            Csr::try_from_triplets(rows, columns, entries[0], entries[1], values).unwrap()
        };
        matrices.push(("empty rows".into(), csr(100, 300, [&rows, &columns], &values)));
        matrices.push(("1 x 1".into(), csr(1, 1, [&[0], &[0]], &[T::from_f64(-1.5)])));
        matrices
    }

    pub fn vector<T: Real>(length: usize) -> Vec<T> {
        (0..length).map(|place| T::from_f64((place as f64 + 0.5).sin())).collect()
    }

    /// Checks a multiplication y ← y + A x of zeros.
    pub fn verified<T: Real>(name: &str, matrix: &Csr<T>, multiply: impl FnOnce(&[T], &mut [T])) {
        let x = vector(matrix.columns());
        let mut y = vec![T::ZERO; matrix.rows()];
        multiply(&x, &mut y);
        let exact = exact(matrix, T::ONE, &x, T::ZERO, &y).unwrap();
        let verification = verify(&y, &exact, BOUND).unwrap();
        assert!(verification.passed(), "{name}: {verification:?}");
    }
}
