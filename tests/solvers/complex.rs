//! Requirements on every executor for complex systems and Hermitian eigenproblems.

use std::f64::consts::TAU;

use warp_spmv::executor::Executor;
use warp_spmv::solver::dense::Multicolumn;
use warp_spmv::solver::preconditioner::{Preconditioner, PreconditionerName, PreconditionerOptions};
use warp_spmv::solver::{
    Bicgstab, Cg, Gmres, Lobpcg, Method, Minres, Operator, Options, Outcome, PipelinedCg, SpectralBounds, SpectrumEnd,
    power_iteration,
};
use warp_spmv::{Csr, Format, Plan, Real, Scalar};

use super::Numbers;
use super::preconditioner::{dominant, in_parts, names};
use super::solver::{
    Family, check_chebyshev, check_family, check_interval, complex_convection, diagonal, helmholtz, hermitian,
    hermitian_indefinite, options, relative_residual,
};

/// Iterations per cycle of GMRES.
pub const CYCLE: u32 = 60;

/// Checks each method with the matrices that it supports.
pub fn check_complex_methods<T: Scalar, E: Executor>(executor: &E) {
    fn check<T: Scalar, E: Executor, M: Method<T, E>>(executor: &E, method: M, families: &[Family<T>]) {
        for &family in families {
            check_family(executor, &method, family);
        }
        check_interval(executor, &method);
    }
    check::<T, _, _>(executor, Cg, &[hermitian]);
    check::<T, _, _>(executor, PipelinedCg, &[hermitian]);
    check::<T, _, _>(executor, Minres, &[hermitian, hermitian_indefinite]);
    check::<T, _, _>(executor, Bicgstab, &[hermitian, complex_convection]);
    check::<T, _, _>(executor, Gmres { cycle: CYCLE }, &[hermitian_indefinite, helmholtz, complex_convection]);
    check_chebyshev::<T, E>(executor);
}

/// A periodic lattice whose links have one phase per direction, plus a multiple of the identity.
pub struct Torus<'a> {
    pub sides: &'a [usize],
    pub phases: &'a [f64],
    pub shift: f64,
}

impl Torus<'_> {
    pub fn matrix<T: Scalar>(&self) -> Csr<T> {
        let points = self.sides.iter().product::<usize>();
        let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
        for point in 0..points {
            let mut entry = |column: usize, re: f64, im: f64| {
                rows.push(point as u32);
                columns.push(column as u32);
                values.push(T::from_parts(re, im));
            };
            entry(point, self.shift, 0.0);
            let mut stride = 1;
            for (side, phase) in self.sides.iter().zip(self.phases) {
                let place = point / stride % side;
                let origin = point - place * stride;
                entry(origin + (place + 1) % side * stride, phase.cos(), phase.sin());
                entry(origin + (place + side - 1) % side * stride, phase.cos(), -phase.sin());
                stride *= side;
            }
        }
        Csr::try_from_triplets(points, points, &rows, &columns, &values).unwrap()
    }

    /// Returns the eigenvalues, those of plane waves, sorted.
    pub fn spectrum(&self) -> Vec<f64> {
        let mut values = vec![self.shift];
        for (&side, phase) in self.sides.iter().zip(self.phases) {
            let wave = |number: usize| 2.0 * (TAU * number as f64 / side as f64 + phase).cos();
            values = values.iter().flat_map(|value| (0..side).map(move |number| value + wave(number))).collect();
        }
        values.sort_by(f64::total_cmp);
        values
    }
}

/// Returns xᴴ y, computed in 64 bits.
fn inner<T: Scalar>(x: &[T], y: &[T]) -> [f64; 2] {
    x.iter().zip(y).fold([0.0; 2], |[re, im], (x, y)| {
        let ([a, b], [c, d]) = (x.parts(), y.parts());
        [re + a * c + b * d, im + a * d - b * c]
    })
}

/// LOBPCG, the estimate of the spectrum and power iteration find eigenvalues known in closed form.
pub fn check_hermitian_eigenvalues<T: Scalar, E: Executor>(executor: &E) {
    let options = Options { relative_tolerance: options::<T>().relative_tolerance / 10.0, ..options::<T>() };
    let plan = |matrix: &Csr<T>| Plan::with_format(executor, matrix.clone(), Format::CSR_SCALAR).unwrap();
    for (torus, pairs) in [
        (Torus { sides: &[31], phases: &[0.3], shift: 0.0 }, 4),
        (Torus { sides: &[6, 7], phases: &[0.4, 1.1], shift: 1.0 }, 5),
    ] {
        let (matrix, mut spectrum) = (torus.matrix::<T>(), torus.spectrum());
        let rows = matrix.rows();
        let norm = spectrum[0].abs().max(spectrum[rows - 1]);
        let halves = diagonal::<T>(&vec![0.5; rows]);

        let bounds = SpectralBounds::estimate(executor, &mut plan(&matrix), None, 20).unwrap();
        // The length of the last Lanczos vector is added to the upper end.
        let above = |value: f64, expected: f64| value > expected - 1e-3 * norm && value < expected + 0.7 * norm;
        let found = above(bounds.smallest, spectrum[0]) && above(bounds.largest, spectrum[rows - 1]);
        assert!(found, "{bounds:?}, expected {} to {}", spectrum[0], spectrum[rows - 1]);

        for (end, preconditioner) in [(SpectrumEnd::Smallest, Some(&halves)), (SpectrumEnd::Largest, None)] {
            let place = format!("{:?}, {end:?}, {}", torus.sides, T::NAME);
            let mut preconditioner = preconditioner.map(plan);
            let preconditioner = preconditioner.as_mut().map(|plan| plan as &mut dyn Operator<T, E>);
            let mut x = Multicolumn::zeros(executor, rows, pairs).unwrap();
            let method = Lobpcg { end, options };
            let report = method.solve(executor, &mut plan(&matrix), preconditioner, &mut x, None).unwrap();
            assert_eq!(report.outcome, Outcome::Converged, "{place}: {report:?}");
            let x = executor.download(x.array()).unwrap();
            for pair in 0..pairs {
                let (value, vector) = (report.eigenvalues[pair], &x[pair * rows..][..rows]);
                let error = (value - spectrum[pair]).abs();
                assert!(error <= options.relative_tolerance * norm * 1.1, "{place}, pair {pair}: {value}");
                let scaled: Vec<T> = vector.iter().map(|&x| x * T::from_f64(value)).collect();
                let residual = relative_residual(&matrix, vector, &scaled) * value.abs();
                assert!(residual <= options.relative_tolerance * norm * 1.5, "{place}, pair {pair}: {residual}");
                for other in 0..=pair {
                    let [re, im] = inner(&x[other * rows..][..rows], vector);
                    let error = (re - f64::from(other == pair)).hypot(im);
                    assert!(error < 1e3 * T::Real::UNIT_ROUNDOFF, "{place}, {other}, {pair}: {error}");
                }
            }
            spectrum.reverse();
        }
    }

    let torus = Torus { sides: &[9], phases: &[0.5], shift: 3.0 };
    let (matrix, mut x) = (torus.matrix::<T>(), executor.zeros(9).unwrap());
    let report = power_iteration(executor, &mut plan(&matrix), &mut x, &options, None).unwrap();
    assert_eq!(report.outcome, Outcome::Converged, "{report:?}");
    let error = (report.eigenvalues[0] - torus.spectrum()[8]).abs();
    assert!(error <= 5.0 * options.relative_tolerance, "{report:?}");
}

/// Rows and columns of a real matrix times complex numbers of modulus 1 give a preconditioner with the inverses of
/// these numbers: M of D A C is C⁻¹ M D⁻¹, for any preconditioner.
pub fn check_turned_preconditioners<T: Scalar, E: Executor>(executor: &E) {
    for (rows, symmetric) in [(1, true), (70, true), (131, false)] {
        let matrix = dominant::<T::Real>(rows, 3, symmetric);
        let mut numbers = Numbers::new(rows as u64);
        let mut turns = || -> Vec<T> {
            (0..rows).map(|_| numbers.real::<f64>() * TAU).map(|a| T::from_parts(a.cos(), a.sin())).collect()
        };
        let (of_rows, of_columns) = (turns(), turns());
        let [re, im] = [0, 1].map(|_| Numbers::new(9).vector::<f64>(rows));
        let r: Vec<_> = re.iter().zip(im.iter().rev()).map(|(&re, &im)| T::from_parts(re, im)).collect();
        for name in names() {
            let cholesky = matches!(name, PreconditionerName::Ic0(_) | PreconditionerName::Saddle(_));
            if cholesky && !symmetric {
                continue;
            }
            // Hermitian matrices for preconditioners that require them.
            let of_columns =
                if cholesky { of_rows.iter().map(|turn| turn.conjugate()).collect() } else { of_columns.clone() };
            let (offsets, columns, values) = matrix.clone().into_parts();
            let mut turned: Vec<T> = values.iter().map(|value| T::from_f64(value.to_f64())).collect();
            for (row, &turn) in of_rows.iter().enumerate() {
                for entry in offsets.get(row)..offsets.get(row + 1) {
                    turned[entry] = turn * turned[entry] * of_columns[columns[entry] as usize];
                }
            }
            let turned = Csr::try_new(rows, rows, offsets, columns, turned).unwrap();
            let mut preconditioner = Preconditioner::new(executor, &turned, name).unwrap();
            let mut apply = |alpha: T, beta: T, y: &[T]| {
                let (r, mut y) = (executor.upload(r.clone()).unwrap(), executor.upload(y.to_vec()).unwrap());
                preconditioner.apply(alpha, &r, beta, &mut y).unwrap();
                executor.download(&y).unwrap()
            };
            let nan = vec![T::from_parts(f64::NAN, f64::NAN); rows];
            let z = apply(T::ONE, T::ZERO, &nan);

            let mut real = Preconditioner::new(executor, &matrix, name).unwrap();
            let mut part = |part: usize| -> Vec<f64> {
                let back =
                    r.iter().zip(&of_rows).map(|(&r, turn)| T::Real::from_f64((turn.conjugate() * r).parts()[part]));
                let mut z = executor.zeros(rows).unwrap();
                let (one, zero) = (T::Real::from_f64(1.0), T::Real::from_f64(0.0));
                real.apply(one, &executor.upload(back.collect()).unwrap(), zero, &mut z).unwrap();
                executor.download(&z).unwrap().into_iter().map(Real::to_f64).collect()
            };
            let (re, im) = (part(0), part(1));
            let largest = re.iter().chain(&im).fold(0.0, |largest: f64, part| largest.max(part.abs()));
            for row in 0..rows {
                let difference = of_columns[row] * z[row] - T::from_parts(re[row], im[row]);
                let error = difference.magnitude() / largest;
                assert!(error < 1e3 * T::Real::UNIT_ROUNDOFF, "{name}, {}, row {row}: {error}", T::NAME);
            }

            assert!(apply(T::ONE, T::ZERO, &nan) == z, "{name}: not the same bits twice");
            let (alpha, beta) = (T::from_parts(0.5, -2.0), T::from_parts(-1.0, 1.0));
            for (row, y) in apply(alpha, beta, &r).into_iter().enumerate() {
                let error = (y - (alpha * z[row] + beta * r[row])).magnitude() / largest.max(1.0);
                assert!(error < 1e2 * T::Real::UNIT_ROUNDOFF, "{name}, row {row}: {error}");
            }
        }
    }
}

/// A complex preconditioner with new values has the bits of a new one, and stays unchanged if it cannot take them.
pub fn check_new_complex_values<T: Scalar, E: Executor>(executor: &E) {
    for (symmetric, real) in [(true, in_parts(&dominant::<T::Real>(50, 3, true))), (false, dominant(70, 4, false))] {
        let last = real.rows() - 1;
        // Hermitian if the real matrix is symmetric and `of_rows` is 0.
        let turned = |turn: f64, of_rows: f64| -> Csr<T> {
            let mut turned = real.cast::<T>().unwrap();
            for row in 0..real.rows() {
                for place in real.range(row) {
                    let column = real.column_indices()[place];
                    let angle = turn * (row as f64 - f64::from(column)) + of_rows * (row + 1) as f64;
                    let value = &mut turned.values_mut()[place];
                    *value = *value * T::from_parts(angle.cos(), angle.sin());
                }
            }
            turned
        };
        let diagonal = real.range(last).find(|&place| real.column_indices()[place] as usize == last).unwrap();
        let r = executor.upload(Numbers::new(8).vector::<T>(real.rows())).unwrap();
        for (name, format) in names().into_iter().flat_map(|name| [(name, Format::CSR_TILED), (name, Format::SELL_P)]) {
            let cholesky = matches!(name, PreconditionerName::Ic0(_) | PreconditionerName::Saddle(_));
            if cholesky && !symmetric {
                continue;
            }
            let what = format!("{name}, {format}, {} rows, {}", real.rows(), T::NAME);
            let of_rows = if cholesky { 0.0 } else { 0.7 };
            // The last one has real factors.
            let matrices = [turned(0.3, of_rows), turned(1.1, 2.0 * of_rows), turned(0.0, 0.0)];
            let make = |matrix: &Csr<T>, updates| {
                let options =
                    PreconditionerOptions { format: Some(format), updates, ..PreconditionerOptions::default() };
                Preconditioner::with_options(executor, matrix, name, options).unwrap()
            };
            let product = |preconditioner: &mut Preconditioner<T, E>| {
                let mut z = executor.zeros(real.rows()).unwrap();
                preconditioner.apply(T::ONE, &r, T::ZERO, &mut z).unwrap();
                executor.download(&z).unwrap()
            };
            let expected = matrices.each_ref().map(|matrix| product(&mut make(matrix, false)));
            assert!(expected[1..].iter().all(|z| *z != expected[0]), "{what}: new values change nothing");
            let mut preconditioner = make(&matrices[0], true);
            assert!(product(&mut preconditioner) == expected[0], "{what}: made for updates");
            for number in [1, 2, 2, 0] {
                let values = matrices[number].values();
                preconditioner.update_values(values).unwrap();
                assert!(product(&mut preconditioner) == expected[number], "{what}, {number}: differs from a new one");
                let mut broken = values.clone();
                broken[diagonal] = T::from_f64(f64::NAN);
                let error = preconditioner.update_values(&broken).unwrap_err().to_string();
                assert!(error.contains(&format!("the pivot of row {last} is")), "{what}: {error}");
                let kept = product(&mut preconditioner) == expected[number];
                assert!(kept, "{what}, {number}: changed by values that it refused");
            }
            let error = make(&matrices[0], false).update_values(matrices[1].values()).unwrap_err().to_string();
            assert!(error.starts_with("`updates` in the options is false"), "{what}: {error}");
        }
    }
}
