//! The host's side of a kernel: its entry point's name and its arguments. Only off the GPU.

use core::ffi::c_void;

use crate::global::{Global, GlobalMut};
use crate::plain::Plain;

pub use warp_emulator::Grid;

/// For the code that `#[kernel]` writes into crates without the standard library.
#[doc(hidden)]
pub use ::std;

/// A kernel with its arguments, ready to launch. `#[kernel]` implements it.
pub trait Kernel {
    /// The name of the entry point in the PTX.
    fn entry(&self) -> String;

    /// The address of each argument, in the order of the kernel's parameters, as the CUDA driver wants them.
    /// They are valid as long as `self` is.
    fn arguments(&self) -> Vec<*const c_void>;

    /// Runs the kernel as one thread; call it from a lane of the emulator.
    ///
    /// # Safety
    /// What the kernel's own `# Safety` section demands, and the arrays are in host memory.
    unsafe fn run(&self);
}

/// A kernel and the grid to launch it on.
pub struct Launch {
    /// How many threads.
    pub grid: Grid,
    /// What they run.
    pub kernel: Box<dyn Kernel>,
}

/// What a kernel takes as an argument.
pub trait Argument {
    /// The address of what the GPU gets.
    fn address(&self) -> *const c_void;
}

impl<T> Argument for Global<T> {
    fn address(&self) -> *const c_void {
        // The device's pointer is the first field of this struct, by repr(C).
        std::ptr::from_ref(self).cast()
    }
}

impl<T> Argument for GlobalMut<T> {
    fn address(&self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }
}

impl<T: Plain> Argument for T {
    fn address(&self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }
}
