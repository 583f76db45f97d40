//! All formats by name, and the properties of each.

use std::fmt;
use std::str::FromStr;

use cuda_std::launch::Launch;

use super::formats::{formats, strategy_of, with_strategy, with_strategy_and_matrix};
use super::narrow::{HostValues, Narrow, StoredAs, Values, ValuesVisitor};
use super::strategy::{OTHER_PRODUCTS_OF_NARROW_VALUES, Strategy};
use super::text::{self, Parameter};
use super::{
    BellpackStrategy, BlockSize, CooStrategy, Csr, CsrStrategy, EllStrategy, FillLimit, HybStrategy, Matrix, PanelSize,
    PartSize, Slicing, StripHeight,
};
use crate::device::Device;
use crate::error::Error;
use crate::executor::operation::KernelExecutor;
use crate::memory::{HostMemory, Memory};
use crate::real::Scalar;
use crate::select::analysis::Analysis;
use crate::select::costs::{Costs, Exclusion, Shape, Stored};
use crate::select::machine::Machine;
use crate::spmv::multivector::Tiles;
use crate::spmv::transposed::Transposition;
use crate::spmv::{Fused, HostOperands, Room, Vectors};

/// Makes a list of all formats from the strategies' lists called `$OF_STRATEGY`, storage by storage.
macro_rules! list_formats {
    ($LIST:ident, $OF_STRATEGY:ident, [$($(#[$condition:meta])* $Name:ident $(($payload:ident))? = $module:ident,)*]) => {
        const $LIST: &[Format] = {
            const LENGTH: usize = {
                let mut length = 0;
                $($(#[$condition])* {
                    length += super::$module::Strategy::$OF_STRATEGY.len();
                })*
                length
            };
            let mut list = [Format::Auto; LENGTH];
            let mut next = 0;
            $($(#[$condition])* {
                let strategies = super::$module::Strategy::$OF_STRATEGY;
                let mut place = 0;
                while place < strategies.len() {
                    list[next] = Format::$Name $(({ let $payload = strategies[place].0; $payload }))?;
                    place += 1;
                    next += 1;
                }
            })*
            &{ list }
        };
    };
}

macro_rules! define_format {
    ([$($(#[$condition:meta])* $Name:ident $(($payload:ident: $Payload:ty))? = $module:ident $about:literal,)*]) => {
        /// How a matrix is stored and multiplied: a storage, plus a strategy or parameters where there are several.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Format {
            $(#[doc = $about] $(#[$condition])* $Name $(($Payload))?,)*
            /// Whichever of the others is the fastest for a matrix on a device, as [`select`](crate::select)
            /// determines. A [`Plan`](crate::Plan) accepts it and then uses one of those.
            Auto,
        }

        list_formats!(ALL_FORMATS, ALL, [$($(#[$condition])* $Name $(($payload))? = $module,)*]);
        list_formats!(STANDARD_FORMATS, STANDARD, [$($(#[$condition])* $Name $(($payload))? = $module,)*]);
    };
}

formats!([define_format] {});

impl Format {
    /// Every format with its named strategies and parameters, except [`Auto`](Self::Auto), which is not a format of its
    /// own.
    pub const ALL: &[Self] = ALL_FORMATS;

    /// Formats that represent all where trying all would take too long: each way to store and to multiply a matrix,
    /// without all block sizes, strip heights and splits.
    pub const STANDARD: &[Self] = STANDARD_FORMATS;

    /// Returns the name, as [`FromStr`] takes it. A format in [`ALL`](Self::ALL) is fully described by its name; any
    /// other also has parameters, which [`Display`](fmt::Display) shows as well.
    pub fn name(self) -> &'static str {
        with_strategy!(self, strategy => strategy.name(), auto => "auto")
    }

    /// Returns the parameters that can follow the name of a format in [`ALL`](Self::ALL), as [`FromStr`] takes them:
    /// `sell-p:slice=32,sigma=256`.
    pub fn parameters(self) -> Vec<Parameter> {
        with_strategy!(
            self,
            strategy => strategy.keys().iter().map(|key| key.parameter).collect(),
            auto => Vec::new()
        )
    }

    /// Returns the name of the storage format alone; see [`shares_arrays`](Self::shares_arrays).
    pub fn storage(self) -> &'static str {
        with_strategy!(self, strategy => strategy.storage(), auto => "any")
    }

    /// Returns whether a slot of the format stands for a row and a column and so holds one entry only: the conversion
    /// then sums duplicates in their order, and converting back yields sorted rows.
    pub fn sums_duplicates(self) -> bool {
        with_strategy!(self, strategy => strategy.sums_duplicates(), auto => false)
    }

    /// Returns whether the positions of entries depend on their values, as where pairs of equal entries are stored
    /// once.
    pub(crate) fn looks_at_values(self) -> bool {
        with_strategy!(self, strategy => strategy.looks_at_values(), auto => false)
    }

    /// Returns whether converting back to CSR sorts the entries of each row by column, keeping the order of duplicates.
    /// With any other format they keep the order of CSR.
    pub fn sorts_rows(self) -> bool {
        with_strategy!(self, strategy => strategy.sorts_rows(), auto => false)
    }

    /// Returns whether repeated calls on the same device give the same bits, on every executor.
    pub fn reproducible(self) -> bool {
        // The tests hold every format to this, under many schedules of the emulator.
        with_strategy!(self, strategy => strategy.reproducible(), auto => true)
    }

    /// Returns whether [`Plan::apply_multivector`](crate::Plan::apply_multivector) supports this format on every
    /// executor: all but COO-16 and the clustered formats. The reference executor supports any format. The result has
    /// the same bits every time.
    pub fn multiplies_multivectors(self) -> bool {
        with_strategy!(self, strategy => strategy.multiplies_multivectors(), auto => false)
    }

    /// Returns whether [`Plan::apply_transposed`](crate::Plan::apply_transposed) supports this format on every
    /// executor: all formats of CSR and COO. The reference executor supports any format.
    pub fn multiplies_transposed(self) -> bool {
        with_strategy!(self, strategy => strategy.multiplies_transposed(), auto => false)
    }

    /// Returns whether [`Plan::apply_transposed`](crate::Plan::apply_transposed) gives the same bits every time on the
    /// same device, on every executor that can multiply by the matrix itself. Kernels for the transpose add to y
    /// atomically, so formats that have one are not reproducible; a [stored](crate::Transposed::Stored) transpose is.
    pub fn reproducible_transposed(self) -> bool {
        !self.multiplies_transposed()
    }

    /// Returns the format that this one stands for with `matrix`: [`CSR_AUTOMATIC`](Self::CSR_AUTOMATIC) is
    /// [`CSR_LOAD_BALANCED_ATOMIC`](Self::CSR_LOAD_BALANCED_ATOMIC) for more than 10^6 rows or a row of more than 64
    /// entries, otherwise [`CSR_SCALAR`](Self::CSR_SCALAR) (Anzt et al. 2020, Algorithm 2); any other format is itself,
    /// including [`Auto`](Self::Auto), which depends on the device. O(rows).
    pub fn resolve<T: Scalar>(self, matrix: &Csr<T>) -> Self {
        self.resolved_by(matrix.rows(), || matrix.longest_row())
    }

    /// Returns the bytes that the arrays of `matrix` take in this format with values of `V`; for [`Auto`](Self::Auto)
    /// those of CSR, its starting point. Nothing is converted. O(rows), except O(nnz + rows + columns) for DIA, O(nnz
    /// log(longest row)) for formats of blocks, up to 64 nnz for SELL-16, and O(nnz) on one thread for clustered
    /// formats.
    ///
    /// # Errors
    /// When memory runs out, or a row has more columns than the format can hold.
    pub fn bytes<T: Scalar, V: Scalar>(self, matrix: &Csr<T>) -> Result<u128, Error> {
        with_strategy!(self, strategy => strategy.bytes::<T, V>(matrix), auto => Ok(matrix.bytes_with::<V>()))
    }

    /// Returns the longest chain of additions in any product of a row of `length` entries, on any executor: the k of
    /// the error bound γ_k, before the roundings of the product itself, of α and of β.
    pub fn longest_chain(self, length: usize) -> usize {
        // Auto is one of the formats that it stands for.
        with_strategy!(self, strategy => strategy.longest_chain(length), auto => length)
    }

    /// Returns the error that this format stands for others, where a specific one is needed.
    pub(crate) fn stands_for_others(self) -> Error {
        Error::structure(self.storage(), format!("{self} stands for other formats, but none was chosen"))
    }

    /// Returns the error that a matrix is stored for another format.
    fn not_stored_so(self) -> Error {
        match self {
            Self::Auto => self.stands_for_others(),
            _ => Error::structure(self.storage(), format!("the matrix is not stored as {self} needs it")),
        }
    }

    /// Returns the error that no kernel exists for a matrix as it is stored.
    fn not_for<T: Scalar, M: Memory>(self, matrix: &Matrix<T, M>) -> Error {
        match matrix {
            Matrix::Narrow(_) => Error::Unsupported { format: self.name(), operation: OTHER_PRODUCTS_OF_NARROW_VALUES },
            _ => self.not_stored_so(),
        }
    }

    /// Checks that a matrix is stored for this format.
    pub(crate) fn check_fits<T: Scalar, M: Memory>(self, matrix: &Matrix<T, M>) -> Result<(), Error> {
        let matrix = match matrix {
            Matrix::Narrow(_) if !self.multiplies_narrow() => return Err(self.multiplies_no_narrow_values()),
            Matrix::Narrow(narrow) => narrow.parts().0,
            matrix => matrix,
        };
        let fits = with_strategy_and_matrix!(
            self, matrix, (strategy, matrix) => strategy.fits(matrix), otherwise => false);
        if fits { Ok(()) } else { Err(self.not_stored_so()) }
    }

    /// Returns whether it supports products with values [stored narrower](super::ValueStorage) than computed with.
    pub fn multiplies_narrow(self) -> bool {
        with_strategy!(self, strategy => strategy.multiplies_narrow(), auto => true)
    }

    /// Returns whether the storage marks slots without an entry, which takes a byte per slot where all values are the
    /// same.
    pub(crate) fn marks_absence(self) -> bool {
        with_strategy!(self, strategy => strategy.marks_absence(), auto => false)
    }

    /// Returns the error of a format without kernels for narrow values.
    pub(crate) fn multiplies_no_narrow_values(self) -> Error {
        with_strategy!(
            self, strategy => strategy.multiplies_no_narrow_values(), auto => self.stands_for_others())
    }

    /// Checks that this format multiplies several vectors.
    pub(crate) fn check_multivectors(self) -> Result<(), Error> {
        if self.multiplies_multivectors() {
            return Ok(());
        }
        Err(with_strategy!(
            self, strategy => strategy.multiplies_no_multivectors(), auto => self.stands_for_others()))
    }
}

/// The result of a strategy for a matrix stored for it, or the error that the matrix is stored differently.
macro_rules! with_fitting {
    ($format:ident, $matrix:ident, $strategy:ident => $result:expr) => {{
        with_strategy_and_matrix!(
            $format,
            $matrix,
            ($strategy, $matrix) => if $strategy.fits($matrix) { $result } else { Err($format.not_stored_so()) },
            otherwise => $format.check_fits($matrix).and(Err($format.not_for($matrix)))
        )
    }};
}

/// Operations on a format; see [`Strategy`].
impl Format {
    /// Converts a matrix in CSR to this format on the host.
    pub(super) fn convert<T: Scalar>(self, matrix: Csr<T>, limit: FillLimit) -> Result<Matrix<T>, Error> {
        with_strategy!(
            self,
            strategy => Ok(strategy.convert(matrix, limit)?.into()),
            auto => Err(self.stands_for_others())
        )
    }

    /// Converts a matrix in CSR to this format with kernels.
    pub(crate) fn convert_by_kernels<T: Scalar, K: KernelExecutor>(
        self,
        executor: &K,
        matrix: Csr<T, K::Memory>,
        limit: FillLimit,
    ) -> Result<Matrix<T, K::Memory>, Error> {
        with_strategy!(
            self,
            strategy => Ok(strategy.convert_by_kernels(executor, matrix, limit)?.into()),
            auto => Err(self.stands_for_others())
        )
    }

    /// Returns whether a matrix is stored as this format would store it.
    pub(super) fn is_chosen_for<T: Scalar>(self, matrix: &Matrix<T, HostMemory>) -> Result<bool, Error> {
        with_strategy_and_matrix!(
            self, matrix, (strategy, matrix) => strategy.is_chosen_for(matrix), otherwise => Ok(false))
    }

    /// Returns the launches of y ← α A x + β y, and reserves their workspace in `room`.
    pub(crate) fn launches<T: Scalar, M: Memory>(
        self,
        matrix: &Matrix<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        match matrix {
            Matrix::Narrow(narrow) => self.narrow_launches(narrow, vectors, room, device),
            matrix => with_fitting!(self, matrix, strategy => strategy.launches(matrix, vectors, room, device)),
        }
    }

    /// Returns whether a kernel exists that fuses further work on each element of y, and is worthwhile on the device.
    pub(crate) fn fuses<T: Scalar, M: Memory>(self, matrix: &Matrix<T, M>, device: &Device) -> bool {
        with_strategy_and_matrix!(self, matrix, (strategy, matrix) => strategy.fuses(matrix, device), otherwise => false)
    }

    /// Returns the launch of y ← α A x + β y + γ z with sums.
    pub(crate) fn fused_launch<T: Scalar, M: Memory>(
        self,
        matrix: &Matrix<T, M>,
        fused: &mut Fused<'_, T, M>,
        device: &Device,
    ) -> Result<Launch, Error> {
        with_fitting!(self, matrix, strategy => strategy.fused_launch(matrix, fused, device))
    }

    /// Returns the launches of y ← α A x + β y with narrow values, and reserves their workspace in `room`.
    fn narrow_launches<T: Scalar, M: Memory>(
        self,
        narrow: &Narrow<T, M>,
        vectors: Vectors<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        struct Launches<'a, 'b, T: Scalar, M: Memory> {
            format: Format,
            pattern: &'a Matrix<T, M>,
            vectors: Vectors<T>,
            room: &'a mut Room<'b, T, M>,
            device: &'a Device,
        }
        impl<T: Scalar, M: Memory> ValuesVisitor<T> for Launches<'_, '_, T, M> {
            type Output = Vec<Launch>;

            fn visit<V: StoredAs<T>>(self, values: Values<V, T>) -> Result<Vec<Launch>, Error> {
                let Self { format, pattern, vectors, room, device } = self;
                with_fitting!(
                    format, pattern, strategy => strategy.narrow_launches(pattern, values, vectors, room, device))
            }
        }
        let (pattern, values) = narrow.parts();
        T::visit(values, Launches { format: self, pattern, vectors, room, device })
    }

    /// Computes y ← α A x + β y on the CPU.
    #[inline]
    pub(crate) fn multiply_on_cpu<T: Scalar>(
        self,
        matrix: &Matrix<T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        match matrix {
            Matrix::Narrow(narrow) => narrow.multiply_on_cpu(self, operands),
            matrix => with_fitting!(self, matrix, strategy => strategy.multiply_on_cpu(matrix, operands)),
        }
    }

    /// Computes y ← α A x + β y on the CPU, with `values` in the slots of a matrix without values.
    pub(super) fn multiply_narrow_on_cpu<V: StoredAs<T>, T: Scalar>(
        self,
        pattern: &Matrix<T>,
        values: HostValues<'_, V, T>,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        with_fitting!(self, pattern, strategy => strategy.multiply_narrow_on_cpu(pattern, values, operands))
    }

    /// Returns the launches of Y ← α A X + β Y, and reserves their workspace in `room`.
    pub(crate) fn multivector_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Matrix<T, M>,
        tiles: &Tiles<T>,
        room: &mut Room<'_, T, M>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        with_fitting!(self, matrix, strategy => strategy.multivector_launches(matrix, tiles, room, device))
    }

    /// Computes Y ← α A X + β Y on the CPU, for vectors in row-major layout.
    pub(crate) fn multiply_rows_on_cpu<T: Scalar>(
        self,
        matrix: &Matrix<T>,
        vectors: usize,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        with_fitting!(self, matrix, strategy => strategy.multiply_rows_on_cpu(matrix, vectors, operands))
    }

    /// Returns the launches of y ← α Aᵀ x + β y, or the same with Aᴴ.
    pub(crate) fn transposed_launches<T: Scalar, M: Memory>(
        self,
        matrix: &Matrix<T, M>,
        transposition: Transposition,
        vectors: Vectors<T>,
        device: &Device,
    ) -> Result<Vec<Launch>, Error> {
        with_fitting!(self, matrix, strategy => strategy.transposed_launches(matrix, transposition, vectors, device))
    }

    /// Computes y ← α Aᵀ x + β y, or the same with Aᴴ, on the CPU.
    pub(crate) fn multiply_transposed_on_cpu<T: Scalar>(
        self,
        matrix: &Matrix<T>,
        transposition: Transposition,
        operands: HostOperands<'_, T>,
    ) -> Result<(), Error> {
        with_fitting!(self, matrix, strategy => strategy.multiply_transposed_on_cpu(matrix, transposition, operands))
    }
}

// Costs of each format, for choosing one; see [`Costs`]. `Auto` counts as automatic CSR.
impl Format {
    pub(crate) fn stored<V: Scalar>(self, analysis: &Analysis) -> Stored {
        with_strategy!(self, strategy => strategy.stored::<V>(analysis),
            auto => Self::CSR_AUTOMATIC.stored::<V>(analysis))
    }

    pub(crate) fn sectors<V: Scalar>(self, analysis: &Analysis) -> f64 {
        with_strategy!(self, strategy => strategy.sectors::<V>(analysis),
            auto => Self::CSR_AUTOMATIC.sectors::<V>(analysis))
    }

    pub(crate) fn streams_x(self) -> bool {
        with_strategy!(self, strategy => strategy.streams_x(), auto => Self::CSR_AUTOMATIC.streams_x())
    }

    pub(crate) fn beyond<V: Scalar>(self, analysis: &Analysis) -> usize {
        with_strategy!(self, strategy => strategy.beyond::<V>(analysis),
            auto => Self::CSR_AUTOMATIC.beyond::<V>(analysis))
    }

    pub(crate) fn shape<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Shape {
        with_strategy!(self, strategy => strategy.shape::<V>(analysis, machine),
            auto => Self::CSR_AUTOMATIC.shape::<V>(analysis, machine))
    }

    pub(crate) fn launches_of_product(self, beyond: f64) -> f64 {
        with_strategy!(self, strategy => strategy.launches_of_product(beyond),
            auto => Self::CSR_AUTOMATIC.launches_of_product(beyond))
    }

    pub(crate) fn kernel_name(self, analysis: &Analysis, machine: &Machine, beyond: f64) -> &'static str {
        with_strategy!(self, strategy => strategy.kernel(analysis, machine, beyond), auto => self.name())
    }

    /// Returns the kind of conversion: formats of one kind of storage share it, and its name begins theirs.
    pub fn conversion_kind(self) -> &'static str {
        with_strategy!(self, strategy => strategy.conversion_kind(), auto => self.name())
    }

    pub(crate) fn exclusion<V: Scalar>(self, analysis: &Analysis, machine: &Machine) -> Option<Exclusion> {
        with_strategy!(self, strategy => strategy.exclusion::<V>(analysis, machine), auto => None)
    }
}

macro_rules! define_dispatch {
    ([$($(#[$condition:meta])* $Name:ident $(($payload:ident: $Payload:ty))? = $module:ident $about:literal,)*]) => {
        impl Format {
            /// Same as [`resolve`](Self::resolve), from what it depends on.
            pub(crate) fn resolved_by(self, rows: usize, longest_row: impl FnOnce() -> usize) -> Self {
                match self {
                    $($(#[$condition])* Self::$Name $(($payload))? => {
                        let resolved = strategy_of!($module $($payload)?).resolved_by(rows, longest_row);
                        let _ = resolved;
                        Self::$Name $(({ let $payload = resolved.0; $payload }))?
                    })*
                    Self::Auto => self,
                }
            }

            /// Returns whether a matrix has the same arrays in both formats, which then differ only in how they
            /// multiply.
            pub fn shares_arrays(self, other: Self) -> bool {
                match self {
                    $($(#[$condition])* Self::$Name $(($payload))? => {
                        let strategy = strategy_of!($module $($payload)?);
                        match other {
                            Self::$Name $(($payload))? => strategy.shares_arrays(strategy_of!($module $($payload)?)),
                            _ => false,
                        }
                    })*
                    Self::Auto => other == Self::Auto,
                }
            }

            /// Returns a named format with the parameters that a text gives.
            fn with_parameters(self, parameters: &str) -> Result<Self, String> {
                match self {
                    $($(#[$condition])* Self::$Name $(($payload))? => {
                        let strategy = text::with(strategy_of!($module $($payload)?), parameters)?;
                        let _ = strategy;
                        Ok(Self::$Name $(({ let $payload = strategy.0; $payload }))?)
                    })*
                    Self::Auto => Err(format!("{} has no parameters", self.name())),
                }
            }
        }
    };
}
formats!([define_dispatch] {});

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = with_strategy!(*self, strategy => text::parameters(strategy), auto => String::new());
        match &*parameters {
            "" => f.pad(self.name()),
            parameters => f.pad(&format!("{}:{parameters}", self.name())),
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    /// Parses what [`Display`](fmt::Display) shows: a name, or a name with parameters, such as
    /// `sell-p:slice=32,sigma=256`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let (name, parameters) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let all = Self::ALL.iter().copied().chain([Self::Auto]);
        let named = all.clone().find(|format| format.name() == name).ok_or_else(|| Error::Name {
            what: "format",
            name: name.into(),
            expected: all.map(Self::name).collect::<Vec<_>>().join(", "),
        })?;
        let Some(parameters) = parameters else { return Ok(named) };
        named.with_parameters(parameters).map_err(|reason| Error::Parameters { format: text.into(), reason })
    }
}
