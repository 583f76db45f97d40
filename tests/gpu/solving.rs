//! Solvers and preconditioners: the checks of all executors, then runs that take long enough for recorded launches to matter.

use crate::solvers::complex::{
    check_complex_methods, check_hermitian_eigenvalues, check_new_complex_values, check_turned_preconditioners,
};
use crate::solvers::preconditioner::{check_new_values, check_preconditioned, check_preconditioners};
use crate::solvers::solver::{Family, check_family, check_interval};
use warp_spmv::executor::{Cuda, Executor};
use warp_spmv::memory::Buffer;
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName};
use warp_spmv::solver::{Cg, Method, Options, Outcome, Solver};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Format, Plan, Real, Scalar};

/// A tolerance that the precision allows: the condition number of stencil:7:64, 1700, times the roundoff of float32 is 1e-4.
fn options<T: Real>() -> Options {
    let relative_tolerance = if T::UNIT_ROUNDOFF > 1e-9 { 1e-3 } else { 1e-8 };
    Options { relative_tolerance, ..Options::default() }
}

/// Checks a solver, then runs it on a matrix that takes long enough for recorded launches to matter.
pub fn check_method<T: Real, M>(gpu: &Cuda, cube: &str, method: M, families: &[Family<T>])
where
    M: Method<T, Cuda> + std::fmt::Debug,
{
    let most = families.iter().map(|&family| check_family(gpu, &method, family)).max().unwrap_or(0);
    check_interval::<T, _, M>(gpu, &method);
    let matrix = cube.parse::<Generator>().unwrap().generate::<T>().unwrap();
    let b = gpu.upload(vec![T::ONE; matrix.rows()]).unwrap();
    let options = options::<T>();
    let mut plan = Plan::with_format(gpu, matrix, Format::SELL_P).unwrap();
    let run = |plan: &mut Plan<T, Cuda>| {
        let mut x = gpu.zeros(b.len()).unwrap();
        let report = Solver::new(gpu, plan).options(options).solve(&method, &b, &mut x).unwrap();
        (gpu.download(&x).unwrap(), report)
    };
    let ((first, report), (second, _)) = (run(&mut plan), run(&mut plan));
    assert_eq!(report.outcome, Outcome::Converged, "{method:?}: {report:?}");
    assert!(first == second, "{method:?}: not the same bits twice");
    println!(
        "- {method:?}, {}: right, at most {most} iterations; {cube} in {} iterations and {:.1} ms, the same \
         bits twice",
        T::NAME,
        report.iterations,
        report.elapsed.as_secs_f64() * 1e3
    );
}

/// Solvers, eigenvalue methods and preconditioners of complex matrices.
pub fn check_complex_solvers<T: Scalar>(gpu: &Cuda) {
    check_complex_methods::<T, _>(gpu);
    check_hermitian_eigenvalues::<T, _>(gpu);
    check_turned_preconditioners::<T, _>(gpu);
    check_new_complex_values::<T, _>(gpu);
    println!("- solvers, eigenvalue methods and preconditioners, {}: right", T::NAME);
}

/// Checks preconditioners, then runs them on a larger matrix.
pub fn check_preconditioning<T: Real>(gpu: &Cuda, cube: &str) {
    let checked = check_preconditioners::<T, _>(gpu);
    check_preconditioned::<T, _>(gpu);
    check_new_values::<T, _>(gpu);
    println!("- preconditioners, {}: {checked} right, with Cg, and with new values", T::NAME);
    let matrix = cube.parse::<Generator>().unwrap().generate::<T>().unwrap();
    let b = gpu.upload(vec![T::ONE; matrix.rows()]).unwrap();
    let mut plan = Plan::with_format(gpu, matrix.clone(), Format::SELL_P).unwrap();
    for &name in PreconditionerName::ALL {
        let mut preconditioner = Preconditioner::new(gpu, &matrix, name).unwrap();
        let mut run = || {
            let mut x = gpu.zeros(b.len()).unwrap();
            let mut solver = Solver::new(gpu, &mut plan).preconditioner(&mut preconditioner).options(options::<T>());
            let report = solver.solve(&Cg, &b, &mut x).unwrap();
            (gpu.download(&x).unwrap(), report)
        };
        let ((first, _), (second, report)) = (run(), run());
        assert_eq!(report.outcome, Outcome::Converged, "{name}: {report:?}");
        assert!(first == second, "{name}: not the same bits twice");
        println!(
            "- Cg with {name}, {}: {cube} in {} iterations and {:.1} ms, the same bits twice",
            T::NAME,
            report.iterations,
            report.elapsed.as_secs_f64() * 1e3
        );
    }
}
