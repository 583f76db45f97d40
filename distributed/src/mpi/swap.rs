//! Exchanges with neighbours, by persistent requests.

use std::ffi::c_int;
use std::mem::{self, MaybeUninit};
use std::sync::Arc;

use ::mpi::ffi;
use host::memory::{reserve, zeros};

use super::{Shared, check, count, tag};
use crate::error::Error;
use crate::transport::{Channel, Exchange, Messages};

/// Requests to send and to receive, which are started together, repeatedly.
pub(super) struct Requests {
    shared: Arc<Shared>,
    /// The receiving ones first.
    requests: Vec<ffi::MPI_Request>,
    /// The other rank of each request.
    neighbours: Vec<usize>,
    /// Whether MPI may read and write the messages.
    active: bool,
}

// SAFETY: the requests are used only with the lock held.
unsafe impl Send for Requests {}

impl Requests {
    /// Requests for messages stored consecutively in `outgoing`, and received consecutively in `incoming`.
    ///
    /// # Safety
    /// Both must have the bytes of all their messages, and stay allocated as long as the requests, or forever if these are
    /// [active](Self::is_active) when they are dropped. Nothing else may read or write them while the requests are active.
    pub unsafe fn new(
        shared: &Arc<Shared>,
        channel: Channel,
        messages: &Messages,
        outgoing: *const u8,
        incoming: *mut u8,
    ) -> Result<Self, Error> {
        let all = messages.to.len() + messages.from.len();
        let mut made = Self { shared: shared.clone(), requests: Vec::new(), neighbours: Vec::new(), active: false };
        reserve(&mut made.requests, all)?;
        reserve(&mut made.neighbours, all)?;
        let state = shared.lock();
        let (bytes, communicator, tag) = (
            // SAFETY: a constant of MPI.
            unsafe { ffi::RSMPI_UINT8_T },
            state.communicator,
            tag(channel),
        );
        let mut first = 0;
        for &(rank, length) in &messages.from {
            let (place, mut request) = (incoming.wrapping_add(first).cast(), MaybeUninit::uninit());
            let (length, peer) = (count(length)?, rank as c_int);
            // SAFETY: the message is within `incoming`, by the caller's promise; and the pointer to a request is valid.
            let code =
                unsafe { ffi::MPI_Recv_init(place, length, bytes, peer, tag, communicator, request.as_mut_ptr()) };
            check("MPI_Recv_init", code)?;
            // SAFETY: MPI has written it.
            made.requests.push(unsafe { request.assume_init() });
            made.neighbours.push(rank);
            first += length as usize;
        }
        first = 0;
        for &(rank, length) in &messages.to {
            let (place, mut request) = (outgoing.wrapping_add(first).cast(), MaybeUninit::uninit());
            let (length, peer) = (count(length)?, rank as c_int);
            // SAFETY: the message is within `outgoing`, by the caller's promise; and the pointer to a request is valid.
            let code =
                unsafe { ffi::MPI_Send_init(place, length, bytes, peer, tag, communicator, request.as_mut_ptr()) };
            check("MPI_Send_init", code)?;
            // SAFETY: MPI has written it.
            made.requests.push(unsafe { request.assume_init() });
            made.neighbours.push(rank);
            first += length as usize;
        }
        drop(state);
        Ok(made)
    }

    /// Returns whether they were started and not waited for.
    pub fn is_active(&self) -> bool {
        self.active
    }

    /// Starts all requests; none may be active.
    pub fn start(&mut self) -> Result<(), Error> {
        let mut state = self.shared.lock();
        state.progress()?;
        self.active = true;
        // SAFETY: the requests were made by MPI and are not active, and their messages stay allocated, by `new`.
        check("MPI_Startall", unsafe { ffi::MPI_Startall(count(self.requests.len())?, self.requests.as_mut_ptr()) })
    }

    /// Waits for all requests.
    pub fn wait(&mut self) -> Result<(), Error> {
        for (&rank, request) in self.neighbours.iter().zip(&mut self.requests) {
            self.shared.wait(rank, |_| {
                let mut flag = 0;
                // SAFETY: the request was made by MPI, and the pointers are to variables that live until the call returns.
                let code = unsafe { ffi::MPI_Test(request, &mut flag, ffi::RSMPI_STATUS_IGNORE) };
                check("MPI_Test", code)?;
                Ok((flag != 0).then_some(()))
            })?;
        }
        self.active = false;
        Ok(())
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        let state = self.shared.lock();
        if !self.active && !state.ended {
            for request in &mut self.requests {
                // SAFETY: the request was made by MPI, is not active and not freed. A failure to free it is irrelevant
                // here.
                unsafe { ffi::MPI_Request_free(request) };
            }
        }
    }
}

/// An exchange between the hosts' memory.
pub(super) struct Swap {
    requests: Requests,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
}

impl Swap {
    pub fn new(shared: &Arc<Shared>, channel: Channel, messages: &Messages) -> Result<Self, Error> {
        let length = |messages: &[(usize, usize)]| messages.iter().map(|&(_, bytes)| bytes).sum();
        let (outgoing, mut incoming) = (zeros::<u8>(length(&messages.to))?, zeros::<u8>(length(&messages.from))?);
        // SAFETY: the vectors have the bytes of all messages; they are not moved, and `drop` frees them after the requests,
        // unless MPI may still use them.
        let requests = unsafe { Requests::new(shared, channel, messages, outgoing.as_ptr(), incoming.as_mut_ptr()) }?;
        Ok(Self { requests, outgoing, incoming })
    }
}

impl Exchange for Swap {
    fn start(&mut self, outgoing: &[u8]) -> Result<(), Error> {
        // No request is active.
        self.outgoing.copy_from_slice(outgoing);
        self.requests.start()
    }

    fn wait(&mut self, incoming: &mut [u8]) -> Result<(), Error> {
        self.requests.wait()?;
        incoming.copy_from_slice(&self.incoming);
        Ok(())
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        if self.requests.is_active() {
            // MPI may still access them.
            mem::forget((mem::take(&mut self.outgoing), mem::take(&mut self.incoming)));
        }
    }
}
