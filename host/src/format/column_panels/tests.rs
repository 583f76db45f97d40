use super::*;
use crate::format::{Csr, FillLimit};

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// Panels of at most 128 columns for values of 8 bytes.
const SMALL: PanelSize = PanelSize { kilobytes: 1 };

/// Two panels of 120 columns. Row 0 has entries in both, row 1 none, and row 2 fills a tile of the first panel alone.
fn example() -> Csr<f64> {
    let row_2: Vec<u32> = (0..120).chain(0..120).chain(0..120).chain(0..120).chain(0..40).collect();
    let columns = [&[5, 119, 120, 239][..], &row_2, &[7]].concat();
    let values = (0..columns.len()).map(|entry| entry as f64).collect();
    let mut matrix = Csr::try_new(4, 240, vec![0u32, 4, 4, 524, 525], columns, values).unwrap();
    matrix.sort_rows().unwrap();
    matrix
}

fn converted() -> ColumnPanels<f64> {
    ColumnPanels::try_from_csr(example(), SMALL, UNLIMITED).unwrap()
}

#[test]
fn rows_are_cut_at_panels_and_at_tiles() {
    let panels = converted();
    assert_eq!((panels.panel_columns(), panels.panels()), (120, 2));
    // The first panel has 2 + 520 + 1 entries, the second 2.
    assert_eq!(panels.panel_tiles(), &[0, 2, 3]);
    // Row 0 and row 2; row 2, row 3 and the padding; row 0 and the padding.
    assert_eq!(panels.tile_pieces(), &[0, 2, 5, 7]);
    let first_tile = &panels.lane_words()[..LANES];
    assert_eq!((first_tile[0], first_tile[1], first_tile[31]), (0b101, 2 << 16, 2 << 16));
    // Ten entries of row 2, one of row 3, then the padding.
    let second_tile = &panels.lane_words()[LANES..2 * LANES];
    assert_eq!((second_tile[0], second_tile[1]), (1 | 1 << 10 | 1 << 11, 3 << 16));
    assert_eq!(panels.lane_words()[2 * LANES], 0b101);
    assert_eq!(panels.row_begins(), &[0, 2, 2, 4, 5]);
    assert_eq!(panels.piece_numbers(), &[0, 5, 1, 2, 3, 4, 6]);
    // Entries 0 and 1 of lane 0 share a word, and their values are a warp apart.
    assert_eq!(panels.column_offsets()[0], 119 << 16 | 5);
    assert_eq!((panels.values()[0], panels.values()[LANES]), (0.0, 1.0));
    // In the second panel, columns count from its first, and the last entry is repeated.
    assert_eq!(panels.column_offsets()[2 * WORDS..][..LANES], [&[119 << 16][..], &[119 << 16 | 119; 31]].concat());
    assert_eq!((panels.values()[2 * ENTRIES], panels.values()[3 * ENTRIES - 1]), (2.0, 3.0));
    assert_eq!(panels.bytes(), 4 * (3 + 4 + 5 + 7) + 3 * (4 * (32 + 256) + 8 * 512));
    assert_eq!(panels.bytes(), bytes_of::<f64>(4, 2, 3, 7));
    assert_eq!(on_host::predicted_bytes::<f64, f64>(&example(), SMALL).unwrap(), panels.bytes());
    assert_eq!(panels.nnz(), 525);
    assert_eq!(panels.to_csr().unwrap(), example());
}

#[test]
fn entries_that_fill_their_tiles_need_no_padding() {
    let columns: Vec<u32> = (0..8).flat_map(|_| 0..64).collect();
    let matrix =
        Csr::try_new(8, 64, (0..=8).map(|row| 64 * row).collect::<Vec<u32>>(), columns, vec![1.0; 512]).unwrap();
    let panels = ColumnPanels::try_from_csr(matrix.clone(), SMALL, UNLIMITED).unwrap();
    assert_eq!((panels.panel_tiles(), panels.tile_pieces()), (&vec![0, 1], &vec![0, 8]));
    assert_eq!(panels.piece_numbers(), &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(panels.to_csr().unwrap(), matrix);
}

#[test]
fn many_chunks_of_many_panels_are_put_together() {
    let (rows, columns) = if cfg!(miri) { (40, 700) } else { (3000, 5000) };
    let column = |entry: u32| entry.wrapping_mul(2_654_435_769) >> 7;
    let offsets: Vec<u32> = (0..=rows).map(|row: u32| row * row / rows * 7).collect();
    let entries = offsets[rows as usize];
    let indices = (0..entries).map(|entry| column(entry) % columns).collect();
    let values = (0..entries).map(f64::from).collect();
    let mut matrix = Csr::try_new(rows as usize, columns as usize, offsets, indices, values).unwrap();
    matrix.sort_rows().unwrap();
    for size in [SMALL, PanelSize { kilobytes: 7 }, PanelSize::DEFAULT] {
        let panels = ColumnPanels::try_from_csr(matrix.clone(), size, UNLIMITED).unwrap();
        assert_eq!(on_host::predicted_bytes::<f64, f64>(&matrix, size).unwrap(), panels.bytes());
        assert!(panels.to_csr().unwrap() == matrix, "{size:?}");
    }
}

#[test]
fn panels_are_equally_wide_and_fit_in_their_memory() {
    let columns = |kilobytes, columns| PanelSize { kilobytes }.columns::<f64>(columns);
    assert_eq!([columns(92, 11_000), columns(92, 11_776), columns(92, 11_777)], [11_000, 11_776, 5889]);
    assert_eq!([columns(1, 0), columns(1, 1), columns(1, 128), columns(1, 129), columns(1, 257)], [1, 1, 128, 65, 86]);
    // Column numbers have 16 bits.
    assert_eq!(PanelSize { kilobytes: 256 }.columns::<u16>(1 << 20), 1 << 16);
    for kilobytes in 1..=256 {
        let most = (kilobytes as usize) << 7;
        assert_eq!([columns(kilobytes, most), columns(kilobytes, most + 1)], [most, most / 2 + 1]);
    }
}

#[test]
fn contradictions_are_refused() {
    type Change = fn(&mut ColumnPanels<f64>);
    let refused = |change: Change| {
        let mut panels = converted();
        change(&mut panels);
        let ColumnPanels { rows, columns, panel_columns, panel_tiles, tile_pieces, lane_words, .. } = panels;
        let ColumnPanels { column_offsets, values, row_begins, piece_numbers, .. } = panels;
        ColumnPanels::try_new(
            rows,
            columns,
            panel_columns,
            panel_tiles,
            tile_pieces,
            lane_words,
            column_offsets,
            values,
            row_begins,
            piece_numbers,
        )
        .map(|panels| panels.nnz())
        .map_err(|error| error.to_string())
    };
    assert_eq!(refused(|_| {}), Ok(525));
    let cases: &[(Change, &str)] = &[
        (|panels| panels.panel_columns = 0, "panels of 0 columns, expected 1 to 65536"),
        (|panels| panels.panel_columns = 65_537, "panels of 65537 columns, expected 1 to 65536"),
        (|panels| panels.panel_columns = 100, "3 panel offsets for 3 panels, expected panels + 1"),
        (|panels| panels.panel_tiles[1] = 4, "panel 1 ends before it begins"),
        (|panels| panels.panel_tiles[2] = 4, "the last panel offset is 4, expected 3"),
        (|panels| panels.tile_pieces[1] = 3, "tile 0 has 2 pieces, expected 3"),
        (|panels| panels.tile_pieces[3] = 8, "the last tile offset is 8, expected 7"),
        (|panels| panels.lane_words[0] = 0b100, "no piece begins with tile 0"),
        (|panels| panels.lane_words[2] = 1 << 16, "lane 2 of tile 0 has 1 pieces before it, expected 2"),
        (|panels| panels.lane_words[31] |= 1, "tile 0 has 3 pieces, expected 2"),
        (|panels| panels.column_offsets[0] = 120, "entry 0 of tile 0 is in column 120 of its panel's 120"),
        (|panels| panels.columns = 239, "entry 1 of tile 2 is in column 119 of its panel's 119"),
        (|panels| panels.rows = 5, "5 row offsets for 5 rows, expected rows + 1"),
        (|panels| panels.row_begins[4] = 8, "the rows have 8 pieces, but there are 7"),
        (|panels| panels.piece_numbers[0] = 7, "piece 7 is at 0, expected one from 0 to 6"),
        (|panels| panels.piece_numbers[0] = 5, "piece 5 occurs twice, the second time at 1"),
        (|panels| panels.piece_numbers.swap(0, 1), "piece 0 of row 0 comes after piece 5"),
    ];
    for (change, says) in cases {
        assert_eq!(refused(*change), Err(format!("Column panels matrix: {says}")));
    }
    let lengths: &[(Change, &str)] = &[
        (|panels| panels.values.push(0.0), "values has length 1537, expected 1536"),
        (|panels| panels.column_offsets.truncate(767), "column_offsets has length 767, expected 768"),
        (|panels| panels.lane_words.push(0), "lane_words has length 97, expected 96"),
    ];
    for (change, says) in lengths {
        assert_eq!(refused(*change), Err((*says).to_string()));
    }
    let error = ColumnPanels::try_from_csr(example(), PanelSize { kilobytes: 0 }, UNLIMITED).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "Column panels matrix: panels of 0 KiB, expected 1 to 256");
}
