//! Public functions with sizes of 0, 1, 2^31 - 1, 2^32 and `usize::MAX`, with huge allocations refused: an error or the
//! right answer, and never a panic, an abort or an endless wait.

use std::fs;
use std::iter::repeat_n;
use std::num::NonZeroU32;

use warp_spmv::device::{Device, Tuning};
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::format::{
    Bcsr, Bellpack, BlockSize, Clustered, ClusteredSymmetric, Cmrs, CmrsPadded, ColumnPanels, Coo, Coo16, Dia, Ell,
    FillLimit, Fraction, Hyb, HybSplit, LARGEST_DIMENSION, Matrix, Offsets, Panels, PartSize, PartitionRows, Sell16,
    SellP, Slicing, StripHeight, StripOrder,
};
use warp_spmv::io::{self, Coordinates, DenseMatrix, ReadOptions};
use warp_spmv::select::{Analysis, Measure, Sampling, Selection, choose};
use warp_spmv::synthetic::{
    Banded, BarabasiAlbert, BlockDiagonal, Boundary, Cells, Dense, Elasticity, Generate, Generator, Like, Numbering,
    Pareto, Permutation, Points, Rectangle, Rmat, RowLengths, SmallWorld, Stencil, Table3, Uniform, reorder,
};
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Csr, Error, Format, HostMemory, Layout, Multivector, Plan, memory};

use super::Turn;
use super::refusing::{grant, refuse};

const SIZES: [usize; 5] = [0, 1, (1 << 31) - 1, 1 << 32, usize::MAX];

/// 32-bit numbers at the limits of parameters.
const NARROW: [u32; 5] = [0, 1, 31, 32, u32::MAX];

/// Valid and invalid shares.
const NUMBERS: [f64; 8] = [f64::NAN, -1.0, 0.0, 5e-324, 0.5, 1.0, 1e300, f64::INFINITY];

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// Size in bytes from which allocations are refused.
const HUGE: usize = 1 << 28;

/// Refuses huge allocations until dropped.
struct NothingHuge {
    _turn: Turn,
}

impl NothingHuge {
    fn new() -> Self {
        let turn = Turn::wait();
        refuse(HUGE, 0, true);
        Self { _turn: turn }
    }
}

impl Drop for NothingHuge {
    fn drop(&mut self) {
        grant();
    }
}

/// Returns all pairs of sizes.
fn pairs() -> impl Iterator<Item = [usize; 2]> {
    SIZES.into_iter().flat_map(|first| SIZES.map(|second| [first, second]))
}

/// Returns all triples of sizes.
fn triples() -> impl Iterator<Item = [usize; 3]> {
    pairs().flat_map(|[first, second]| SIZES.map(|third| [first, second, third]))
}

/// Whether a matrix can have this shape.
fn indexable([rows, columns]: [usize; 2]) -> bool {
    rows.max(columns) <= LARGEST_DIMENSION
}

fn generated(text: &str) -> Csr<f64> {
    text.parse::<Generator>().unwrap().generate().unwrap()
}

/// Makes a matrix without entries of every shape: exactly the `valid` shapes can be made, and then used.
fn every_shape<S: Into<Matrix<f64>>>(
    format: Format,
    valid: impl Fn([usize; 2]) -> bool,
    make: impl Fn(usize, usize) -> Result<S, Error>,
) {
    for [rows, columns] in pairs() {
        let shape = [rows, columns];
        let what = format!("{format}, {rows} x {columns}");
        match make(rows, columns) {
            Ok(matrix) => {
                assert!(valid(shape), "{what}");
                use_without_entries(&what, format, shape, &matrix.into());
            }
            Err(error) => {
                assert!(!valid(shape), "{what}: {error}");
                assert!(indexable(shape) || matches!(error, Error::TooLarge { .. }), "{what}: {error}");
            }
        }
    }
}

fn use_without_entries(what: &str, format: Format, [rows, columns]: [usize; 2], matrix: &Matrix<f64>) {
    assert_eq!((matrix.rows(), matrix.columns(), matrix.nnz()), (rows, columns, 0), "{what}");
    assert_eq!(matrix.fill(), 1.0, "{what}");
    assert!(matrix.bytes_needed() >= 8 * (rows as u128 + columns as u128), "{what}");
    scale(what, &Cpu::new(), format, matrix);
    scale(what, &Reference::new(), format, matrix);
    let emulated = Emulated::new(1);
    scale(what, &emulated, format, matrix);
    let copy = || matrix.try_clone().unwrap();
    let by_kernels = copy().upload(&emulated).and_then(|matrix| matrix.into_csr_on(&emulated));
    for csr in [copy().into_csr(), by_kernels] {
        match csr {
            Ok(csr) => assert_eq!((csr.rows(), csr.columns(), csr.nnz()), (rows, columns, 0), "{what}"),
            // In CSR a row takes memory.
            Err(error) => assert!(rows > 1 && matches!(error, Error::OutOfMemory { .. }), "{what}: {error}"),
        }
    }
}

/// Multiplies by a matrix without entries, which scales y.
fn scale<E: Executor<Memory = HostMemory>>(what: &str, executor: &E, format: Format, matrix: &Matrix<f64>) {
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let mut plan = Plan::from_matrix(executor, matrix.try_clone().unwrap(), format).unwrap();
    let (x, mut y) = (vec![1.0; 3], vec![7.0; 3]);
    let result = plan.apply(1.0, &x, 0.0, &mut y);
    assert!(matches!(result, Err(Error::Length { .. })), "{what}: {result:?}");
    if rows.max(columns) > 1 {
        return;
    }
    let (x, mut y) = (vec![1.0; columns], vec![7.0; rows]);
    for (beta, expected) in [(2.0, 14.0), (0.0, 0.0)] {
        plan.apply(1.0, &x, beta, &mut y).unwrap();
        assert_eq!(y, vec![expected; rows], "{what}");
    }
}

#[test]
fn matrices_without_entries_have_the_shapes_that_their_arrays_allow() {
    let _nothing_huge = NothingHuge::new();
    let none = |_: [usize; 2]| false;
    let no_rows = |shape: [usize; 2]| shape[0] == 0 && indexable(shape);
    let one_row = |shape: [usize; 2]| shape[0] == 1 && indexable(shape);
    let rounded = |rows: usize| rows.checked_next_multiple_of(32).unwrap_or(usize::MAX);

    let csr = |offsets: usize| {
        move |rows: usize, columns: usize| Csr::<f64>::try_new(rows, columns, vec![0u32; offsets], vec![], vec![])
    };
    every_shape(Format::CSR_SCALAR, none, csr(0));
    every_shape(Format::CSR_SCALAR, no_rows, csr(1));
    every_shape(Format::CSR_SCALAR, one_row, csr(2));

    let coo = |rows: usize, columns: usize| Coo::<f64>::try_new(rows, columns, vec![], vec![], vec![]);
    every_shape(Format::COO, indexable, coo);

    let ell = |rows: usize, columns: usize, stride: usize, width: usize| {
        Ell::<f64>::try_new(rows, columns, stride, width, vec![], vec![])
    };
    every_shape(Format::ELL, indexable, |rows, columns| ell(rows, columns, rounded(rows), 0));
    let hyb = Format::hyb(HybSplit::COLUMN_LIMIT);
    every_shape(hyb, indexable, |rows, columns| {
        Hyb::try_new(ell(rows, columns, rounded(rows), 0)?, coo(rows, columns)?)
    });
    let dia = |rows: usize, columns: usize, stride: usize, offsets: &[i32]| {
        Dia::<f64>::try_new(rows, columns, stride, offsets.to_vec(), vec![])
    };
    every_shape(Format::Dia, indexable, |rows, columns| dia(rows, columns, rounded(rows), &[]));
    for size in SIZES {
        let both_none = |shape: [usize; 2]| no_rows(shape) && size == 0;
        every_shape(Format::ELL, both_none, |rows, columns| ell(rows, columns, size, 0));
        every_shape(Format::Dia, both_none, |rows, columns| dia(rows, columns, size, &[]));
        if size > 0 {
            every_shape(Format::ELL, none, |rows, columns| ell(rows, columns, rounded(rows), size));
        }
    }
    for offset in [i32::MIN, 0, i32::MAX] {
        every_shape(Format::Dia, none, |rows, columns| dia(rows, columns, rounded(rows), &[offset]));
    }

    let sell_16 = |begins: usize| {
        move |rows: usize, columns: usize| {
            Sell16::<f64>::try_new(rows, columns, vec![0; begins], vec![], vec![], vec![])
        }
    };
    every_shape(Format::Sell16, no_rows, sell_16(1));
    every_shape(Format::Sell16, one_row, sell_16(2));

    let clustered = |part_size: PartSize, begins: usize| {
        move |rows: usize, columns: usize| {
            let (parts, lists, slices) = (vec![0; begins], vec![0; begins], vec![0; begins]);
            Clustered::<f64>::try_new(rows, columns, part_size, parts, vec![], lists, vec![], slices, vec![], vec![])
        }
    };
    for (parts, kilobytes) in [(1, 1), (u32::MAX, 256)] {
        every_shape(Format::CLUSTERED, no_rows, clustered(PartSize { parts, kilobytes }, 1));
        every_shape(Format::CLUSTERED, none, clustered(PartSize { parts, kilobytes }, 2));
    }
    every_shape(Format::CLUSTERED, none, clustered(PartSize { parts: 0, kilobytes: 1 }, 1));

    let clustered_symmetric = |part_size: PartSize, parts: usize| {
        move |rows: usize, columns: usize| {
            let (warps, halos, slices) = (vec![0; 16 * parts + 1], vec![0; parts + 1], vec![0; parts + 1]);
            ClusteredSymmetric::<f64>::try_new(
                rows,
                columns,
                part_size,
                warps,
                vec![],
                halos,
                vec![],
                slices,
                vec![],
                vec![],
            )
        }
    };
    for (parts, kilobytes) in [(1, 1), (u32::MAX, 256)] {
        every_shape(Format::CLUSTERED_SYMMETRIC, no_rows, clustered_symmetric(PartSize { parts, kilobytes }, 0));
        every_shape(Format::CLUSTERED_SYMMETRIC, none, clustered_symmetric(PartSize { parts, kilobytes }, 1));
    }
    every_shape(Format::CLUSTERED_SYMMETRIC, none, clustered_symmetric(PartSize { parts: 0, kilobytes: 1 }, 0));

    let sell_p = |slicing: Slicing, begins: usize| {
        move |rows: usize, columns: usize| {
            SellP::<f64>::try_new(rows, columns, slicing, vec![0; begins], vec![], vec![], vec![])
        }
    };
    for (slice_size, stride_factor) in [(1, 1), (64, u32::MAX), (u32::MAX, 1), (u32::MAX, u32::MAX)] {
        for sigma in [1, slice_size] {
            let slicing = Slicing { slice_size, stride_factor, sigma };
            every_shape(Format::SELL_P, no_rows, sell_p(slicing, 1));
            // If rows are sorted, each has an index.
            let one_slice =
                |shape: [usize; 2]| sigma == 1 && indexable(shape) && (1..=slice_size as usize).contains(&shape[0]);
            every_shape(Format::SELL_P, one_slice, sell_p(slicing, 2));
        }
    }
    for (slice_size, stride_factor, sigma) in [(0, 1, 1), (1, 0, 1), (2, 1, 0), (2, 1, 3), (u32::MAX, 1, 2)] {
        every_shape(Format::SELL_P, none, sell_p(Slicing { slice_size, stride_factor, sigma }, 1));
    }

    for &size in BlockSize::ALL {
        every_shape(Format::Bcsr(size), no_rows, |rows, columns| {
            Bcsr::<f64>::try_new(rows, columns, size, vec![0], vec![], vec![])
        });
    }
    for &partition_rows in PartitionRows::ALL {
        let size = BlockSize::B3x3;
        every_shape(Format::bellpack(size), no_rows, |rows, columns| {
            Bellpack::<f64>::try_new(rows, columns, size, partition_rows, vec![0], vec![], vec![], vec![])
        });
    }

    let few_columns = |shape: [usize; 2]| no_rows(shape) && shape[1] < 1 << 28;
    for height in [0, 1, 16, 17, LARGEST_DIMENSION, 1 << 32, usize::MAX] {
        let valid = |shape: [usize; 2]| few_columns(shape) && (1..=16).contains(&height);
        every_shape(Format::Cmrs(StripHeight::H16), valid, |rows, columns| {
            Cmrs::<f64>::try_new(rows, columns, height, vec![0u32], vec![], vec![])
        });
    }
    every_shape(Format::CmrsPadded, few_columns, |rows, columns| {
        CmrsPadded::<f64>::try_new(rows, columns, vec![0u32], vec![], vec![])
    });

    let column_panels = |panel_columns: usize, panels: usize| {
        move |rows: usize, columns: usize| {
            let (tiles, pieces, rows_begin) = (vec![0; panels + 1], vec![0], vec![0]);
            let [lane_words, column_offsets, numbers] = [const { Vec::<u32>::new() }; 3];
            let values = Vec::<f64>::new();
            ColumnPanels::try_new(
                rows,
                columns,
                panel_columns,
                tiles,
                pieces,
                lane_words,
                column_offsets,
                values,
                rows_begin,
                numbers,
            )
        }
    };
    every_shape(Format::COLUMN_PANELS, |shape| shape == [0, 0], column_panels(120, 0));
    every_shape(Format::COLUMN_PANELS, |shape| shape == [0, 1], column_panels(120, 1));
    for panel_columns in [0, usize::MAX] {
        every_shape(Format::COLUMN_PANELS, none, column_panels(panel_columns, 1));
    }

    let coo_16 = |panels: Panels, offsets: usize, panel_rows: usize| {
        move |rows: usize, columns: usize| {
            let (slot_begins, panel_rows) = (vec![0; offsets], vec![0; panel_rows]);
            let [begins, words, columns_of_entries, slots_of_entries] = [const { Vec::<u32>::new() }; 4];
            let (first, second) = (columns_of_entries, slots_of_entries);
            let values = Vec::<f64>::new();
            Coo16::try_new(rows, columns, panels, slot_begins, panel_rows, begins, words, first, second, values)
        }
    };
    let panels = Panels { columns: 64, slots: 1024 };
    every_shape(Format::Coo16, no_rows, coo_16(panels, 1, 0));
    every_shape(Format::Coo16, |shape| shape == [1, 0], coo_16(panels, 2, 1));
    for [columns, slots] in pairs().filter(|&sizes| sizes != [1, 1]) {
        every_shape(Format::Coo16, none, coo_16(Panels { columns, slots }, 1, 0));
    }
}

/// Returns matrices of at most one row, some with an entry in their last column.
fn flat() -> Vec<Csr<f64>> {
    let mut all = Vec::new();
    for columns in [0, 1, LARGEST_DIMENSION] {
        all.push(Csr::try_new(0, columns, vec![0u32], vec![], vec![]).unwrap());
        all.push(Csr::try_new(1, columns, vec![0u32, 0], vec![], vec![]).unwrap());
        if columns > 0 {
            all.push(Csr::try_new(1, columns, vec![0u32, 1], vec![columns as u32 - 1], vec![2.0]).unwrap());
        }
    }
    all
}

/// Checks that a matrix converted and back is the same, or that its conversion exceeds a limit.
fn same_or_refused(what: &str, matrix: &Csr<f64>, converted: Result<Csr<f64>, Error>) {
    match converted {
        Ok(converted) => assert_eq!(converted, *matrix, "{what}"),
        Err(Error::TooLarge { .. } | Error::Fill { .. } | Error::OutOfMemory { .. }) if matrix.columns() > 1 => {}
        Err(error) => panic!("{what}: {error}"),
    }
}

/// Multiplies a matrix of at most one row and column, and its transpose.
fn multiply<E: Executor<Memory = HostMemory>>(what: &str, executor: &E, format: Format, matrix: &Csr<f64>) {
    let (rows, columns, product) = (matrix.rows(), matrix.columns(), 6.0 * matrix.nnz() as f64);
    let mut plan = Plan::with_format(executor, matrix.clone(), format).unwrap();
    let (x, mut y) = (vec![3.0; columns], vec![f64::NAN; rows]);
    plan.apply(1.0, &x, 0.0, &mut y).unwrap();
    assert_eq!(y, vec![product; rows], "{what}");
    let (x, mut y) = (vec![3.0; rows], vec![f64::NAN; columns]);
    match plan.apply_transposed(1.0, &x, 0.0, &mut y) {
        Ok(()) => assert_eq!(y, vec![product; columns], "{what}, transposed"),
        Err(error) => assert!(matches!(error, Error::Unsupported { .. }), "{what}: {error}"),
    }
}

#[test]
fn every_format_takes_the_smallest_and_the_widest_matrices() {
    let _nothing_huge = NothingHuge::new();
    let (cpu, reference, emulated) = (Cpu::new(), Reference::new(), Emulated::new(2));
    for matrix in flat() {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        for &format in Format::ALL {
            let what = format!("{format}, {rows} x {columns}, {} entries", matrix.nnz());
            format.bytes::<f64, f32>(&matrix).unwrap();
            for times_csr in [f64::NAN, -1.0, 0.0, 10.0, f64::INFINITY] {
                let stored = Matrix::try_from_csr(matrix.clone(), format, FillLimit { times_csr });
                same_or_refused(&what, &matrix, stored.and_then(Matrix::into_csr));
            }
            let uploaded = matrix.clone().upload(&emulated).unwrap();
            let stored = uploaded.convert(&emulated, format, FillLimit::default());
            same_or_refused(&what, &matrix, stored.and_then(|stored| stored.into_csr_on(&emulated)));
            if columns <= 1 {
                multiply(&what, &cpu, format, &matrix);
                multiply(&what, &reference, format, &matrix);
                multiply(&what, &emulated, format, &matrix);
            }
        }
        match matrix.transposed() {
            Ok(transposed) => assert_eq!((transposed.rows(), transposed.columns()), (columns, rows)),
            Err(error) => assert!(columns > 1 && matches!(error, Error::OutOfMemory { .. }), "{error}"),
        }
        for sampling in [Sampling::Part, Sampling::Everything] {
            let analysis = Analysis::with_sampling(&matrix, sampling).unwrap();
            assert_eq!((analysis.rows, analysis.columns, analysis.nnz), (rows, columns, matrix.nnz()));
        }
        // Vectors of that many elements cannot be allocated, so nothing can be measured.
        let selection = Selection { measure: Measure::Best(usize::MAX), store: None, ..Selection::default() };
        let chosen = Plan::automatic(&cpu, matrix.clone(), &selection);
        assert!(chosen.is_ok() || columns > 1, "{rows} x {columns}: {:?}", chosen.err());
    }
}

#[test]
fn triplets_are_checked_against_every_shape() {
    let _nothing_huge = NothingHuge::new();
    for shape @ [rows, columns] in pairs() {
        let no_entries: [&[u32]; 2] = [&[], &[]];
        let one_entry: [&[u32]; 2] = [&[0], &[0]];
        for ([row_indices, column_indices], values) in [(no_entries, &[][..]), (one_entry, &[1.0][..])] {
            let made = Csr::try_from_triplets(rows, columns, row_indices, column_indices, values);
            // A row takes memory, but a column does not.
            let valid = rows <= 1 && indexable(shape) && (values.is_empty() || rows > 0 && columns > 0);
            assert_eq!(made.is_ok(), valid, "{rows} x {columns}: {:?}", made.err());
            let made = Csr::try_from_triplets(rows, columns, row_indices, column_indices, &[1.0, 2.0]);
            assert!(made.is_err(), "{rows} x {columns}");
        }
        assert!(Csr::try_from_triplets(rows, columns, &[u32::MAX], &[u32::MAX], &[1.0]).is_err());
    }
}

/// Multiplies any number of vectors without elements, and one vector with one element.
fn multiply_vectors<E: Executor<Memory = HostMemory>>(executor: &E, any_format: bool) {
    let empty: Csr<f64> = Csr::try_new(0, 0, vec![0u32], vec![], vec![]).unwrap();
    let one = Csr::try_new(1, 1, vec![0u32, 1], vec![0], vec![2.0]).unwrap();
    for matrix in [empty, one] {
        for &format in Format::ALL {
            let multiplies = any_format || format.multiplies_multivectors();
            let mut plan = Plan::with_format(executor, matrix.clone(), format).unwrap();
            for (vectors, layout) in
                SIZES.into_iter().flat_map(|size| [Layout::RowMajor, Layout::ColumnMajor].map(|layout| (size, layout)))
            {
                let shape = Multivector { vectors, layout };
                let (x, mut y) = (Vec::new(), Vec::new());
                let result = plan.apply_multivector(shape, 1.0, &x, 0.0, &mut y);
                let fits = vectors <= i32::MAX as usize && (matrix.rows() == 0 || vectors == 0);
                assert_eq!(result.is_ok(), multiplies && fits, "{format}, {shape:?}: {result:?}");
            }
            if multiplies && matrix.rows() == 1 {
                let (x, mut y) = (vec![3.0], vec![f64::NAN]);
                let shape = Multivector { vectors: 1, layout: Layout::RowMajor };
                plan.apply_multivector(shape, 1.0, &x, 0.0, &mut y).unwrap();
                assert_eq!(y, [6.0], "{format}");
            }
        }
    }
}

#[test]
fn any_number_of_vectors_is_multiplied_or_refused() {
    let _nothing_huge = NothingHuge::new();
    multiply_vectors(&Cpu::new(), false);
    multiply_vectors(&Emulated::new(3), false);
    multiply_vectors(&Reference::new(), true);
    for [vectors, length, element] in triples() {
        for vector in SIZES {
            let [vectors_128, length_128, element_128, vector_128] =
                [vectors, length, element, vector].map(|size| size as u128);
            let row_major = element_128 * vectors_128 + vector_128;
            let column_major = element_128 + vector_128 * length_128;
            for (layout, exact) in [(Layout::RowMajor, row_major), (Layout::ColumnMajor, column_major)] {
                let place = Multivector { vectors, layout }.place(length, element, vector);
                assert_eq!(place as u128, exact.min(usize::MAX as u128), "{layout:?}");
            }
        }
    }
}

/// Checks a product with the matrix that the plan was made from.
fn check_product<E: Executor<Memory = HostMemory>>(what: &str, mut plan: Plan<f64, E>, matrix: &Csr<f64>) {
    let x: Vec<f64> = (0..matrix.columns()).map(|column| 1.0 + column as f64).collect();
    let mut y = vec![f64::NAN; matrix.rows()];
    plan.apply(1.0, &x, 0.0, &mut y).unwrap();
    let expected = exact(matrix, 1.0, &x, 0.0, &y).unwrap();
    assert!(verify(&y, &expected, plan.format()).unwrap().passed(), "{what}");
}

#[test]
fn emulated_devices_have_every_size() {
    let _nothing_huge = NothingHuge::new();
    for threads in [0, 1, 31, 32, 33, 1024, 1025, u32::MAX] {
        for waves in [0, 1, u32::MAX] {
            let valid = [32, 1024].contains(&threads) && waves > 0;
            assert_eq!(Tuning::new(threads, waves).is_ok(), valid, "{threads}, {waves}");
        }
    }
    let matrix = generated("stencil:5:6x5");
    let tuning = Tuning::new(32, u32::MAX).unwrap();
    for (multiprocessors, threads) in NARROW.into_iter().flat_map(|first| NARROW.map(|second| (first, second))) {
        let made = Emulated::with_size(1, multiprocessors, threads, tuning);
        assert_eq!(made.is_ok(), multiprocessors > 0 && threads >= 32, "{multiprocessors}, {threads}");
        let Ok(emulated) = made else { continue };
        for work in SIZES {
            let grid = emulated.device().grid(work as u64);
            assert_eq!(grid.blocks == 0, work == 0);
            assert!(u64::from(grid.blocks) * u64::from(grid.threads_per_block) < (1 << 30) + 1024);
        }
        if multiprocessors == u32::MAX {
            for &format in Format::ALL {
                let plan = Plan::with_format(&emulated, matrix.clone(), format).unwrap();
                check_product(&format!("{format}, {threads} threads"), plan, &matrix);
            }
        }
    }
    for bytes in [0, 1, u32::MAX] {
        let emulated = Emulated::new(1).with_shared_bytes(bytes);
        match Plan::with_format(&emulated, matrix.clone(), Format::Coo16) {
            Ok(plan) => {
                assert!(bytes > 1);
                check_product("COO-16", plan, &matrix);
            }
            Err(error) => assert!(bytes <= 1 && matches!(error, Error::TooLarge { .. }), "{bytes}: {error}"),
        }
    }
    // More shared memory than the emulator has, whatever the device reports.
    let wide: Csr<f64> = Csr::try_new(1, 1 << 16, vec![0u32, 1], vec![(1 << 16) - 1], vec![2.0]).unwrap();
    let panels = Panels { columns: 1 << 16, slots: 1 };
    let stored = Coo16::try_with_panels(wide, panels, UNLIMITED).unwrap();
    let emulated = Emulated::new(1).with_shared_bytes(u32::MAX);
    let mut plan = Plan::from_matrix(&emulated, Matrix::from(stored), Format::Coo16).unwrap();
    let (x, mut y) = (vec![1.0; 1 << 16], vec![0.0]);
    assert!(matches!(plan.apply(1.0, &x, 0.0, &mut y), Err(Error::Emulator(_))));
}

#[test]
fn parameters_of_formats_have_every_size() {
    let _nothing_huge = NothingHuge::new();
    let matrix = generated("uniform:rows=5,columns=9,per-row=2.4,seed=3");
    let longest = matrix.longest_row();
    let (cpu, reference, emulated) = (Cpu::new(), Reference::new(), Emulated::new(4));

    let sizes = [0, 1, 2, u32::MAX];
    for (parts, kilobytes) in sizes.into_iter().flat_map(|parts| sizes.map(|kilobytes| (parts, kilobytes))) {
        let part_size = PartSize { parts, kilobytes };
        let what = format!("{part_size:?}");
        match Clustered::try_from_csr(&matrix, part_size, UNLIMITED) {
            Ok(stored) => {
                assert!(parts >= 1 && kilobytes.clamp(1, 256) == kilobytes, "{what}");
                assert_eq!(stored.to_csr().unwrap(), matrix, "{what}");
                let copy = || Matrix::from(stored.try_clone().unwrap());
                check_product(&what, Plan::from_matrix(&cpu, copy(), Format::CLUSTERED).unwrap(), &matrix);
                check_product(&what, Plan::from_matrix(&emulated, copy(), Format::CLUSTERED).unwrap(), &matrix);
            }
            Err(Error::Structure { .. } | Error::TooLarge { .. }) => {}
            Err(error) => panic!("{what}: {error}"),
        }
    }
    for (parts, kilobytes) in sizes.into_iter().flat_map(|parts| sizes.map(|kilobytes| (parts, kilobytes))) {
        let part_size = PartSize { parts, kilobytes };
        let what = format!("{part_size:?}, pairs stored once");
        match ClusteredSymmetric::try_from_csr(&matrix, part_size, UNLIMITED) {
            Ok(stored) => {
                assert!(parts >= 1 && kilobytes.clamp(1, 256) == kilobytes, "{what}");
                assert_eq!(stored.to_csr().unwrap(), matrix, "{what}");
                let copy = || Matrix::from(stored.try_clone().unwrap());
                let format = Format::ClusteredSymmetric(part_size);
                check_product(&what, Plan::from_matrix(&cpu, copy(), format).unwrap(), &matrix);
                check_product(&what, Plan::from_matrix(&emulated, copy(), format).unwrap(), &matrix);
            }
            Err(Error::Structure { .. } | Error::TooLarge { .. }) => {}
            Err(error) => panic!("{what}: {error}"),
        }
    }
    for slice_size in sizes {
        for (stride_factor, sigma) in sizes.into_iter().flat_map(|first| sizes.map(|second| (first, second))) {
            let slicing = Slicing { slice_size, stride_factor, sigma };
            let what = format!("{slicing:?}");
            let stored = match SellP::try_from_csr(&matrix, slicing, UNLIMITED) {
                Ok(stored) => stored,
                Err(Error::Structure { .. } | Error::TooLarge { .. } | Error::OutOfMemory { .. }) => continue,
                Err(error) => panic!("{what}: {error}"),
            };
            assert!(slice_size.clamp(1, 2) == slice_size && stride_factor.clamp(1, 2) == stride_factor, "{what}");
            assert_eq!(stored.to_csr().unwrap(), matrix, "{what}");
            let copy = || Matrix::from(stored.try_clone().unwrap());
            check_product(&what, Plan::from_matrix(&cpu, copy(), Format::SELL_P).unwrap(), &matrix);
            check_product(&what, Plan::from_matrix(&reference, copy(), Format::SELL_P).unwrap(), &matrix);
            check_product(&what, Plan::from_matrix(&emulated, copy(), Format::SELL_P).unwrap(), &matrix);
            let mut plan = Plan::from_matrix(&cpu, copy(), Format::SELL_P).unwrap();
            let shape = Multivector { vectors: 2, layout: Layout::RowMajor };
            let (x, mut y) = (vec![1.0; 2 * matrix.columns()], vec![f64::NAN; 2 * matrix.rows()]);
            plan.apply_multivector(shape, 1.0, &x, 0.0, &mut y).unwrap();
            assert!(y.iter().all(|y| y.is_finite()), "{what}");
        }
    }

    for height in SIZES.into_iter().chain([16, 17]) {
        for order in [StripOrder::ByColumn, StripOrder::ByRow] {
            let stored = Cmrs::try_with_height(matrix.clone(), height, order);
            assert_eq!(stored.is_ok(), (1..=16).contains(&height), "{height}");
        }
    }
    for [columns, slots] in pairs() {
        let stored = Coo16::try_with_panels(matrix.clone(), Panels { columns, slots }, UNLIMITED);
        assert_eq!(stored.is_ok(), [columns, slots] == [1, 1], "{columns}, {slots}");
        if let Ok(stored) = stored {
            assert_eq!(stored.to_csr().unwrap(), matrix);
        }
        let chosen = Panels::chosen::<f32>(columns, slots);
        assert!((32..=1 << 16).contains(&chosen.columns) && (32..=1024).contains(&chosen.slots), "{chosen:?}");
        for height in [StripHeight::ByTraffic, StripHeight::H4, StripHeight::H16] {
            assert!((1..=16).contains(&height.rows::<f64>(columns, slots)), "{columns}, {slots}");
        }
    }

    let mut splits = NARROW.map(HybSplit::ColumnLimit).to_vec();
    for numerator in [0, 1, u32::MAX] {
        for denominator in [NonZeroU32::MIN, NonZeroU32::MAX] {
            let part = Fraction::new(numerator, denominator);
            splits.push(HybSplit::ImbalanceLimit(part));
            splits.push(HybSplit::ImbalanceBounded { quantile: part, part_of_rows: part });
        }
    }
    for split in splits {
        assert!(split.width::<f64, f32>(&matrix).unwrap() <= longest, "{split:?}");
        let stored = Hyb::try_from_csr(&matrix, split, UNLIMITED).unwrap();
        assert_eq!(stored.into_csr().unwrap(), matrix, "{split:?}");
        let plan = Plan::with_format(&emulated, matrix.clone(), Format::hyb(split)).unwrap();
        check_product(&format!("{split:?}"), plan, &matrix);
    }
}

#[test]
fn the_choice_takes_any_limit_device_and_analysis() {
    let _nothing_huge = NothingHuge::new();
    let matrix = generated("dense:rows=2,columns=50");
    let analysis = Analysis::new(&matrix).unwrap();
    let cpu = Cpu::new();
    let any = || Selection { store: None, ..Selection::default() };
    for multiplications in [None, Some(0), Some(u64::MAX)] {
        for memory_budget in [None, Some(0), Some(u64::MAX)] {
            for times_csr in NUMBERS {
                let fill_limit = FillLimit { times_csr };
                let selection = Selection { multiplications, memory_budget, fill_limit, ..any() };
                let chosen = choose(&analysis, cpu.device(), &selection);
                assert_eq!(chosen.is_ok(), memory_budget != Some(0), "{selection:?}");
            }
        }
    }
    let plan =
        Plan::automatic(&cpu, matrix.clone(), &Selection { measure: Measure::Best(usize::MAX), ..any() }).unwrap();
    check_product("measured", plan, &matrix);

    // Auto cannot be chosen.
    let auto = Selection { among: vec![Format::Auto], ..any() };
    let chosen = choose(&analysis, cpu.device(), &auto);
    assert!(matches!(chosen, Err(Error::NoFormat { considered: 0, .. })), "{chosen:?}");
    assert!(Plan::automatic(&cpu, matrix.clone(), &auto).is_err());
    let auto_or_csr = Selection { among: vec![Format::Auto, Format::CSR_SCALAR], ..any() };
    let plan = Plan::automatic(&cpu, matrix.clone(), &auto_or_csr).unwrap();
    assert_eq!(plan.format(), Format::CSR_SCALAR);

    for multiprocessors in [0, 1, u32::MAX] {
        for threads_per_multiprocessor in [0, 1, u32::MAX] {
            for cache_bytes in [None, Some(0), Some(u64::MAX)] {
                let device = Device {
                    name: String::new(),
                    cache_bytes,
                    multiprocessors,
                    threads_per_multiprocessor,
                    shared_bytes: Some(0),
                    tuning: Tuning::default(),
                };
                choose(&analysis, &device, &any()).unwrap();
                assert!(device.grid(u64::MAX).blocks > 0);
            }
        }
    }

    let emulated = Emulated::new(1);
    let check = |changed: &Analysis| {
        for device in [cpu.device(), emulated.device()] {
            let error = choose(changed, device, &any()).err();
            let is_known = match &error {
                None | Some(Error::NoFormat { .. }) => indexable([changed.rows, changed.columns]),
                Some(Error::TooLarge { .. }) => !indexable([changed.rows, changed.columns]),
                Some(_) => false,
            };
            assert!(is_known, "{changed:?}: {error:?}");
        }
    };
    let setters: [fn(&mut Analysis, usize); 6] = [
        |analysis, size| analysis.rows = size,
        |analysis, size| analysis.columns = size,
        |analysis, size| analysis.nnz = size,
        |analysis, size| analysis.value_bytes = size,
        |analysis, size| analysis.offset_bytes = size,
        |analysis, size| analysis.diagonals.count = size,
    ];
    for size in SIZES {
        let mut all_changed = analysis.clone();
        for set in setters {
            let mut changed = analysis.clone();
            set(&mut changed, size);
            check(&changed);
            set(&mut all_changed, size);
        }
        check(&all_changed);
    }
    for ratio in NUMBERS {
        let mut changed = analysis.clone();
        changed.widening.ratio = ratio;
        check(&changed);
    }
}

/// Allocates arrays of every length.
fn make_arrays<E: Executor<Memory = HostMemory>>(executor: &E) {
    for length in SIZES {
        match executor.zeros::<f64>(length) {
            Ok(array) => {
                assert_eq!(array, vec![0.0; length]);
                assert_eq!(executor.download(&array).unwrap(), array);
                assert_eq!(executor.duplicate(&array).unwrap(), array);
                assert_eq!(executor.upload(array).unwrap().len(), length);
            }
            Err(error) => assert!(length > 1 && matches!(error, Error::OutOfMemory { .. }), "{length}: {error}"),
        }
    }
}

#[test]
fn arrays_offsets_and_sums_have_every_length() {
    let _nothing_huge = NothingHuge::new();
    make_arrays(&Cpu::new());
    make_arrays(&Reference::new());
    make_arrays(&Emulated::new(5));
    for length in SIZES {
        let arrays = [
            memory::with_capacity::<u8>(length).map(drop),
            memory::reserve(&mut vec![1u8], length),
            memory::zeros::<u8>(length).map(drop),
            memory::zeros::<f64>(length).map(drop),
            memory::filled(length, 1u8).map(drop),
            memory::collect(0..length).map(drop),
        ];
        for made in arrays {
            assert_eq!(made.is_ok(), length <= 1, "{length}");
            assert!(matches!(made, Ok(()) | Err(Error::OutOfMemory { .. })), "{made:?}");
        }
    }

    let most = Offsets::from_lengths([0, usize::MAX, 0].into_iter()).unwrap();
    assert_eq!((most.len(), most.get(1), most.get(2), most.get(3)), (4, 0, usize::MAX, usize::MAX));
    for lengths in [vec![usize::MAX, 1], vec![usize::MAX; 3], vec![1 << 63, 1 << 63]] {
        let made = Offsets::from_lengths(lengths.iter().copied());
        assert!(matches!(made, Err(Error::TooLarge { .. })), "{made:?}");
    }
    for count in [1 << 32, usize::MAX] {
        let made = Offsets::from_lengths(repeat_n(0, count));
        assert!(matches!(made, Err(Error::TooLarge { .. })), "{count}");
    }
    assert_eq!(Offsets::from_lengths([].into_iter()).unwrap().len(), 1);

    for &format in Format::ALL.iter().chain([&Format::Auto]) {
        for length in SIZES {
            assert!((length.min(1)..=length).contains(&format.longest_chain(length)), "{format}, {length}");
        }
        let nothing = verify::<f64>(&[], &[], format).unwrap();
        assert!(nothing.passed() && nothing.worst_row.is_none(), "{format}");
        assert!(matches!(verify::<f64>(&[1.0], &[], format), Err(Error::Length { .. })), "{format}");
    }
    let empty: Csr<f64> = Csr::try_new(0, 0, vec![0u32], vec![], vec![]).unwrap();
    assert!(exact(&empty, 1.0, &[], 1.0, &[]).unwrap().is_empty());
    assert!(exact(&empty, 1.0, &[1.0], 1.0, &[]).is_err());
}

/// Calls all methods of a generator. If `generates`, its matrix is made, too, unless it is huge.
fn ask<G: Generate>(generator: &G, generates: bool) {
    let text = generator.to_string();
    let (rows, columns, nnz) = (generator.rows(), generator.columns(), generator.expected_nnz());
    let bytes = generator.expected_bytes::<f64>();
    assert!(bytes >= nnz, "{text}");
    for factor in SIZES {
        let Ok(larger) = generator.times(factor) else { continue };
        assert!(factor == 0 || larger.rows() >= rows, "{text}, {factor} times");
        assert!(larger.expected_bytes::<f64>() >= larger.expected_nnz(), "{text}, {factor} times");
    }
    let checked = generator.check();
    match text.parse::<Generator>() {
        Ok(parsed) => {
            assert!(checked.is_ok(), "{text}");
            assert_eq!((parsed.rows(), parsed.columns(), parsed.expected_nnz()), (rows, columns, nnz), "{text}");
        }
        Err(error) => assert!(checked.is_err(), "{text}: {error}"),
    }
    if checked.is_ok() && !generates {
        return;
    }
    match generator.generate::<f64>() {
        Ok(matrix) => {
            assert!(checked.is_ok(), "{text}");
            assert_eq!((matrix.rows(), matrix.columns()), (rows, columns), "{text}");
        }
        Err(error) => assert!(checked.is_err() || bytes >= HUGE as u128, "{text}: {error}"),
    }
}

#[test]
fn generators_take_or_refuse_every_size() {
    let _nothing_huge = NothingHuge::new();
    let seed = 0;
    let boundaries = [Boundary::Dirichlet, Boundary::Periodic, Boundary::Neumann];
    let skews = [f64::NAN, -1.0, 0.0, 0.95, 1.0];
    for size in SIZES {
        ask(&Permutation { rows: size, seed }, true);
        // Matrices of the original size take seconds.
        Table3::ALL.iter().for_each(|&matrix| ask(&Like { matrix, times: size, seed }, false));
        boundaries.iter().for_each(|&boundary| ask(&Stencil { points: Points::Points3([size]), boundary }, true));
        assert!(Points::new(size, &[1]).is_err() && Points::new(size, &[]).is_err());
        for dense in Dense::sweep(size) {
            assert!(dense.expected_nnz().abs_diff(size as u128) <= dense.rows as u128 / 2, "{dense:?} of {size}");
        }
    }
    for [first, second] in pairs() {
        ask(&Banded { rows: first, bands: second, seed }, true);
        ask(&BlockDiagonal { blocks: first, size: second, seed }, true);
        ask(&Dense { rows: first, columns: second, seed }, true);
        // All edges of one vertex form one entry, but are drawn one by one.
        ask(&BarabasiAlbert { vertices: first, edges_per_vertex: second, seed }, second <= 1);
        for number in NUMBERS {
            ask(&SmallWorld { vertices: first, neighbours: second, rewired: number, seed }, true);
            for lengths in [RowLengths::Equal, RowLengths::Poisson] {
                ask(&Uniform { rows: first, columns: second, per_row: number, lengths, seed }, true);
            }
            for (row_skew, column_skew) in skews.into_iter().flat_map(|row| skews.map(|column| (row, column))) {
                let (rows, columns, per_row) = (first, second, number);
                ask(&Rectangle { rows, columns, per_row, row_skew, column_skew, seed }, true);
            }
        }
        for boundary in boundaries {
            for points in [Points::Points5([first, second]), Points::Points9([first, second])] {
                ask(&Stencil { points, boundary }, true);
            }
        }
    }
    for [first, second, third] in triples() {
        for boundary in boundaries {
            let edges = [first, second, third];
            ask(&Stencil { points: Points::Points7(edges), boundary }, true);
            ask(&Stencil { points: Points::Points27(edges), boundary }, true);
        }
        for k in NUMBERS {
            for scale in [f64::NAN, 0.0, 1.0, 1e300] {
                ask(&Pareto { rows: first, columns: second, base: third, k, scale, seed }, true);
            }
            for cells in [Cells::Tetrahedra, Cells::Hexahedra] {
                let (width, height, depth, numbering) = (first, second, third, Numbering::Shuffled);
                ask(&Elasticity { width, height, depth, cells, voids: k, numbering, seed }, true);
            }
        }
    }
    for number in NUMBERS {
        ask(&SmallWorld { rewired: number, ..SmallWorld::new(3, 2, 0.0) }, true);
        ask(&Elasticity { voids: number, ..Elasticity::new(2) }, true);
    }
    for scale in SIZES.into_iter().chain([30, 64]) {
        for edges_per_vertex in [0, 1, usize::MAX] {
            for a in [f64::NAN, 0.57, 1.0, f64::INFINITY] {
                ask(&Rmat { edges_per_vertex, a, b: 0.0, c: 0.0, ..Rmat::new(scale) }, true);
            }
        }
    }
    assert_eq!(Rmat::new(1 << 32).rows(), usize::MAX);
}

#[test]
fn texts_of_generators_are_parsed_or_refused() {
    let _nothing_huge = NothingHuge::new();
    assert!("".parse::<Generator>().is_err() && ":".parse::<Generator>().is_err());
    let texts =
        ["banded:rows=1,bands=1", "stencil:5:1x1", "rmat:scale=1", "uniform:rows=1,per-row=1", "qcd-like:seed=0"];
    for text in texts {
        for times in SIZES {
            let parsed = format!("{text},times={times}").parse::<Generator>();
            assert!(parsed.is_ok() == (times == 1) || times == LARGEST_DIMENSION, "{text}, {times} times: {parsed:?}");
        }
        assert!(format!("{text},times=18446744073709551616").parse::<Generator>().is_err(), "{text}");
    }
}

#[test]
fn orders_of_rows_have_every_length() {
    let _nothing_huge = NothingHuge::new();
    for rows in SIZES {
        match reorder::shuffle(rows, 7) {
            Ok(ordering) => assert_eq!(ordering.inverse().unwrap().len(), rows),
            Err(Error::OutOfMemory { .. }) => assert_eq!(rows, LARGEST_DIMENSION),
            Err(error) => assert!(rows > LARGEST_DIMENSION && matches!(error, Error::TooLarge { .. }), "{error}"),
        }
    }
    for (old, valid) in
        [(vec![], true), (vec![0], true), (vec![1], false), (vec![0, 0], false), (vec![u32::MAX], false)]
    {
        assert_eq!(reorder::Ordering::try_new(old).is_ok(), valid);
    }
    for matrix in flat() {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        assert_eq!(reorder::bandwidth(&matrix), if matrix.nnz() > 0 { columns - 1 } else { 0 });
        assert_eq!(reorder::reverse_cuthill_mckee(&matrix).is_ok(), rows == columns);
        let ordering = reorder::by_row_length(&matrix).unwrap();
        assert_eq!(ordering.len(), rows);
        assert_eq!(ordering.apply_rows(&matrix).unwrap(), matrix);
        assert_eq!(ordering.apply_symmetric(&matrix).is_ok(), rows == columns);
        let vector = vec![1.0; rows];
        assert_eq!(ordering.apply(&vector).unwrap(), vector);
    }
}

#[test]
fn what_is_written_agrees_with_itself() {
    let _nothing_huge = NothingHuge::new();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.mtx");
    for [rows, columns] in pairs() {
        for values in [Vec::<f64>::new(), vec![1.0]] {
            let valid = rows.checked_mul(columns) == Some(values.len());
            let written = io::write_dense(&path, &DenseMatrix { rows, columns, values });
            assert_eq!(written.is_ok(), valid, "{rows} x {columns}: {written:?}");
            if valid {
                let text = fs::read_to_string(&path).unwrap();
                assert!(text.starts_with(&format!("%%MatrixMarket matrix array real general\n{rows} {columns}\n")));
            }
        }
        for (row_indices, column_indices, values) in [
            (vec![], vec![], Vec::<f64>::new()),
            (vec![0], vec![0], vec![1.0]),
            (vec![0], vec![], vec![1.0]),
            (vec![], vec![0], vec![]),
            (vec![], vec![], vec![1.0]),
        ] {
            let lengths = [row_indices.len(), column_indices.len(), values.len()];
            let valid = lengths == [0; 3] || lengths == [1; 3] && rows > 0 && columns > 0;
            let written =
                io::write_coordinates(&path, &Coordinates { rows, columns, row_indices, column_indices, values });
            assert_eq!(written.is_ok(), valid, "{rows} x {columns}, {lengths:?}: {written:?}");
        }
    }
    for (number, matrix) in flat().iter().enumerate() {
        for extension in ["mtx", "mtx.gz", "npz", "wspmv"] {
            let path = folder.path().join(format!("{number}.{extension}"));
            io::write(&path, matrix).unwrap();
            // No reader accepts 2^31 columns in a file of a few bytes.
            match io::read::<f64>(&path, &ReadOptions::default()) {
                Ok(read) => assert_eq!(read.matrix, *matrix, "{extension}"),
                Err(error) => assert!(matrix.columns() > 1, "{extension}: {error}"),
            }
        }
    }
    let long = Ell::<f64>::try_new(LARGEST_DIMENSION, 1, 1 << 31, 0, vec![], vec![]).unwrap();
    let path = folder.path().join("long.wspmv");
    io::write_container_matrix(&path, &Matrix::from(long)).unwrap();
    assert!(io::read_container_matrix::<f64>(&path).is_err());
}

#[test]
fn files_of_every_size_are_read_or_refused() {
    let _nothing_huge = NothingHuge::new();
    let options = ReadOptions::default();
    // Beginnings of files of all kinds.
    let begins: [&[u8]; 7] = [
        b"%%MatrixMarket matrix coordinate real general",
        b"\xef\xbb\xbf%%MatrixMarket matrix array real general",
        b"\x89WSPMV\r\n\x01\0\0\0\xff\xff\xff\xff",
        b"PK\x03\x04\0\0\0\0",
        b"PK\x05\x06\0\0\0\0",
        b"\x1f\x8b\x08\0\0\0\0\0",
        b"title\n1\nrua 1 1 1\n(1I1) (1I1)\n",
    ];
    for bytes in begins.iter().flat_map(|begin| (0..=begin.len()).map(move |length| &begin[..length])) {
        assert!(io::parse::<f64>(bytes, "m", &options).is_err());
        assert!(io::parse_matrix::<f32>(bytes, "m", &options).is_err());
        assert!(io::parse_matrix_market::<f64>(bytes, "m", None).is_err());
        assert!(io::parse_vector::<f64>(bytes, "m", None).is_err());
    }

    let banner = "%%MatrixMarket matrix";
    for [rows, columns, entries] in triples() {
        for symmetry in ["general", "symmetric", "skew-symmetric"] {
            let text = format!("{banner} coordinate real {symmetry}\n{rows} {columns} {entries}\n");
            let valid = rows.max(columns) <= 1 && entries == 0 && (symmetry == "general" || rows == columns);
            let read = io::parse_matrix_market::<f64>(text.as_bytes(), "m.mtx", None);
            assert_eq!(read.is_ok(), valid, "{text}: {:?}", read.err());
        }
        let text = format!("{banner} array real general\n{rows} {columns}\n");
        let read = io::parse_vector::<f64>(text.as_bytes(), "v.mtx", None);
        assert_eq!(read.is_ok(), [[0, 1], [1, 0]].contains(&[rows, columns]), "{text}: {read:?}");
        let text = rutherford_boeing([rows, columns, entries], "(4I3)", "(3E9.2)", "  1\n");
        let read = io::parse::<f64>(text.as_bytes(), "m.rb", &options);
        assert_eq!(read.is_ok(), rows <= 1 && columns == 0 && entries == 0, "{text}: {:?}", read.err());
    }

    let folder = tempfile::tempdir().unwrap();
    let matrix = generated("stencil:5:6x5");
    for name in ["m.mtx.gz", "m.npz"] {
        let path = folder.path().join(name);
        io::write(&path, &matrix).unwrap();
        let bytes = fs::read(&path).unwrap();
        for limit in [0, 1, 1 << 20, u64::MAX] {
            let options = ReadOptions { decompressed_limit: limit, ..ReadOptions::default() };
            assert_eq!(io::parse::<f64>(&bytes, name, &options).is_ok(), limit > 1, "{name}, {limit}");
            let options = ReadOptions { streamed_limit: Some(limit), ..ReadOptions::default() };
            assert_eq!(io::read::<f64>(&path, &options).unwrap().matrix, matrix, "{name}, {limit}");
        }
    }
}

/// Returns a Rutherford-Boeing file with the given numbers of rows, columns and entries.
fn rutherford_boeing([rows, columns, entries]: [usize; 3], pointers: &str, values: &str, body: &str) -> String {
    let (title, key, kind, indices) = ("a title", "key", "rua", "(4I3)");
    format!(
        "{title:72}{key:8}\n{:14}{:14}{:14}{:14}\n{kind:14}{rows:14}{columns:14}{entries:14}{:14}\n\
         {pointers:16}{indices:16}{values:20}\n{body}",
        3, 1, 1, 1, 0
    )
}

#[test]
fn exponents_of_fortran_have_every_size() {
    let _nothing_huge = NothingHuge::new();
    let options = ReadOptions::default();
    for (value, expected) in [
        ("1e-9223372036854775808", Some(0.0)),
        ("1-9223372036854775808", Some(0.0)),
        ("0e9223372036854775807", Some(0.0)),
        ("1e9223372036854775807", None),
        ("1e9223372036854775808", None),
        ("15e11", Some(1.5)),
    ] {
        let text = rutherford_boeing([1; 3], "(4I3)", "(1E40.12)", &format!("  1  2\n  1\n{value:>40}\n"));
        let read = io::parse::<f64>(text.as_bytes(), "m.rb", &options).ok();
        assert_eq!(read.map(|read| read.matrix.values()[0]), expected, "{value}");
    }
    for (pointers, values) in [
        ("(-2147483648PI3)", "(3E9.2)"),
        ("(2147483647P4I3)", "(3E9.2)"),
        ("(4I3)", "(-2147483648P1E9.2)"),
        ("(4I4294967296)", "(3E9.2)"),
    ] {
        let text = rutherford_boeing([1; 3], pointers, values, "  1  2\n  1\n 1.0\n");
        assert!(io::parse::<f64>(text.as_bytes(), "m.rb", &options).is_err(), "{pointers}, {values}");
    }
}

/// Returns the bytes of a NumPy array.
fn npy(element: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': {shape}, }}");
    [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |mut crc, &byte| {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
        crc
    })
}

/// Returns an uncompressed zip archive of `members`.
fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::<u8>::new(), Vec::<u8>::new());
    for (name, contents) in members {
        let name = format!("{name}.npy");
        let begin = bytes.len() as u32;
        // Version, flags and method; time and date; checksum, both sizes and the length of the name.
        let mut about = Vec::<u8>::new();
        about.extend([20u16, 0, 0, 0, 33].map(u16::to_le_bytes).concat());
        about.extend([crc32(contents), contents.len() as u32, contents.len() as u32].map(u32::to_le_bytes).concat());
        about.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        let in_front: [&[u8]; 4] = [b"PK\x03\x04", &about, name.as_bytes(), contents];
        bytes.extend(in_front.concat());
        let begin = begin.to_le_bytes();
        let listed: [&[u8]; 5] = [b"PK\x01\x02\x14\0", &about, &[0; 10], &begin, name.as_bytes()];
        directory.extend(listed.concat());
    }
    let (begin, length, count) = (bytes.len() as u32, directory.len() as u32, members.len() as u16);
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count, count].map(u16::to_le_bytes).concat());
    bytes.extend([length, begin].map(u32::to_le_bytes).concat());
    bytes.extend([0, 0]);
    bytes
}

#[test]
fn archives_of_every_shape_are_read_or_refused() {
    let _nothing_huge = NothingHuge::new();
    for format in ["csr", "csc", "coo"] {
        for [rows, columns] in pairs() {
            let shape = [rows as u64, columns as u64].map(u64::to_le_bytes).concat();
            let no_indices = || npy("<i4", "(0,)", &[]);
            let bytes = archive(&[
                ("format", npy("|S3", "()", format.as_bytes())),
                ("shape", npy("<u8", "(2,)", &shape)),
                ("data", npy("<f8", "(0,)", &[])),
                ("indptr", npy("<i8", "(1,)", &[0; 8])),
                ("indices", no_indices()),
                ("row", no_indices()),
                ("col", no_indices()),
            ]);
            let valid = match format {
                "csr" => rows == 0 && columns <= 1,
                "csc" => columns == 0 && rows <= 1,
                _ => rows.max(columns) <= 1,
            };
            match io::parse::<f64>(&bytes, "m.npz", &ReadOptions::default()) {
                Ok(read) => {
                    assert!(valid, "{format}, {rows} x {columns}");
                    assert_eq!((read.matrix.rows(), read.matrix.columns()), (rows, columns), "{format}");
                }
                Err(error) => assert!(!valid, "{format}, {rows} x {columns}: {error}"),
            }
        }
    }
}
