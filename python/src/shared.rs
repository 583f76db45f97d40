//! Objects shared by Python threads: each call waits for the previous one.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

use crate::failure::Failure;
use crate::numbers::{Family, Number, Typed};

/// A member of a family that one thread at a time works with.
pub struct Shared<F: Family> {
    member: Mutex<Typed<F>>,
    /// The thread that is solving with it, and may therefore call the user's function.
    solving: Mutex<Option<ThreadId>>,
    /// Its name in messages.
    what: &'static str,
}

impl<F: Family> Shared<F> {
    pub fn new<T: Number>(what: &'static str, member: F::Of<T>) -> Self {
        Self { member: Mutex::new(T::typed(member)), solving: Mutex::new(None), what }
    }

    /// The member, in exclusive use: other threads wait.
    ///
    /// # Errors
    /// When the user's function requests the object that it was called from.
    pub fn lock(&self) -> Result<MutexGuard<'_, Typed<F>>, Failure> {
        if *self.solver() == Some(thread::current().id()) {
            let message = format!("a callback cannot multiply with the {} that is being solved with", self.what);
            return Err(Failure::runtime(message));
        }
        let broken = |_| Failure::runtime(format!("a bug in warp-spmv has left this {} broken", self.what));
        self.member.lock().map_err(broken)
    }

    fn solver(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.solving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does `work` with the member of this type.
    ///
    /// # Errors
    /// As for the work and for [`lock`](Self::lock).
    pub fn with<T: Number, R>(&self, work: impl FnOnce(&mut F::Of<T>) -> Result<R, Failure>) -> Result<R, Failure> {
        work(T::of(&mut *self.lock()?).ok_or_else(|| self.wrong_type::<T>())?)
    }

    /// As [`with`](Self::with), for work that may call the user's function.
    ///
    /// # Errors
    /// As for [`with`](Self::with).
    pub fn solving<T: Number, R>(&self, work: impl FnOnce(&mut F::Of<T>) -> Result<R, Failure>) -> Result<R, Failure> {
        let mut member = self.lock()?;
        *self.solver() = Some(thread::current().id());
        let result = T::of(&mut *member).ok_or_else(|| self.wrong_type::<T>()).and_then(work);
        *self.solver() = None;
        result
    }

    fn wrong_type<T: Number>(&self) -> Failure {
        Failure::runtime(format!("the {} has no numbers of type {}", self.what, T::NAME))
    }
}
