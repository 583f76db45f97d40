//! connections
