//! The kernels of a device, each compiled by the driver on first use.

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

/// Bytes of shared memory per block that the driver reserves for itself.
pub(super) const RESERVED_SHARED_BYTES: u32 = 1024;

/// The kernels of an executor's handles, and the context in which they are freed.
pub(super) struct Loaded {
    kernels: Mutex<Kernels>,
    pub owner: Arc<Owner>,
}

impl Loaded {
    pub fn new(kernels: Kernels, owner: &Arc<Owner>) -> Arc<Self> {
        Arc::new(Self { kernels: Mutex::new(kernels), owner: owner.clone() })
    }

    // A thread that panicked while holding the lock left complete kernels behind.
    pub fn lock(&self) -> MutexGuard<'_, Kernels> {
        self.kernels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Modules are freed in the current context. If it cannot be entered, they are gone with it.
        let _ = self.owner.enter_to_free();
    }
}

/// The kernels used so far.
pub(super) struct Kernels {
    ptx: Ptx,
    multiprocessors: Multiprocessors,
    loaded: Vec<LoadedKernel>,
    /// The index of each in `loaded`.
    by_entry: HashMap<Entry, usize>,
    /// The same by the entry's address, since comparing names takes longer than the rest of a launch.
    by_address: HashMap<*const Entry, usize>,
    /// The kernel launched last, and its index.
    last: Option<(&'static Entry, usize)>,
}

/// The resources of a GPU for running blocks.
#[derive(Clone, Copy)]
pub(super) struct Multiprocessors {
    pub count: u32,
    /// Bytes of shared memory per multiprocessor.
    pub shared_bytes: u32,
}

/// A kernel that the driver has compiled.
struct LoadedKernel {
    /// Holds the function, and must outlive it.
    _module: Module,
    function: CUfunction,
    /// The largest amount of shared memory that a block may have.
    allowed_bytes: u32,
    /// Shared memory per block at the last launch; the rest is left to the cache.
    shared_bytes: u32,
    /// Maximum number of such blocks per multiprocessor.
    fitting_blocks: u32,
    /// Number of such blocks that fit into half of a multiprocessor's shared memory.
    blocks_in_half: u32,
    /// Number of such blocks that shared memory is reserved for.
    side_by_side: u32,
}

// SAFETY: a function can be launched from any thread, and addresses of entries are only used as keys.
unsafe impl Send for Kernels {}

impl Kernels {
    /// The architecture that the PTX is compiled for.
    pub fn ptx_architecture(&self) -> u32 {
        self.ptx.architecture
    }

    /// The kernels of this PTX, for a GPU with these multiprocessors.
    pub fn new(ptx: Ptx, multiprocessors: Multiprocessors) -> Self {
        let (by_entry, by_address) = (HashMap::new(), HashMap::new());
        Self { ptx, multiprocessors, loaded: Vec::new(), by_entry, by_address, last: None }
    }

    /// The kernels of other PTX, for the same GPU.
    pub fn with_ptx(&self, text: String) -> Self {
        Self::new(Ptx::of_text(text), self.multiprocessors)
    }

    /// The entry of the kernel launched last.
    pub fn last(&self) -> Option<&'static Entry> {
        self.last.map(|(entry, _)| entry)
    }

    /// The function of an entry point that is to be launched, in the current context.
    pub fn function(&mut self, entry: &'static Entry, grid: Grid) -> Result<CUfunction, Error> {
        let place = match self.last {
            // Most programs launch one kernel repeatedly.
            Some((last, place)) if ptr::eq(last, entry) => place,
            _ => match self.by_address.get(&ptr::from_ref(entry)) {
                Some(&place) => place,
                None => self.load(entry)?,
            },
        };
        self.last = Some((entry, place));
        let kernel = &mut self.loaded[place];
        // Almost always, the kernel was launched in such blocks before.
        let side_by_side = grid.blocks.div_ceil(self.multiprocessors.count.max(1));
        if grid.shared_bytes != kernel.shared_bytes || kernel.room_for(side_by_side) != kernel.side_by_side {
            kernel.make_ready(&entry.to_string(), grid, side_by_side, self.multiprocessors.shared_bytes)?;
        }
        Ok(kernel.function)
    }

    /// The index of a kernel whose entry has not been seen at this address.
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

    /// The resources that a kernel needs on a multiprocessor.
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

    /// Prepares for blocks with the shared memory of this grid, at most `side_by_side` of them per multiprocessor at a time.
    fn make_ready(&mut self, entry: &str, grid: Grid, side_by_side: u32, of_multiprocessor: u32) -> Result<(), Error> {
        // Never lowered: another thread may be about to launch larger blocks.
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

    /// Number of blocks per multiprocessor to leave room for, in a grid with `side_by_side` of them for each. Blocks may
    /// always use half of the memory: more cache gains nothing, and a multiprocessor is idle while the size changes.
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

    /// Number of blocks of this grid that fit on a multiprocessor.
    fn fitting_blocks(&self, entry: &str, grid: Grid) -> Result<u32, Error> {
        let mut blocks = 0;
        let (threads, bytes) = (grid.threads_per_block as i32, grid.shared_bytes as usize);
        // The driver counts with the carveout last requested, which may have been for smaller blocks.
        self.prefer_shared(entry, 100)?;
        // SAFETY: the function is loaded, in the current context, and `blocks` is written before the call returns.
        let result = unsafe { cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.function, threads, bytes) };
        driver(result, entry)?;
        Ok(blocks as u32)
    }

    /// Requests no more shared memory per multiprocessor than its resident blocks need: the rest is the L1 cache, which
    /// all loads go through. On its own, the driver may reserve twice as much.
    fn leave_cache(&self, entry: &str, grid: Grid, of_multiprocessor: u32) -> Result<(), Error> {
        let needed = self.side_by_side * (grid.shared_bytes + RESERVED_SHARED_BYTES);
        // Rounded down: there are few sizes, and the driver takes the next larger one.
        self.prefer_shared(entry, (100 * needed / of_multiprocessor).min(100))
    }

    /// Requests `percent` of a multiprocessor's memory as shared memory.
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
    let text = text.ok_or_else(|| error("no such kernel exists".into()))?;
    Module::from_ptx(text, &[]).map_err(cuda(entry))
}
