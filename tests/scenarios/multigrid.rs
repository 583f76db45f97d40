//! Multigrid levels and transposes, made on the executor.

use warp_spmv::executor::{Cpu, Executor};
use warp_spmv::solver::Operator;
use warp_spmv::solver::multigrid::{Multigrid, MultigridReport, Smoother};
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName, PreconditionerOptions};
use warp_spmv::{Csr, Format, Real, Scalar};

use super::{Numbers, with_rows};

/// Checks multigrid for a matrix with a nonsymmetric pattern and a row of zeros, with nodes of one and two unknowns. It
/// has the same levels and, up to rounding, the same results as on the CPU. Returns the results by name.
pub fn check_levels<T: Scalar, E: Executor>(executor: &E) -> Vec<(String, Vec<T>)> {
    const ROWS: u32 = 30;
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    for row in (0..ROWS).filter(|&row| row != 13) {
        // Some connections are weak.
        let weak = if row % 5 == 0 { -0.05 } else { -1.0 };
        for (column, value) in [(row, 4.0), ((row + 1) % ROWS, -1.0), ((row + 7) % ROWS, weak)] {
            rows.push(row);
            columns.push(column);
            values.push(T::from_parts(value, 0.0));
        }
    }
    let matrix = Csr::try_from_triplets(ROWS as usize, ROWS as usize, &rows, &columns, &values).unwrap();
    let r = Numbers::new(37).vector::<T>(ROWS as usize);
    let options = PreconditionerOptions { format: Some(Format::CSR_VECTOR), ..PreconditionerOptions::default() };
    let on_executor = executor.upload(r.clone()).unwrap();
    let mut results = vec![];
    for (node, smoother) in [(1, Smoother::Chebyshev(1)), (2, Smoother::L1Jacobi(1))] {
        let name = PreconditionerName::Amg(Multigrid { node, smoother, coarsest: 4, ..Multigrid::default() });
        let mut made_there = Preconditioner::with_options(executor, &matrix, name, options).unwrap();
        let mut on_host = Preconditioner::with_options(&Cpu::new(), &matrix, name, options).unwrap();
        let rows = |report: Option<&MultigridReport>| {
            report.map(|report| report.levels.iter().map(|level| (level.rows, level.nnz)).collect::<Vec<_>>())
        };
        assert_eq!(rows(made_there.multigrid_report()), rows(on_host.multigrid_report()), "{name}");
        assert!(rows(made_there.multigrid_report()).is_some_and(|levels| levels.len() > 1), "{name}");
        let (mut z, mut expected) = (executor.zeros(r.len()).unwrap(), vec![T::ZERO; r.len()]);
        made_there.apply(T::ONE, &on_executor, T::ZERO, &mut z).unwrap();
        let z: Vec<T> = executor.download(&z).unwrap();
        on_host.apply(T::ONE, &r, T::ZERO, &mut expected).unwrap();
        let tolerance = 1000.0 * T::Real::UNIT_ROUNDOFF;
        for (row, (z, expected)) in z.iter().zip(&expected).enumerate() {
            assert!((*z - *expected).magnitude() <= tolerance, "{name}, row {row}: {z}, expected {expected}");
        }
        results.push((name.to_string(), z));
    }
    results
}

/// Checks transposes of matrices with unsorted rows and repeated columns.
pub fn check_transposes_there<T: Scalar, E: Executor>(executor: &E) {
    let mut numbers = Numbers::new(38);
    for (columns, lengths) in [(7, vec![3, 0, 9, 1, 40, 3]), (300, vec![5; 40]), (1, vec![2, 2]), (5, vec![])] {
        let matrix = with_rows::<T>(columns, &lengths, &mut numbers);
        let there = matrix.upload_copy(executor).unwrap();
        let mut expected = matrix.transposed().unwrap();
        assert!(there.transposed_on(executor).unwrap().to_host(executor).unwrap() == expected, "{columns} columns");
        expected.values_mut().iter_mut().for_each(|value| *value = value.conjugate());
        let conjugate = there.conjugate_transposed_on(executor).unwrap().to_host(executor).unwrap();
        assert!(conjugate == expected, "{columns} columns");
    }
}
