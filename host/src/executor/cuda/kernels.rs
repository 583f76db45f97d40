//! The kernels of a device, each compiled by the driver when it is used first.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cuda_std::launch::{Entry, Grid};
use cust::function::FunctionAttribute;
use cust::module::Module;
use cust::sys::{
    CUfunction, CUfunction_attribute, CUresult, cuFuncSetAttribute, cuOccupancyMaxActiveBlocksPerMultiprocessor,
};

use super::driver::{cuda, driver};
use super::owner::Owner;
use super::ptx::Ptx;
use crate::device::{ALWAYS_SHARED_BYTES, KernelResources};
use crate::error::Error;

/// Bytes of shared memory that the driver takes for itself in each block.
pub(super) const RESERVED_SHARED_BYTES: u32 = 1024;

/// The kernels of an executor's handles, and the context that they are freed in.
pub(super) struct Loaded {
    kernels: Mutex<Kernels>,
    pub owner: Arc<Owner>,
}

impl Loaded {
    pub fn new(kernels: Kernels, owner: &Arc<Owner>) -> Arc<Self> {
        Arc::new(Self { kernels: Mutex::new(kernels), owner: owner.clone() })
    }

    // A thread that panicked with the lock left whole kernels behind.
    pub fn lock(&self) -> MutexGuard<'_, Kernels> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Modules are freed in the context that is current. Where it cannot be had, they are gone with it.
        let _ = self.owner.enter_to_free();
    }
}

/// The kernels that were used.
pub(super) struct Kernels {
    ptx: Ptx,
    multiprocessors: Multiprocessors,
    loaded: Vec<LoadedKernel>,
    /// The place of each among those that are loaded.
    by_entry: HashMap<Entry, usize>,
    /// The same by the entry's address, for comparing names takes longer than the rest of a launch.
    by_address: HashMap<*const Entry, usize>,
    /// The one that was launched last, and its place.
    last: Option<(&'static Entry, usize)>,
}

/// What a GPU has to run blocks.
#[derive(Clone, Copy)]
pub(super) struct Multiprocessors {
    pub count: u32,
    /// Shared memory of each.
    pub shared_bytes: u32,
}

/// A kernel that the driver has compiled.
struct LoadedKernel {
    /// Where the function is: it must stay.
    _module: Module,
    function: CUfunction,
    /// The most shared memory that a block may have.
    allowed_bytes: u32,
    /// The shared memory of the blocks that it was launched in last, for which it leaves the rest to the cache.
    shared_bytes: u32,
    /// How many of them fit on a multiprocessor.
    fitting_blocks: u32,
    /// How many of those fit into half of its shared memory.
    blocks_in_half: u32,
    /// How many of those it has room for.
    side_by_side: u32,
}

// SAFETY: a function can be launched from any thread, and entries are only looked up by their addresses.
unsafe impl Send for Kernels {}

impl Kernels {
    /// What the PTX is compiled for.
    pub fn ptx_architecture(&self) -> u32 {
        self.ptx.architecture
    }

    /// The kernels of this PTX, for a GPU with these multiprocessors.
    pub fn new(ptx: Ptx, multiprocessors: Multiprocessors) -> Self {
        let (by_entry, by_address) = (HashMap::new(), HashMap::new());
        Self { ptx, multiprocessors, loaded: Vec::new(), by_entry, by_address, last: None }
    }

    /// The same GPU with other PTX.
    pub fn with_ptx(&self, text: String) -> Self {
        Self::new(Ptx::of_text(text), self.multiprocessors)
    }

    /// The kernel that was launched last.
    pub fn last(&self) -> Option<&'static Entry> {
        self.last.map(|(entry, _)| entry)
    }

    /// The function of an entry point that is launched next, in the current context.
    pub fn function(&mut self, entry: &'static Entry, grid: Grid) -> Result<CUfunction, Error> {
        let place = match self.last {
            // Most programs launch one kernel again and again.
            Some((last, place)) if ptr::eq(last, entry) => place,
            _ => match self.by_address.get(&ptr::from_ref(entry)) {
                Some(&place) => place,
                None => self.load(entry)?,
            },
        };
        self.last = Some((entry, place));
        let kernel = &mut self.loaded[place];
        // Launched before in such blocks, as almost always.
        let side_by_side = grid.blocks.div_ceil(self.multiprocessors.count.max(1));
        if grid.shared_bytes != kernel.shared_bytes || kernel.room_for(side_by_side) != kernel.side_by_side {
            kernel.make_ready(&entry.to_string(), grid, side_by_side, self.multiprocessors.shared_bytes)?;
        }
        Ok(kernel.function)
    }

    /// The place of a kernel whose entry has not been seen at this address.
    fn load(&mut self, entry: &'static Entry) -> Result<usize, Error> {
        let place = match self.by_entry.entry(*entry) {
            Slot::Occupied(slot) => *slot.get(),
            Slot::Vacant(slot) => {
                self.loaded.push(LoadedKernel::new(&mut self.ptx, &entry.to_string())?);
                *slot.insert(self.loaded.len() - 1)
            }
        };
        self.by_address.insert(entry, place);
        Ok(place)
    }

    /// What a kernel takes of a multiprocessor.
    pub fn resources(&mut self, entry: &str) -> Option<KernelResources> {
        let module = load(&mut self.ptx, entry).ok()?;
        let function = module.get_function(entry).ok()?;
        let attribute = |which| u32::try_from(function.get_attribute(which).ok()?).ok();
        Some(KernelResources {
            registers: attribute(FunctionAttribute::NumRegisters)?,
            shared_bytes: attribute(FunctionAttribute::SharedMemorySizeBytes)?,
            most_threads: attribute(FunctionAttribute::MaxThreadsPerBlock)?,
        })
    }
}

impl LoadedKernel {
    fn new(ptx: &mut Ptx, entry: &str) -> Result<Self, Error> {
        let module = load(ptx, entry)?;
        let function = module.get_function(entry).map_err(cuda(entry))?.to_raw();
        let (shared_bytes, fitting_blocks, blocks_in_half, side_by_side) = (0, 0, 0, 0);
        let allowed_bytes = ALWAYS_SHARED_BYTES;
        let _module = module;
        Ok(Self { _module, function, allowed_bytes, shared_bytes, fitting_blocks, blocks_in_half, side_by_side })
    }

    /// Asks for blocks with the shared memory of this grid, at most `side_by_side` of them on a multiprocessor at a time.
    fn make_ready(&mut self, entry: &str, grid: Grid, side_by_side: u32, of_multiprocessor: u32) -> Result<(), Error> {
        // Never less than before: another thread may be about to launch larger blocks.
        if grid.shared_bytes > self.allowed_bytes {
            self.allow_shared(entry, grid)?;
            self.allowed_bytes = grid.shared_bytes;
        }
        self.fitting_blocks = self.fitting_blocks(entry, grid)?;
        self.blocks_in_half = of_multiprocessor / 2 / (grid.shared_bytes + RESERVED_SHARED_BYTES);
        self.side_by_side = self.room_for(side_by_side);
        self.leave_cache(entry, grid, of_multiprocessor)?;
        self.shared_bytes = grid.shared_bytes;
        Ok(())
    }

    /// How many blocks of a multiprocessor to leave room for, where the grid has `side_by_side` for each. Half of the memory
    /// is always there for those that fit: more cache gains nothing, and a multiprocessor is idle while the size changes.
    fn room_for(&self, side_by_side: u32) -> u32 {
        side_by_side.max(self.blocks_in_half).min(self.fitting_blocks)
    }

    fn allow_shared(&self, entry: &str, grid: Grid) -> Result<(), Error> {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is loaded, in the current context.
        match unsafe { cuFuncSetAttribute(self.function, attribute, grid.shared_bytes as i32) } {
            CUresult::CUDA_ERROR_INVALID_VALUE => {
                let bytes = grid.shared_bytes;
                let reason = format!("a block needs {bytes} bytes of shared memory, more than this GPU has");
                Err(Error::Cuda { what: entry.into(), reason })
            }
            result => driver(result, entry),
        }
    }

    /// How many blocks of this grid fit on a multiprocessor.
    fn fitting_blocks(&self, entry: &str, grid: Grid) -> Result<u32, Error> {
        let mut blocks = 0;
        let (threads, bytes) = (grid.threads_per_block as i32, grid.shared_bytes as usize);
        // It is counted with what was asked for last, and that may have been for smaller ones.
        self.prefer_shared(entry, 100)?;
        // SAFETY: the function is loaded, in the current context, and `blocks` is written before the call returns.
        let result = unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.function, threads, bytes) };
        driver(result, entry)?;
        Ok(blocks as u32)
    }

    /// Asks for no more shared memory on a multiprocessor than the blocks take that are there side by side: the rest of
    /// that memory is the L1 cache, through which all loads go. The driver by itself may reserve twice as much.
    fn leave_cache(&self, entry: &str, grid: Grid, of_multiprocessor: u32) -> Result<(), Error> {
        let needed = self.side_by_side * (grid.shared_bytes + RESERVED_SHARED_BYTES);
        // Rounded down: there are few sizes to choose from, and the driver takes the next larger one.
        self.prefer_shared(entry, (100 * needed / of_multiprocessor).min(100))
    }

    /// Asks for `percent` of a multiprocessor's memory to be shared.
    fn prefer_shared(&self, entry: &str, percent: u32) -> Result<(), Error> {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        // SAFETY: the function is loaded, in the current context.
        driver(unsafe { cuFuncSetAttribute(self.function, attribute, percent as i32) }, entry)
    }
}

/// A module with this entry point, compiled by the driver.
fn load(ptx: &mut Ptx, entry: &str) -> Result<Module, Error> {
    let error = |reason: String| Error::Cuda { what: entry.into(), reason };
    let text = ptx.module(entry).map_err(|damage| error(format!("the library's PTX cannot be read: {damage}")))?;
    let text = text.ok_or_else(|| error("there is no such kernel".into()))?;
    Module::from_ptx(text, &[]).map_err(cuda(entry))
}
