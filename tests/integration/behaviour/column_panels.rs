//! Column panels so narrow that small matrices have many.

use super::stored::check_stored;
use crate::scenarios::random::emulators;
use crate::scenarios::{Numbers, with_rows};
use warp_spmv::executor::{Cpu, Emulated, Executor};
use warp_spmv::format::{ColumnPanels, FillLimit, PanelSize};
use warp_spmv::{Csr, Format, Plan};

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// Panels of at most 128 columns for values of 8 bytes.
const SMALL: PanelSize = PanelSize { kilobytes: 1 };

/// Blocks with tiles of several panels, blocks without any, warps with several tiles and with none, rows of many pieces
/// and of none; on devices of several sizes.
#[test]
fn products_are_right_on_any_grid() {
    let mut numbers = Numbers::new(71);
    for (name, columns, lengths) in [
        ("one panel", 100, [20, 0, 9, 3, 5].repeat(30)),
        ("many panels", 5000, [40, 0, 9, 3, 500].repeat(20)),
        ("a row of many tiles", 300, vec![3, 70_000, 0, 2]),
        ("more rows than threads", 700, vec![3; 3000]),
        ("fewer tiles than blocks", 240, vec![2, 0, 1]),
        ("nothing", 240, vec![0; 5]),
    ] {
        let matrix = with_rows::<f64>(columns, &lengths, &mut numbers);
        let panels = ColumnPanels::try_from_csr(matrix.clone(), SMALL, UNLIMITED).unwrap();
        check_stored(&Cpu::new(), name, &matrix, panels.clone().into(), Format::ColumnPanels(SMALL));
        for executor in emulators() {
            check_stored(&executor, name, &matrix, panels.clone().into(), Format::ColumnPanels(SMALL));
        }
    }
}

/// The repeated last entry of a panel is added to no row.
#[test]
fn padding_is_added_to_nothing() {
    let matrix = Csr::try_from_triplets(3, 240, &[0, 1, 1], &[3, 119, 239], &[1.0, 2.0, 3.0]).unwrap();
    let mut x = vec![1.0; 240];
    (x[119], x[239], x[0]) = (f64::INFINITY, f64::NAN, f64::NAN);
    fn product<E: Executor>(executor: &E, matrix: &Csr<f64>, x: &[f64]) -> Vec<f64> {
        let mut plan = Plan::with_format(executor, matrix.clone(), Format::ColumnPanels(SMALL)).unwrap();
        let (x, mut y) = (executor.upload(x.to_vec()).unwrap(), executor.upload(vec![f64::NAN; 3]).unwrap());
        plan.apply(2.0, &x, 0.0, &mut y).unwrap();
        executor.download(&y).unwrap()
    }
    for y in [product(&Cpu::new(), &matrix, &x), product(&Emulated::new(72), &matrix, &x)] {
        assert!(y[0] == 2.0 && y[1].is_nan() && y[2] == 0.0, "{y:?}");
    }
}

/// A GPU of compute capability 7.5 refuses a wide matrix before it multiplies.
#[test]
fn panels_beyond_the_shared_memory_are_refused() {
    let executor = Emulated::new(1).with_shared_bytes(64 << 10);
    let matrix = |columns| with_rows::<f64>(columns, &[3; 20], &mut Numbers::new(73));
    assert!(Plan::with_format(&executor, matrix(7000), Format::COLUMN_PANELS).is_ok());
    let narrow = Format::ColumnPanels(PanelSize { kilobytes: 60 });
    assert!(Plan::with_format(&executor, matrix(100_000), narrow).is_ok());
    let error = Plan::with_format(&executor, matrix(100_000), Format::COLUMN_PANELS).map(|_| ()).unwrap_err();
    let says = "bytes of shared memory that column panels need in a block is 88896, and the limit is 65536";
    assert_eq!(error.to_string(), format!("the number of {says}"));
}
