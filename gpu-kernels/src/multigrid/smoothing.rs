//! smoothing
