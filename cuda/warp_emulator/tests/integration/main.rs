//! The tests in one program, so the library is linked once.

mod blocks;
mod collectives;
mod common;
mod faults;
mod races;
mod schedule;
