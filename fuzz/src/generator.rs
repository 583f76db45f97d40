//! Texts of generators, as on the command line. An accepted text has a canonical form with the same meaning, and a
//! small matrix is generated as described.

use synthetic::Generator;

/// Larger matrices are described, but generating them would take too long.
const MOST_BYTES: u128 = 1 << 20;

pub fn run(text: &str) {
    let generator = match text.parse::<Generator>() {
        Ok(generator) => generator,
        Err(error) => {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
            return;
        }
    };
    let canonical = generator.to_string();
    assert_eq!(canonical.parse::<Generator>().ok().as_ref(), Some(&generator), "{canonical}");
    if generator.expected_bytes::<f64>() > MOST_BYTES || generator.columns() > MOST_BYTES as usize {
        return;
    }
    // Sizes that no matrix can have are rejected once they are known, which may be only now.
    let Ok(matrix) = generator.generate::<f64>() else { return };
    assert_eq!((matrix.rows(), matrix.columns()), (generator.rows(), generator.columns()), "{canonical}");
    for row in 0..matrix.rows() {
        let columns: Vec<u32> = matrix.row(row).map(|(column, _)| column).collect();
        assert!(columns.is_sorted_by(|before, after| before < after), "{canonical}: row {row}");
    }
}
