//! Invalid calls and their messages.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr::{null, null_mut};
use std::sync::Barrier;

use warp_spmv_c::*;

const OFFSETS: [i64; 3] = [0, 1, 3];
const COLUMNS: [i32; 3] = [0, 1, 2];
const VALUES: [f64; 3] = [1.0, 2.0, 3.0];

fn text(pointer: *const c_char) -> &'static str {
    // SAFETY: the library's strings are null-terminated; messages are compared before the next call.
    unsafe { CStr::from_ptr(pointer) }.to_str().unwrap()
}

/// A status with its message.
fn said(status: Status) -> (Status, &'static str) {
    (status, text(warp_spmv_last_message()))
}

fn executor(name: &CStr) -> Executor {
    let mut executor = Executor { id: 0 };
    // SAFETY: a string, and memory for a handle.
    let status = unsafe { warp_spmv_executor_create(name.as_ptr(), 0, &mut executor) };
    assert_eq!(status, Status::Ok);
    executor
}

fn pattern() -> Pattern {
    Pattern {
        rows: 2,
        columns: 3,
        entries: 3,
        row_offset_type: IndexType::Int64 as i32,
        column_index_type: IndexType::Int32 as i32,
        row_offsets: OFFSETS.as_ptr().cast(),
        column_indices: COLUMNS.as_ptr().cast(),
        reserved: [0; 4],
    }
}

fn create(executor: Executor, pattern: &Pattern, format: Option<&str>) -> Result<Plan, (Status, &'static str)> {
    let format = format.map(|format| CString::new(format).unwrap());
    let mut options = warp_spmv_options_default();
    options.format = format.as_ref().map_or(null(), |format| format.as_ptr());
    let mut plan = Plan { id: 0 };
    // SAFETY: arrays as long as the pattern says, or invalid ones that are rejected before they are read.
    let status = unsafe { warp_spmv_plan_create_float64(executor, pattern, VALUES.as_ptr(), &options, &mut plan) };
    if status == Status::Ok { Ok(plan) } else { Err(said(status)) }
}

fn apply(plan: Plan, x: &[f64], y: &mut [f64]) -> Status {
    // SAFETY: two arrays of these lengths.
    unsafe { warp_spmv_plan_apply_float64(plan, 1.0, x.as_ptr(), x.len(), 0.0, y.as_mut_ptr(), y.len()) }
}

#[test]
fn every_executor_of_the_host_multiplies() {
    for name in [c"cpu", c"reference", c"emulated"] {
        let on = executor(name);
        for format in [None, Some("auto"), Some("csr-vector"), Some("sell-p:slice=32")] {
            let plan = create(on, &pattern(), format).unwrap();
            let mut y = [f64::NAN; 2];
            assert_eq!(apply(plan, &[1.0, 10.0, 100.0], &mut y), Status::Ok);
            assert_eq!(y, [1.0, 320.0]);
            assert_eq!(warp_spmv_plan_destroy(plan), Status::Ok);
        }
        assert_eq!(warp_spmv_executor_destroy(on), Status::Ok);
    }
}

#[test]
fn all_types_of_indices_are_taken() {
    let on = executor(c"cpu");
    let (narrow, wide): ([u32; 3], [u64; 3]) = ([0, 1, 3], [0, 1, 3]);
    let (narrow_columns, wide_columns): ([u32; 3], [u64; 3]) = ([0, 1, 2], [0, 1, 2]);
    // The bits of signed and unsigned numbers are the same here.
    let pointers = |wide_one: bool, narrow: *const c_void, wide: *const c_void| if wide_one { wide } else { narrow };
    for offset_type in 0..4 {
        for column_type in 0..4 {
            let pattern = Pattern {
                row_offset_type: offset_type,
                column_index_type: column_type,
                row_offsets: pointers(offset_type % 2 == 1, narrow.as_ptr().cast(), wide.as_ptr().cast()),
                column_indices: pointers(
                    column_type % 2 == 1,
                    narrow_columns.as_ptr().cast(),
                    wide_columns.as_ptr().cast(),
                ),
                ..pattern()
            };
            let plan = create(on, &pattern, Some("coo")).unwrap();
            let mut y = [0.0; 2];
            assert_eq!(apply(plan, &[1.0, 10.0, 100.0], &mut y), Status::Ok);
            assert_eq!(y, [1.0, 320.0]);
        }
    }
}

#[test]
fn handles_are_known_to_be_wrong() {
    let on = executor(c"cpu");
    let plan = create(on, &pattern(), None).unwrap();
    let mut y = [7.0; 2];
    assert_eq!(said(apply(Plan { id: 0 }, &[1.0; 3], &mut y)), (Status::Handle, "no plan: the handle is 0"));
    let message = format!("no plan: handle {} is that of an executor", on.id);
    assert_eq!(said(apply(Plan { id: on.id }, &[1.0; 3], &mut y)), (Status::Handle, &*message));
    let message = format!("no plan: handle {} was never created", u64::MAX);
    assert_eq!(said(apply(Plan { id: u64::MAX }, &[1.0; 3], &mut y)), (Status::Handle, &*message));
    assert_eq!(warp_spmv_executor_destroy(Executor { id: plan.id }), Status::Handle);

    // Plans keep what they need of their executor alive.
    assert_eq!(warp_spmv_executor_destroy(on), Status::Ok);
    let message = format!("no executor: handle {} was destroyed", on.id);
    assert_eq!(said(warp_spmv_executor_destroy(on)), (Status::Handle, &*message));
    assert_eq!(create(on, &pattern(), None), Err((Status::Handle, &*message)));
    assert_eq!(y, [7.0; 2]);
    assert_eq!(apply(plan, &[1.0; 3], &mut y), Status::Ok);
    assert_eq!(warp_spmv_plan_destroy(plan), Status::Ok);
    let message = format!("no plan: handle {} was destroyed", plan.id);
    assert_eq!(said(warp_spmv_plan_destroy(plan)), (Status::Handle, &*message));
    assert_eq!(said(apply(plan, &[1.0; 3], &mut y)), (Status::Handle, &*message));
}

#[test]
fn pointers_are_checked() {
    let on = executor(c"cpu");
    let plan = create(on, &pattern(), None).unwrap();
    let mut made = Executor { id: 5 };
    let (x, mut y) = ([1.0; 3], [7.0; 2]);
    // SAFETY: every invalid pointer is NULL, not aligned, or of an array that is rejected for its length.
    unsafe {
        assert_eq!(said(warp_spmv_executor_create(null(), 0, &mut made)), (Status::Argument, "name is NULL"));
        let name = c"\xff";
        let status = warp_spmv_executor_create(name.as_ptr(), 0, &mut made);
        assert_eq!(said(status), (Status::Argument, "name is not UTF-8"));
        let status = warp_spmv_executor_create(c"abacus".as_ptr(), 0, &mut made);
        let message = "unknown executor 'abacus': expected reference, cpu, emulated, cuda";
        assert_eq!(said(status), (Status::Argument, message));
        let status = warp_spmv_executor_create(c"cpu".as_ptr(), 3, &mut made);
        assert_eq!(said(status), (Status::Argument, "device is 3, expected 0 for executor cpu"));
        let status = warp_spmv_executor_create(c"cpu".as_ptr(), 0, null_mut());
        assert_eq!(said(status), (Status::Argument, "executor is NULL"));
        assert_eq!(made, Executor { id: 5 });

        let apply = |x: *const f64, y: *mut f64| warp_spmv_plan_apply_float64(plan, 1.0, x, 3, 0.0, y, 2);
        assert_eq!(said(apply(null(), y.as_mut_ptr())), (Status::Argument, "x is NULL"));
        assert_eq!(said(apply(x.as_ptr(), null_mut())), (Status::Argument, "y is NULL"));
        let message = "x is not aligned to its elements";
        assert_eq!(said(apply(x.as_ptr().byte_add(1), y.as_mut_ptr())), (Status::Argument, message));
        assert_eq!(said(apply(y.as_ptr().wrapping_sub(1), y.as_mut_ptr())), (Status::Argument, "x and y overlap"));
        let status = warp_spmv_plan_apply_float64(plan, 1.0, x.as_ptr(), usize::MAX / 2, 0.0, y.as_mut_ptr(), 2);
        let message = format!("x has length {}, expected 3", usize::MAX / 2);
        assert_eq!(said(status), (Status::Argument, &*message));
        // With a wrong length, nothing is read.
        let status = warp_spmv_plan_apply_float64(plan, 1.0, null(), 2, 0.0, null_mut(), 2);
        assert_eq!(said(status), (Status::Argument, "x has length 2, expected 3"));
        let status = warp_spmv_plan_apply_float64(plan, 1.0, x.as_ptr(), 3, 0.0, null_mut(), 0);
        assert_eq!(said(status), (Status::Argument, "y has length 0, expected 2"));
        let (x, y) = (x.map(|x| x as f32), &mut [0.0; 2]);
        let status = warp_spmv_plan_apply_float32(plan, 1.0, x.as_ptr(), 3, 0.0, y.as_mut_ptr(), 2);
        assert_eq!(said(status), (Status::NumberType, "the plan's numbers are not of type float32"));

        let status = warp_spmv_plan_create_float64(on, null(), VALUES.as_ptr(), null(), &mut Plan { id: 0 });
        assert_eq!(said(status), (Status::Argument, "pattern is NULL"));
        let status = warp_spmv_plan_create_float64(on, &pattern(), null(), null(), &mut Plan { id: 0 });
        assert_eq!(said(status), (Status::Argument, "values is NULL"));
        let status = warp_spmv_plan_create_float64(on, &pattern(), VALUES.as_ptr(), null(), null_mut());
        assert_eq!(said(status), (Status::Argument, "plan is NULL"));
        // The memory for the handle is checked first.
        let status = warp_spmv_plan_create_float64(Executor { id: 0 }, null(), null(), null(), null_mut());
        assert_eq!(said(status), (Status::Argument, "plan is NULL"));
        let status = warp_spmv_executor_create(null(), 0, null_mut());
        assert_eq!(said(status), (Status::Argument, "executor is NULL"));
    }
    assert_eq!(said(apply(plan, &x[..2], &mut y)), (Status::Argument, "x has length 2, expected 3"));
    assert_eq!(said(apply(plan, &x, &mut y[..1])), (Status::Argument, "y has length 1, expected 2"));
    assert_eq!(y, [7.0; 2]);
}

#[test]
fn matrices_and_formats_are_checked() {
    let on = executor(c"cpu");
    let check = |pattern, format, status, message| {
        assert_eq!(create(on, &pattern, format), Err((status, message)));
    };
    let wrong = [0_i32, 3, 1];
    let wrong = Pattern { column_indices: wrong.as_ptr().cast(), ..pattern() };
    check(wrong, None, Status::Matrix, "CSR matrix: entry 1 is in column 3 of 3");
    let falling = [0_i64, 4, 3];
    let falling = Pattern { row_offsets: falling.as_ptr().cast(), ..pattern() };
    check(falling, None, Status::Matrix, "CSR matrix: row 1 ends before it begins");
    let wide = Pattern { columns: 1 << 40, ..pattern() };
    let message = "the number of columns is 1099511627776, and the limit is 2147483647";
    check(wide, None, Status::TooLarge, message);
    let other = Pattern { row_offset_type: 4, ..pattern() };
    let message = "the type of row_offsets is 4, expected a warp_spmv_index_type";
    check(other, None, Status::Argument, message);
    let without = Pattern { column_indices: null(), ..pattern() };
    check(without, None, Status::Argument, "column_indices is NULL");
    // The maximum number of rows: rejected before an offset is read.
    let endless = Pattern { rows: usize::MAX, ..pattern() };
    check(endless, None, Status::Argument, "row_offsets has more elements than memory has bytes");
    // More entries than the offsets cover: the arrays of entries are not read.
    let stale = Pattern { entries: 1 << 20, column_indices: null(), ..pattern() };
    check(stale, None, Status::Matrix, "CSR matrix: the last row offset is 3, expected 1048576");
    let grown = Pattern { reserved: [0, 0, 0, 1], ..pattern() };
    check(grown, None, Status::Argument, "the pattern's reserved fields are not all 0");
    let (status, message) = create(on, &pattern(), Some("csr-fast")).unwrap_err();
    assert_eq!((status, message.contains("csr-fast")), (Status::Argument, true), "{message}");
    let (status, message) = create(on, &pattern(), Some("coo:width=2")).unwrap_err();
    assert_eq!((status, message.contains("width")), (Status::Argument, true), "{message}");
}

#[test]
fn options_are_checked() {
    let on = executor(c"cpu");
    let make = |change: fn(&mut Options)| {
        let mut options = warp_spmv_options_default();
        change(&mut options);
        let mut plan = Plan { id: 0 };
        // SAFETY: arrays as long as the pattern says.
        said(unsafe { warp_spmv_plan_create_float64(on, &pattern(), VALUES.as_ptr(), &options, &mut plan) })
    };
    assert_eq!(make(|options| options.measure = 1).0, Status::Ok);
    assert_eq!(make(|options| options.reproducible = 1).0, Status::Ok);
    let message = "measure is 2, expected 0 or 1";
    assert_eq!(make(|options| options.measure = 2), (Status::Argument, message));
    let message = "measure is 1, expected 0 where reproducible is not 0";
    assert_eq!(make(|options| (options.measure, options.reproducible) = (1, 1)), (Status::Argument, message));
    let message = "the options' reserved fields are not all 0";
    assert_eq!(make(|options| options.reserved[5] = 1), (Status::Argument, message));
    assert_eq!(make(|options| options.values = c"lossless".as_ptr()).0, Status::Ok);
    let message = "unknown type of stored values 'half': expected full, automatic, lossless, same, table, float16, \
                   bfloat16, float32, complex64";
    assert_eq!(make(|options| options.values = c"half".as_ptr()), (Status::Argument, message));
    let rounded = |options: &mut Options| {
        (options.values, options.updates, options.format) = (c"float32".as_ptr(), 1, c"csr-tiled".as_ptr());
    };
    let message = "format csr-tiled has no kernel for new values in a narrow type";
    assert_eq!(make(rounded).1, message);
}

/// Values are rounded once, and the vectors are not rounded.
#[test]
fn rounded_values_are_multiplied() {
    let on = executor(c"cpu");
    let mut options = warp_spmv_options_default();
    (options.format, options.values) = (c"csr-tiled".as_ptr(), c"bfloat16".as_ptr());
    let (values, mut plan) = ([1.001, 2.0, 3.0], Plan { id: 0 });
    // SAFETY: arrays as long as the pattern says.
    let status = unsafe { warp_spmv_plan_create_float64(on, &pattern(), values.as_ptr(), &options, &mut plan) };
    assert_eq!(status, Status::Ok);
    let mut y = [f64::NAN; 2];
    assert_eq!(apply(plan, &[0.1, 10.0, 100.0], &mut y), Status::Ok);
    assert_eq!(y, [0.1, 320.0]);
}

#[test]
fn values_are_replaced() {
    let on = executor(c"cpu");
    // SAFETY: an array of this length.
    let update =
        |plan, values: &[f64]| unsafe { warp_spmv_plan_update_values_float64(plan, values.as_ptr(), values.len()) };
    let plan = create(on, &pattern(), Some("csr-vector")).unwrap();
    let mut y = [0.0; 2];
    assert_eq!(update(plan, &[4.0, 5.0, 6.0]), Status::Ok);
    assert_eq!(apply(plan, &[1.0, 10.0, 100.0], &mut y), Status::Ok);
    assert_eq!(y, [4.0, 650.0]);
    let message = "values has length 2, expected 3";
    assert_eq!(said(update(plan, &[4.0, 5.0])), (Status::Argument, message));
    // SAFETY: NULL, and an array of this length.
    unsafe {
        let status = warp_spmv_plan_update_values_float64(plan, null(), 3);
        assert_eq!(said(status), (Status::Argument, "values is NULL"));
        let status = warp_spmv_plan_update_values_float32(plan, [1.0; 3].as_ptr(), 3);
        assert_eq!(said(status), (Status::NumberType, "the plan's numbers are not of type float32"));
    }
    let plan = create(on, &pattern(), Some("ell")).unwrap();
    let (status, message) = said(update(plan, &[4.0, 5.0, 6.0]));
    let expected = "a plan in format ell accepts new values only if it was built for updates: `updates` in its options";
    assert_eq!((status, message), (Status::Format, expected));
    assert_eq!(apply(plan, &[1.0, 10.0, 100.0], &mut y), Status::Ok);
    assert_eq!(y, [1.0, 320.0]);
}

#[test]
fn a_matrix_without_entries_needs_no_arrays_of_them() {
    let on = executor(c"cpu");
    let offsets = [0_i64; 3];
    let empty = Pattern { entries: 0, row_offsets: offsets.as_ptr().cast(), column_indices: null(), ..pattern() };
    let mut plan = Plan { id: 0 };
    // SAFETY: the offsets exist, but there are only no entries.
    let status = unsafe { warp_spmv_plan_create_float32(on, &empty, null(), null(), &mut plan) };
    assert_eq!(status, Status::Ok);
    let (x, mut y) = ([1.0; 3], [7.0; 2]);
    // SAFETY: two arrays of these lengths.
    let status = unsafe { warp_spmv_plan_apply_float32(plan, 1.0, x.as_ptr(), 3, 2.0, y.as_mut_ptr(), 2) };
    assert_eq!((status, y), (Status::Ok, [14.0; 2]));
    let (mut rows, mut columns, mut entries) = (9, 9, 9);
    // SAFETY: memory for numbers.
    let status = unsafe { warp_spmv_plan_shape(plan, &mut rows, &mut columns, &mut entries) };
    assert_eq!((status, rows, columns, entries), (Status::Ok, 2, 3, 0));
    // SAFETY: memory for numbers, and NULL.
    let status = unsafe { warp_spmv_plan_shape(plan, &mut columns, &mut rows, null_mut()) };
    assert_eq!((said(status), rows, columns), ((Status::Argument, "entries is NULL"), 2, 3));
}

#[test]
fn a_format_is_told_as_far_as_there_is_room() {
    let plan = create(executor(c"cpu"), &pattern(), Some("csr-vector")).unwrap();
    let told = |capacity: usize| {
        let (mut buffer, mut length) = ([b'#'; 16], 0);
        // SAFETY: the buffer has the length that is passed, and there is memory for the number.
        let status = unsafe { warp_spmv_plan_format(plan, buffer.as_mut_ptr().cast(), capacity, &mut length) };
        assert_eq!((status, length), (Status::Ok, 10));
        buffer
    };
    assert_eq!(told(16)[..12], *b"csr-vector\0#");
    assert_eq!(told(11)[..12], *b"csr-vector\0#");
    assert_eq!(told(4)[..5], *b"csr\0#");
    assert_eq!(told(1)[..2], *b"\0#");
    assert_eq!(told(0)[..1], *b"#");
}

#[test]
fn threads_share_plans_and_have_messages_of_their_own() {
    let on = executor(c"cpu");
    let plan = create(on, &pattern(), None).unwrap();
    let mut y = [0.0; 2];
    assert_eq!(apply(plan, &[1.0; 4], &mut y), Status::Argument);
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                assert_eq!(text(warp_spmv_last_message()), "");
                for _ in 0..50 {
                    let mut y = [0.0; 2];
                    assert_eq!(apply(plan, &[1.0, 10.0, 100.0], &mut y), Status::Ok);
                    assert_eq!(y, [1.0, 320.0]);
                }
            });
        }
    });
    assert_eq!(text(warp_spmv_last_message()), "x has length 4, expected 3");
    assert_eq!(text(warp_spmv_status_name(Status::Argument as i32)), "argument");
    assert_eq!(text(warp_spmv_status_name(-1)), "unknown");
    assert_eq!(text(warp_spmv_version()), env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_plan_may_be_destroyed_while_threads_use_it() {
    let plan = create(executor(c"cpu"), &pattern(), None).unwrap();
    let (begun, gone) = (Barrier::new(5), format!("no plan: handle {} was destroyed", plan.id));
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let mut y = [7.0; 2];
                assert_eq!(apply(plan, &[1.0, 10.0, 100.0], &mut y), Status::Ok);
                begun.wait();
                loop {
                    y = [7.0; 2];
                    match said(apply(plan, &[1.0, 10.0, 100.0], &mut y)) {
                        (Status::Ok, _) => assert_eq!(y, [1.0, 320.0]),
                        other => break assert_eq!((other, y), ((Status::Handle, &*gone), [7.0; 2])),
                    }
                }
            });
        }
        begun.wait();
        assert_eq!(warp_spmv_plan_destroy(plan), Status::Ok);
    });
}

#[test]
#[cfg(not(feature = "cuda"))]
fn a_gpu_that_this_library_cannot_use_is_unavailable() {
    let mut made = Executor { id: 0 };
    // SAFETY: a string, and memory for a handle.
    let status = unsafe { warp_spmv_executor_create(c"cuda".as_ptr(), 0, &mut made) };
    let message = "executor cuda is not available: this library was built without the feature `cuda`";
    assert_eq!((said(status), made), ((Status::Unavailable, message), Executor { id: 0 }));
}
