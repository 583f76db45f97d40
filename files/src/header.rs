//! A file's description of its matrix.

/// The kind of the values in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Field {
    /// Real numbers.
    #[default]
    Real,
    /// Integers of at most 64 bits.
    Integer,
    /// None: only positions are given, and each value is 1.
    Pattern,
    /// Complex numbers.
    Complex,
}

/// The entries that a file leaves out because others imply them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symmetry {
    /// None are left out.
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

/// The header of a file, which precedes its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// The kind of the values.
    pub field: Field,
    /// The entries that are left out.
    pub symmetry: Symmetry,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of entries in the file, which may differ from that of the matrix.
    pub entries: u64,
}

impl Header {
    /// Returns the largest possible number of entries of the matrix, with those implied by its symmetry.
    pub fn most_entries(&self) -> u128 {
        u128::from(self.entries) * if self.symmetry == Symmetry::General { 1 } else { 2 }
    }
}
