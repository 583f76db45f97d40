//! diagonal
