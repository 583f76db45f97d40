//! The tests in one program, so the library is linked once.

mod calibrate;
mod report;
