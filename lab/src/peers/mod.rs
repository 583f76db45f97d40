//! Other libraries' multiplications, timed in the same process on the same arrays, and [conjugate
//! gradients](conjugate_gradients()) built from them.
//!
//! [`WithPeers::peers`] lists those of an executor, [`WithPeers::multivector_peers`] those that multiply several vectors at
//! once, and [`WithPeers::blas`] returns the library for operations on vectors. The feature `peers` adds sprs and faer for
//! the CPU; with the feature `cuda` as well, cuSPARSE and cuBLAS for the GPU, which are loaded on demand: the folders of
//! `libcusparse.so.12`, of the `libnvJitLink` that it needs and of `libcublas.so` must be in the system loader's search
//! path, usually by `LD_LIBRARY_PATH`. Missing libraries are listed with the reason, which is not an error. This also holds
//! separately for cuSPARSE's SpMVOp, which exists from 12.8.1 on, for its SpMM, and for its SpGEMM, which multiplies two
//! sparse matrices in the ways listed by `sparse_product_peers`.

#[cfg(all(feature = "peers", any(feature = "cuda", test)))]
mod blocks;
mod conjugate_gradients;
#[cfg(feature = "peers")]
mod cpu;
#[cfg(all(feature = "peers", feature = "cuda"))]
mod cublas;
#[cfg(all(feature = "peers", feature = "cuda"))]
mod cusparse;
mod peer;
#[cfg(all(feature = "peers", any(feature = "cuda", test)))]
mod slices;
#[cfg(all(test, feature = "peers"))]
mod tests;

use host::executor::{Executor, HostExecutor};
use host::{Multivector, Real, Scalar, ValueStorage};

pub use conjugate_gradients::{Solved, Stop, conjugate_gradients};
#[cfg(all(feature = "peers", feature = "cuda"))]
pub use cusparse::{SpGemm, SpGemmProduct, SpGemms, cusparse_name, sparse_product_peers};
pub use peer::{BOUND, Blas, Peer, PeerError, Prepared};

/// The libraries of the peers: the beginnings of the peers' names.
pub const LIBRARIES: &[&str] = &["cusparse", "faer", "sprs"];

/// A library, or a part of one, that is not available.
#[derive(Clone, Debug, PartialEq)]
pub struct Absent {
    /// Its name.
    pub library: &'static str,
    /// The reason.
    pub reason: String,
}

/// The peers of an executor.
pub struct Peers<'e, T: Scalar, E: Executor> {
    /// The available peers.
    pub present: Vec<Box<dyn Peer<T, E> + 'e>>,
    /// The missing libraries, and missing parts of libraries.
    pub absent: Vec<Absent>,
}

impl<T: Scalar, E: Executor> Peers<'_, T, E> {
    fn none() -> Self {
        Self { present: Vec::new(), absent: Vec::new() }
    }

    #[cfg(all(feature = "peers", feature = "cuda"))]
    fn without(library: &'static str, reason: String) -> Self {
        Self { present: Vec::new(), absent: vec![Absent { library, reason }] }
    }

    #[cfg(not(feature = "peers"))]
    fn not_built(libraries: &[&'static str]) -> Self {
        let absent = libraries.iter().map(|&library| Absent { library, reason: NOT_BUILT.into() });
        Self { present: Vec::new(), absent: absent.collect() }
    }
}

/// An executor with peers.
pub trait WithPeers: Executor + Sized {
    /// Returns the peers that work on arrays in its memory: those that store values in full, and those that store them as
    /// `values` does, which reject a matrix if this would change a value.
    fn peers<T: Scalar>(&self, values: ValueStorage) -> Peers<'_, T, Self>;

    /// Returns the peers that multiply several vectors of this shape at once.
    fn multivector_peers<T: Scalar>(&self, _shape: Multivector) -> Peers<'_, T, Self> {
        Peers::none()
    }

    /// Returns the library for operations on vectors in its memory.
    ///
    /// # Errors
    /// Why there is none.
    fn blas<T: Real>(&self) -> Result<Box<dyn Blas<T, Self> + '_>, Absent> {
        Err(Absent { library: CUBLAS, reason: "it supports only the executor cuda".into() })
    }
}

const CUBLAS: &str = "cuBLAS";

#[cfg(not(feature = "peers"))]
const NOT_BUILT: &str = "this program was built without the feature `peers`";

impl WithPeers for HostExecutor {
    fn peers<T: Scalar>(&self, _: ValueStorage) -> Peers<'_, T, Self> {
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
    fn peers<T: Scalar>(&self, values: ValueStorage) -> Peers<'_, T, Self> {
        cusparse::peers(self, values)
    }

    #[cfg(not(feature = "peers"))]
    fn peers<T: Scalar>(&self, _: ValueStorage) -> Peers<'_, T, Self> {
        Peers::not_built(&["cuSPARSE"])
    }

    #[cfg(feature = "peers")]
    fn multivector_peers<T: Scalar>(&self, shape: Multivector) -> Peers<'_, T, Self> {
        cusparse::multivector_peers(self, shape)
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
