//! Texts of vectors.

use files::parse_vector;

pub fn run(text: &[u8]) {
    let _ = parse_vector::<f64>(text, "x.mtx", None);
    let _ = parse_vector::<f32>(text, "x.mtx", None);
}
