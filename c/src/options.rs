//! How a plan is made.

use std::ffi::c_char;

use host::select::{Measure, Selection};
use host::{Format, PlanOptions, ValueStorage};

use crate::pointers::{reference, text};
use crate::status::{Failure, Status};

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
    /// 0: a format is chosen by what is known of the matrix and the device; nothing is measured, and a matrix gets the same
    /// format each time on a device, on a CPU with the same number of threads. 1: where that leaves it open which format is
    /// the fastest, and there is no `memory_budget`, candidates are timed; an error where `reproducible` is not 0. Neither
    /// reads or writes a file of the user.
    pub measure: i32,
    /// How the values are stored: "full" or NULL as they are computed with; "lossless" in the narrowest type that keeps all
    /// their bits, if there is one; "automatic" so on a GPU where that is worth its time, if the format is chosen; or rounded
    /// to a type, such as "float32". There are no new values for narrow ones.
    pub values: *const c_char,
    /// For later versions: all 0, or it is an error.
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

/// The options of a plan that chooses its format.
#[unsafe(no_mangle)]
pub extern "C" fn warp_spmv_options_default() -> Options {
    Options::DEFAULT
}

/// How a plan is made: options that were looked at.
pub(crate) struct Wishes {
    /// [`Format::Auto`] for one to be chosen.
    pub format: Format,
    reproducible: bool,
    updates: bool,
    values: ValueStorage,
    pub selection: Selection,
}

impl Wishes {
    /// # Safety
    /// The pointer is NULL or that of options, whose format and values are NULL or texts that end with a 0.
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
            // A library does not write to the home of whoever runs a program that knows nothing of it.
            store: None,
            values,
            ..Selection::default()
        };
        Ok(Self { format, reproducible, updates, values, selection })
    }

    /// For a format that is named.
    pub fn plan_options(&self) -> PlanOptions {
        let &Self { reproducible, updates, values, .. } = self;
        PlanOptions { reproducible, updates, values, ..PlanOptions::default() }
    }
}
