//! A communicator of NCCL, and its watchdog.

use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use host::executor::SideStream;

use super::flights::Flights;
use super::library::{BYTES, Config, IN_PROGRESS, Library, RawComm, SUCCESS, Status, UniqueId};
use crate::communicator::Communicator;
use crate::error::Error;
use crate::transport::Transport;

/// Interval between the watchdog's checks.
const LOOKS: Duration = Duration::from_millis(5);

/// Interval between checks whether a call has finished.
const PAUSE: Duration = Duration::from_micros(20);

/// Longest time that a rank waits for the others to close theirs, too.
const FAREWELL: Duration = Duration::from_secs(10);

/// Longest time until another rank's failure is reported, after this one has seen that the other's GPU is gone.
const REPORT: Duration = Duration::from_secs(1);

/// A communicator of NCCL on this rank's GPU. While it exists, a thread supervises exchanges in flight: it aborts when a
/// rank or NCCL has failed, or an exchange takes longer than ranks may be silent.
pub struct Comm {
    shared: Arc<Shared>,
    watchdog: Option<JoinHandle<()>>,
}

struct Shared {
    library: &'static Library,
    transport: Arc<dyn Transport>,
    /// Locked during each call with it.
    state: Mutex<State>,
    /// The exchanges in flight.
    flights: Mutex<Vec<Weak<Flights>>>,
}

enum State {
    Open(Handle),
    /// Aborted, with the reason.
    Aborted(String),
    Closed,
}

#[derive(Clone, Copy)]
struct Handle(RawComm);

// SAFETY: the library accepts calls with a communicator from any thread, one at a time.
unsafe impl Send for Handle {}

/// Elements in transit: the other rank, the address on this GPU, and the size in bytes.
pub struct Message {
    pub rank: usize,
    pub address: u64,
    pub bytes: usize,
}

impl Comm {
    /// Creates the communicator of all ranks, which must make it together; the GPU's context must be current.
    pub fn new(communicator: &Communicator, library: &'static Library, side: &SideStream) -> Result<Self, Error> {
        let mut id = UniqueId([0; 128]);
        if communicator.rank() == 0 {
            // SAFETY: a valid pointer to an identity.
            library.check("ncclGetUniqueId", unsafe { (library.get_unique_id)(&mut id) })?;
        }
        let bytes = communicator.broadcast(0, &id.0)?;
        let wrong = || Error::Nccl { function: "ncclGetUniqueId", reason: "an identity of another length".into() };
        id.0 = bytes.try_into().map_err(|_| wrong())?;
        side.enter()?;
        let mut raw: RawComm = std::ptr::null_mut();
        let (rank, ranks) = (communicator.rank() as c_int, communicator.ranks() as c_int);
        // SAFETY: a valid pointer to a communicator, and settings that are read before the call returns.
        let status = unsafe { (library.comm_init)(&mut raw, ranks, id, rank, &mut Config::not_blocking()) };
        if status != IN_PROGRESS {
            library.check("ncclCommInitRankConfig", status)?;
        }
        let shared = Arc::new(Shared {
            library,
            transport: communicator.transport(),
            state: Mutex::new(State::Open(Handle(raw))),
            flights: Mutex::default(),
        });
        let mut comm = Self { shared: shared.clone(), watchdog: None };
        shared.until_done("ncclCommInitRankConfig")?;
        let watchdog = thread::Builder::new()
            .name("watchdog of NCCL".into())
            .spawn(move || shared.watch())
            .map_err(|error| Error::Nccl { function: "the watchdog", reason: format!("no thread: {error}") })?;
        comm.watchdog = Some(watchdog);
        Ok(comm)
    }

    /// Adds an exchange to those that the watchdog supervises.
    pub fn look_after(&self, flights: &Arc<Flights>) {
        let mut all = lock(&self.shared.flights);
        all.retain(|flights| flights.strong_count() > 0);
        all.push(Arc::downgrade(flights));
    }

    /// Queues messages to and from other ranks on a stream.
    ///
    /// # Safety
    /// The address of each message must be that of `bytes` bytes of this GPU's memory, which must stay allocated until the
    /// stream has reached the messages; until then nothing else may write the sent bytes or use the received ones.
    pub unsafe fn exchange(&self, side: &SideStream, to: &[Message], from: &[Message]) -> Result<(), Error> {
        side.enter()?;
        let Shared { library, .. } = &*self.shared;
        {
            let state = lock(&self.shared.state);
            let Handle(raw) = self.shared.handle(&state)?;
            // SAFETY: a group of calls with an open communicator; the caller ensures the rest.
            unsafe {
                library.check("ncclGroupStart", (library.group_start)())?;
                let mut queued = Ok(());
                for message in to {
                    let address = message.address as *const c_void;
                    let rank = message.rank as c_int;
                    let status = (library.send)(address, message.bytes, BYTES, rank, raw, side.handle());
                    queued = queued.and_then(|()| self.shared.accepted("ncclSend", status));
                }
                for message in from {
                    let address = message.address as *mut c_void;
                    let rank = message.rank as c_int;
                    let status = (library.receive)(address, message.bytes, BYTES, rank, raw, side.handle());
                    queued = queued.and_then(|()| self.shared.accepted("ncclRecv", status));
                }
                let ended = self.shared.accepted("ncclGroupEnd", (library.group_end)());
                queued.and(ended)?;
            }
        }
        self.shared.until_done("ncclGroupEnd")
    }

    /// Returns an error if it was aborted.
    pub fn check(&self) -> Result<(), Error> {
        self.shared.handle(&lock(&self.shared.state)).map(drop)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Their contents are consistent between any two calls.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn handle(&self, state: &State) -> Result<Handle, Error> {
        match state {
            State::Open(handle) => Ok(*handle),
            State::Aborted(reason) => {
                // Prefer another rank's report, if there is one.
                self.transport.check()?;
                Err(Error::Nccl { function: "the watchdog", reason: reason.clone() })
            }
            State::Closed => Err(Error::Nccl { function: "any", reason: "the communicator has ended".into() }),
        }
    }

    /// Returns an error unless a call has succeeded so far.
    fn accepted(&self, function: &'static str, status: Status) -> Result<(), Error> {
        if status == IN_PROGRESS { Ok(()) } else { self.library.check(function, status) }
    }

    /// Returns the outcome of the last call; `None` while it is in progress.
    fn outcome(&self, function: &'static str) -> Result<Option<()>, Error> {
        let state = lock(&self.state);
        let Handle(raw) = self.handle(&state)?;
        let mut status = SUCCESS;
        // SAFETY: the communicator is open, and the pointer to a number is valid.
        self.library.check("ncclCommGetAsyncError", unsafe { (self.library.comm_error)(raw, &mut status) })?;
        match status {
            IN_PROGRESS => Ok(None),
            status => self.library.check(function, status).map(Some),
        }
    }

    /// Blocks until the last call has finished, a rank fails, or it takes longer than ranks may be silent.
    fn until_done(&self, function: &'static str) -> Result<(), Error> {
        let begin = Instant::now();
        loop {
            match self.outcome(function) {
                Ok(Some(())) => return Ok(()),
                Ok(None) => {}
                Err(error) => return Err(self.reported(error)),
            }
            self.transport.check()?;
            if let Some(after) = self.transport.timeout().filter(|&timeout| begin.elapsed() >= timeout) {
                let reason = format!("was not done within {} s", after.as_secs_f64());
                return Err(Error::Nccl { function, reason });
            }
            thread::sleep(PAUSE);
        }
    }

    /// Returns another rank's report, if it arrives in time, instead of NCCL's error.
    fn reported(&self, error: Error) -> Error {
        let begin = Instant::now();
        while begin.elapsed() < REPORT {
            if let Err(reported) = self.transport.check() {
                return reported;
            }
            thread::sleep(LOOKS);
        }
        error
    }

    /// Returns the reason for aborting the exchanges in flight, if there is one.
    fn trouble(&self) -> Option<Error> {
        if let Err(error) = self.transport.check() {
            return Some(error);
        }
        if let Err(error) = self.outcome("an exchange") {
            return Some(self.reported(error));
        }
        let flights: Vec<_> = lock(&self.flights).iter().filter_map(Weak::upgrade).collect();
        flights.iter().find_map(|flights| flights.trouble(&*self.transport))
    }

    /// The watchdog's loop.
    fn watch(&self) {
        while matches!(*lock(&self.state), State::Open(_)) {
            if let Some(error) = self.trouble() {
                self.abort(&error);
                return;
            }
            thread::park_timeout(LOOKS);
        }
    }

    /// Aborts, so that nothing on the GPU waits for another rank any more, and informs the others.
    fn abort(&self, error: &Error) {
        let mut state = lock(&self.state);
        let State::Open(Handle(raw)) = *state else { return };
        // SAFETY: the communicator is open, and is never used afterwards. The status is irrelevant.
        unsafe { (self.library.comm_abort)(raw) };
        *state = State::Aborted(error.to_string());
        drop(state);
        if self.transport.check().is_ok() {
            let (_, reason) = error.blame(self.transport.rank());
            self.transport.fail(&reason);
        }
    }

    /// Closes the communicator together with the others, or alone if they do not.
    fn close(&self) {
        let mut state = lock(&self.state);
        let State::Open(Handle(raw)) = *state else { return };
        *state = State::Closed;
        drop(state);
        let begin = Instant::now();
        let limit = self.transport.timeout().map_or(FAREWELL, |timeout| timeout.min(FAREWELL));
        // SAFETY: the communicator is valid, and its state keeps others from using it.
        let status = unsafe { (self.library.comm_finalize)(raw) };
        let mut status = if status == SUCCESS { IN_PROGRESS } else { status };
        while status == IN_PROGRESS && begin.elapsed() < limit && self.transport.check().is_ok() {
            let mut now = SUCCESS;
            // SAFETY: as above, and the pointer to a number is valid.
            let asked = unsafe { (self.library.comm_error)(raw, &mut now) };
            status = if asked == SUCCESS { now } else { asked };
            if status == IN_PROGRESS {
                thread::sleep(PAUSE);
            }
        }
        // SAFETY: as above, and it is never used afterwards.
        unsafe { if status == SUCCESS { (self.library.comm_destroy)(raw) } else { (self.library.comm_abort)(raw) } };
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        self.shared.close();
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.thread().unpark();
            // It does not panic, and nothing could be done about it.
            let _ = watchdog.join();
        }
    }
}
