//! Ranks as processes of MPI.
//!
//! A program does its work in [`run`], and is started by `mpirun -n 4 PROGRAM`. A waiting rank regularly checks for reports
//! of other ranks' failures, so it never blocks inside MPI.

#[cfg(feature = "cuda")]
mod gpus;
mod swap;

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::mem::{self, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ::mpi::Threading;
use ::mpi::ffi;
use host::memory::{copy, reserve, zeros};

use crate::communicator::Communicator;
use crate::error::Error;
use crate::options::Options;
use crate::threads::panicked;
use crate::transport::{Channel, Exchange, Messages, Transport};
#[cfg(feature = "cuda")]
use crate::transport::{GpuExchange, GpuMemory};
use swap::Swap;

/// The tag of failure reports; those of channels follow.
const FAILURE: c_int = 0;

/// Number of channels with different tags. MPI libraries have far more tags than the required 32,767.
const CHANNELS: u32 = 1 << 20;

/// Longest time that a failed rank tries to report its failure.
const FAREWELL: Duration = Duration::from_secs(1);

/// Time that it waits for reports of simultaneous failures, one of which is shown to the user.
const OTHERS: Duration = Duration::from_millis(200);

/// Checks for a message before a waiting rank yields its core.
const SPINS: u32 = 1000;

/// Duration of yielding.
const PAUSE: Duration = Duration::from_micros(50);

/// Starts MPI, does `work` on this process's rank, waits until all others have done it, and ends MPI. A process can call
/// this only once.
///
/// When a rank fails or panics, this returns an [`Error::Rank`] on every rank; those that have not
/// [heard](Error::Rank::heard) of it from another rank should print it. MPI is then not ended, because that could block
/// forever; the process should exit with a nonzero code, upon which `mpirun` ends the remaining ones.
///
/// # Errors
/// Returns the first failure of a rank, or an error if MPI cannot be started.
pub fn run<R>(work: impl FnOnce(&Communicator) -> Result<R, Error>) -> Result<R, Error> {
    run_with(Options::default(), work)
}

/// [`run`] with the given options.
///
/// # Errors
/// As for [`run`].
pub fn run_with<R>(options: Options, work: impl FnOnce(&Communicator) -> Result<R, Error>) -> Result<R, Error> {
    let unavailable = |reason: &str| Error::Mpi { function: "MPI_Init_thread", reason: reason.into() };
    let (universe, threading) =
        ::mpi::initialize_with_threading(Threading::Serialized).ok_or_else(|| unavailable("MPI was started before"))?;
    if threading < Threading::Serialized {
        return Err(unavailable("its functions cannot be called from several threads in turn"));
    }
    let shared = Arc::new(Shared::new(options)?);
    let communicator = Communicator::new(Process(shared.clone()));
    let result = match catch_unwind(AssertUnwindSafe(|| work(&communicator))) {
        Ok(Ok(result)) => {
            // Together with the others, and before MPI ends.
            communicator.release();
            communicator.end().map(|()| result)
        }
        Ok(Err(error)) => Err(error),
        Err(panic) => Err(Error::Rank { rank: shared.rank, reason: panicked(&*panic), heard: false }),
    };
    match result.and_then(|result| shared.finish().map(|()| result)) {
        Ok(result) => {
            drop(universe);
            Ok(result)
        }
        Err(error) => {
            let (rank, reason) = error.blame(shared.rank);
            let (rank, reason, heard) = shared.report(rank, reason);
            if heard {
                // `mpirun` ends all processes as soon as one exits like this, including the one that tells the user.
                thread::sleep(FAREWELL);
            }
            mem::forget(universe);
            Err(Error::Rank { rank, reason, heard })
        }
    }
}

/// Returns the name and the version of the MPI library.
///
/// # Errors
/// When they are not valid text.
pub fn library_version() -> Result<String, String> {
    let text = ::mpi::environment::library_version().map_err(|error| error.to_string())?;
    Ok(text.trim_end_matches('\0').trim().to_owned())
}

/// MPI's state in a process.
struct Shared {
    rank: usize,
    ranks: usize,
    options: Options,
    /// Locked during each call of MPI.
    state: Mutex<State>,
}

struct State {
    communicator: ffi::MPI_Comm,
    /// Messages that MPI may still read.
    sending: Vec<Sending>,
    /// The first failure reported to this rank.
    failure: Option<(usize, String)>,
    /// Whether MPI has ended.
    ended: bool,
}

struct Sending {
    request: ffi::MPI_Request,
    /// The memory that MPI reads: freed when the request has finished.
    _message: Vec<u8>,
}

// SAFETY: MPI was started for calls from several threads in turn, and its handles are used only with the lock held.
unsafe impl Send for State {}

/// Returns an error unless a function of MPI has succeeded.
fn check(function: &'static str, code: c_int) -> Result<(), Error> {
    if code == 0 {
        return Ok(());
    }
    let mut text = vec![0u8; 1024];
    let mut length = 0;
    // SAFETY: MPI writes fewer than 512 bytes.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast::<c_char>(), &mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    Err(Error::Mpi { function, reason: String::from_utf8_lossy(&text).into_owned() })
}

/// Returns a length in MPI's type.
fn count(bytes: usize) -> Result<c_int, Error> {
    let (value, limit) = (bytes as u128, c_int::MAX as u128);
    let what = "number of bytes of a message";
    c_int::try_from(bytes).map_err(|_| host::Error::TooLarge { what, value, limit }.into())
}

fn tag(channel: Channel) -> c_int {
    // Less than `CHANNELS`.
    1 + (channel.0 % CHANNELS) as c_int
}

impl State {
    /// Returns the sender and contents of a message with this tag, if one has arrived.
    fn received(&mut self, from: c_int, tag: c_int) -> Result<Option<(usize, Vec<u8>)>, Error> {
        let (mut flag, mut bytes) = (0, 0);
        let mut message = MaybeUninit::<ffi::MPI_Message>::uninit();
        let mut status = MaybeUninit::<ffi::MPI_Status>::uninit();
        // SAFETY: all pointers are to variables that live until the calls return. MPI writes a message and a status if it
        // sets the flag.
        unsafe {
            let code =
                ffi::MPI_Improbe(from, tag, self.communicator, &mut flag, message.as_mut_ptr(), status.as_mut_ptr());
            check("MPI_Improbe", code)?;
            if flag == 0 {
                return Ok(None);
            }
            check("MPI_Get_count", ffi::MPI_Get_count(status.as_ptr(), ffi::RSMPI_UINT8_T, &mut bytes))?;
        }
        let mut contents = zeros::<u8>(usize::try_from(bytes).unwrap_or(0))?;
        // SAFETY: `contents` has the length of the message, which the probe has returned.
        let status = unsafe {
            let code = ffi::MPI_Mrecv(
                contents.as_mut_ptr().cast(),
                bytes,
                ffi::RSMPI_UINT8_T,
                message.as_mut_ptr(),
                ffi::RSMPI_STATUS_IGNORE,
            );
            check("MPI_Mrecv", code)?;
            status.assume_init()
        };
        Ok(Some((usize::try_from(status.MPI_SOURCE).unwrap_or(0), contents)))
    }

    fn send(&mut self, to: usize, tag: c_int, message: Vec<u8>) -> Result<(), Error> {
        reserve(&mut self.sending, 1)?;
        let bytes = count(message.len())?;
        let mut request = MaybeUninit::uninit();
        // SAFETY: the bytes are not moved or freed before the request has finished: `sending` keeps the vector, and leaks
        // it if that never happens.
        let request = unsafe {
            let code = ffi::MPI_Isend(
                message.as_ptr().cast(),
                bytes,
                ffi::RSMPI_UINT8_T,
                to as c_int,
                tag,
                self.communicator,
                request.as_mut_ptr(),
            );
            check("MPI_Isend", code)?;
            request.assume_init()
        };
        self.sending.push(Sending { request, _message: message });
        Ok(())
    }

    /// Frees the messages that were sent, and checks for a failure.
    fn progress(&mut self) -> Result<(), Error> {
        if self.ended {
            return Err(Error::Mpi { function: "any", reason: "MPI has ended".into() });
        }
        let mut place = 0;
        while place < self.sending.len() {
            let mut flag = 0;
            // SAFETY: the request was made by MPI and has not finished.
            let code = unsafe { ffi::MPI_Test(&mut self.sending[place].request, &mut flag, ffi::RSMPI_STATUS_IGNORE) };
            check("MPI_Test", code)?;
            if flag == 0 { place += 1 } else { drop(self.sending.swap_remove(place)) }
        }
        if self.failure.is_none() {
            // SAFETY: a constant of MPI.
            let anyone = unsafe { ffi::RSMPI_ANY_SOURCE };
            if let Some((from, report)) = self.received(anyone, FAILURE)? {
                self.failure = Some(read_report(from, &report));
            }
        }
        match &self.failure {
            Some((rank, reason)) => Err(Error::Rank { rank: *rank, reason: reason.clone(), heard: true }),
            None => Ok(()),
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // MPI may still read them.
        mem::forget(mem::take(&mut self.sending));
    }
}

/// Returns the rank and the reason of a report.
fn read_report(from: usize, report: &[u8]) -> (usize, String) {
    match report.split_first_chunk::<8>() {
        Some((rank, reason)) => (u64::from_le_bytes(*rank) as usize, String::from_utf8_lossy(reason).into_owned()),
        None => (from, "failed".into()),
    }
}

/// Chooses the report to show to the user; returns its sender, rank and reason. A rank that reports was not silent, so
/// reports about another rank that reports come last; of the others, the first is chosen.
fn worst(mut reports: BTreeMap<usize, (usize, String)>) -> (usize, usize, String) {
    let of_others = |(from, (rank, _)): &(&usize, &(usize, String))| *from != rank && reports.contains_key(rank);
    let from = reports.iter().min_by_key(|report| of_others(report)).map_or(0, |(&from, _)| from);
    let (rank, reason) = reports.remove(&from).unwrap_or_default();
    (from, rank, reason)
}

impl Shared {
    fn new(options: Options) -> Result<Self, Error> {
        let mut communicator = MaybeUninit::uninit();
        let (mut rank, mut ranks) = (0, 0);
        // SAFETY: MPI was started, all pointers are to variables that live until the calls return, and `MPI_Comm_dup` has
        // written the communicator if it succeeds.
        let communicator = unsafe {
            check("MPI_Comm_dup", ffi::MPI_Comm_dup(ffi::RSMPI_COMM_WORLD, communicator.as_mut_ptr()))?;
            let communicator = communicator.assume_init();
            let code = ffi::MPI_Comm_set_errhandler(communicator, ffi::RSMPI_ERRORS_RETURN);
            check("MPI_Comm_set_errhandler", code)?;
            check("MPI_Comm_rank", ffi::MPI_Comm_rank(communicator, &mut rank))?;
            check("MPI_Comm_size", ffi::MPI_Comm_size(communicator, &mut ranks))?;
            communicator
        };
        let state = State { communicator, sending: Vec::new(), failure: None, ended: false };
        let (rank, ranks) = (usize::try_from(rank).unwrap_or(0), usize::try_from(ranks).unwrap_or(1));
        Ok(Self { rank, ranks, options, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Requests and their messages are pushed together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `look` repeatedly until it returns a result.
    fn wait<R>(
        &self,
        waited_for: usize,
        mut look: impl FnMut(&mut State) -> Result<Option<R>, Error>,
    ) -> Result<R, Error> {
        let begin = Instant::now();
        let mut looks = 0;
        loop {
            let mut state = self.lock();
            state.progress()?;
            if let Some(found) = look(&mut state)? {
                return Ok(found);
            }
            drop(state);
            looks += 1;
            if looks < SPINS {
                thread::yield_now();
                continue;
            }
            if let Some(after) = self.options.timeout.filter(|&timeout| begin.elapsed() >= timeout) {
                return Err(Error::Timeout { rank: waited_for, waiting: self.rank, after });
            }
            thread::sleep(PAUSE);
        }
    }

    /// Reports a failure to all ranks, unless one of them has reported one to this rank. Returns the failure that all
    /// receive, and whether this rank received it from another. Of several simultaneous reports, all ranks choose the same.
    fn report(&self, rank: usize, reason: String) -> (usize, String, bool) {
        let mut state = self.lock();
        if let Some((rank, reason)) = state.failure.clone() {
            return (rank, reason, true);
        }
        if state.ended {
            return (rank, reason, false);
        }
        state.failure = Some((rank, reason.clone()));
        let report = [&(rank as u64).to_le_bytes()[..], reason.as_bytes()].concat();
        for other in (0..self.ranks).filter(|&other| other != self.rank) {
            // A rank that cannot be reached finds out by waiting.
            let _ = state.send(other, FAILURE, report.clone());
        }
        drop(state);
        // Reports by sender.
        let mut reports = BTreeMap::from([(self.rank, (rank, reason))]);
        let begin = Instant::now();
        // SAFETY: a constant of MPI.
        let anyone = unsafe { ffi::RSMPI_ANY_SOURCE };
        loop {
            let mut state = self.lock();
            // The failure is already known.
            let _ = state.progress();
            while let Ok(Some((from, report))) = state.received(anyone, FAILURE) {
                reports.insert(from, read_report(from, &report));
            }
            let is_told = state.sending.is_empty() && begin.elapsed() >= OTHERS;
            if is_told || begin.elapsed() >= FAREWELL {
                break;
            }
            drop(state);
            thread::sleep(PAUSE);
        }
        let (from, rank, reason) = worst(reports);
        (rank, reason, from != self.rank)
    }

    /// Blocks until all messages were sent. Nothing can be sent afterwards.
    fn finish(&self) -> Result<(), Error> {
        self.wait(self.rank, |state| Ok(state.sending.is_empty().then_some(())))?;
        let mut state = self.lock();
        state.ended = true;
        // SAFETY: nobody uses the communicator once `ended` is set.
        check("MPI_Comm_free", unsafe { ffi::MPI_Comm_free(&mut state.communicator) })
    }
}

/// A rank as a process.
struct Process(Arc<Shared>);

impl Transport for Process {
    fn rank(&self) -> usize {
        self.0.rank
    }

    fn ranks(&self) -> usize {
        self.0.ranks
    }

    fn send(&self, to: usize, channel: Channel, message: &[u8]) -> Result<(), Error> {
        let message = copy(message)?;
        let mut state = self.0.lock();
        state.progress()?;
        state.send(to, tag(channel), message)
    }

    fn receive(&self, from: usize, channel: Channel) -> Result<Vec<u8>, Error> {
        self.0.wait(from, |state| Ok(state.received(from as c_int, tag(channel))?.map(|(_, message)| message)))
    }

    fn fail(&self, reason: &str) {
        self.0.report(self.0.rank, reason.into());
    }

    fn check(&self) -> Result<(), Error> {
        self.0.lock().progress()
    }

    fn timeout(&self) -> Option<Duration> {
        self.0.options.timeout
    }

    fn exchange(&self, channel: Channel, messages: Messages) -> Result<Box<dyn Exchange>, Error> {
        Ok(Box::new(Swap::new(&self.0, channel, &messages)?))
    }

    #[cfg(feature = "cuda")]
    fn reaches_gpus(&self) -> Result<(), String> {
        gpus::support()
    }

    #[cfg(feature = "cuda")]
    fn gpu_exchange(
        &self,
        channel: Channel,
        messages: Messages,
        memory: GpuMemory,
    ) -> Result<Box<dyn GpuExchange>, Error> {
        Ok(Box::new(gpus::Swap::new(&self.0, channel, &messages, memory)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_that_all_others_follow_from_is_told() {
        let told = |reports: &[(usize, usize)]| {
            let (from, rank, reason) =
                worst(reports.iter().map(|&(from, rank)| (from, (rank, format!("{from} of {rank}")))).collect());
            assert_eq!(reason, format!("{from} of {rank}"));
            (from, rank)
        };
        assert_eq!(told(&[(2, 2)]), (2, 2));
        assert_eq!(told(&[(1, 1), (2, 2)]), (1, 1));
        // 0 waited for 2, and 2 for 3, which was silent.
        assert_eq!(told(&[(0, 2), (2, 3)]), (2, 3));
        assert_eq!(told(&[(0, 2), (1, 3), (2, 3)]), (1, 3));
        // 3 has failed, and does not send.
        assert_eq!(told(&[(0, 3), (3, 3)]), (3, 3));
        // All wait in a circle.
        assert_eq!(told(&[(0, 1), (1, 0)]), (0, 1));
    }
}
