//! Texts of sparse matrices.
#![no_main]

use files::parse_matrix_market;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let _ = parse_matrix_market::<f64>(text, "t.mtx", None);
    let _ = parse_matrix_market::<f32>(text, "t.mtx", None);
});
