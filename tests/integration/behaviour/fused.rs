//! Products with an epilogue on every executor that needs no GPU.

use warp_spmv::device::Tuning;
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::{Complex, Csr, Epilogue, Format, PartialSums, Plan, ProductSums, Real};

use crate::scenarios::fused::check_fused;
use crate::scenarios::{generated, matrices};

/// Every format with every matrix. By kernels, formats that do not fuse share the kernels that follow the product: a
/// third of the matrices suffices.
fn check_all<T: Real, E: Executor>(executor: &E, by_kernels: bool) {
    let matrices: Vec<_> = matrices::<T>().into_iter().filter(|(_, matrix)| matrix.nnz() < 20_000).collect();
    let small = generated::<T>("stencil:5:9x7");
    for &format in Format::ALL {
        let fuses = Plan::with_format(executor, small.clone(), format).unwrap().fuses();
        let every = if by_kernels && !fuses { 3 } else { 1 };
        let checked =
            |(name, matrix): &&(String, Csr<T>)| check_fused(executor, name, matrix, format, by_kernels).is_some();
        let checked = matrices.iter().step_by(every).filter(checked).count();
        // Some matrices are refused because of padding.
        assert!(checked > 20 / every, "{format}: only {checked} were checked");
    }
}

#[test]
fn the_cpu_adds_up_what_it_multiplies() {
    check_all::<f32, _>(&Cpu::new(), false);
    check_all::<f64, _>(&Cpu::new(), false);
}

#[test]
fn the_reference_adds_up_what_it_multiplies() {
    check_all::<f64, _>(&Reference::new(), false);
}

#[test]
fn the_emulator_adds_up_what_it_multiplies_in_float32() {
    check_all::<f32, _>(&Emulated::new(1), true);
}

#[test]
fn the_emulator_adds_up_what_it_multiplies_in_float64() {
    check_all::<f64, _>(&Emulated::new(2), true);
}

/// Threads that process several rows, and blocks of one warp.
#[test]
fn sums_are_right_on_other_grids() {
    let matrix = generated::<f64>("stencil:5:40x30");
    for (seed, multiprocessors, threads, per_block, waves) in
        [(3, 1, 32, 32, 1), (4, 3, 64, 32, 2), (5, 4, 1024, 256, 64)]
    {
        let tuning = Tuning::new(per_block, waves).unwrap();
        let executor = Emulated::with_size(seed, multiprocessors, threads, tuning).unwrap();
        for &format in Format::STANDARD {
            check_fused(&executor, "stencil", &matrix, format, true).unwrap();
        }
    }
}

/// The documentation lists these formats.
#[test]
fn formats_that_write_each_row_once_fuse() {
    let fuses = |format| {
        let matrix = generated::<f64>("stencil:5:9x7");
        Plan::with_format(&Emulated::new(0), matrix, format).unwrap().fuses()
    };
    for format in [Format::CSR_VECTOR, Format::ELL, Format::SELL_P, Format::SELL_P_SORTED, Format::Sell16, Format::Dia]
    {
        assert!(fuses(format), "{format}");
    }
    for format in [Format::CSR_TILED, Format::COO, Format::CSR_LOAD_BALANCED] {
        assert!(!fuses(format), "{format}");
    }
    // With many rows, the cost of another launch does not matter.
    let many = Plan::with_format(&Emulated::new(0), generated::<f64>("stencil:5:30x20"), Format::SELL_P).unwrap();
    assert!(!many.fuses());
    let on_cpu = Plan::with_format(&Cpu::new(), generated::<f64>("stencil:5:9x7"), Format::ELL).unwrap();
    assert!(!on_cpu.fuses());
}

#[test]
fn what_does_not_fit_is_refused() {
    fn check<E: Executor>(executor: &E) {
        let matrix = Csr::try_from_triplets(2, 3, &[0, 1], &[2, 0], &[1.0, 2.0]).unwrap();
        let mut plan = Plan::with_format(executor, matrix, Format::ELL).unwrap();
        let upload = |length| executor.upload(vec![1.0; length]).unwrap();
        let (x, mut y, long) = (upload(3), upload(2), upload(3));
        let mut sums = PartialSums::new(executor, 1).unwrap();
        let addend = Epilogue { addend: Some((1.0, &long)), sums: None };
        let error = plan.apply_fused(1.0, &x, 0.0, &mut y, addend).unwrap_err();
        assert_eq!(error.to_string(), "z has length 3, expected 2");
        let with = Epilogue { addend: None, sums: Some(ProductSums { with: &x, squares: false, into: &mut sums }) };
        let error = plan.apply_fused(1.0, &x, 0.0, &mut y, with).unwrap_err();
        assert_eq!(error.to_string(), "w has length 3, expected 2");
        let z = upload(2);
        let endless = Epilogue { addend: Some((f64::INFINITY, &z)), sums: None };
        let error = plan.apply_fused(1.0, &x, 0.0, &mut y, endless).unwrap_err();
        assert_eq!(error.to_string(), "gamma is inf, expected a finite number");
        assert_eq!(executor.download(&y).unwrap(), [1.0; 2]);
        assert!(sums.totals(executor).unwrap().is_empty());

        let one = Complex { re: 1.0, im: 0.0 };
        let complex = Csr::try_from_triplets(1, 1, &[0], &[0], &[one]).unwrap();
        let mut plan = Plan::with_format(executor, complex, Format::ELL).unwrap();
        let (x, mut y) = (executor.upload(vec![one]).unwrap(), executor.upload(vec![one]).unwrap());
        assert!(!plan.fuses());
        plan.apply_fused(one, &x, one, &mut y, Epilogue::default()).unwrap_err();
    }
    check(&Reference::new());
    check(&Cpu::new());
    check(&Emulated::new(0));
}
