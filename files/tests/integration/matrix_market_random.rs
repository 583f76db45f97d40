//! The Matrix Market reader on random matrices and on damaged texts.

use files::parse_matrix_market;
use host::{Csr, Error};

const REAL: &str = "coordinate real general";
const SYMMETRIC: &str = "coordinate real symmetric";
const SKEW: &str = "coordinate real skew-symmetric";

/// A banner with these words, and the text after it.
fn text(words: &str, body: &str) -> Vec<u8> {
    format!("%%MatrixMarket matrix {words}\n{body}").into_bytes()
}

/// The generator splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn finite(&mut self) -> f64 {
        loop {
            let value = f64::from_bits(self.next());
            if value.is_finite() {
                return value;
            }
        }
    }
}

/// Writes a random matrix as text, with its entries shuffled and noise between them, and reads it back.
fn round_trip(seed: u64, words: &str, largest: usize) {
    let mut random = Random(seed);
    let square = !words.ends_with("general");
    let rows = 1 + random.below(largest);
    let columns = if square { rows } else { 1 + random.below(largest) };
    let mut places: Vec<(u32, u32)> = (0..random.below(largest * 3))
        .map(|_| (random.below(rows) as u32, random.below(columns) as u32))
        .filter(|&(row, column)| !square || row > column || (row == column && !words.contains("skew")))
        .collect();
    places.sort_unstable();
    places.dedup();
    for place in (1..places.len()).rev() {
        places.swap(place, random.below(place + 1));
    }
    let mut body = format!("{rows} {columns} {}\n", places.len());
    let mut expected: Vec<(u32, u32, f64)> = Vec::new();
    for &(row, column) in &places {
        let value = random.finite();
        body += ["", "\n", "  ", "\t", "% 1 1 1\n", "%\n\n"][random.below(6)];
        body += &match random.below(2) {
            0 => format!("{} {} {value:?}\n", row + 1, column + 1),
            _ => format!("{}\t {}  {value:E} \r\n", row + 1, column + 1),
        };
        expected.push((row, column, value));
        if square && row != column {
            expected.push((column, row, if words.contains("skew") { -value } else { value }));
        }
    }
    let row_indices: Vec<u32> = expected.iter().map(|entry| entry.0).collect();
    let column_indices: Vec<u32> = expected.iter().map(|entry| entry.1).collect();
    let values: Vec<f64> = expected.iter().map(|entry| entry.2).collect();
    let expected = Csr::try_from_triplets(rows, columns, &row_indices, &column_indices, &values).unwrap();
    let (matrix, header) = parse_matrix_market::<f64>(&text(words, &body), "t.mtx", None).unwrap();
    assert!(matrix == expected, "seed {seed}, {words}, {rows} x {columns}");
    assert_eq!(header.entries, places.len() as u64);
}

#[test]
fn random_matrices_survive_the_round_trip() {
    for seed in 0..150 {
        let words = [REAL, SYMMETRIC, SKEW][seed as usize % 3];
        round_trip(seed, words, 40);
    }
    // Several chunks of lines.
    round_trip(1000, REAL, 60_000);
    round_trip(1003, SYMMETRIC, 150_000);
}

/// However a text is damaged, the result is a matrix or an error, and never a panic.
#[test]
fn damaged_texts_do_not_panic() {
    const BYTES: &[u8] = b"0193 \n\r\t%-+.eEdDnif\xff\0";
    let sound = text(SYMMETRIC, "% c\n12 12 4\n1 1 1.5\n12 1 -2e3\n7 7 nan\n9 3 1D2\n");
    let mut random = Random(7);
    let mut refused = 0;
    for _ in 0..20_000 {
        let mut damaged = sound.clone();
        for _ in 0..1 + random.below(3) {
            if damaged.is_empty() {
                break;
            }
            let place = random.below(damaged.len());
            match random.below(4) {
                0 => drop(damaged.remove(place)),
                1 => damaged.truncate(place.max(1)),
                2 => damaged.insert(place, BYTES[random.below(BYTES.len())]),
                _ => damaged[place] = random.next() as u8,
            }
        }
        match parse_matrix_market::<f64>(&damaged, "t.mtx", None) {
            Ok((matrix, header)) => assert!(matrix.nnz() as u64 <= 2 * header.entries),
            Err(Error::Parse { line, reason, .. }) => {
                refused += 1;
                let lines = damaged.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1;
                assert!((1..=lines).contains(&line) && !reason.contains(char::is_control), "{line}: {reason}");
            }
            Err(error) => panic!("{}: {error}", damaged.escape_ascii()),
        }
    }
    assert!(refused > 5_000, "{refused}");
}
