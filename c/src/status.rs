//! The result of a call: a code, and a message for people.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

use host::Error;

/// The result of a call. `warp_spmv_last_message` gives details.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call succeeded.
    Ok = 0,
    /// A handle is invalid, was destroyed, or is of another kind.
    Handle = 1,
    /// An argument is NULL, not aligned, not a string, or out of range, or a vector has the wrong length.
    Argument = 2,
    /// The plan's numbers are of another type.
    NumberType = 3,
    /// The arrays of a matrix contradict each other or its shape.
    Matrix = 4,
    /// A number of rows, columns or entries is too large to be indexed.
    TooLarge = 5,
    /// The format does not support the operation, or would take too much padding.
    Format = 6,
    /// Memory has run out.
    Memory = 7,
    /// The executor is not available on this machine, or in this build.
    Unavailable = 8,
    /// The device failed.
    Device = 9,
    /// A bug in this library.
    Internal = 10,
}

/// A call that failed.
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
    /// The message of this thread's last failed call.
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Keeps the message of a failed call.
pub(crate) fn keep(message: String) {
    // Names from a program or a driver may contain line ends and other control characters for terminals.
    let message = message.replace(char::is_control, " ");
    let message = CString::new(message).unwrap_or_default();
    // While a thread ends, the message is dropped.
    let _ = MESSAGE.try_with(|last| last.replace(message));
}

/// The message of this thread's last failed call: one line, in UTF-8; empty if no call has failed. It is valid until
/// another call of this thread fails, or the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn warp_spmv_last_message() -> *const c_char {
    // The pointer stays valid: only `keep` replaces the text.
    MESSAGE.try_with(|message| message.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The name of a status, such as "argument"; "unknown" for any other number.
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
