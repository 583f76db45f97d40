//! rounding
