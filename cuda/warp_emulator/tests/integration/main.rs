//! All tests in one program, so that the library is linked only once.

mod blocks;
mod collectives;
mod common;
mod faults;
mod races;
mod schedule;
