//! Products and conversions of every kind, in every format.

use warp_spmv::executor::Emulated;
use warp_spmv::format::{
    Bcsr, BlockSize, Cmrs, CmrsPadded, Coo16, Matrix, Offsets, PanelSize, Panels, SellP, Slicing, StripHeight,
    StripOrder, bcsr, cmrs, coo_16, sell_p,
};
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Csr, Format, Layout, Multivector, Plan, PlanOptions, Real, Scalar, ValueStorage};

use super::{Results, UNLIMITED, bits};
use crate::scenarios::fused::check_plan;
use crate::scenarios::narrow::{held_by, types_of};
use crate::scenarios::sparse_product::check_sparse_product;
use crate::scenarios::transposed::Which;
use crate::scenarios::{Numbers, as_stored, factor, plan_within, with_rows, with_wide_offsets};

/// Rows that several warps share, empty rows, columns in no order and some repeated; more rows than a block has
/// threads, or so few that most threads have none.
pub fn matrices<T: Scalar>() -> Vec<Csr<T>> {
    let mut numbers = Numbers::new(21);
    let mut shared = vec![3, 0, 1, 2];
    shared.extend([150, 0, 33, 1].iter().chain(&[2; 20]));
    let mut short: Vec<usize> = (0..140).map(|row| row * 7 % 4).collect();
    short[77] = 70;
    let around_a_warp = [31, 0, 32, 33, 64, 1, 65].repeat(3);
    let narrow: Vec<Csr<T>> =
        [(70, shared), (90, short), (50, around_a_warp)].iter().map(|(c, l)| with_rows(*c, l, &mut numbers)).collect();
    narrow.iter().flat_map(|matrix| [matrix.clone(), with_wide_offsets(matrix)]).collect()
}

/// Whether kernels also convert to `format` under `schedule`. Kernels for blocks are the same for all sizes, so a third
/// of the sizes take turns.
fn is_converted(format: Format, schedule: u64) -> bool {
    let size = match format {
        Format::Bcsr(size) => size,
        Format::Bellpack(strategy) => strategy.size,
        _ => return true,
    };
    (size as u64 + schedule / 12).is_multiple_of(3)
}

/// Runs every kind of product in every format, and converts to the format and back.
pub fn multiply_all<T: Scalar>(executor: &Emulated, matrix: &Csr<T>, schedule: u64) -> Results {
    let mut results = Results::new();
    let options = PlanOptions { fill_limit: UNLIMITED, ..PlanOptions::default() };
    let mut numbers = Numbers::new(22);
    let (x, y) = (numbers.vector::<T>(matrix.columns() * 3), numbers.vector::<T>(matrix.rows() * 3));
    let (alpha, beta) = (factor::<T>(0.75), factor::<T>(-1.5));
    let expected = exact(matrix, alpha, &x[..matrix.columns()], beta, &y[..matrix.rows()]).unwrap();
    for &format in Format::ALL {
        let mut plan = if is_converted(format, schedule) {
            Plan::with_options(executor, matrix.clone(), format, options).unwrap()
        } else {
            plan(executor, matrix, format)
        };
        let mut result = y[..matrix.rows()].to_vec();
        plan.apply(alpha, &x[..matrix.columns()].to_vec(), beta, &mut result)
            .unwrap_or_else(|e| panic!("{format}: {e}"));
        let verification = verify(&result, &expected, plan.format()).unwrap();
        assert!(verification.passed(), "{format}: {verification:?}");
        if format.reproducible() {
            results.insert(format!("{format}"), bits(&result));
        }
        for layout in [Layout::RowMajor, Layout::ColumnMajor] {
            if format.multiplies_multivectors() {
                let mut result = y.clone();
                let shape = Multivector { vectors: 3, layout };
                plan.apply_multivector(shape, alpha, &x, beta, &mut result).unwrap_or_else(|e| panic!("{format}: {e}"));
                results.insert(format!("{format}, {layout:?}"), bits(&result));
            }
        }
        if format.multiplies_transposed() {
            multiply_transposes(&plan, matrix, &y[..matrix.rows()], &x[..matrix.columns()]);
        }
        if !is_converted(format, schedule) {
            continue;
        }
        let back = plan.into_matrix().into_csr_on(executor).unwrap_or_else(|e| panic!("{format}: {e}"));
        let mut stored = as_stored(matrix, format);
        // CMRS orders the entries of a strip by column, and hence those of a row.
        let mut sorted = back.clone();
        for matrix in [&mut stored, &mut sorted] {
            matrix.sort_rows().unwrap();
        }
        assert!(sorted == stored, "{format}: there and back");
        results.insert(format!("{format}, back"), bits(back.values()));
    }
    multiply_many(executor, matrix, &expected, (alpha, beta), &x[..matrix.columns()], &y[..matrix.rows()]);
    results
}

/// Multiplies enough column-major vectors to be rearranged first, and enough row-major ones for a lane to have two:
/// each of X is x, and each of Y is y.
fn multiply_many<T: Scalar>(
    executor: &Emulated,
    matrix: &Csr<T>,
    expected: &[T::Exact],
    (alpha, beta): (T, T),
    x: &[T],
    y: &[T],
) {
    for format in [Format::CSR_SCALAR, Format::CSR_TILED] {
        let mut plan = Plan::with_format(executor, matrix.clone(), format).unwrap();
        for (vectors, layout) in [(9, Layout::ColumnMajor), (16, Layout::RowMajor)] {
            let shape = Multivector { vectors, layout };
            let all = |one: &[T]| match layout {
                Layout::ColumnMajor => one.repeat(vectors),
                Layout::RowMajor => one.iter().flat_map(|&element| vec![element; vectors]).collect(),
            };
            let mut results = all(y);
            plan.apply_multivector(shape, alpha, &all(x), beta, &mut results).unwrap();
            for vector in 0..vectors {
                let element = |row| results[shape.place(y.len(), row, vector)];
                let result: Vec<T> = (0..y.len()).map(element).collect();
                assert!(verify(&result, expected, Format::CSR_SCALAR).unwrap().passed(), "{format}, {shape:?}");
            }
        }
    }
}

/// Multiplies with an epilogue in every format that has a kernel for it, and in one that has none.
pub fn multiply_fused<T: Real>(executor: &Emulated) -> Results {
    let (mut results, mut numbers) = (Results::new(), Numbers::new(34));
    // So few that all such formats fuse, few, and more than threads.
    for rows in [2, 20, 300] {
        let lengths: Vec<usize> = (0..rows).map(|row| [3, 0, 4, 5, 17, 1][row % 6]).collect();
        let matrix = with_rows::<T>(40, &lengths, &mut numbers);
        for &format in Format::ALL {
            let mut plan = plan(executor, &matrix, format);
            if plan.fuses() || format == Format::CSR_TILED {
                let bits = check_plan(&mut plan, "schedules", format, true, &[(-1.5, Some(0.5), 2)]);
                results.insert(format!("{format}, {rows} rows, fused"), bits);
            }
        }
    }
    results
}

/// Computes y ← α Aᵀ x + β y, and the same with Aᴴ.
pub fn multiply_transposes<T: Scalar>(plan: &Plan<T, Emulated>, matrix: &Csr<T>, x: &[T], y: &[T]) {
    let (x, format) = (x.to_vec(), plan.format());
    let (alpha, beta) = (factor::<T>(0.75), factor::<T>(-1.5));
    for &which in Which::all::<T>() {
        let mut result = y.to_vec();
        let expected = exact(&which.stored(matrix), alpha, &x, beta, y).unwrap();
        match which {
            Which::Transposed => plan.apply_transposed(alpha, &x, beta, &mut result),
            Which::Conjugate => plan.apply_conjugate_transposed(alpha, &x, beta, &mut result),
        }
        .unwrap_or_else(|e| panic!("{format}: {e}"));
        assert!(verify(&result, &expected, Format::CSR_SCALAR).unwrap().passed(), "{format}, {which:?}");
    }
}

/// Converts with parameters that no format of the catalogue has.
pub fn convert_otherwise<T: Scalar>(executor: &Emulated, matrix: &Csr<T>) {
    for order in [StripOrder::ByRow, StripOrder::ByColumn] {
        let converted = cmrs::with_height(executor, matrix.clone(), 5, order).unwrap();
        let back = cmrs::into_csr(executor, converted).unwrap();
        assert_eq!(back.nnz(), matrix.nnz());
    }
    let slicing = Slicing { slice_size: 5, stride_factor: 4, sigma: 40 };
    let converted = sell_p::from_csr(executor, matrix, slicing, UNLIMITED).unwrap();
    assert!(converted == SellP::try_from_csr(matrix, slicing, UNLIMITED).unwrap());
    let panels = Panels { columns: 7, slots: 3 };
    let converted = coo_16::with_panels(executor, matrix.clone(), panels, UNLIMITED).unwrap();
    assert!(converted == Coo16::try_with_panels(matrix.clone(), panels, UNLIMITED).unwrap());
}

/// Converts a symmetric matrix to the format that stores pairs once, in one part and in several.
pub fn convert_pairs<T: Scalar>(executor: &Emulated) {
    let near = |row: u32| [0, 1, 2, 30].into_iter().flat_map(move |step| [row.wrapping_sub(step), row + step]);
    let places = || (0..150).flat_map(|row| near(row).filter(|&column| column < 150).map(move |column| (row, column)));
    let mut places: Vec<(u32, u32)> = places().collect();
    places.sort_unstable();
    places.dedup();
    let (rows, columns): (Vec<u32>, Vec<u32>) = places.iter().copied().unzip();
    let values: Vec<T> = places.iter().map(|&(i, j)| factor(f64::from(1000 * i.min(j) + i.max(j)))).collect();
    let matrix = Csr::try_from_triplets(150, 150, &rows, &columns, &values).unwrap();
    // 256 elements: one slice, and 128 columns besides.
    let small = format!("clustered-symmetric:kilobytes={}", size_of::<T>() / 4);
    for name in ["clustered-symmetric", &small] {
        let format: Format = name.parse().unwrap();
        let expected = Matrix::try_from_csr(matrix.clone(), format, UNLIMITED).unwrap();
        for matrix in [with_wide_offsets(&matrix), matrix.clone()] {
            assert!(matrix.convert(executor, format, UNLIMITED).unwrap() == expected, "{name}");
        }
    }
}

/// Converts a row so long that its blocks are found by another algorithm.
pub fn convert_long_row<T: Scalar>(executor: &Emulated) {
    let matrix = with_rows::<T>(3000, &[1100, 3], &mut Numbers::new(27));
    let expected = Bcsr::try_from_csr(&matrix, BlockSize::B2x3, UNLIMITED).unwrap();
    for matrix in [with_wide_offsets(&matrix), matrix] {
        assert!(bcsr::from_csr(executor, matrix, BlockSize::B2x3, UNLIMITED).unwrap() == expected);
    }
}

/// Multiplies matrices with few, some and many blocks per block row, for which BCSR uses different kernels at any block
/// size.
pub fn multiply_blocks<T: Scalar>(executor: &Emulated) {
    let mut numbers = Numbers::new(23);
    for length in [3, 40, 150] {
        let matrix = with_rows::<T>(3000, &[length; 2], &mut numbers);
        multiply_in(executor, &matrix, |format| matches!(format, Format::Bcsr(_)));
    }
}

/// Multiplies matrices with few and many rows for the device, for which ELL and SELL-P use different kernels.
pub fn multiply_few_and_many_rows<T: Scalar>(executor: &Emulated) {
    let mut numbers = Numbers::new(28);
    for rows in [20, 1100] {
        let lengths: Vec<usize> = (0..rows).map(|row| [3, 0, 4, 5, 17, 1][row % 6]).collect();
        let matrix = with_rows::<T>(40, &lengths, &mut numbers);
        multiply_in(executor, &matrix, |format| matches!(format, Format::Ell(_) | Format::SellP(_)));
    }
}

/// Lengths of rows for few tiles of csr-tiled, and for more than any emulator lets arrive.
const FEW_AND_MANY_TILES: [&[usize]; 2] = [&[5, 1000, 0, 3, 430], &[7900, 0, 8100, 3]];

/// Multiplies with few and many tiles for the device: blocks of csr-tiled arrive, or another launch adds up the rows
/// that they share.
pub fn multiply_few_and_many_tiles<T: Scalar>(executor: &Emulated) {
    let mut numbers = Numbers::new(30);
    for lengths in FEW_AND_MANY_TILES {
        let matrix = with_rows::<T>(60, lengths, &mut numbers);
        for matrix in [with_wide_offsets(&matrix), matrix] {
            multiply_in(executor, &matrix, |format| *format == Format::CSR_TILED);
        }
    }
}

/// Multiplies rows of one and of many tiles in panels so narrow that blocks have several.
pub fn multiply_column_panels<T: Scalar>(executor: &Emulated) {
    let matrix = with_rows::<T>(500, &[900, 3, 0, 40, 1, 700], &mut Numbers::new(38));
    let format = Format::ColumnPanels(PanelSize { kilobytes: 1 });
    let expected = Matrix::try_from_csr(matrix.clone(), format, UNLIMITED).unwrap();
    for matrix in [with_wide_offsets(&matrix), matrix.clone()] {
        assert!(matrix.convert(executor, format, UNLIMITED).unwrap() == expected);
    }
    multiply_in_each(executor, &matrix, &[format]);
}

/// Multiplies sparse matrices with tables per group of lanes and per block, and, with little shared memory, with one
/// bit per column; rows of few and many products; with and without repeated columns in rows of the right matrix.
pub fn multiply_sparse<T: Scalar>(executor: &Emulated) {
    let mut numbers = Numbers::new(36);
    let left = with_rows::<T>(9, &[2, 0, 9, 1, 40, 3], &mut numbers);
    let right = with_rows::<T>(900, &[5, 0, 12, 1, 7, 3, 33, 2, 20], &mut numbers);
    let mut sorted = right.clone();
    sorted.sort_rows().unwrap();
    sorted.sum_duplicates().unwrap();
    check_sparse_product(executor, "several tables", &left, &sorted);
    // Rows for tables that lanes of a warp share, and for those of blocks, which only wide matrices have.
    for (name, columns, length) in [("a warp's tables", 5000, 150), ("long rows", 600_000, 900)] {
        let left = with_rows::<T>(1, &[1, 2], &mut numbers);
        let mut right = with_rows::<T>(columns, &[length], &mut numbers);
        right.sort_rows().unwrap();
        right.sum_duplicates().unwrap();
        check_sparse_product(executor, name, &left, &right);
        check_sparse_product(executor, name, &with_wide_offsets(&left), &with_wide_offsets(&right));
    }
    // Enough rows for a lane to compute each alone, some with more columns than those that are counted.
    let columns = (0..70).flat_map(|row| if row % 16 == 5 { [1, 2, 3] } else { [0; 3] }).collect();
    let offsets: Vec<u32> = (0..=70).map(|row| 3 * row).collect();
    let many = Csr::try_new(70, 4, offsets, columns, numbers.vector::<T>(210)).unwrap();
    let short = Csr::try_new(4, 28, vec![0_u32, 7, 14, 21, 28], (0..28).collect(), numbers.vector::<T>(28)).unwrap();
    check_sparse_product(executor, "a lane per row", &many, &short);
    check_sparse_product(executor, "a lane per row, wide", &with_wide_offsets(&many), &with_wide_offsets(&short));
    // The same in a team's smaller tables, for 240 products in 60 columns or 260 in 130; and rows with too many columns for
    // that, which are counted first, by tables of a warp.
    let right_rows = [60, 60, 60, 60, 130, 130, 230].map(|columns| 0..columns);
    let right_offsets = vec![0_u32, 60, 120, 180, 240, 370, 500, 730];
    let values = numbers.vector::<T>(730);
    let alike = Csr::try_new(7, 230, right_offsets, right_rows.into_iter().flatten().collect(), values).unwrap();
    let rows = (0..67).map(|row| if row == 5 { vec![4, 5] } else { vec![0, 1, 2, 3] });
    for (name, rows) in [("a sample", rows.collect()), ("many to count", vec![vec![6_u32]; 10])] {
        let offsets: Vec<u32> =
            (0..=rows.len()).map(|row| rows[..row].iter().map(Vec::len).sum::<usize>() as u32).collect();
        let columns = rows.concat();
        let values = numbers.vector::<T>(columns.len());
        check_sparse_product(executor, name, &Csr::try_new(rows.len(), 7, offsets, columns, values).unwrap(), &alike);
    }
    let mut few_columns = with_rows::<T>(5, &[4, 1, 3], &mut numbers);
    few_columns.sort_rows().unwrap();
    few_columns.sum_duplicates().unwrap();
    let little = executor.clone().with_shared_bytes(500);
    for executor in [executor, &little] {
        let left = with_rows::<T>(9, &[2, 0, 3, 1], &mut numbers);
        check_sparse_product(executor, "repeated columns", &left, &right);
        check_sparse_product(executor, "wide", &with_wide_offsets(&left), &with_wide_offsets(&sorted));
        check_sparse_product(executor, "several turns", &with_rows(3, &[0, 90], &mut numbers), &few_columns);
    }
}

/// Multiplies with values in every type narrower than `T`, in every format that supports it, and compares with the same
/// values stored in `T`.
pub fn multiply_narrow<T: Scalar>(executor: &Emulated, patterns: &[Csr<T>]) {
    let mut numbers = Numbers::new(32);
    let few_and_many_rows =
        [20, 1100].map(|rows: usize| (0..rows).map(|row| [3, 0, 4, 5, 17, 1][row % 6]).collect::<Vec<_>>());
    let others = few_and_many_rows.iter().map(Vec::as_slice).chain(FEW_AND_MANY_TILES);
    let others: Vec<_> = others.map(|lengths| with_rows::<T>(60, lengths, &mut numbers)).collect();
    let blocks = [3, 40, 150].map(|length| with_rows::<T>(3000, &[length; 2], &mut numbers));
    let wide: Vec<_> = others[2..].iter().map(with_wide_offsets).collect();
    // Apart from small matrices, other formats distinguish only numbers of rows or of tiles.
    let any: fn(&Format) -> bool = |format| !matches!(format, Format::Bcsr(_) | Format::Bellpack(_));
    let by_blocks: fn(&Format) -> bool = |format| matches!(format, Format::Bcsr(_) | Format::Bellpack(_));
    let by_rows: fn(&Format) -> bool = |format| matches!(format, Format::Ell(_) | Format::SellP(_));
    let by_tiles: fn(&Format) -> bool = |format| *format == Format::CSR_TILED;
    let patterns = patterns.iter().map(|pattern| (pattern, any));
    let patterns = patterns.chain(others[..2].iter().map(|pattern| (pattern, by_rows)));
    let patterns = patterns.chain(blocks.iter().map(|pattern| (pattern, by_blocks)));
    for (pattern, is_for_it) in patterns.chain(others[2..].iter().chain(&wide).map(|pattern| (pattern, by_tiles))) {
        // The sum of duplicates need not be representable in the narrow type.
        let mut once = pattern.clone();
        once.sort_rows().unwrap();
        once.sum_duplicates().unwrap();
        for &narrow_type in types_of::<T>() {
            let [matrix, once] = [pattern, &once].map(|pattern| held_by(pattern, narrow_type, &mut numbers));
            let x = numbers.vector::<T>(matrix.columns());
            let formats = Format::ALL.iter().filter(|format| format.multiplies_narrow() && is_for_it(format));
            for &format in formats {
                let matrix = if format.sums_duplicates() { &once } else { &matrix };
                let [full, narrow] = [ValueStorage::Full, ValueStorage::Rounded(narrow_type)].map(|values| {
                    let options = PlanOptions { fill_limit: UNLIMITED, values, ..PlanOptions::default() };
                    let mut plan = Plan::with_options(executor, matrix.clone(), format, options).unwrap();
                    let mut result = vec![T::from_f64(f64::NAN); matrix.rows()];
                    plan.apply(T::ONE, &x, T::ZERO, &mut result).unwrap_or_else(|e| panic!("{format}: {e}"));
                    let back = plan.into_matrix().into_csr_on(executor).unwrap_or_else(|e| panic!("{format}: {e}"));
                    (bits(&result), bits(back.values()))
                });
                assert!(full == narrow, "{format}, {} as {narrow_type:?}: other bits", T::NAME);
            }
        }
    }
}

/// Returns a plan for a matrix converted on the host, for checks of the product alone.
fn plan<T: Scalar>(executor: &Emulated, matrix: &Csr<T>, format: Format) -> Plan<T, Emulated> {
    plan_within(UNLIMITED, executor, matrix, format).unwrap_or_else(|e| panic!("{format}: {e}"))
}

/// Multiplies in the formats of the catalogue that are `chosen`.
fn multiply_in<T: Scalar>(executor: &Emulated, matrix: &Csr<T>, chosen: impl Fn(&Format) -> bool) {
    let formats: Vec<Format> = Format::ALL.iter().copied().filter(chosen).collect();
    multiply_in_each(executor, matrix, &formats);
}

fn multiply_in_each<T: Scalar>(executor: &Emulated, matrix: &Csr<T>, formats: &[Format]) {
    let x = Numbers::new(29).vector::<T>(matrix.columns());
    let expected = exact(matrix, T::ONE, &x, T::ZERO, &vec![T::ZERO; matrix.rows()]).unwrap();
    for &format in formats {
        let mut result = vec![T::from_f64(f64::NAN); matrix.rows()];
        let mut plan = plan(executor, matrix, format);
        plan.apply(T::ONE, &x, T::ZERO, &mut result).unwrap_or_else(|e| panic!("{format}: {e}"));
        assert!(verify(&result, &expected, format).unwrap().passed(), "{format}");
    }
}

/// Multiplies CMRS with 64-bit offsets, which conversions make only for 2^32 entries, and converts it back.
pub fn multiply_wide<T: Scalar>(executor: &Emulated, matrix: &Csr<T>) {
    let x = Numbers::new(24).vector::<T>(matrix.columns());
    let expected = exact(matrix, T::ONE, &x, T::ZERO, &vec![T::ZERO; matrix.rows()]).unwrap();
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let wide = |offsets: &Offsets| Offsets::Wide((0..offsets.len()).map(|place| offsets.get(place) as u64).collect());
    let padded = CmrsPadded::try_from_csr(matrix, UNLIMITED).unwrap();
    let offsets = wide(padded.strip_offsets());
    let padded =
        CmrsPadded::try_new(rows, columns, offsets, padded.words().to_vec(), padded.values().to_vec()).unwrap();
    let mut wide_matrices = vec![(Matrix::CmrsPadded(padded), Format::CmrsPadded)];
    for height in [2, 4, 8, 16] {
        let cmrs = Cmrs::try_with_height(matrix.clone(), height, StripOrder::ByColumn).unwrap();
        wide_matrices.push((Matrix::Cmrs(cmrs.clone()), Format::Cmrs(StripHeight::ByTraffic)));
        let offsets = wide(cmrs.strip_offsets());
        let cmrs =
            Cmrs::try_new(rows, columns, height, offsets, cmrs.words().to_vec(), cmrs.values().to_vec()).unwrap();
        wide_matrices.push((Matrix::Cmrs(cmrs), Format::Cmrs(StripHeight::ByTraffic)));
    }
    for (matrix, format) in wide_matrices {
        let mut result = vec![T::ZERO; rows];
        let csr = matrix.clone().into_csr().unwrap();
        let mut plan = Plan::from_matrix(executor, matrix, format).unwrap();
        plan.apply(T::ONE, &x, T::ZERO, &mut result).unwrap_or_else(|e| panic!("{format}: {e}"));
        assert!(verify(&result, &expected, format).unwrap().passed(), "{format}, wide");
        let shape = Multivector { vectors: 2, layout: Layout::ColumnMajor };
        let mut results = vec![T::ZERO; 2 * rows];
        plan.apply_multivector(shape, T::ONE, &[&*x, &x].concat(), T::ZERO, &mut results)
            .unwrap_or_else(|e| panic!("{format}: {e}"));
        for vector in 0..2 {
            let result = &results[vector * rows..(vector + 1) * rows];
            assert!(verify(result, &expected, Format::CSR_SCALAR).unwrap().passed(), "{format}, wide, several vectors");
        }
        assert!(plan.into_matrix().into_csr_on(executor).unwrap() == csr, "{format}, wide, back");
    }
}
