//! independent_set
