//! How a plan is made.

use std::ffi::c_char;

use host::Format;
use host::select::{Measure, Selection};

use crate::pointers::{reference, text};
use crate::status::Failure;

/// How a plan is made. `warp_spmv_options_default` fills it in; NULL in place of a pointer to it means the same.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The format, such as "csr-vector" or "sell-p:slice=32"; NULL for the one that is predicted to be the fastest.
    pub format: *const c_char,
    /// How many multiplications the matrix is for, by which a format is chosen; 0 for 1,000.
    pub multiplications: u64,
    /// Bytes that the arrays of the matrix may take in a format that is chosen; 0 for no limit.
    pub memory_budget: u64,
    /// Not 0 where the same call must give the same bits every time, in every run of the program: formats that add in any
    /// order are an error then, and none is chosen by how fast it was.
    pub reproducible: i32,
    /// Not 0 where `warp_spmv_plan_update_values_float32` or `_float64` will be called: in formats other than CSR and COO, the
    /// plan then keeps the pattern of the matrix.
    pub updates: i32,
}

impl Options {
    const DEFAULT: Self =
        Self { format: std::ptr::null(), multiplications: 0, memory_budget: 0, reproducible: 0, updates: 0 };
}

/// The options of a plan that chooses its format.
#[unsafe(no_mangle)]
pub extern "C" fn warp_spmv_options_default() -> Options {
    Options::DEFAULT
}

/// How a plan is made: options that were looked at.
pub(crate) struct Wishes {
    /// [`Format::Auto`] for one to be chosen.
    pub format: Format,
    pub reproducible: bool,
    pub updates: bool,
    pub selection: Selection,
}

impl Wishes {
    /// # Safety
    /// The pointer is NULL or that of options, whose format is NULL or a text that ends with a 0.
    pub unsafe fn new(options: *const Options) -> Result<Self, Failure> {
        let options = match options.is_null() {
            true => &Options::DEFAULT,
            // SAFETY: the caller's promise.
            false => unsafe { reference("options", options)? },
        };
        let format = match options.format.is_null() {
            true => Format::Auto,
            // SAFETY: the caller's promise.
            false => unsafe { text("format", options.format)? }.parse()?,
        };
        let some = |number: u64| (number > 0).then_some(number);
        let (memory_budget, updates) = (some(options.memory_budget), options.updates != 0);
        let mut selection = Selection { memory_budget, updates, ..Selection::default() };
        selection.multiplications = some(options.multiplications).or(selection.multiplications);
        let reproducible = options.reproducible != 0;
        if reproducible {
            // Another format may be the fastest the next time, and would round differently.
            (selection.measure, selection.store) = (Measure::Never, None);
        }
        Ok(Self { format, reproducible, updates, selection })
    }
}
