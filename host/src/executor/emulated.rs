//! The GPU's kernels on the warp emulator.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_std::launch::{Entry, Launch, Place};
use cuda_std::warp::WARP_LANES;
use warp_emulator::{Contents, Emulator, MAXIMUM_SHARED_BYTES};

use super::host_memory::host_memory;
use super::operation::{Executor, KernelExecutor, Operation};
use crate::device::{Device, Tuning};
use crate::error::Error;
use crate::memory::{Element, ElementType, HostMemory};

// Neither crate can take the number from the other, since a GPU's kernels are built without the emulator.
const _: () = assert!(cuda_std::warp::WARP_LANES == warp_emulator::WARP_LANES);

/// The executor that runs the same launches as a GPU, lane by lane on one thread, and checks every access and every
/// synchronization of lanes: [`warp_emulator`] lists the checks. Its times say nothing about a GPU.
#[derive(Clone)]
pub struct Emulated {
    device: Arc<Device>,
    emulator: Emulator,
    launched: Arc<Mutex<BTreeMap<Entry, u64>>>,
}

impl Emulated {
    /// An emulator of a small GPU; the order of warps and blocks is drawn from `seed`.
    pub fn new(seed: u64) -> Self {
        // Two multiprocessors of four warps each: small matrices already need persistent warps.
        Self::of_size(seed, 2, 128, Tuning::SMALL)
    }

    /// An emulator of a GPU with `multiprocessors` multiprocessors of `threads_per_multiprocessor` threads each.
    ///
    /// # Errors
    /// When there is no multiprocessor, or each has less than one warp.
    pub fn with_size(
        seed: u64,
        multiprocessors: u32,
        threads_per_multiprocessor: u32,
        tuning: Tuning,
    ) -> Result<Self, Error> {
        let sizes = [
            ("the number of multiprocessors", multiprocessors, 1, "at least 1"),
            ("the number of threads per multiprocessor", threads_per_multiprocessor, WARP_LANES, "at least 32"),
        ];
        match sizes.into_iter().find(|&(_, value, least, _)| value < least) {
            Some((what, value, _, expected)) => Err(Error::Setting { what, value: value.to_string(), expected }),
            None => Ok(Self::of_size(seed, multiprocessors, threads_per_multiprocessor, tuning)),
        }
    }

    fn of_size(seed: u64, multiprocessors: u32, threads_per_multiprocessor: u32, tuning: Tuning) -> Self {
        let name = name(seed);
        Self {
            device: Arc::new(Device {
                name,
                cache_bytes: None,
                multiprocessors,
                threads_per_multiprocessor,
                shared_bytes: Some(MAXIMUM_SHARED_BYTES),
                tuning,
            }),
            emulator: Emulator::new(seed),
            launched: Arc::default(),
        }
    }

    /// Sets the sizes of grids.
    pub fn with_tuning(mut self, tuning: Tuning) -> Self {
        Arc::make_mut(&mut self.device).tuning = tuning;
        self
    }

    /// Sets the bytes of shared memory that a block may have.
    pub fn with_shared_bytes(mut self, bytes: u32) -> Self {
        Arc::make_mut(&mut self.device).shared_bytes = Some(bytes);
        self
    }

    /// Draws the order of warps and blocks from another seed, which is faster than creating another emulator. Clones, and
    /// plans made before, keep theirs.
    pub fn set_seed(&mut self, seed: u64) {
        Arc::make_mut(&mut self.device).name = name(seed);
        self.emulator.set_seed(seed);
    }

    /// How often each kernel has run since the last call, by the name of its entry point. Clones are counted together.
    pub fn take_launched(&self) -> BTreeMap<String, u64> {
        mem::take(&mut *self.launched()).into_iter().map(|(entry, count)| (entry.to_string(), count)).collect()
    }

    // Counts are consistent between any two calls.
    fn launched(&self) -> MutexGuard<'_, BTreeMap<Entry, u64>> {
        self.launched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(seed: u64) -> String {
    format!("warp emulator, seed {seed}")
}

// SAFETY: a kernel runs before the call returns, and arrays are vectors.
unsafe impl KernelExecutor for Emulated {
    unsafe fn launch(&self, launch: &Launch) -> Result<(), Error> {
        let Launch { grid, call } = launch;
        let entry = call.entry();
        if call.arguments().places().iter().any(|place| matches!(place, Place::Device(_))) {
            return Err(Error::Foreign { what: entry.to_string() });
        }
        // SAFETY: the caller's promise; arrays on devices were rejected.
        self.emulator.run(&entry.to_string(), *grid, &|| unsafe { call.run() })?;
        *self.launched().entry(*entry).or_default() += 1;
        Ok(())
    }

    fn unwritten<T: Element>(&self, length: usize) -> Result<Vec<T>, Error> {
        let mut array = self.zeros(length)?;
        let contents = match T::TYPE {
            ElementType::Float32 | ElementType::Complex64 => Contents::Float32,
            ElementType::Float64 => Contents::Float64,
            _ => Contents::Integers,
        };
        self.emulator.forget(bytemuck::cast_slice_mut(&mut array), contents);
        Ok(array)
    }
}

// SAFETY: arrays are vectors, moved and cloned, and the operation is the requested one.
unsafe impl Executor for Emulated {
    host_memory!();

    // An array may lie where an unwritten one was; this one's elements are initialized.
    fn hear_of(&self, bytes: &[u8]) {
        self.emulator.remember(bytes);
    }

    fn device(&self) -> &Device {
        &self.device
    }

    fn run<O: Operation>(&self, operands: O::Operands<'_, HostMemory>) -> Result<O::Output<HostMemory>, Error> {
        O::by_kernels(self, operands)
    }

    fn times_tell(&self) -> bool {
        false
    }
}
