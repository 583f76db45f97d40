use super::*;
use crate::format::FillLimit;

const UNLIMITED: FillLimit = FillLimit { times_csr: f64::INFINITY };

/// Two row panels of two slots, two column panels of four columns. Row 1 is empty, row 3 begins the second row panel.
fn example() -> Csr<f64> {
    let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    Csr::try_from_triplets(4, 6, &[0, 0, 0, 2, 3, 3], &[0, 1, 5, 2, 4, 5], &values).unwrap()
}

const PANELS: Panels = Panels { columns: 4, slots: 2 };

/// A row of `length` entries among rows of one.
fn with_long_row(length: u32) -> Csr<f64> {
    let columns: Vec<u32> = [0, 1].into_iter().chain(0..length).chain([0, 2]).collect();
    let offsets = vec![0, 1, 2, 2 + length, 3 + length, 4 + length];
    let values = (0..length + 4).map(f64::from).collect();
    Csr::try_new(5, length.max(3) as usize, offsets, columns, values).unwrap()
}

#[test]
fn entries_lie_tile_by_tile_and_group_by_group() {
    let coo = Coo16::try_with_panels(example(), PANELS, UNLIMITED).unwrap();
    assert_eq!((coo.slot_begins(), coo.panel_rows()), (&vec![0, 1, 1, 2, 3], &vec![3, 3]));
    assert_eq!(coo.tile_begins(), &[0, 3, 3, 4]);
    // The two entries of row 0 in the first column panel are in two groups.
    assert_eq!(coo.tile_words(), &[2 << 20 | 3, 1 << 20 | 1, 0, 2 << 20 | 2]);
    assert_eq!(coo.values(), &[1.0, 4.0, 2.0, 3.0, 5.0, 6.0]);
    let lower = |halves: [u32; 6]| [&halves[..], &[0; 26]].concat();
    assert_eq!(coo.column_offsets(), &lower([0, 2, 1, 1, 0, 1]));
    assert_eq!(coo.slot_offsets(), &lower([0, 1, 0, 0, 0, 0]));
    assert_eq!(coo.bytes(), 4 * (5 + 2) + 8 * 4 + 8 * 32 + 8 * 6);
    assert_eq!(coo.bytes(), coo_16_bytes::<f64>(4, 6, 6, 3, PANELS));
    assert_eq!(coo.to_csr().unwrap(), example());
}

#[test]
fn two_entries_share_a_word() {
    let columns: Vec<u32> = (0..70).map(|row| row * 7 % 100).collect();
    let rows: Vec<u32> = (0..70).collect();
    let matrix = Csr::try_from_triplets(70, 100, &rows, &columns, &[1.0f32; 70]).unwrap();
    let coo = Coo16::try_with_panels(matrix, Panels { columns: 100, slots: 70 }, UNLIMITED).unwrap();
    // Three groups of 24, 23 and 23 entries.
    assert_eq!(coo.tile_words(), &[3 << 20 | 70]);
    let slots: Vec<u32> = (0..3).flat_map(|group| (group..70).step_by(3)).collect();
    for (word, &lower) in slots[..32].iter().enumerate() {
        assert_eq!(coo.slot_offsets()[word], slots[word + 32] << 16 | lower);
        assert_eq!(coo.column_offsets()[word], columns[slots[word + 32] as usize] << 16 | columns[lower as usize]);
    }
    assert_eq!(coo.slot_offsets()[32..38], slots[64..]);
    assert_eq!(coo.slot_offsets()[38..], [0; 26]);
}

#[test]
fn long_rows_have_slots_in_several_panels() {
    let slots_of_lengths = [(0, 0), (1, 1), (64, 1), (65, 2), (128, 2), (129, 3), (300, 5), (1000, 16)];
    for (length, slots) in slots_of_lengths.into_iter().take(if cfg!(miri) { 6 } else { 8 }) {
        let matrix = with_long_row(length);
        for panel_slots in [1, 2, 3, 1024] {
            let panels = Panels { columns: 10, slots: panel_slots };
            let coo = Coo16::try_with_panels(matrix.clone(), panels, UNLIMITED).unwrap();
            assert_eq!(coo.slots_of_row(2), 2..2 + slots);
            assert_eq!(coo.panel_rows().len(), (4 + slots).div_ceil(panel_slots));
            let ends_there = |panel: usize| ((panel + 1) * panel_slots).min(4 + slots);
            for (panel, &row) in coo.panel_rows().iter().enumerate() {
                let (end, row) = (ends_there(panel), row as usize);
                let begins = [coo.slots_of_row(row).start, coo.slots_of_row(row).end];
                assert!(begins[0] <= end && (end < begins[1] || row == 4), "panel {panel} of {panel_slots}");
            }
            assert_eq!(coo.to_csr().unwrap(), matrix, "{length} in panels of {panel_slots}");
        }
    }
}

/// The second kernel relies on this.
#[test]
fn no_two_entries_of_a_group_are_in_one_slot() {
    let columns = (0..4000u32).map(|entry| entry.wrapping_mul(2_654_435_769) >> 7 & 1023).collect();
    let offsets: Vec<u32> = (0..=400).map(|row: u32| (row * row / 40).min(4000)).collect();
    let mut matrix = Csr::try_new(400, 1024, offsets, columns, vec![1.0f64; 4000]).unwrap();
    matrix.sort_rows().unwrap();
    for panels in
        [Panels { columns: 1024, slots: 400 }, Panels { columns: 100, slots: 5 }, Panels { columns: 8, slots: 64 }]
    {
        let coo = Coo16::try_with_panels(matrix.clone(), panels, UNLIMITED).unwrap();
        let (row_panels, column_panels) = coo.panel_counts();
        let mut groups = 0;
        for (row_panel, column_panel) in
            (0..row_panels).flat_map(|row| (0..column_panels).map(move |column| (row, column)))
        {
            let tile = coo.tile(row_panel, column_panel);
            for group in 0..tile.groups {
                let mut slots: Vec<_> = tile.group(group).map(|place| coo.slot(place)).collect();
                let entries = slots.len();
                slots.sort_unstable();
                slots.dedup();
                assert!(slots.len() == entries && (1..=32).contains(&entries), "{panels:?}");
                groups += 1;
            }
        }
        assert!(groups > row_panels * column_panels / 2, "{panels:?}: {groups}");
        assert!(coo.to_csr().unwrap() == matrix, "{panels:?}");
    }
}

#[test]
fn panels_scale_with_the_matrix() {
    let chosen = |columns, slots| {
        let panels = Panels::chosen::<f64>(columns, slots);
        (panels.columns, panels.slots)
    };
    assert_eq!(chosen(0, 0), (32, 32));
    assert_eq!(chosen(1000, 1000), (128, 32));
    assert_eq!(chosen(100_000, 1 << 20), (12_288, 128));
    assert_eq!(chosen(1 << 30, 1 << 30), (12_288, 1024));
    assert_eq!(Panels::chosen::<f32>(1 << 30, 1 << 30).columns, 24_576);
}

#[test]
fn places_of_entries_have_32_bits() {
    let most = u32::MAX as usize - (1 << 16);
    assert!(check_entries(most).is_ok());
    let error = check_entries(most + 1).unwrap_err().to_string();
    assert_eq!(error, "the number of entries of a COO-16 matrix is 4294901760, and the limit is 4294901759");
}

/// Error of `try_new` for the arrays of the example after `change`.
fn refused(change: impl FnOnce(&mut Panels, &mut Coo16<f64>)) -> String {
    let mut coo = Coo16::try_with_panels(example(), PANELS, UNLIMITED).unwrap();
    let mut panels = PANELS;
    change(&mut panels, &mut coo);
    let Coo16 {
        rows,
        columns,
        slot_begins,
        panel_rows,
        tile_begins,
        tile_words,
        column_offsets,
        slot_offsets,
        values,
        ..
    } = coo;
    let [first, second] = [column_offsets, slot_offsets];
    let made =
        Coo16::try_new(rows, columns, panels, slot_begins, panel_rows, tile_begins, tile_words, first, second, values);
    made.map(|_| ()).unwrap_err().to_string()
}

#[test]
fn arrays_that_contradict_each_other_are_refused() {
    type Change = fn(&mut Panels, &mut Coo16<f64>);
    let cases: &[(Change, &str)] = &[
        (|panels, _| panels.columns = 0, "COO-16 matrix: panels of 0 columns, expected 1 to 65536"),
        (|panels, _| panels.columns = 65_537, "COO-16 matrix: panels of 65537 columns, expected 1 to 65536"),
        (|panels, _| panels.slots = 1025, "COO-16 matrix: panels of 1025 slots, expected 1 to 1024"),
        (|panels, _| panels.slots = 1, "panel_rows has length 2, expected 3"),
        (|panels, _| panels.columns = 2, "tile_begins has length 4, expected 6"),
        (|_, coo| coo.rows = 5, "COO-16 matrix: 5 row offsets for 5 rows, expected rows + 1"),
        (|_, coo| coo.slot_begins[1] = 2, "COO-16 matrix: row 1 ends before it begins"),
        (|_, coo| coo.slot_begins[0] = 1, "COO-16 matrix: the first row offset is 1, expected 0"),
        (|_, coo| coo.panel_rows[0] = 2, "COO-16 matrix: row panel 0 ends in row 2, expected 3"),
        (
            |_, coo| coo.tile_begins[1] = 4,
            "COO-16 matrix: the tile of row panel 0 and column panel 1 begins at 4, expected 3",
        ),
        (
            |_, coo| coo.tile_words[1] = 1,
            "COO-16 matrix: the tile of row panel 0 and column panel 1 has 1 entries in 0 groups",
        ),
        (
            |_, coo| coo.tile_words[1] = 2 << 20 | 1,
            "COO-16 matrix: the tile of row panel 0 and column panel 1 has 1 entries in 2 groups",
        ),
        (|_, coo| coo.tile_words[3] = 2 << 20 | 3, "COO-16 matrix: the tiles have 7 entries, expected 6"),
        (
            |_, coo| coo.tile_words[0] = 1 << 20 | 3,
            "COO-16 matrix: entry 2 is in slot 0, like another one of its group",
        ),
        (|_, coo| coo.tile_words.truncate(3), "tile_words has length 3, expected 4"),
        (|_, coo| coo.column_offsets.truncate(31), "column_offsets has length 31, expected 32"),
        (|_, coo| coo.slot_offsets.push(0), "slot_offsets has length 33, expected 32"),
        (
            |_, coo| coo.column_offsets[6] = 1,
            "COO-16 matrix: column_offsets has a number for entry 6, which does not exist",
        ),
        (
            |_, coo| coo.slot_offsets[0] = 1 << 16,
            "COO-16 matrix: slot_offsets has a number for entry 32, which does not exist",
        ),
        (|_, coo| coo.column_offsets[5] = 2, "COO-16 matrix: entry 5 is in column 6 of 6"),
        (|_, coo| coo.column_offsets[0] = 4, "COO-16 matrix: entry 0 is in column 4 of its panel's 4"),
        (|_, coo| coo.slot_offsets[3] = 2, "COO-16 matrix: entry 3 is in slot 2 of the 2 of row panel 0"),
        (|_, coo| coo.slot_offsets[4] = 1, "COO-16 matrix: entry 4 is in slot 1 of the 1 of row panel 1"),
        (
            |_, coo| {
                // Row 2 has no entry left, but keeps its slot.
                coo.slot_offsets[1] = 0;
                coo.tile_words[0] = 3 << 20 | 3;
            },
            "COO-16 matrix: row 2 has 0 entries in 1 slots",
        ),
        (
            |_, coo| {
                // Rows 0 and 2 together, as one row of two slots.
                coo.slot_begins.copy_from_slice(&[0, 2, 2, 2, 3]);
            },
            "COO-16 matrix: row 0 has 4 entries in 2 slots",
        ),
    ];
    for (change, says) in cases {
        assert_eq!(refused(change), *says);
    }
    let long = Coo16::try_with_panels(with_long_row(70), Panels { columns: 100, slots: 100 }, UNLIMITED).unwrap();
    let mut slots = long.slot_offsets.clone();
    // Moves an entry from the slot with 35 entries of the long row to its other slot.
    let place = (0..long.nnz()).find(|&place| long.slot(place) == 2).unwrap();
    let (word, shift) = half_of(place as u32);
    slots[word as usize] += 1 << shift;
    let (begins, rows) = (long.slot_begins.clone(), long.panel_rows.clone());
    // Each entry has its own group.
    let words = vec![74 << 20 | 74];
    let error =
        Coo16::try_new(5, 70, long.panels(), begins, rows, vec![0], words, long.column_offsets, slots, long.values);
    let error = error.map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "COO-16 matrix: slot 0 of row 2 has 34 entries, expected 35");
}
