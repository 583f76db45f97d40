//! Containers of every storage format.

use files::{
    FileKind, Number, ReadOptions, parse_matrix, read, read_container, read_container_matrix, read_matrix,
    write_container_matrix,
};
use host::executor::{Emulated, Executor};
use host::format::{CmrsPadded, FillLimit, Matrix};
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

pub(super) fn stored<T: Number>(matrix: &Csr<T>, format: Format) -> Result<Matrix<T>, Error> {
    Matrix::try_from_csr(matrix.clone(), format, FillLimit::default())
}

pub(super) fn bytes<T: Number>(matrix: &Matrix<T>) -> Vec<u8> {
    let folder = Folder::new();
    write_container_matrix(folder.path("m"), matrix).unwrap();
    std::fs::read(folder.path("m")).unwrap()
}

pub(super) fn parsed<T: Number>(bytes: &[u8]) -> Result<Matrix<T>, Error> {
    parse_matrix(bytes, "m.wspmv", &ReadOptions::default()).map(|loaded| loaded.matrix)
}

/// 3 x 4 entries, one of them 0.
pub(super) fn example() -> Csr<f64> {
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
pub(super) fn header_length(bytes: &[u8]) -> usize {
    128 + 64 * u32::from_le_bytes(bytes[12..16].try_into().unwrap()) as usize
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
