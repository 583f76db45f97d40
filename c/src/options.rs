//! Options of plans.

use std::ffi::c_char;

use host::select::{Measure, Selection};
use host::{Format, PlanOptions, ValueStorage};

use crate::pointers::{reference, text};
use crate::status::{Failure, Status};

/// Options of a plan. `warp_spmv_options_default` fills them in; NULL instead of a pointer to them means the same.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The format, such as "csr-vector" or "sell-p:slice=32"; NULL for the one predicted to be the fastest.
    pub format: *const c_char,
    /// Number of multiplications planned with the matrix, for the choice of a format; 0 for 1,000.
    pub multiplications: u64,
    /// Maximum number of bytes for the arrays of the matrix in a chosen format; 0 for no limit.
    pub memory_budget: u64,
    /// Nonzero if the same call must give the same bits every time, in every run of the program: formats that add in any
    /// order are then errors, and no format is chosen by its measured speed.
    pub reproducible: i32,
    /// Nonzero if `warp_spmv_plan_update_values_float32` or `_float64` will be called: in formats other than CSR and COO,
    /// the plan then keeps the pattern of the matrix.
    pub updates: i32,
    /// 0: a format is chosen from known properties of the matrix and the device; nothing is measured, and a matrix gets the
    /// same format each time on a device, on a CPU with the same number of threads. 1: if it remains open which format is
    /// the fastest, and there is no `memory_budget`, candidates are timed; an error if `reproducible` is nonzero. Neither
    /// reads or writes a file of the user.
    pub measure: i32,
    /// How the values are stored: "full" or NULL as they are computed with; "lossless" in the narrowest type that keeps all
    /// their bits, if there is one; "automatic" the same, but only on a GPU, if it is worth its time and the format is
    /// chosen; or rounded to a type, such as "float32". Narrow values cannot be updated.
    pub values: *const c_char,
    /// For later versions: must be all 0.
    pub reserved: [u32; 6],
}

impl Options {
    const RESERVED: [u32; 6] = [0; 6];

    const DEFAULT: Self = Self {
        format: std::ptr::null(),
        multiplications: 0,
        memory_budget: 0,
        reproducible: 0,
        updates: 0,
        measure: 0,
        values: std::ptr::null(),
        reserved: Self::RESERVED,
    };

    /// Which formats are measured.
    fn measured(&self) -> Result<Measure, Failure> {
        let refused = |message: String| Err(Failure::new(Status::Argument, message));
        match self.measure {
            0 => Ok(Measure::Never),
            1 if self.reproducible == 0 => Ok(Measure::WhereUnsure),
            // Another format may be the fastest the next time, and would round differently.
            1 => refused("measure is 1, expected 0 where reproducible is not 0".into()),
            other => refused(format!("measure is {other}, expected 0 or 1")),
        }
    }
}

/// The default options, which let the plan choose its format.
#[unsafe(no_mangle)]
pub extern "C" fn warp_spmv_options_default() -> Options {
    Options::DEFAULT
}

/// Checked options of a plan.
pub(crate) struct Wishes {
    /// [`Format::Auto`] if one is to be chosen.
    pub format: Format,
    reproducible: bool,
    updates: bool,
    values: ValueStorage,
    pub selection: Selection,
}

impl Wishes {
    /// # Safety
    /// The pointer must be NULL or that of options whose format and values are NULL or null-terminated strings.
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
        let values = match options.values.is_null() {
            true => ValueStorage::Full,
            // SAFETY: the caller's promise.
            false => unsafe { text("values", options.values)? }.parse()?,
        };
        if options.reserved != Options::RESERVED {
            return Err(Failure::new(Status::Argument, "the options' reserved fields are not all 0"));
        }
        let some = |number: u64| (number > 0).then_some(number);
        let (reproducible, updates) = (options.reproducible != 0, options.updates != 0);
        let selection = Selection {
            multiplications: some(options.multiplications).or(Some(Selection::MULTIPLICATIONS)),
            memory_budget: some(options.memory_budget),
            updates,
            measure: options.measured()?,
            // A library does not write to the home folder of a user whose program does not expect it.
            store: None,
            values,
            ..Selection::default()
        };
        Ok(Self { format, reproducible, updates, values, selection })
    }

    /// The options for a named format.
    pub fn plan_options(&self) -> PlanOptions {
        let &Self { reproducible, updates, values, .. } = self;
        PlanOptions { reproducible, updates, values, ..PlanOptions::default() }
    }
}
