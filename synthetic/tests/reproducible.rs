//! The same generator gives the same bits.

use host::{Csr, Real};
use synthetic::Generator;

/// Several chunks of rows each, the last one not full.
const GENERATORS: [&str; 4] = [
    "stencil:27:17x13x31",
    "pareto:rows=5000,k=1.2,seed=3",
    "pareto:rows=3000,columns=200,base=3,k=0.7,seed=3",
    "banded:rows=5000,bands=12,seed=3",
];

fn generate<T: Real>(text: &str) -> Csr<T> {
    text.parse::<Generator>().unwrap().generate().unwrap()
}

#[test]
fn for_any_number_of_threads() {
    for text in GENERATORS {
        let [one, two, seven] = [1, 2, 7].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| generate::<f64>(text))
        });
        assert!(one == two && one == seven, "{text}");
    }
}

#[test]
fn in_both_precisions() {
    for text in GENERATORS {
        assert!(generate::<f32>(text) == generate::<f64>(text).cast(), "{text}");
    }
}

#[test]
fn other_seeds_give_other_matrices() {
    for text in GENERATORS.into_iter().filter(|text| text.contains("seed")) {
        let [this, other] = [generate::<f64>(text), generate(&text.replace("seed=3", "seed=4"))];
        assert!(this.values() != other.values(), "{text}");
        if text.starts_with("pareto") {
            assert!(this.row_offsets() != other.row_offsets(), "{text}");
            assert!(this.column_indices() != other.column_indices(), "{text}");
        }
    }
}

/// No two chunks of rows are drawn from the same random numbers.
#[test]
fn rows_are_drawn_independently() {
    let matrix: Csr<f64> = generate("banded:rows=5000,bands=3,seed=3");
    let mut rows: Vec<[u64; 3]> = (1..4999)
        .map(|row| matrix.row(row).map(|(_, value)| value.to_bits()).collect::<Vec<_>>().try_into().unwrap())
        .collect();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows.len(), 4998);
}

/// Results that others publish name a generator's text, so what a text means must not change unnoticed.
#[test]
fn known_matrices() {
    let hashes = GENERATORS.map(|text| hash(&generate(text)));
    assert_eq!(
        hashes,
        [0xa52d_f5d4_5b4b_6564, 0xd536_060d_04b8_65cf, 0x8188_4241_2b4a_e6fd, 0xb741_939e_e4bd_50f8],
        "{hashes:#x?}"
    );
}

/// FNV-1a over the words of the arrays.
fn hash(matrix: &Csr<f64>) -> u64 {
    let offsets = (0..=matrix.rows()).map(|row| matrix.row_offsets().get(row) as u64);
    let columns = matrix.column_indices().iter().map(|&column| column.into());
    let values = matrix.values().iter().map(|value| value.to_bits());
    offsets
        .chain(columns)
        .chain(values)
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| (hash ^ word).wrapping_mul(0x0100_0000_01b3))
}
