//! Containers of every storage format.

use files::{
    FileKind, Number, ReadOptions, parse, parse_matrix, read, read_container, read_container_matrix, read_matrix,
    write_container_matrix,
};
use gpu_kernels::absent::Absent;
use host::executor::{Emulated, Executor};
use host::format::{BlockSize, CmrsPadded, FillLimit, HybSplit, Matrix, StripHeight};
use host::verify::{exact, verify};
use host::{Csr, Error, Format, Plan};

use crate::common::{Folder, assert_same, check_error, matrices, matrix, seal};

/// One format per storage of a matrix.
fn formats() -> Vec<Format> {
    let mut formats: Vec<Format> = Vec::new();
    for &format in Format::ALL {
        if !formats.iter().any(|known| known.storage() == format.storage()) {
            formats.push(format);
        }
    }
    formats
}

fn stored<T: Number>(matrix: &Csr<T>, format: Format) -> Result<Matrix<T>, Error> {
    Matrix::try_from_csr(matrix.clone(), format, FillLimit::default())
}

fn bytes<T: Number>(matrix: &Matrix<T>) -> Vec<u8> {
    let folder = Folder::new();
    write_container_matrix(folder.path("m"), matrix).unwrap();
    std::fs::read(folder.path("m")).unwrap()
}

fn parsed<T: Number>(bytes: &[u8]) -> Result<Matrix<T>, Error> {
    parse_matrix(bytes, "m.wspmv", &ReadOptions::default()).map(|loaded| loaded.matrix)
}

/// 3 x 4 entries, one of them 0.
fn example() -> Csr<f64> {
    Csr::try_from_triplets(3, 4, &[0, 0, 1, 2, 2], &[0, 3, 1, 0, 2], &[1.0, 2.0, 3.0, 4.0, 0.0]).unwrap()
}

/// Rows of 0 to 9 entries.
fn uneven<T: Number>() -> Csr<T> {
    let places = (0..9u32).flat_map(|row| (0..row * 7 % 10).map(move |column| (row, column * 5 % 11)));
    let (rows, columns): (Vec<_>, Vec<_>) = places.unzip();
    let values: Vec<T> = (1..=rows.len()).map(|value| T::from_f64(value as f64)).collect();
    Csr::try_from_triplets(9, 11, &rows, &columns, &values).unwrap()
}

fn round_trips<T: Number>() {
    let folder = Folder::new();
    let path = folder.path("m.wspmv");
    for matrix in matrices::<T>().into_iter().chain([uneven()]) {
        for format in formats() {
            let Ok(stored) = stored(&matrix, format) else { continue };
            write_container_matrix(&path, &stored).unwrap();
            let back = read_container_matrix::<T>(&path).unwrap();
            assert!(back == stored, "{format}");
            assert!(back.is_stored_as(format).unwrap(), "{format}");
            let loaded = read_matrix::<T>(&path, &ReadOptions::default()).unwrap();
            assert!(loaded.matrix == stored && loaded.kind == FileKind::Container, "{format}");
            assert_eq!(loaded.header.entries, stored.nnz() as u64);
            let expected = stored.into_csr().unwrap();
            assert_same(&read_container::<T>(&path).unwrap(), &expected);
            assert_same(&read::<T>(&path, &ReadOptions::default()).unwrap().matrix, &expected);
        }
    }
    assert_eq!(folder.names(), ["m.wspmv"]);
}

#[test]
fn every_format_comes_back_as_it_was() {
    round_trips::<f64>();
    round_trips::<f32>();
}

#[test]
fn storage_is_told_by_its_parameters() {
    let matrix = uneven::<f64>();
    for format in formats() {
        let stored = stored(&matrix, format).unwrap();
        for &other in Format::ALL {
            let same = self::stored(&matrix, other).unwrap() == stored;
            assert_eq!(stored.is_stored_as(other).unwrap(), same, "{format} as {other}");
        }
    }
}

#[test]
fn another_precision_comes_in_csr() {
    for format in formats() {
        let single = bytes(&stored(&uneven::<f32>(), format).unwrap());
        assert!(parsed::<f64>(&single).unwrap() == Matrix::Csr(uneven()), "{format}");
        let double = bytes(&stored(&uneven::<f64>(), format).unwrap());
        assert!(parsed::<f32>(&double).unwrap() == Matrix::Csr(uneven()), "{format}");
        let large = Csr::try_from_triplets(1, 2, &[0, 0], &[0, 1], &[f64::INFINITY, 1e300]).unwrap();
        let error = parsed::<f32>(&bytes(&stored(&large, format).unwrap())).map(|_| ()).unwrap_err();
        assert!(error.to_string().ends_with("expected a number in the range of float32"), "{error}");
    }
}

/// Marks, NaN of any kind, infinities and zeros of both signs.
#[test]
fn values_keep_their_bits() {
    fn check<T: Number>() {
        let nan = T::from_f64(-f64::NAN);
        let values = [T::from_f64(-0.0), T::ABSENT, nan, T::from_f64(f64::INFINITY), T::ZERO];
        let matrix = Csr::try_from_triplets(2, 9, &[0, 0, 0, 0, 1], &[8, 0, 3, 4, 4], &values).unwrap();
        for format in formats() {
            let stored = stored(&matrix, format).unwrap();
            assert!(parsed::<T>(&bytes(&stored)).unwrap() == stored, "{format}");
        }
    }
    check::<f32>();
    check::<f64>();
}

#[test]
fn truncated_and_altered_files() {
    for format in formats() {
        let whole = bytes(&stored(&example(), format).unwrap());
        for length in 0..whole.len() {
            let error = parsed::<f64>(&whole[..length]).map(|_| ()).unwrap_err();
            assert!(length < 8 || error.to_string().contains("the file is truncated: "), "{format}: {error}");
        }
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 1 << (place % 8);
            assert!(parsed::<f64>(&bytes).is_err(), "{format} with another byte {place}");
        }
    }
}

/// Whatever a file is made to hold, an accepted matrix is as its format requires, to the last bit, and every kernel can
/// multiply it.
#[test]
fn no_altered_array_gets_past_the_checks_but_as_another_matrix() {
    let emulator = Emulated::new(0);
    let mut taken = 0;
    for format in formats() {
        let whole = bytes(&stored(&uneven::<f32>(), format).unwrap());
        // The last section has values.
        let values = u64::from_le_bytes(*whole[header_length(&whole) - 24..].first_chunk().unwrap()) as usize;
        for place in (32..128).chain(header_length(&whole)..whole.len()) {
            for change in [1u8, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[place] ^= change;
                seal(&mut bytes);
                let Ok(matrix) = parsed::<f32>(&bytes) else { continue };
                taken += 1;
                // Other values are harmless, so testing some of them suffices.
                if place >= values && taken % 64 != 0 {
                    continue;
                }
                assert!(self::bytes(&matrix) == bytes, "{format}, byte {place}");
                if !matrix.is_stored_as(format).unwrap() {
                    continue;
                }
                let csr = matrix.clone().into_csr().unwrap();
                let x: Vec<f32> = (0..csr.columns()).map(|column| column as f32 + 0.5).collect();
                let mut y = vec![0.0; csr.rows()];
                let expected = exact(&csr, 1.0, &x, 0.0, &y).unwrap();
                let mut plan = Plan::from_matrix(&emulator, matrix, format).unwrap();
                plan.apply(1.0, &emulator.upload(x).unwrap(), 0.0, &mut y).unwrap();
                assert!(verify(&y, &expected, plan.format()).unwrap().passed(), "{format}, byte {place}");
            }
        }
    }
    assert!(taken > 10_000, "{taken}");
}

/// The end of header and table.
fn header_length(bytes: &[u8]) -> usize {
    128 + 64 * u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize
}

/// Overwrites a number in a section.
fn put(bytes: &mut [u8], name: &str, index: usize, number: u64) {
    let number_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let mut entries = (128..header_length(bytes)).step_by(64);
    let entry = entries
        .find(|&at| bytes[at..at + 24].iter().take_while(|&&byte| byte != 0).eq(name.as_bytes()))
        .unwrap_or_else(|| panic!("no section {name}"));
    let width = if matches!(bytes[entry + 24], 3 | 7 | 9) { 4 } else { 8 };
    assert!(index < number_at(entry + 32), "{name}[{index}]");
    let at = number_at(entry + 40) + index * width;
    bytes[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
}

#[test]
fn files_that_break_a_rule_of_their_format() {
    const PADDING: u64 = u32::MAX as u64;
    let mark = f64::ABSENT.to_bits();
    let one = 1f64.to_bits();
    let (coo_16, clustered, pairs) = (Format::Coo16, Format::CLUSTERED, Format::CLUSTERED_SYMMETRIC);
    let [ell, dia, coo, hyb] = [Format::ELL, Format::Dia, Format::COO, Format::hyb(HybSplit::SmallestStorage)];
    let [sell, sorted] = [Format::SELL_P, Format::SELL_P_SORTED];
    let narrow: Format = "sell-16".parse().unwrap();
    let [bcsr, bellpack] = [Format::Bcsr(BlockSize::B2x2), Format::bellpack(BlockSize::B2x2)];
    let [cmrs, padded] = [Format::Cmrs(StripHeight::H4), Format::CmrsPadded];
    type Change<'a> = (&'a str, usize, u64);
    let cases: &[(Format, &[Change], &str)] = &[
        (ell, &[("parameters", 0, 64)], "a stride of 64 for 3 rows, expected 32"),
        (ell, &[("parameters", 1, 3)], "column_indices has length 64, expected 96"),
        (ell, &[("column_indices", 0, 4)], "slot 0 of row 0 is in column 4 of 4"),
        (ell, &[("column_indices", 0, PADDING)], "slot 0 of row 0 has no entry, but the value 1, expected 0"),
        (ell, &[("values", 33, 1 << 63)], "slot 1 of row 1 has no entry, but the value -0, expected 0"),
        (ell, &[("column_indices", 35, 0)], "slot 1 of row 3 has an entry, but there are only 3"),
        (
            ell,
            &[("column_indices", 1, PADDING), ("values", 1, 0), ("column_indices", 33, 1)],
            "slot 1 of row 1 has an entry, but the slot before it has none",
        ),
        (
            ell,
            &[("column_indices", 32, PADDING), ("values", 32, 0), ("column_indices", 34, PADDING), ("values", 34, 0)],
            "2 slots per row, but no row has that many entries",
        ),
        (dia, &[("parameters", 0, 3)], "a stride of 3 for 3 rows, expected 32"),
        (dia, &[("parameters", 1, 2)], "3 offsets for 2 diagonals"),
        (dia, &[("offsets", 0, 0)], "offset 1 of the diagonals is not above the one before it"),
        (dia, &[("offsets", 2, 4)], "row 0 of diagonal 4 is outside the matrix, but has a value"),
        (dia, &[("values", 0, 0)], "row 0 of diagonal -2 is outside the matrix, but has a value"),
        (dia, &[("values", 95, one)], "row 31 of diagonal 3 is outside the matrix, but has a value"),
        (dia, &[("values", 2, mark)], "diagonal -2 has no entry"),
        (dia, &[("values", 33, mark - 1)], "row 1 of diagonal 0 is a NaN that is reserved for the mark"),
        (dia, &[("values", 33, mark)], "the header has 5 entries, but the arrays have 4"),
        (sell, &[("parameters", 0, 0)], "the slice size and the stride factor must be at least 1"),
        (sell, &[("parameters", 0, 1 << 32)], "a parameter is 4294967296, which is too large"),
        (sell, &[("parameters", 1, 3)], "slice 0 is 2 slots wide, expected its longest row, rounded up"),
        (sell, &[("parameters", 2, 64)], "row_indices has length 0, expected 3"),
        (sell, &[("slice_begins", 1, 3)], "the last slice offset is 3, expected 2"),
        (sell, &[("column_indices", 64, 4)], "slot 1 of position 0 is in column 4 of 4"),
        (sorted, &[("row_indices", 1, 0)], "row 0 occurs twice, the second time at 1"),
        (sorted, &[("row_indices", 2, 7)], "row 7 is at 2, expected one from 0 to 2"),
        (
            sorted,
            &[("column_indices", 64, PADDING), ("values", 64, 0)],
            "position 1 has 2 entries, more than the one before it",
        ),
        (narrow, &[("slice_begins", 1, 1)], "the last slice offset is 1, expected 2"),
        (narrow, &[("bases", 0, 4)], "slot 0 of row 0 is in column 4 of 4"),
        (narrow, &[("column_offsets", 3, 0)], "slot 0 of row 3 has an entry, but there are only 3"),
        (narrow, &[("values", 1, 1 << 63)], "slot 0 of row 32 has no entry, but the value -0, expected 0"),
        (narrow, &[("bases", 0, u32::MAX as u64)], "slot 0 of row 0 is in column 4294967295 of 4"),
        (coo_16, &[("parameters", 0, 0)], "panels of 0 columns, expected 1 to 65536"),
        (coo_16, &[("parameters", 1, 1025)], "panels of 1025 slots, expected 1 to 1024"),
        (coo_16, &[("parameters", 1, 1)], "panel_rows has length 1, expected 3"),
        (coo_16, &[("slot_begins", 1, 3)], "row 1 ends before it begins"),
        (coo_16, &[("slot_begins", 3, 2)], "entry 2 is in slot 2 of the 2 of row panel 0"),
        (coo_16, &[("panel_rows", 0, 1)], "row panel 0 ends in row 1, expected 2"),
        (coo_16, &[("tile_begins", 0, 1)], "row panel 0 and column panel 0 begins at 1, expected 0"),
        (coo_16, &[("tile_words", 0, 5)], "row panel 0 and column panel 0 has 5 entries in 0 groups"),
        (coo_16, &[("tile_words", 0, 2 << 20 | 4)], "the tiles have 4 entries, expected 5"),
        (coo_16, &[("tile_words", 0, 1 << 20 | 5)], "like another one of its group"),
        (coo_16, &[("column_offsets", 0, 4)], "entry 0 is in column 4 of 4"),
        (coo_16, &[("column_offsets", 0, 32)], "entry 0 is in column 32 of its panel's 32"),
        (coo_16, &[("column_offsets", 0, 1 << 16)], "column_offsets has a number for entry 32, which does not exist"),
        (coo_16, &[("slot_offsets", 0, 3)], "entry 0 is in slot 3 of the 3 of row panel 0"),
        (clustered, &[("parameters", 0, 0)], "0 parts of 96 KiB, expected at least 1 part of 1 to 256 KiB"),
        (clustered, &[("parameters", 1, 257)], "264 parts of 257 KiB, expected at least 1 part of 1 to 256 KiB"),
        (
            clustered,
            &[("parameters", 2, 5)],
            "a parameter gives 5 as the largest number of columns of a part, expected 4",
        ),
        (clustered, &[("part_begins", 1, 2)], "the last part offset is 2, expected 1"),
        (clustered, &[("row_numbers", 1, 0)], "row 0 occurs twice, the second time at 1"),
        (clustered, &[("row_numbers", 3, 7)], "row 7 of 3 is at position 3"),
        (clustered, &[("row_numbers", 2, PADDING)], "2 of 3 rows have a position"),
        (clustered, &[("column_begins", 1, 3)], "the last column list offset is 3, expected 4"),
        (clustered, &[("column_numbers", 0, 4)], "entry 0 is in column 4 of 4"),
        (clustered, &[("slice_begins", 1, 1)], "local_columns has length 64, expected 32"),
        (clustered, &[("local_columns", 0, 0xFFFF_0004)], "slot 0 of position 0 is in column 4 of the 4 of part 0"),
        (clustered, &[("local_columns", 3, 0xFFFF_0000)], "slot 0 of position 3 has an entry, but no row"),
        (clustered, &[("values", 1, 1 << 63)], "slot 0 of position 32 has no entry, but the value -0, expected 0"),
        (pairs, &[("parameters", 0, 0)], "0 parts of 112 KiB, expected at least 1 part of 1 to 256 KiB"),
        (
            pairs,
            &[("parameters", 2, 5)],
            "a parameter gives 5 as the largest number of elements of a part, expected 132",
        ),
        (pairs, &[("warp_begins", 1, 2)], "warp 1 ends before it begins"),
        (pairs, &[("row_numbers", 2, 0)], "row 0 occurs twice, the second time at 2"),
        (pairs, &[("row_numbers", 1, 0)], "2 of 3 rows have a position"),
        (pairs, &[("row_numbers", 2, PADDING)], "2 of 3 rows have a position"),
        (pairs, &[("halo_begins", 1, 3)], "the last halo offset is 3, expected 4"),
        (pairs, &[("halo_columns", 0, 4)], "entry 0 is in column 4 of 4"),
        (pairs, &[("slice_begins", 1, 1)], "local_columns has length 64, expected 32"),
        (pairs, &[("local_columns", 0, 0xFFFF_0044)], "a slot of position 0 is in column 68 of the 68 of part 0"),
        (pairs, &[("local_columns", 3, 0xFFFF_0040)], "a slot of position 3 has an entry, but no row"),
        (pairs, &[("values", 1, 1 << 63)], "a slot of position 32 has no entry, but the value -0, expected 0"),
        (
            pairs,
            &[("local_columns", 0, 0xFFFF_0005)],
            "a slot of position 0 is in the column of position 5 of part 0, which has none",
        ),
        (
            pairs,
            &[("local_columns", 0, 0xFFFF_0002), ("local_columns", 1, 0xFFFF_0002)],
            "two slots of step 0 of part 0 add to position 2",
        ),
        (pairs, &[("local_columns", 0, 0xFFFF_0001)], "the header has 5 entries, but the arrays have 6"),
        (bcsr, &[("parameters", 1, 7)], "blocks of 2 x 7, which is not a supported size"),
        (bcsr, &[("block_offsets", 1, 5)], "block row 1 ends before it begins"),
        (bcsr, &[("block_offsets", 2, 5)], "the last block row offset is 5, expected 4"),
        (bcsr, &[("first_columns", 0, 1)], "block 0 of block row 0 begins in column 1 of 4, expected a multiple of 2"),
        (bcsr, &[("first_columns", 3, 4)], "block 1 of block row 1 begins in column 4 of 4"),
        (bcsr, &[("first_columns", 1, 0)], "block 1 of block row 0 is not to the right of the one before it"),
        (bcsr, &[("values", 9, one)], "block 0 of block row 1 has an entry outside the matrix, in row 3 and column 0"),
        (bcsr, &[("values", 8, mark)], "block 0 of block row 1 has no entry"),
        (bcsr, &[("values", 9, mark - 1)], "block 0 of block row 1 has a NaN that is reserved for the mark"),
        (bellpack, &[("parameters", 2, 33)], "partitions of 33 block rows, expected 32, 64, 128 or 256"),
        (bellpack, &[("partition_offsets", 1, 3)], "first_columns has length 4, expected 6"),
        (bellpack, &[("block_rows", 1, 0)], "block row 0 occurs twice, the second time at 1"),
        (bellpack, &[("block_rows", 0, 9)], "block row 9 is at 0, expected one from 0 to 1"),
        (
            bellpack,
            &[("first_columns", 2, PADDING)],
            "block row 0 is the first of a partition 2 blocks wide, but has 1",
        ),
        (bellpack, &[("first_columns", 3, PADDING)], "block 1 of block row 1 is padding, but has a value"),
        (bellpack, &[("first_columns", 1, PADDING), ("values", 2, mark)], "block 1 of block row 1 comes after padding"),
        (bellpack, &[("first_columns", 1, 2)], "block 1 of block row 1 is not to the right of the one before it"),
        (coo, &[("row_indices", 0, 1)], "entry 1 is in an earlier row than entry 0"),
        (coo, &[("row_indices", 4, 3)], "the last entry is in row 3 of 3"),
        (coo, &[("column_indices", 4, 4)], "entry 4 is in column 4 of 4"),
        (hyb, &[("ell.parameters", 1, 2)], "column_indices has length 32, expected 64"),
        (hyb, &[("coo.row_indices", 1, 3)], "COO matrix: the last entry is in row 3 of 3"),
        (
            hyb,
            &[("ell.column_indices", 1, PADDING), ("ell.values", 1, 0), ("coo.row_indices", 0, 1)],
            "entry 0 of the COO part is in row 1, whose ELL part is not full",
        ),
        (cmrs, &[("parameters", 0, 17)], "strips of 17 rows, expected 1 to 16"),
        (cmrs, &[("parameters", 0, 2)], "2 strip offsets for 2 strips, expected strips + 1"),
        (cmrs, &[("strip_offsets", 1, 4)], "the last strip offset is 4, expected 5"),
        (cmrs, &[("words", 0, 3)], "word 0 is in row 3 of the 3 of strip 0, and in column 0 of 4"),
        (cmrs, &[("words", 4, 4 << 4)], "word 4 is in row 0 of the 3 of strip 0, and in column 4 of 4"),
        (padded, &[("words", 4, 4 << 4)], "word 4 is in row 0 of the 3 of strip 0, and in column 4 of 4"),
        (padded, &[("words", 4, 0)], "slot 4 has an entry out of order in its strip"),
        (padded, &[("words", 6, 2)], "slot 6 has an entry out of order in its strip"),
        (padded, &[("words", 3, PADDING)], "slot 3 has no entry, but the value 4, expected 0"),
    ];
    for &(format, changes, says) in cases {
        let mut bytes = bytes(&stored(&example(), format).unwrap());
        for &(section, index, number) in changes {
            put(&mut bytes, section, index, number);
        }
        seal(&mut bytes);
        let error = parsed::<f64>(&bytes).map(|_| ()).unwrap_err();
        check_error(&error, "m.wspmv".as_ref(), says);
        let error = parse::<f32>(&bytes, "m.wspmv", &ReadOptions::default()).map(|_| ()).unwrap_err();
        check_error(&error, "m.wspmv".as_ref(), says);
    }
}

#[test]
fn offsets_where_there_are_none() {
    let mut bytes = bytes(&stored(&example(), Format::ELL).unwrap());
    bytes[65] = 4;
    seal(&mut bytes);
    let error = parsed::<f64>(&bytes).map(|_| ()).unwrap_err();
    check_error(&error, "m.wspmv".as_ref(), "the header has offsets of 4 bytes, but the format ELL has none");
}

/// A few bytes must not cause a large allocation in any format.
#[test]
fn rows_and_columns_are_believed_as_far_as_the_file_is_long() {
    let none = Csr::<f64>::try_from_triplets(3, 4, &[], &[], &[]).unwrap();
    for format in formats() {
        for (place, what) in [(32, "rows"), (40, "columns")] {
            let mut bytes = bytes(&stored(&none, format).unwrap());
            bytes[place..place + 8].copy_from_slice(&(i32::MAX as u64).to_le_bytes());
            seal(&mut bytes);
            let error = parsed::<f64>(&bytes).map(|_| ()).unwrap_err();
            check_error(&error, "m.wspmv".as_ref(), &format!("2147483647 {what} in a file of "));
        }
    }
}

#[test]
fn more_steps_than_entries_take() {
    let words = [&[0][..], &[u32::MAX; 63]].concat();
    let error = CmrsPadded::try_new(1, 1, vec![0u32, 64], words.clone(), vec![0.0f32; 64]).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "padded CMRS matrix: strip 0 has 64 slots, expected 32");
    let error = CmrsPadded::try_new(1, 1, vec![0u32, 64], words[..63].into(), vec![0.0f32; 63]).map(|_| ());
    assert_eq!(error.unwrap_err().to_string(), "padded CMRS matrix: the last strip offset is 64, expected 63");
    let error = CmrsPadded::try_new(1, 1, vec![0u32, 63], words[..63].into(), vec![0.0f32; 63]).map(|_| ());
    assert_eq!(error.unwrap_err().to_string(), "padded CMRS matrix: strip 0 is from 0 to 63, expected multiples of 32");
}

#[test]
fn fill_and_bytes_needed() {
    let matrix = matrix::<f32>(4, 70, 90, 500);
    let (nnz, vectors) = (matrix.nnz() as u128, 4 * (70 + 90));
    for format in formats() {
        let stored = stored(&matrix, format).unwrap();
        let (fill, needed) = (stored.fill(), stored.bytes_needed());
        let places = (fill * stored.nnz() as f64).round() as u128;
        match &stored {
            Matrix::Csr(_) => assert_eq!((places, needed), (nnz, nnz * 8 + 4 * 71 + vectors)),
            Matrix::Coo(_) => assert_eq!((places, needed), (nnz, nnz * 12 + vectors)),
            Matrix::Coo16(coo) => {
                // Panels of 32 columns and of 32 rows that are not empty; a product per entry is written and read again.
                let row_panels = matrix.row_lengths().filter(|&length| length > 0).count().div_ceil(32);
                let tiles = row_panels * 3;
                assert_eq!((places, coo.tile_words().len()), (nnz, tiles));
                let numbers = (71 + row_panels + 2 * tiles) as u128 + 2 * nnz.div_ceil(64) * 32;
                assert_eq!(needed, 4 * (numbers + 3 * nnz) + vectors);
            }
            Matrix::Ell(ell) => {
                assert_eq!(places, 96 * ell.width() as u128);
                assert_eq!(needed, places * 8 + vectors);
            }
            Matrix::SellP(sell) => {
                let pointers = 8 * sell.slice_begins().len() + 4 * sell.row_indices().len();
                assert_eq!(needed, places * 8 + pointers as u128 + vectors);
            }
            Matrix::Dia(dia) => {
                assert_eq!(places, 96 * dia.diagonals() as u128);
                assert_eq!(needed, 4 * 70 * dia.diagonals() as u128 + vectors);
            }
            Matrix::Bcsr(bcsr) => {
                let size = bcsr.block_size();
                assert_eq!(places, (bcsr.blocks() * size.places()) as u128);
                let block_rows = 70usize.div_ceil(size.rows());
                let arrays = bcsr.blocks() * (4 * size.places() + 4) + 4 * (block_rows + 1);
                assert_eq!(needed, arrays as u128 + vectors);
            }
            Matrix::Bellpack(bellpack) => {
                let size = bellpack.block_size();
                let blocks = bellpack.first_columns().len();
                assert_eq!(places, (blocks * size.places()) as u128);
                let arrays = blocks * (4 * size.places() + 4) + 4 * (70usize.div_ceil(size.rows()) + 1);
                assert_eq!(needed, arrays as u128 + vectors);
            }
            Matrix::Hyb(hyb) => {
                let (ell, coo) = (96 * hyb.ell().width() as u128, hyb.coo().nnz() as u128);
                assert_eq!((places, needed), (ell + coo, ell * 8 + coo * 12 + vectors));
            }
            Matrix::Cmrs(cmrs) => {
                let pointers = 4 * cmrs.strip_offsets().len() as u128;
                assert_eq!((places, needed), (nnz, nnz * 8 + pointers + vectors));
            }
            Matrix::CmrsPadded(cmrs) => {
                assert_eq!(places, cmrs.words().len() as u128);
                assert_eq!(needed, places * 8 + 4 * cmrs.strip_offsets().len() as u128 + vectors);
            }
            // Formats with a test of their own.
            _ => assert!(needed >= vectors + nnz * 4),
        }
    }
    let none = Csr::<f64>::try_from_triplets(3, 4, &[], &[], &[]).unwrap();
    assert!(formats().into_iter().all(|format| stored(&none, format).unwrap().fill() == 1.0));
}
