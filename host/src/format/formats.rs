//! The only list of the formats.

/// Passes the list to a macro, followed by other tokens. An entry is `Name = module "what it is"`, or, where users
/// choose among several strategies or parameters, `Name(payload: Payload) = module "what it is"`. The module's folder
/// holds the whole format: `module::Name` is its arrays, and `module::Strategy`, a unit struct or one around the
/// payload, is how they are multiplied.
macro_rules! formats {
    ([$($callback:tt)+] { $($tokens:tt)* }) => {
        $($callback)+! {
            [
                Csr(strategy: CsrStrategy) = csr "Compressed sparse rows.",
                Dia = dia "Diagonals, one thread per two rows.",
                Ell(strategy: EllStrategy) = ell "ELLPACK.",
                SellP(slicing: Slicing) = sell_p "Sliced ELLPACK, one thread per row.",
                Sell16 = sell_16 "Sliced ELLPACK whose columns are 16-bit offsets, one warp per slice of 64 rows.",
                Clustered(size: PartSize) = clustered "Parts of rows that share columns, wherever the rows are, with 16-bit \
                    columns; a block keeps the x of a part in shared memory. For matrices whose numbering hides which rows are neighbours.",
                ClusteredSymmetric(size: PartSize) = clustered_symmetric "Clustered, with each pair of equal entries on \
                    both sides of the diagonal stored once if a part has both rows. For symmetric matrices.",
                ColumnPanels(size: PanelSize) = column_panels "Entries panel by panel of the columns, with 16-bit columns; a \
                    block keeps the x of a panel in shared memory. For matrices whose columns have no order, but are few \
                    enough for some tens of panels.",
                Bcsr(size: BlockSize) = bcsr "CSR of dense blocks, several lanes per block row.",
                Bellpack(strategy: BellpackStrategy) = bellpack
                    "Sorted and partitioned ELLPACK of dense blocks, one thread per block row.",
                Coo(strategy: CooStrategy) = coo "Coordinates.",
                Coo16 = coo_16 "16-bit coordinates in tiles, all products before the sums: for large matrices whose \
                    columns have no order. With many columns, a block needs 96 KB of shared memory: compute \
                    capability 8.0 has that much, 7.5 does not.",
                Hyb(strategy: HybStrategy) = hyb "ELLPACK for the first entries of each row, coordinates for the rest.",
                Cmrs(height: StripHeight) = cmrs
                    "Compressed multirow storage, one warp per strip of rows; the entries of a strip are sorted by column.",
                CmrsPadded = cmrs_padded
                    "Compressed multirow storage with padding, for a kernel with fewer partial sums.",
                #[cfg(feature = "test-format")]
                Twin = twin "CSR once more, to show that a format is its own files and a line of this list.",
            ]
            $($tokens)*
        }
    };
}
pub(super) use formats;

/// A strategy as a value, built from its payload if it has one.
macro_rules! strategy_of {
    ($module:ident) => {
        $crate::format::$module::Strategy
    };
    ($module:ident $payload:ident) => {
        $crate::format::$module::Strategy($payload)
    };
}
pub(super) use strategy_of;

/// Evaluates an expression with the strategy of any format, or another expression for [`Format::Auto`].
///
/// [`Format::Auto`]: super::Format::Auto
macro_rules! with_strategy {
    ($format:expr, $strategy:ident => $result:expr, auto => $auto:expr) => {
        $crate::format::formats::formats!([$crate::format::formats::each_strategy] { ($format, $strategy => $result, $auto) })
    };
}
pub(super) use with_strategy;

macro_rules! each_strategy {
    (
        [$($(#[$condition:meta])* $Name:ident $(($payload:ident: $Payload:ty))? = $module:ident $about:literal,)*]
        ($format:expr, $strategy:ident => $result:expr, $auto:expr)
    ) => {
        match $format {
            $($(#[$condition])* $crate::format::Format::$Name $(($payload))? => {
                let $strategy = $crate::format::formats::strategy_of!($module $($payload)?);
                $result
            })*
            $crate::format::Format::Auto => $auto,
        }
    };
}
pub(super) use each_strategy;

/// Evaluates an expression with the strategy of a format and a matrix stored for it, or another expression if the
/// matrix is stored differently.
macro_rules! with_strategy_and_matrix {
    ($format:expr, $matrix:expr, ($strategy:ident, $inner:ident) => $result:expr, otherwise => $otherwise:expr) => {
        $crate::format::formats::formats!([$crate::format::formats::each_strategy_and_matrix] {
            ($format, $matrix, ($strategy, $inner) => $result, $otherwise)
        })
    };
}
pub(super) use with_strategy_and_matrix;

macro_rules! each_strategy_and_matrix {
    (
        [$($(#[$condition:meta])* $Name:ident $(($payload:ident: $Payload:ty))? = $module:ident $about:literal,)*]
        ($format:expr, $matrix:expr, ($strategy:ident, $inner:ident) => $result:expr, $otherwise:expr)
    ) => {
        match ($format, $matrix) {
            $($(#[$condition])* ($crate::format::Format::$Name $(($payload))?, $crate::format::Matrix::$Name($inner)) => {
                let $strategy = $crate::format::formats::strategy_of!($module $($payload)?);
                $result
            })*
            _ => $otherwise,
        }
    };
}
pub(super) use each_strategy_and_matrix;

/// Evaluates an expression with the storage of any matrix.
macro_rules! with_storage {
    ($matrix:expr, $inner:ident => $result:expr) => {
        $crate::format::formats::formats!([$crate::format::formats::each_storage] { ($matrix, $inner => $result) })
    };
}
pub(super) use with_storage;

macro_rules! each_storage {
    (
        [$($(#[$condition:meta])* $Name:ident $(($payload:ident: $Payload:ty))? = $module:ident $about:literal,)*]
        ($matrix:expr, $inner:ident => $result:expr)
    ) => {
        match $matrix {
            $($(#[$condition])* $crate::format::Matrix::$Name($inner) => $result,)*
            $crate::format::Matrix::Narrow($inner) => $result,
        }
    };
}
pub(super) use each_storage;
