//! New values for the matrix of a plan.

use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::format::{FillLimit, Matrix};
use warp_spmv::memory::HostMemory;
use warp_spmv::select::{Measure, Selection};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, Error, Format, Plan, PlanOptions};

use crate::scenarios::updates::{check_kept_places, check_updates};

#[test]
fn matrices_on_the_host_get_new_values() {
    check_updates::<f64, _>(&Cpu::new(), 1);
    check_updates::<f32, _>(&Reference::new(), 1);
}

#[test]
fn matrices_on_the_emulator_get_new_values() {
    check_updates::<f64, _>(&Emulated::new(5), 5);
}

#[test]
fn a_plan_that_was_not_made_for_updates_says_so() {
    let matrix = Csr::try_from_triplets(2, 2, &[0, 1], &[0, 1], &[1.0, 2.0]).unwrap();
    let cpu = Cpu::new();
    let mut plan = Plan::with_format(&cpu, matrix.clone(), Format::ELL).unwrap();
    let error = plan.update_values(&vec![3.0, 4.0]).unwrap_err();
    assert!(matches!(error, Error::NotUpdatable { format: "ell" }), "{error}");
    assert_eq!(plan.update_bytes(), 0);
    let mut y = vec![0.0; 2];
    plan.apply(1.0, &vec![1.0; 2], 0.0, &mut y).unwrap();
    assert_eq!(y, [1.0, 2.0]);
    // CSR and COO need no preparation.
    for format in [Format::CSR_VECTOR, Format::COO] {
        let mut plan = Plan::with_format(&cpu, matrix.clone(), format).unwrap();
        plan.update_values(&vec![3.0, 4.0]).unwrap();
        plan.apply(1.0, &vec![1.0; 2], 0.0, &mut y).unwrap();
        assert_eq!(y, [3.0, 4.0]);
    }
}

/// Recorded products with the matrix read the values at their old address.
#[test]
fn in_csr_and_coo_the_new_values_are_where_the_old_ones_were() {
    fn check<E: Executor<Memory = HostMemory>>(executor: &E) {
        let values = |plan: &Plan<f64, E>| match plan.matrix() {
            Matrix::Csr(matrix) => (matrix.values().as_ptr(), matrix.values().clone()),
            Matrix::Coo(matrix) => (matrix.values().as_ptr(), matrix.values().clone()),
            _ => unreachable!("only CSR and COO are made"),
        };
        let matrix = Csr::try_from_triplets(2, 2, &[0, 1, 1], &[0, 0, 1], &[1.0, 2.0, 3.0]).unwrap();
        let in_order = |format: &&Format| ["CSR", "COO"].contains(&format.storage());
        for &format in Format::ALL.iter().filter(in_order) {
            let mut plan = Plan::with_format(executor, matrix.clone(), format).unwrap();
            let (place, _) = values(&plan);
            for new in [vec![4.0, 5.0, 6.0], vec![7.0, -0.0, f64::INFINITY]] {
                plan.update_values(&new).unwrap();
                assert_eq!(values(&plan), (place, new), "{format}");
            }
            let (before, unchanged) = (values(&plan), plan.update_values(&vec![1.0; 4]).unwrap_err());
            assert_eq!(unchanged.to_string(), "values has length 4, expected 3");
            assert_eq!(values(&plan), before, "{format}");
        }
    }
    check(&Reference::new());
    check(&Cpu::new());
    check(&Emulated::new(0));
}

#[test]
fn matrices_whose_places_are_kept_get_new_values() {
    let kept = [
        check_kept_places::<f64, _>(&Cpu::new(), 1),
        check_kept_places::<f32, _>(&Reference::new(), 7),
        check_kept_places::<f32, _>(&Emulated::new(3), 11),
    ];
    assert!(kept[0] > 500 && kept[1] > 50 && kept[2] > 30, "{kept:?}");
}

/// More entries than one digit can number, updated in place.
#[test]
fn places_of_many_entries_are_kept() {
    let matrix: Csr<f32> = "stencil:5:480".parse::<Generator>().unwrap().generate().unwrap();
    assert!(matrix.nnz() > 1 << 20);
    let options = PlanOptions { updates: true, keep_places: true, ..PlanOptions::default() };
    let cpu = Cpu::new();
    let mut plan = Plan::with_options(&cpu, matrix.clone(), Format::SELL_P, options).unwrap();
    let place = |plan: &Plan<f32, Cpu>| match plan.matrix() {
        Matrix::SellP(matrix) => (matrix.values().as_ptr(), matrix.values().len()),
        _ => unreachable!("SELL-P was asked for"),
    };
    let (address, places) = place(&plan);
    assert_eq!(plan.update_bytes(), 4 * places as u128);
    let mut new = matrix.clone();
    new.values_mut().iter_mut().enumerate().for_each(|(entry, value)| *value = entry as f32);
    plan.update_values(new.values()).unwrap();
    assert_eq!(place(&plan), (address, places));
    let expected = Matrix::try_from_csr(new, Format::SELL_P, FillLimit::default()).unwrap();
    assert!(plan.into_matrix() == expected);
}

#[test]
fn plans_that_chose_their_format_get_new_values() {
    let matrix: Csr<f64> = "stencil:9:30".parse::<Generator>().unwrap().generate().unwrap();
    let cpu = Cpu::new();
    for among in [vec![], vec![Format::SELL_P], vec![Format::Dia]] {
        let selection =
            Selection { among, updates: true, measure: Measure::Never, store: None, ..Selection::default() };
        let mut plan = Plan::automatic(&cpu, matrix.clone(), &selection).unwrap();
        let doubled: Vec<f64> = matrix.values().iter().map(|value| 2.0 * value).collect();
        plan.update_values(&doubled).unwrap();
        let x = vec![1.0; matrix.columns()];
        let (mut y, mut expected) = (vec![0.0; matrix.rows()], vec![0.0; matrix.rows()]);
        plan.apply(1.0, &x, 0.0, &mut y).unwrap();
        Plan::with_format(&cpu, matrix.clone(), plan.format()).unwrap().apply(2.0, &x, 0.0, &mut expected).unwrap();
        assert_eq!(y, expected, "{}", plan.format());
    }
    let options = PlanOptions { updates: true, reproducible: true, ..PlanOptions::default() };
    let mut plan = Plan::with_options(&cpu, matrix.clone(), Format::Auto, options).unwrap();
    plan.update_values(matrix.values()).unwrap();
}
