//! The matrices of the table and the parameters of their stand-ins.

use crate::Help;
use crate::lengths::Spread;

/// One line of the table.
pub(super) struct Stand {
    pub(super) help: Help,
    /// Number of rows.
    pub(super) rows: usize,
    /// Number of columns.
    pub(super) columns: usize,
    /// Number of nonzeros.
    pub(super) nnz: usize,
    pub(super) structure: Structure,
}

/// How the structure is generated.
pub(super) enum Structure {
    /// Every column in every row.
    Dense,
    /// Lattice quantum chromodynamics.
    Lattice,
    /// A Markov chain on a grid.
    Epidemic,
    /// Rows of given lengths with columns near the diagonal and elsewhere.
    Profile(Shape),
}

/// The shape of a [`Structure::Profile`].
pub(super) struct Shape {
    /// Rows and columns of the dense blocks that hold all entries; the rows of a block have the same columns.
    pub(super) block: usize,
    /// The row lengths; bounds are multiples of the block size.
    pub(super) spread: Spread,
    /// Distances, in blocks, between a point of a mesh and its neighbours on the next line and in the next plane; 0
    /// where there is none. A row has columns near each of those.
    pub(super) strides: [usize; 2],
    /// Maximum distance of a column from such a point, in blocks.
    pub(super) width: usize,
    /// The fraction of columns that lie there; the others are anywhere.
    pub(super) local: f64,
    /// How much more popular some of the columns elsewhere are; see [`Popular`](crate::rectangle::Popular).
    pub(super) skew: f64,
}

/// Declares the matrices and their lines.
macro_rules! table {
    ($($(#[$doc:meta])* $matrix:ident = $name:literal, $about:literal,
       $rows:literal x $columns:literal, $nnz:literal, $structure:expr;)*) => {
        /// The matrices of Bell & Garland 2009, Table 3, in its order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Table3 {
            $(#[doc = concat!("Rows × columns ", stringify!($rows), " × ", stringify!($columns), ", ", stringify!($nnz), " nonzeros: ", $about, ".")]
            $matrix,)*
        }

        impl Table3 {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$matrix),*];
        }

        pub(super) const TABLE: &[Stand] = &[$(Stand {
            help: Help { name: $name, form: concat!($name, ":[seed=0]"), about: $about },
            rows: $rows,
            columns: $columns,
            nnz: $nnz,
            structure: $structure,
        }),*];
    };
}

/// Lengths from `shortest` to `longest` with a standard deviation, without a tail.
const fn bounded(shortest: f64, longest: f64, deviation: f64) -> Spread {
    Spread::Bounded { shortest, longest, deviation }
}

/// Lengths with a tail up to `longest` and a standard deviation.
const fn tail(shortest: u32, longest: u32, deviation: f64) -> Spread {
    Spread::Tail { shortest, longest, deviation }
}

/// All columns near the points of a mesh.
const fn mesh(block: usize, spread: Spread, strides: [usize; 2], width: usize) -> Structure {
    Structure::Profile(Shape { block, spread, strides, width, local: 1.0, skew: 0.0 })
}

/// No blocks; some columns near, the others anywhere.
const fn scattered(spread: Spread, width: usize, local: f64, skew: f64) -> Structure {
    Structure::Profile(Shape { block: 1, spread, strides: [0, 0], width, local, skew })
}

table! {
    Dense = "dense-like", "a dense matrix", 2_000 x 2_000, 4_000_000, Structure::Dense;
    Protein = "protein-like", "blocks of 3, long rows, clustered, partly far apart", 36_417 x 36_417, 4_344_765,
        Structure::Profile(Shape { block: 3, spread: bounded(18.0, 204.0, 31.86), strides: [400, 0], width: 60, local: 0.9, skew: 0.0 });
    Spheres = "spheres-like", "blocks of 3 on a mesh in space", 83_334 x 83_334, 6_010_480,
        mesh(3, bounded(3.0, 81.0, 19.08), [30, 900], 2);
    Cantilever = "cantilever-like", "blocks of 3 on a long beam", 62_451 x 62_451, 4_007_383,
        mesh(3, bounded(3.0, 78.0, 14.06), [9, 81], 2);
    WindTunnel = "wind-tunnel-like", "blocks of 6 on a mesh, a few long rows", 217_918 x 217_918, 11_634_424,
        mesh(6, bounded(6.0, 180.0, 4.744), [190, 0], 8);
    Harbor = "harbor-like", "blocks of 5 on a flat mesh", 46_835 x 46_835, 2_374_001,
        mesh(5, bounded(5.0, 145.0, 27.78), [100, 0], 8);
    Qcd = "qcd-like", "39 entries in each row, on a lattice in four dimensions", 49_152 x 49_152, 1_916_928,
        Structure::Lattice;
    Ship = "ship-like", "blocks of 6 on shells", 140_874 x 140_874, 7_813_404,
        mesh(6, bounded(24.0, 102.0, 11.07), [150, 0], 4);
    Economics = "economics-like", "short rows, partly far from the diagonal", 206_500 x 206_500, 1_273_389,
        scattered(bounded(1.0, 44.0, 4.436), 300, 0.7, 0.0);
    Epidemiology = "epidemiology-like", "2 to 4 entries per row on a grid", 525_825 x 525_825, 2_100_225,
        Structure::Epidemic;
    Accelerator = "accelerator-like", "a mesh in poor numbering, some rows empty", 121_192 x 121_192, 2_624_331,
        scattered(bounded(0.0, 81.0, 13.79), 1_000, 0.6, 0.0);
    Circuit = "circuit-like", "short rows, some long ones and some popular columns", 170_998 x 170_998, 958_936,
        scattered(tail(1, 353, 4.392), 40, 0.7, 0.5);
    Webbase = "webbase-like", "very short rows, a few very long ones and popular columns", 1_000_005 x 1_000_005,
        3_105_536, scattered(tail(1, 4_700, 25.35), 40, 0.7, 0.7);
    Lp = "lp-like", "few rows, most of them very long", 4_284 x 1_092_610, 11_279_748,
        scattered(tail(1, 56_181, 4_209.0), 0, 0.0, 0.0);
}
