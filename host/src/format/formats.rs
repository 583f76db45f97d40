//! The list of formats: it stands here and nowhere else.

/// Hands the list to a macro, followed by other tokens. An entry is `Name = module "what it is"`, or, where users choose
/// among several strategies or parameters, `Name(payload: Payload) = module "what it is"`. The module's folder has all
/// that a format is: `module::Name` its arrays, and `module::Strategy` how they are multiplied, a unit struct or one around
/// the payload.
macro_rules! formats {
    ([$($callback:tt)+] { $($tokens:tt)* }) => {
        $($callback)+! {
            [
                Csr(strategy: CsrStrategy) = csr "Compressed sparse rows.",
                Dia = dia "Diagonals, one thread for two rows.",
                Ell(strategy: EllStrategy) = ell "ELLPACK.",
                SellP(slicing: Slicing) = sell_p "Sliced ELLPACK, one thread a row.",
                Sell16 = sell_16 "Sliced ELLPACK whose columns are 16-bit offsets, one warp a slice of 64 rows.",
                Clustered(size: PartSize) = clustered "Parts of rows that share columns, wherever they are, with 16-bit \
                    columns; a block has the x of a part in shared memory. For matrices whose numbering hides who is near.",
                ClusteredSymmetric(size: PartSize) = clustered_symmetric "Clustered, with each pair of equal entries on \
                    both sides of the diagonal stored once, where a part has both rows. For symmetric matrices.",
                Bcsr(size: BlockSize) = bcsr "CSR of dense blocks, several lanes a block row.",
                Bellpack(strategy: BellpackStrategy) = bellpack
                    "Sorted and partitioned ELLPACK of dense blocks, one thread a block row.",
                Coo(strategy: CooStrategy) = coo "Coordinates.",
                Coo16 = coo_16 "Coordinates of 16 bits in tiles, all products before the sums: for large matrices whose \
                    columns have no order. Where there are many columns, a block needs 96 KB of shared memory: compute \
                    capability 8.0 has them, 7.5 does not.",
                Hyb(strategy: HybStrategy) = hyb "ELLPACK for the first entries of each row, coordinates for the rest.",
                Cmrs(height: StripHeight) = cmrs
                    "Compressed multirow storage, one warp a strip of rows; the entries of a strip are sorted by column.",
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

/// A strategy as a value: of its payload, if it has one.
macro_rules! strategy_of {
    ($module:ident) => {
        $crate::format::$module::Strategy
    };
    ($module:ident $payload:ident) => {
        $crate::format::$module::Strategy($payload)
    };
}
pub(super) use strategy_of;

/// Evaluates an expression with the strategy of a format, whichever it is, or another for [`Format::Auto`].
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

/// Evaluates an expression with the strategy of a format and with a matrix that is stored for it, or another where it is
/// stored otherwise.
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

/// Evaluates an expression with the storage of a matrix, whichever it is.
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
