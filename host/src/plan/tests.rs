use super::*;
use crate::executor::{Cpu, Emulated, HostExecutor, Reference};

#[test]
fn slices_are_multiplied_as_vectors_are() {
    let matrix = Csr::try_from_triplets(3, 4, &[0, 1, 1, 2], &[3, 0, 2, 1], &[1.0, 2.0, 3.0, 4.0]).unwrap();
    let (x, start) = ([9.0, 1.0, 10.0, 100.0, 1000.0, 9.0], [8.0, 1.0, 2.0, 3.0, 8.0]);
    let mut executors: Vec<HostExecutor> = vec![Reference::new().into(), Cpu::new().into()];
    // Miri does not support lanes, and is slow.
    if !cfg!(miri) {
        executors.push(Emulated::new(0).into());
    }
    for executor in executors {
        for &format in Format::STANDARD.iter().take(if cfg!(miri) { 3 } else { usize::MAX }) {
            let mut plan = Plan::with_format(&executor, matrix.clone(), format).unwrap();
            let mut expected = start[1..4].to_vec();
            plan.apply(2.0, &x[1..5].to_vec(), 0.5, &mut expected).unwrap();
            let mut y = start;
            plan.apply_slices(2.0, &x[1..5], 0.5, &mut y[1..4]).unwrap();
            assert_eq!((y[0], &y[1..4], y[4]), (8.0, &expected[..], 8.0), "{format}");

            let error = plan.apply_slices(2.0, &x, 0.5, &mut y[1..4]).unwrap_err();
            assert_eq!(error.to_string(), "x has length 6, expected 4");
            let error = plan.apply_slices(2.0, &x[1..5], 0.5, &mut y).unwrap_err();
            assert_eq!(error.to_string(), "y has length 5, expected 3");
        }
    }
}

#[test]
fn a_matrix_in_memory_makes_the_same_plan() {
    let matrix = Csr::try_from_triplets(3, 4, &[0, 1, 1, 2], &[3, 0, 2, 1], &[1.0, 2.0, 3.0, 4.0]).unwrap();
    let cpu = Cpu::new();
    // The first one inspects the rows.
    let formats = [Format::CSR_AUTOMATIC, Format::COO, Format::SELL_P, Format::Auto];
    for format in formats.into_iter().take(if cfg!(miri) { 3 } else { 4 }) {
        let options = PlanOptions {
            updates: true,
            reproducible: format != Format::CSR_AUTOMATIC,
            transposed: Transposed::Stored(Format::COO),
            ..PlanOptions::default()
        };
        let uploaded = matrix.clone().upload(&cpu).unwrap();
        let plans = [
            Plan::with_options(&cpu, matrix.clone(), format, options),
            Plan::in_memory(&cpu, uploaded, format, options),
        ];
        let [mut plan, mut other] = plans.map(Result::unwrap);
        assert_eq!((plan.format(), plan.update_bytes()), (other.format(), other.update_bytes()));
        assert!(plan.matrix() == other.matrix(), "{format}");
        for plan in [&mut plan, &mut other] {
            plan.update_values(&vec![5.0, 6.0, 7.0, 8.0]).unwrap();
            let mut y = vec![0.0; 4];
            plan.apply_transposed(1.0, &vec![1.0, 10.0, 100.0], 0.0, &mut y).unwrap();
            assert_eq!(y, [60.0, 800.0, 70.0, 5.0], "{format}");
        }
    }
    let uploaded = matrix.upload(&cpu).unwrap();
    let options = PlanOptions { reproducible: true, ..PlanOptions::default() };
    let error = Plan::in_memory(&cpu, uploaded, Format::COO_ATOMIC, options).map(drop).unwrap_err();
    assert!(matches!(error, Error::NotReproducible { .. }), "{error}");
}
