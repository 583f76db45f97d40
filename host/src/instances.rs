//! Instances of generic code, compiled once here instead of in most crates: at low optimisation levels, a crate links to the
//! instances in its dependencies. The feature `instances` is for tests, which are a dozen programs.

use crate::executor::{Cpu, Emulated, Executor, Reference};
use crate::format::Matrix;
use crate::{Complex, Csr, Plan, Scalar, verify};

/// The functions used for all number types, on all executors that need no GPU.
pub fn instances() -> [[*const (); 22]; 12] {
    [
        of::<f32, Reference>(),
        of::<f32, Cpu>(),
        of::<f32, Emulated>(),
        of::<f64, Reference>(),
        of::<f64, Cpu>(),
        of::<f64, Emulated>(),
        of::<Complex<f32>, Reference>(),
        of::<Complex<f32>, Cpu>(),
        of::<Complex<f32>, Emulated>(),
        of::<Complex<f64>, Reference>(),
        of::<Complex<f64>, Cpu>(),
        of::<Complex<f64>, Emulated>(),
    ]
}

fn of<T: Scalar, E: Executor>() -> [*const (); 22] {
    [
        Csr::<T>::try_from_triplets as *const (),
        Csr::<T, E::Memory>::convert::<E> as *const (),
        Matrix::<T>::into_csr as *const (),
        Matrix::<T, E::Memory>::into_csr_on::<E> as *const (),
        Matrix::<T>::try_clone as *const (),
        Matrix::<T>::try_from_csr as *const (),
        Plan::<T, E>::apply as *const (),
        Plan::<T, E>::apply_conjugate_transposed as *const (),
        Plan::<T, E>::apply_fused as *const (),
        Plan::<T, E>::apply_multivector as *const (),
        Plan::<T, E>::apply_transposed as *const (),
        Plan::<T, E>::automatic as *const (),
        Plan::<T, E>::from_choice as *const (),
        Plan::<T, E>::from_converted as *const (),
        Plan::<T, E>::from_matrix as *const (),
        Plan::<T, E>::new as *const (),
        Plan::<T, E>::set_format as *const (),
        Plan::<T, E>::update_values as *const (),
        Plan::<T, E>::with_format as *const (),
        Plan::<T, E>::with_options as *const (),
        verify::exact::<T> as *const (),
        verify::verify::<T> as *const (),
    ]
}
