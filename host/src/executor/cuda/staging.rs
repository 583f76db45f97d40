//! Page-locked memory for exchanging long arrays with a GPU, piece by piece: several host threads copy one piece while the
//! GPU transfers another. Left to itself, the driver does the same with one thread.

use std::ffi::c_void;

use cust::memory::LockedBuffer;
use cust::sys::{CUdeviceptr, cuMemcpyDtoHAsync_v2, cuMemcpyHtoDAsync_v2};

use super::driver::{cuda, driver, failed};
use super::event::Event;
use super::stream::Stream;
use crate::error::Error;
use crate::parallel;

/// Minimum size in bytes of an array that is copied this way.
pub(super) const WORTHWHILE: usize = 4 << 20;

/// Bytes of a piece.
const PIECE: usize = 8 << 20;

/// Pieces in flight at a time.
const PIECES: usize = 3;

/// Bytes that a thread copies at a time.
const SHARE: usize = 512 << 10;

pub(super) const UPLOADING: &str = "copying to the GPU";
pub(super) const DOWNLOADING: &str = "copying from the GPU";

/// A few pieces of page-locked memory.
pub(super) struct Staging {
    pieces: [Piece; PIECES],
}

struct Piece {
    memory: LockedBuffer<u8>,
    /// Marks the end of the last work queued with this piece.
    done: Event,
}

impl Piece {
    fn new() -> Result<Self, Error> {
        // Every byte that is read was written before.
        let memory = LockedBuffer::new(&0, PIECE).map_err(cuda("allocating page-locked memory"))?;
        Ok(Self { memory, done: Event::new()? })
    }

    fn pointer(&mut self) -> *mut c_void {
        self.memory.as_mut_ptr().cast()
    }
}

impl Staging {
    pub fn new() -> Result<Self, Error> {
        Ok(Self { pieces: [Piece::new()?, Piece::new()?, Piece::new()?] })
    }

    /// Queues the copy of `from` to an array on the GPU. `from` is no longer needed after the call.
    ///
    /// # Safety
    /// The array must have as many bytes as the slice.
    pub unsafe fn upload(&mut self, from: &[u8], to: CUdeviceptr, stream: &Stream) -> Result<(), Error> {
        let failed = |result| failed(result, UPLOADING);
        for (number, part) in from.chunks(PIECE).enumerate() {
            let piece = &mut self.pieces[number % PIECES];
            piece.done.synchronize().map_err(failed)?;
            copy(part, &mut piece.memory);
            let place = to + (number * PIECE) as CUdeviceptr;
            // SAFETY: the array has room for this part, by the caller's promise, and the piece is not overwritten
            // before the copy is done.
            driver(unsafe { cuMemcpyHtoDAsync_v2(place, piece.pointer(), part.len(), stream.handle()) }, UPLOADING)?;
            piece.done.record(stream)?;
        }
        Ok(())
    }

    /// Copies an array on the GPU to `to`, after all work queued before.
    ///
    /// # Safety
    /// The array must have as many bytes as the slice.
    pub unsafe fn download(&mut self, from: CUdeviceptr, to: &mut [u8], stream: &Stream) -> Result<(), Error> {
        let failed = |result| failed(result, DOWNLOADING);
        let length = to.len();
        let count = length.div_ceil(PIECE);
        let mut parts = to.chunks_mut(PIECE);
        for number in 0..count + PIECES - 1 {
            if number < count {
                let piece = &mut self.pieces[number % PIECES];
                let begin = number * PIECE;
                let place = from + begin as CUdeviceptr;
                let bytes = PIECE.min(length - begin);
                // SAFETY: the array has these bytes, by the caller's promise, and the piece is not read before the copy
                // is done.
                let result = unsafe { cuMemcpyDtoHAsync_v2(piece.pointer(), place, bytes, stream.handle()) };
                driver(result, DOWNLOADING)?;
                piece.done.record(stream)?;
            }
            if number + 1 >= PIECES
                && let Some(part) = parts.next()
            {
                let piece = &self.pieces[(number + 1 - PIECES) % PIECES];
                piece.done.synchronize().map_err(failed)?;
                copy(&piece.memory[..part.len()], part);
            }
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        for piece in &self.pieces {
            // If waiting fails, the context is gone, and with it all work in flight.
            let _ = piece.done.synchronize();
        }
    }
}

/// Copies all of `from` to the beginning of `to`.
fn copy(from: &[u8], to: &mut [u8]) {
    parallel::chunks_mut(&mut to[..from.len()], SHARE, 1, &|(share, to)| {
        to.copy_from_slice(&from[share * SHARE..][..to.len()]);
    });
}
