//! Texts prefixed with the first lines of a Rutherford-Boeing file, with numbers taken from the input.

use files::{ReadOptions, parse};
use host::Complex;

const TYPES: [&str; 12] = ["rua", "rsa", "rza", "pua", "psa", "iua", "isa", "rra", "cua", "csa", "cza", "cha"];
const FORMATS: [(&str, &str, &str); 4] = [
    ("(4I3)", "(4I3)", "(3E9.2)"),
    ("(26I3)", "(10I8)", "(1P,4D10.3)"),
    ("(1I1)", "(80I1)", "(8F2.1)"),
    ("(2I9)", "(3I7)", "(2G12.4E3)"),
];

pub fn run(bytes: &[u8]) {
    let Some((&[kind, rows, columns, entries], body)) = bytes.split_first_chunk() else { return };
    let (pointers, indices, values) = FORMATS[usize::from(kind >> 3) % FORMATS.len()];
    let first = format!(
        "title\n{:14}{:14}{:14}{:14}\n{:14}{rows:14}{columns:14}{entries:14}{:14}\n{pointers:16}{indices:16}{values:20}\n",
        3,
        1,
        1,
        1,
        TYPES[usize::from(kind) % TYPES.len()],
        0
    );
    for text in [&[first.as_bytes(), body].concat(), bytes] {
        let _ = parse::<f64>(text, "t.rb", &ReadOptions::default());
        let _ = parse::<f32>(text, "t.rb", &ReadOptions::default());
        let _ = parse::<Complex<f64>>(text, "t.rb", &ReadOptions::default());
    }
}
