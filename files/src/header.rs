//! What a file says of its matrix.

/// What the values of a file are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field {
    /// Real numbers.
    #[default]
    Real,
    /// Integers of at most 64 bits.
    Integer,
    /// None: only places are given, and each value is 1.
    Pattern,
    /// Complex numbers.
    Complex,
}

/// Which entries a file leaves out because others imply them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symmetry {
    /// None.
    #[default]
    General,
    /// Those above the diagonal: A = Aᵀ.
    Symmetric,
    /// Those on and above the diagonal: A = -Aᵀ.
    SkewSymmetric,
    /// Those above the diagonal, of complex numbers: A = Aᴴ.
    Hermitian,
}

impl Field {
    /// The word of a Matrix Market banner: "real", "integer", "pattern" or "complex".
    pub fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Integer => "integer",
            Self::Pattern => "pattern",
            Self::Complex => "complex",
        }
    }
}

impl Symmetry {
    /// The word of a Matrix Market banner: "general", "symmetric", "skew-symmetric" or
    /// "hermitian".
    pub fn name(self) -> &'static str {
        match self {
            Self::General => "general",
            Self::Symmetric => "symmetric",
            Self::SkewSymmetric => "skew-symmetric",
            Self::Hermitian => "hermitian",
        }
    }
}

/// What a file says before its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// What the values are.
    pub field: Field,
    /// Which entries are left out.
    pub symmetry: Symmetry,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of entries in the file, which need not be that of the matrix.
    pub entries: u64,
}
