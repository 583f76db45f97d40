//! Containers with a valid checksum whose arrays break a rule of their format.

use files::{ReadOptions, parse};
use gpu_kernels::absent::Absent;
use host::Format;
use host::format::{BlockSize, HybSplit, StripHeight};

use crate::common::{check_error, seal};
use crate::container_formats::{bytes, example, header_length, parsed, stored};

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
    let panels = Format::COLUMN_PANELS;
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
        (panels, &[("parameters", 0, 0)], "panels of 0 columns, expected 1 to 65536"),
        (panels, &[("parameters", 0, 2)], "2 panel offsets for 2 panels, expected panels + 1"),
        (panels, &[("panel_tiles", 1, 2)], "the last panel offset is 2, expected 1"),
        (panels, &[("tile_pieces", 1, 3)], "the last tile offset is 3, expected 4"),
        (panels, &[("lane_words", 0, 2)], "no piece begins with tile 0"),
        (panels, &[("lane_words", 1, 0)], "lane 1 of tile 0 has 0 pieces before it, expected 4"),
        (panels, &[("column_offsets", 0, 4)], "entry 0 of tile 0 is in column 4 of its panel's 4"),
        (panels, &[("row_begins", 1, 4)], "row 1 ends before it begins"),
        (panels, &[("row_begins", 3, 5)], "the rows have 5 pieces, but there are 4"),
        (panels, &[("piece_numbers", 0, 4)], "piece 4 is at 0, expected one from 0 to 3"),
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
