//! Texts of sparse matrices.

use files::parse_matrix_market;

pub fn run(text: &[u8]) {
    let _ = parse_matrix_market::<f64>(text, "t.mtx", None);
    let _ = parse_matrix_market::<f32>(text, "t.mtx", None);
}
