//! Pointers that C hands over, checked as far as they can be.

use std::ffi::{CStr, c_char};

use crate::status::{Failure, Status};

fn refused(what: &str, reason: &str) -> Failure {
    Failure::new(Status::Argument, format!("{what} {reason}"))
}

/// Checks that a pointer can be that of `length` elements.
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

/// The array at a pointer. Of an array without elements, the pointer may be anything.
///
/// # Safety
/// Where there are elements, a pointer that is not NULL and aligned is that of `length` of them, which nobody writes while
/// the slice is in use.
pub(crate) unsafe fn slice<'a, T>(what: &str, pointer: *const T, length: usize) -> Result<&'a [T], Failure> {
    if length == 0 {
        return Ok(&[]);
    }
    check(what, pointer, length)?;
    // SAFETY: the pointer is aligned, the array is no larger than any can be, and the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, length) })
}

/// The array at a pointer, to be written to.
///
/// # Safety
/// As for [`slice`], and nobody reads or writes it elsewhere while the slice is in use.
pub(crate) unsafe fn slice_mut<'a, T>(what: &str, pointer: *mut T, length: usize) -> Result<&'a mut [T], Failure> {
    if length == 0 {
        return Ok(&mut []);
    }
    check(what, pointer, length)?;
    // SAFETY: as in `slice`.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, length) })
}

/// Whether two arrays have bytes in common.
pub(crate) fn overlap<T>(first: *const T, first_length: usize, second: *const T, second_length: usize) -> bool {
    let end = |pointer: *const T, length: usize| pointer.addr().saturating_add(length.saturating_mul(size_of::<T>()));
    first_length > 0
        && second_length > 0
        && first.addr() < end(second, second_length)
        && second.addr() < end(first, first_length)
}

/// What is at a pointer.
///
/// # Safety
/// A pointer that is not NULL and aligned is that of a `T`, which nobody writes while the reference is in use.
pub(crate) unsafe fn reference<'a, T>(what: &str, pointer: *const T) -> Result<&'a T, Failure> {
    check(what, pointer, 1)?;
    // SAFETY: it is aligned, and the rest is the caller's promise.
    Ok(unsafe { &*pointer })
}

/// Writes to where a pointer points.
///
/// # Safety
/// A pointer that is not NULL and aligned is that of memory for a `T`, which nobody else uses during the call.
pub(crate) unsafe fn write<T>(what: &str, pointer: *mut T, value: T) -> Result<(), Failure> {
    check(what, pointer, 1)?;
    // SAFETY: it is aligned, and the rest is the caller's promise.
    unsafe { pointer.write(value) };
    Ok(())
}

/// The text at a pointer.
///
/// # Safety
/// A pointer that is not NULL is that of bytes up to a 0, which nobody writes while the text is in use.
pub(crate) unsafe fn text<'a>(what: &str, pointer: *const c_char) -> Result<&'a str, Failure> {
    check(what, pointer, 1)?;
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|_| refused(what, "is not UTF-8"))
}

/// A Rust text as a C program gets it: as much as has room, and a 0.
///
/// # Safety
/// As for [`slice_mut`], of `capacity` bytes; and as for [`write`] of `length`, which may be NULL.
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
    // Not a part of a character: `floor_char_boundary` is not in the oldest Rust yet.
    let some = (0..=rest.len().min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
    rest[..some].copy_from_slice(&text.as_bytes()[..some]);
    if let Some(end) = rest.get_mut(some) {
        *end = 0;
    }
    Ok(())
}
