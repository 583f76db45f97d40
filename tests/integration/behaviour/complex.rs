//! A third number type through every format: with a file for the type in each crate, and nothing else that knows of it.

use num_complex::Complex;
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::format::{CsrStrategy, Lanes};
use warp_spmv::{Csr, Format, Plan};

use crate::scenarios::{Numbers, with_rows};

type Complex32 = Complex<f32>;

/// A matrix with rows of many lengths, and whole numbers: all sums are exact, whatever their order.
fn matrix() -> Csr<Complex32> {
    let mut numbers = Numbers::new(7);
    let real = with_rows::<f32>(90, &[3, 0, 40, 1, 64, 33, 7].repeat(11), &mut numbers);
    let (rows, columns) = (real.rows(), real.columns());
    let (offsets, column_indices, values) = real.into_parts();
    let values = (0..values.len()).map(whole).collect();
    Csr::try_new(rows, columns, offsets, column_indices, values).unwrap()
}

fn whole(place: usize) -> Complex32 {
    Complex::new((place % 7) as f32 - 3.0, (place % 5) as f32 - 2.0)
}

fn check<E: Executor>(executor: &E) {
    let matrix = matrix();
    let x: Vec<_> = (0..matrix.columns()).map(|place| whole(place + 3)).collect();
    let start: Vec<_> = (0..matrix.rows()).map(|place| whole(place + 1)).collect();
    let (alpha, beta) = (Complex::new(2.0, -1.0), Complex::new(0.0, 1.0));
    let expected: Vec<_> = (0..matrix.rows())
        .map(|row| {
            let sum: Complex32 = matrix.row(row).map(|(column, value)| value * x[column as usize]).sum();
            alpha * sum + beta * start[row]
        })
        .collect();
    for &format in Format::STANDARD.iter().chain(&[Format::Csr(CsrStrategy::Vector(Lanes::L32))]) {
        let mut plan = Plan::with_format(executor, matrix.clone(), format).unwrap();
        let mut y = executor.upload(start.clone()).unwrap();
        plan.apply(alpha, &executor.upload(x.clone()).unwrap(), beta, &mut y).unwrap();
        assert_eq!(executor.download(&y).unwrap(), expected, "{format}");
    }
    let mut plan = Plan::with_format(executor, matrix.clone(), Format::CSR_SCALAR).unwrap();
    plan.set_format(Format::CSR_TILED).unwrap();
    let transposed = matrix.transposed().unwrap();
    let z: Vec<_> = (0..matrix.rows()).map(whole).collect();
    let mut y = executor.zeros(matrix.columns()).unwrap();
    plan.apply_transposed(alpha, &executor.upload(z.clone()).unwrap(), Complex::new(0.0, 0.0), &mut y).unwrap();
    let expected: Vec<_> = (0..matrix.columns())
        .map(|row| alpha * transposed.row(row).map(|(column, value)| value * z[column as usize]).sum::<Complex32>())
        .collect();
    assert_eq!(executor.download(&y).unwrap(), expected, "transposed");
    assert!(plan.into_matrix().download(executor).unwrap().into_csr().unwrap() == matrix);
}

#[test]
fn complex_numbers_go_through_every_format_on_every_executor() {
    check(&Reference::new());
    check(&Cpu::new());
    for seed in 0..20 {
        check(&Emulated::new(seed));
    }
}
