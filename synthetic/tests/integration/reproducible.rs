//! The same generator gives the same bits.

use host::{Complex, Csr, Scalar};
use synthetic::Generator;

/// Several chunks of rows each, the last one not full.
const GENERATORS: [&str; 20] = [
    "stencil:27:17x13x31",
    "pareto:rows=5000,k=1.2,seed=3",
    "pareto:rows=3000,columns=200,base=3,k=0.7,seed=3",
    "banded:rows=5000,bands=12,seed=3",
    "stencil:9:50x70,boundary=periodic",
    "stencil:7:9x8x70,boundary=neumann",
    "dense:rows=3000,columns=11,seed=3",
    "permutation:rows=5000,seed=3",
    "uniform:rows=5000,columns=300,per-row=7.3,seed=3",
    "uniform:rows=5000,per-row=7.3,lengths=poisson,seed=3",
    "rmat:scale=12,seed=3",
    "rmat:scale=12,edges-per-vertex=4,numbering=shuffled,seed=3",
    "small-world:vertices=5000,neighbours=6,rewired=0.2,seed=3",
    "barabasi-albert:vertices=5000,edges-per-vertex=5,seed=3",
    "rectangle:rows=2500,columns=9000,per-row=20,row-skew=0.5,column-skew=0.6,seed=3",
    "block-diagonal:blocks=500,size=7,seed=3",
    "elasticity:width=9,height=12,depth=14,voids=0.2,seed=3",
    "elasticity:width=9,height=12,depth=14,cells=hexahedra,numbering=natural,seed=3",
    "qcd-like:seed=3",
    "accelerator-like:seed=3",
];

fn generate<T: Scalar>(text: &str) -> Csr<T> {
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

/// Ranges that begin and end within a chunk or at its ends, and empty ones.
#[test]
fn by_ranges_of_rows() {
    fn check<T: Scalar>(text: &str) {
        let generator: Generator = text.parse().unwrap();
        let whole: Csr<T> = generator.generate().unwrap();
        let rows = whole.rows();
        let cuts = [0, 1, 1023, 1024, 1024, 1500, 2048, 2049, rows];
        for ends in cuts.windows(2) {
            let range = ends[0].min(rows)..ends[1].min(rows);
            let part: Csr<T> = generator.generate_rows(range.clone()).unwrap();
            assert_eq!((part.rows(), part.columns()), (range.len(), whole.columns()), "{text}, {range:?}");
            assert!(
                range.clone().enumerate().all(|(place, row)| part.row(place).eq(whole.row(row))),
                "{text}, {range:?}"
            );
        }
        for (start, end) in [(rows, rows + 1), (2, 1)] {
            let range = start..end;
            let error = generator.generate_rows::<T>(range.clone()).unwrap_err().to_string();
            let wrong = format!("rows is \"{} to {}\", expected a range of its {rows} rows", range.start, range.end);
            assert!(error.ends_with(&wrong), "{error}");
        }
    }
    GENERATORS.iter().for_each(|text| check::<f64>(text));
    for text in ["gauge:grid=5x7x60,seed=3", "helmholtz:grid=70x50", "stencil:9:50x70,values=complex"] {
        check::<Complex<f64>>(text);
    }
}

/// More rows than are filled between two streams.
#[test]
fn by_a_long_range_of_rows() {
    let generator: Generator = "pareto:rows=40000,k=1.5,seed=3".parse().unwrap();
    let (whole, part) = (generator.generate::<f32>().unwrap(), generator.generate_rows::<f32>(700..39_000).unwrap());
    assert!((0..part.rows()).all(|row| part.row(row).eq(whole.row(700 + row))));
}

#[test]
fn in_both_precisions() {
    for text in GENERATORS {
        assert!(generate::<f32>(text) == generate::<f64>(text).cast().unwrap(), "{text}");
    }
}

#[test]
fn other_seeds_give_other_matrices() {
    for text in GENERATORS.into_iter().filter(|text| text.contains("seed")) {
        let [this, other] = [generate::<f64>(text), generate(&text.replace("seed=3", "seed=4"))];
        assert!(this != other, "{text}");
        assert!(this.values() != other.values() || text.starts_with("permutation"), "{text}");
        if ["pareto", "uniform:rows=5000,per-row", "rmat", "small", "bara", "rect", "acc"]
            .iter()
            .any(|name| text.starts_with(name))
        {
            assert!(this.row_offsets() != other.row_offsets(), "{text}");
            assert!(this.column_indices() != other.column_indices(), "{text}");
        }
    }
}

/// The guarantees of the other generators, for those with complex values.
#[test]
fn complex_matrices_are_the_same_every_time() {
    type C = Complex<f64>;
    for text in
        ["gauge:grid=5x7x60,seed=3", "gauge:grid=3x5x7x19,disorder=0.3,mass=0.25,seed=3", "helmholtz:grid=70x50"]
    {
        let [one, seven] = [1, 7].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| generate::<C>(text))
        });
        assert!(one == seven && generate::<Complex<f32>>(text) == one.cast().unwrap(), "{text}");
        let transposed = one.transposed().unwrap();
        let same = |conjugate: bool| {
            let of = |value: &C| if conjugate { value.conj() } else { *value };
            transposed.column_indices() == one.column_indices()
                && transposed.values().iter().map(of).eq(one.values().iter().copied())
        };
        let is_hermitian = text.starts_with("gauge");
        assert_eq!((same(true), same(false)), (is_hermitian, !is_hermitian), "{text}");
        if is_hermitian {
            let other = generate::<C>(&text.replace("seed=3", "seed=4"));
            assert!(other != one && other.column_indices() == one.column_indices(), "{text}");
            let lengths = one.values().iter().map(|value| value.magnitude());
            assert!(lengths.filter(|length| (length - 1.0).abs() < 1e-15).count() >= one.nnz() - one.rows());
        }
        let error = text.parse::<Generator>().unwrap().generate::<f64>().unwrap_err().to_string();
        assert!(error.ends_with(": the values are complex, expected real ones"), "{error}");
    }
    for (text, is_symmetric) in [
        ("stencil:9:30x20,values=complex", true),
        ("small-world:vertices=900,neighbours=6,rewired=0.2,seed=3,values=complex", true),
        ("uniform:rows=900,per-row=7.3,values=complex,seed=3", false),
    ] {
        let (matrix, real) = (generate::<C>(text), generate::<f64>(&text.replace(",values=complex", "")));
        assert!(matrix == generate(text) && matrix.column_indices() == real.column_indices(), "{text}");
        let lengths = matrix.values().iter().zip(real.values()).map(|(value, real)| value.magnitude() - real.abs());
        assert!(lengths.into_iter().all(|difference| difference.abs() < 1e-14), "{text}");
        assert!(matrix.values().iter().filter(|value| value.im.abs() > 0.1).count() > matrix.nnz() / 2, "{text}");
        let conjugate: Vec<C> = matrix.transposed().unwrap().values().iter().map(|value| value.conj()).collect();
        assert_eq!(conjugate.iter().eq(matrix.values()), is_symmetric, "{text}");
        let generator: Generator = text.parse().unwrap();
        assert_eq!(generator.to_string().parse::<Generator>().unwrap(), generator);
        let error = generator.generate::<f32>().unwrap_err().to_string();
        assert!(error.ends_with(": the values are complex, expected real ones"), "{error}");
    }
    for (text, message) in [
        (
            "gauge:grid=8,values=complex",
            "gauge: values is \"complex\", expected no such key, since these values are always complex",
        ),
        ("dense:rows=3,values=real", "dense: values is \"real\", expected complex"),
    ] {
        assert_eq!(text.parse::<Generator>().unwrap_err().to_string(), message);
    }
    // Without disorder, the periodic Laplacian.
    let laplacian: Csr<C> = generate("stencil:7:5x6x7,boundary=periodic");
    let free: Csr<C> = generate("gauge:grid=5x6x7,disorder=0");
    let near = |(a, b): (&C, &C)| (a - b).magnitude() < 1e-15;
    assert!(free.column_indices() == laplacian.column_indices());
    assert!(free.values().iter().zip(laplacian.values()).all(near));
    let waves: Csr<C> = generate("helmholtz:grid=9,wavenumber=2,damping=0.5");
    assert!(waves.row(4).eq([(3, C::from(-1.0)), (4, C::new(-2.0, 2.0)), (5, C::from(-1.0))]));
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

/// Published results name a generator's text, so its meaning must not change unnoticed.
#[test]
fn known_matrices() {
    let hashes = GENERATORS.map(|text| hash(&generate(text)));
    assert_eq!(
        hashes,
        [
            0xa52d_f5d4_5b4b_6564,
            0xd536_060d_04b8_65cf,
            0x8188_4241_2b4a_e6fd,
            0xb741_939e_e4bd_50f8,
            0x1836_bd50_3c60_184f,
            0x75b8_600b_ce29_fd13,
            0x8941_9ebe_c9dd_081e,
            0xcc97_8643_f1c8_935f,
            0xc075_a764_0fdf_75fa,
            0x0998_f0a5_c2a2_48bc,
            0x6482_3624_6ed8_b57a,
            0x7c09_e365_d0b7_9f87,
            0x2b3c_77ab_2012_75fd,
            0x4884_8bb1_7c76_3746,
            0x0afd_bbc6_4af8_56ed,
            0xefb4_f609_6d3d_d3c0,
            0x6fe2_3a3f_1165_1eec,
            0x4cef_411e_4418_823d,
            0x1030_72f9_3eb7_d86f,
            0x2c06_01fe_7ff4_3627,
        ],
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
