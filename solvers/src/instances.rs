//! Generic code that most dependent crates would instantiate, compiled once here, as in `host::instances`.

use host::executor::{Cpu, Emulated, Executor, Reference};
use host::{Complex, Scalar};

use crate::preconditioner::Preconditioner;
use crate::{Lobpcg, MethodName, Pagerank, SpectralBounds, power_iteration};

/// Instances for all number types on all executors that need no GPU.
pub fn instances() -> [Vec<*const ()>; 3] {
    [on::<Reference>(), on::<Cpu>(), on::<Emulated>()]
}

fn on<E: Executor>() -> Vec<*const ()> {
    let real = [
        MethodName::refine::<f64, f32, E> as *const (),
        Pagerank::<f32, E>::automatic as *const (),
        Pagerank::<f32, E>::with_values as *const (),
        Pagerank::<f32, E>::rank as *const (),
        Pagerank::<f64, E>::automatic as *const (),
        Pagerank::<f64, E>::with_values as *const (),
        Pagerank::<f64, E>::rank as *const (),
    ];
    let any = [of::<f32, E>(), of::<f64, E>(), of::<Complex<f32>, E>(), of::<Complex<f64>, E>()];
    any.into_iter().flatten().chain(real).collect()
}

fn of<T: Scalar, E: Executor>() -> [*const (); 7] {
    [
        Lobpcg::solve::<T, E> as *const (),
        MethodName::refine::<T, T, E> as *const (),
        MethodName::solve::<T, E> as *const (),
        Preconditioner::<T, E>::update_values as *const (),
        Preconditioner::<T, E>::with_options as *const (),
        SpectralBounds::estimate::<T, E> as *const (),
        power_iteration::<T, E> as *const (),
    ]
}
