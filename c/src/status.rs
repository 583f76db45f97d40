//! What a call says of itself: a code, and for people a message.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use host::Error;

/// What came of a call. `warp_spmv_last_message` says more.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It did what it was asked for.
    Ok = 0,
    /// A handle is none, was destroyed, or belongs to something else.
    Handle = 1,
    /// An argument is NULL, not aligned, not a text, or out of range, or a vector has the wrong length.
    Argument = 2,
    /// The plan has numbers of another type.
    NumberType = 3,
    /// The arrays of a matrix contradict each other or its shape.
    Matrix = 4,
    /// A number of rows, columns or entries is beyond what can be indexed.
    TooLarge = 5,
    /// The format cannot do it, or would take too much padding.
    Format = 6,
    /// Memory has run out.
    Memory = 7,
    /// The executor cannot be had on this machine, or in this build.
    Unavailable = 8,
    /// The device failed.
    Device = 9,
    /// A fault of this library.
    Internal = 10,
}

/// A call that did not do what it was asked for.
pub(crate) struct Failure {
    pub status: Status,
    pub message: String,
}

impl Failure {
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Structure { .. } => Status::Matrix,
            Error::TooLarge { .. } => Status::TooLarge,
            Error::Fill { .. }
            | Error::NoFormat { .. }
            | Error::NotReproducible { .. }
            | Error::NotUpdatable { .. }
            | Error::Unsupported { .. } => Status::Format,
            Error::Setting { .. } | Error::Length { .. } | Error::Name { .. } | Error::Parameters { .. } => {
                Status::Argument
            }
            Error::OutOfMemory { .. } => Status::Memory,
            Error::Unavailable { .. } => Status::Unavailable,
            Error::Emulator(_) | Error::Cuda { .. } => Status::Device,
            _ => Status::Internal,
        };
        Self { status, message: error.to_string() }
    }
}

thread_local! {
    /// Of the last call of this thread that failed.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Keeps the message of a call that failed.
pub(crate) fn keep(message: String) {
    // What a program or a driver names may have line ends, and other things that terminals obey.
    let message = message.replace(char::is_control, " ");
    let message = CString::new(message).unwrap_or_default();
    // A thread that ends has nobody to tell.
    let _ = MESSAGE.try_with(|last| last.replace(message));
}

/// The message of the last call of this thread that failed: one line, in UTF-8; empty where none has. It is there until
/// another call of this thread fails, or the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn warp_spmv_last_message() -> *const c_char {
    // The pointer stays good: the text is replaced by nothing but `keep`.
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The name of a status, such as "argument"; of a number that is none, "unknown".
#[unsafe(no_mangle)]
pub extern "C" fn warp_spmv_status_name(status: i32) -> *const c_char {
    const NAMES: [(Status, &CStr); 11] = [
        (Status::Ok, c"ok"),
        (Status::Handle, c"handle"),
        (Status::Argument, c"argument"),
        (Status::NumberType, c"number type"),
        (Status::Matrix, c"matrix"),
        (Status::TooLarge, c"too large"),
        (Status::Format, c"format"),
        (Status::Memory, c"memory"),
        (Status::Unavailable, c"unavailable"),
        (Status::Device, c"device"),
        (Status::Internal, c"internal"),
    ];
    let name = NAMES.iter().find(|(known, _)| *known as i32 == status);
    name.map_or(c"unknown", |(_, name)| name).as_ptr()
}

/// The version of this library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn warp_spmv_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };
    VERSION.as_ptr()
}
