//! Pointers passed by C, checked as far as possible.

use std::ffi::{CStr, c_char};

use crate::status::{Failure, Status};

fn refused(what: &str, reason: &str) -> Failure {
    Failure::new(Status::Argument, format!("{what} {reason}"))
}

/// Checks that a pointer can point to `length` elements.
pub(crate) fn check<T>(what: &str, pointer: *const T, length: usize) -> Result<(), Failure> {
    if pointer.is_null() {
        return Err(refused(what, "is NULL"));
    }
    if !pointer.is_aligned() {
        return Err(refused(what, "is not aligned to its elements"));
    }
    if length.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(refused(what, "has more elements than memory has bytes"));
    }
    Ok(())
}

/// The array at a pointer. For an empty array, the pointer may be anything.
///
/// # Safety
/// If there are elements, a pointer that is not NULL and aligned must point to `length` of them, which nobody may write
/// while the slice is in use.
pub(crate) unsafe fn slice<'a, T>(what: &str, pointer: *const T, length: usize) -> Result<&'a [T], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    check(what, pointer, length)?;
    // SAFETY: the pointer is aligned, the array is not too large for memory, and the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// The array at a pointer, for writing.
///
/// # Safety
/// As for [`slice`], and nobody else may read or write it while the slice is in use.
pub(crate) unsafe fn slice_mut<'a, T>(what: &str, pointer: *mut T, length: usize) -> Result<&'a mut [T], Failure> {
    if length == 0 {
        return Ok(&mut []);
    }
    check(what, pointer, length)?;
    // SAFETY: as in `slice`.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, length) })
}

/// Whether two arrays overlap.
pub(crate) fn overlap<T>(first: *const T, first_length: usize, second: *const T, second_length: usize) -> bool {
    let end = |pointer: *const T, length: usize| pointer.addr().saturating_add(length.saturating_mul(size_of::<T>()));
    first_length > 0
        && second_length > 0
        && first.addr() < end(second, second_length)
        && second.addr() < end(first, first_length)
}

/// The value at a pointer.
///
/// # Safety
/// A pointer that is not NULL and aligned must point to a `T`, which nobody may write while the reference is in use.
pub(crate) unsafe fn reference<'a, T>(what: &str, pointer: *const T) -> Result<&'a T, Failure> {
    check(what, pointer, 1)?;
    // SAFETY: it is aligned, and the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// Writes a value to a pointer.
///
/// # Safety
/// A pointer that is not NULL and aligned must point to memory for a `T`, which nobody else may use during the call.
pub(crate) unsafe fn write<T>(what: &str, pointer: *mut T, value: T) -> Result<(), Failure> {
    check(what, pointer, 1)?;
    // SAFETY: it is aligned, and the rest is the caller's promise.
    unsafe { pointer.write(value) };
    Ok(())
}

/// The string at a pointer.
///
/// # Safety
/// A pointer that is not NULL must point to bytes that end with a 0, which nobody may write while the string is in use.
pub(crate) unsafe fn text<'a>(what: &str, pointer: *const c_char) -> Result<&'a str, Failure> {
    check(what, pointer, 1)?;
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|_| refused(what, "is not UTF-8"))
}

/// Writes a Rust string for a C program: as much as fits, and a terminating 0.
///
/// # Safety
/// As for [`slice_mut`] with `capacity` bytes; and as for [`write`] with `length`, which may be NULL.
pub(crate) unsafe fn give_text(
    text: &str,
    buffer: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> Result<(), Failure> {
    // SAFETY: the caller's promise.
    let buffer = unsafe { slice_mut("buffer", buffer.cast::<u8>(), capacity)? };
    if !length.is_null() {
        // SAFETY: the caller's promise.
        unsafe { write("length", length, text.len())? };
    }
    let Some((last, rest)) = buffer.split_last_mut() else { return Ok(()) };
    *last = 0;
    // Only whole characters. `floor_char_boundary` is not available in the oldest supported Rust.
    let some = (0..=rest.len().min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    rest[..some].copy_from_slice(&text.as_bytes()[..some]);
    if let Some(end) = rest.get_mut(some) {
        *end = 0;
    }
    Ok(())
}
