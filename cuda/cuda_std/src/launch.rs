//! The host side of a kernel: the name of its entry point and its arguments. Not available on the GPU.

use core::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;

use crate::global::{Global, GlobalMut};
pub use crate::place::Place;
use crate::plain::Plain;

pub use warp_emulator::Grid;

/// Largest number of generic parameters of a kernel.
const MOST_PARAMETERS: usize = 4;

/// Largest number of arguments of a kernel.
const MOST_ARGUMENTS: usize = 24;

/// Largest number of words that the arguments of a kernel take on the host.
const MOST_WORDS: usize = 72;

/// The name of an entry point in the PTX: the kernel's own name and one part for each generic parameter.
/// [`Display`](fmt::Display) joins them with underscores; no text is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Entry {
    kernel: &'static str,
    parameters: [&'static str; MOST_PARAMETERS],
}

impl Entry {
    /// The entry point of a kernel with these generic parameters.
    pub const fn new<const N: usize>(kernel: &'static str, parameters: [&'static str; N]) -> Self {
        const { assert!(N <= MOST_PARAMETERS, "a kernel has too many generic parameters") };
        let mut padded = [""; MOST_PARAMETERS];
        let mut place = 0;
        while place < N {
            padded[place] = parameters[place];
            place += 1;
        }
        Self { kernel, parameters: padded }
    }

    /// `==`, for constants.
    const fn is(&self, other: &Self) -> bool {
        let mut same = same_text(self.kernel, other.kernel);
        let mut place = 0;
        while same && place < MOST_PARAMETERS {
            same = same_text(self.parameters[place], other.parameters[place]);
            place += 1;
        }
        same
    }
}

const fn same_text(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut place = 0;
    while place < one.len() && place < other.len() && one[place] == other[place] {
        place += 1;
    }
    place == one.len() && place == other.len()
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel)?;
        let parameters = self.parameters.iter().take_while(|parameter| !parameter.is_empty());
        parameters.into_iter().try_for_each(|parameter| write!(f, "_{parameter}"))
    }
}

/// The arguments of a kernel. `#[kernel]` implements it for the struct that it generates from the parameters.
///
/// # Safety
/// The entry point of this name takes exactly the arguments that [`arguments`](Self::arguments) adds, in that order,
/// and is compiled from the function that [`RUN`](Self::RUN) calls.
pub unsafe trait Kernel: Copy + 'static {
    /// The entry point.
    const ENTRY: Entry;

    /// Runs the kernel as one thread.
    const RUN: Run;

    /// Adds each argument, in the order of the kernel's parameters.
    fn arguments<'a>(&'a self, list: &mut Arguments<'a>);
}

/// Runs a kernel as one thread; call it from a lane of the emulator.
///
/// # Safety
/// It takes a pointer to the kernel's struct of arguments, and requires what the kernel's own `# Safety` section
/// requires, of arrays in host memory.
pub type Run = unsafe fn(*const c_void);

/// The compiled kernel with this entry point, or `otherwise` if there is none.
#[doc(hidden)]
pub const fn compiled(entry: Entry, instances: &[(Entry, Run)], otherwise: Run) -> Run {
    let mut place = 0;
    while place < instances.len() {
        if instances[place].0.is(&entry) {
            return instances[place].1;
        }
        place += 1;
    }
    otherwise
}

/// A kernel and the grid to launch it on, with the kernel's type erased.
#[derive(Clone, Copy)]
pub struct Launch {
    /// Number of threads.
    pub grid: Grid,
    /// The kernel that they run.
    pub call: Call,
}

impl Launch {
    /// Creates a launch of this kernel.
    pub fn new<K: Kernel>(grid: Grid, kernel: K) -> Self {
        Self { grid, call: Call::new(kernel) }
    }
}

/// A kernel with its arguments, the same type for all kernels. It holds the arguments itself.
#[derive(Clone, Copy)]
pub struct Call {
    methods: &'static Methods,
    /// A value of the type of `methods`.
    kernel: [MaybeUninit<u64>; MOST_WORDS],
    /// Kernels hold pointers.
    not_shared: std::marker::PhantomData<*const ()>,
}

/// The methods of a kernel's type. Each takes a pointer to a value of that type.
struct Methods {
    entry: Entry,
    arguments: unsafe fn(*const c_void, &mut Arguments<'_>),
    run: Run,
}

/// The methods of a type, as a constant.
struct MethodsOf<K>(std::marker::PhantomData<K>);

impl<K: Kernel> MethodsOf<K> {
    const METHODS: Methods = Methods {
        entry: K::ENTRY,
        // SAFETY: the caller passes a value of this type, which outlives the list.
        arguments: |kernel, list| unsafe { &*kernel.cast::<K>() }.arguments(list),
        run: K::RUN,
    };
}

impl Call {
    /// Creates a call of this kernel.
    pub fn new<K: Kernel>(kernel: K) -> Self {
        const {
            assert!(size_of::<K>() <= size_of::<[u64; MOST_WORDS]>(), "a kernel has too many arguments");
            assert!(align_of::<K>() <= align_of::<u64>());
        }
        let mut call = Self {
            methods: &MethodsOf::<K>::METHODS,
            kernel: [MaybeUninit::uninit(); MOST_WORDS],
            not_shared: std::marker::PhantomData,
        };
        // SAFETY: by the assertions, the value fits and is aligned.
        unsafe { call.kernel.as_mut_ptr().cast::<K>().write(kernel) };
        call
    }

    /// The entry point. Calls of one kernel usually return the same address.
    pub fn entry(&self) -> &'static Entry {
        &self.methods.entry
    }

    /// The arguments, in the order of the kernel's parameters.
    pub fn arguments(&self) -> Arguments<'_> {
        let mut list = Arguments::new();
        // SAFETY: the value is of the type of the methods, and is borrowed as long as the list is.
        unsafe { (self.methods.arguments)(self.kernel.as_ptr().cast(), &mut list) };
        list
    }

    /// Runs the kernel as one thread.
    ///
    /// # Safety
    /// As for [`Run`].
    pub unsafe fn run(&self) {
        // SAFETY: the value is of the type of the methods; the rest is the caller's promise.
        unsafe { (self.methods.run)(self.kernel.as_ptr().cast()) }
    }
}

/// The arguments of a kernel, in the form of the CUDA driver, and the memory of their arrays.
pub struct Arguments<'a> {
    addresses: [*mut c_void; MOST_ARGUMENTS],
    arrays: [Place; MOST_ARGUMENTS],
    count: usize,
    kernel: std::marker::PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    fn new() -> Self {
        Self {
            addresses: [std::ptr::null_mut(); MOST_ARGUMENTS],
            arrays: [Place::Nowhere; MOST_ARGUMENTS],
            count: 0,
            kernel: std::marker::PhantomData,
        }
    }

    /// Adds an argument.
    ///
    /// # Panics
    /// Panics if there are more than 24.
    pub fn add(&mut self, argument: &'a impl Argument) {
        self.addresses[self.count] = argument.address().cast_mut();
        self.arrays[self.count] = argument.place();
        self.count += 1;
    }

    /// The address of each argument.
    pub fn addresses(&mut self) -> &mut [*mut c_void] {
        &mut self.addresses[..self.count]
    }

    /// The memory of each argument's array.
    pub fn places(&self) -> &[Place] {
        &self.arrays[..self.count]
    }
}

/// An argument of a kernel.
///
/// # Safety
/// The address is that of a value of the type that the entry point takes, valid as long as `self` lives; the place is
/// that of its array.
pub unsafe trait Argument {
    /// The address of the value that the GPU receives.
    fn address(&self) -> *const c_void;

    /// The memory of the array to which the argument points.
    fn place(&self) -> Place;
}

// SAFETY: the device pointer is the first field of this struct, by repr(C).
unsafe impl<T> Argument for Global<T> {
    fn address(&self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }

    fn place(&self) -> Place {
        Global::place(*self)
    }
}

// SAFETY: the device pointer is the first field of this struct, by repr(C).
unsafe impl<T> Argument for GlobalMut<T> {
    fn address(&self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }

    fn place(&self) -> Place {
        GlobalMut::place(*self)
    }
}

// SAFETY: the value is the same on the GPU, by `Plain`, and contains no pointer.
unsafe impl<T: Plain> Argument for T {
    fn address(&self) -> *const c_void {
        std::ptr::from_ref(self).cast()
    }

    fn place(&self) -> Place {
        Place::Nowhere
    }
}
