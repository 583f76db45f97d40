//! Texts of vectors.
#![no_main]

use files::parse_vector;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let _ = parse_vector::<f64>(text, "x.mtx", None);
    let _ = parse_vector::<f32>(text, "x.mtx", None);
});
