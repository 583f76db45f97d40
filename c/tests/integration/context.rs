//! A program's CUDA context stays current. By hand, on a machine with a GPU:
//! `cargo test -p warp-spmv-c --features cuda context -- --ignored`.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

use warp_spmv_c::*;

// The driver, linked by the library.
unsafe extern "C" {
    fn cuInit(flags: c_uint) -> c_int;
    fn cuDeviceGet(device: *mut c_int, number: c_int) -> c_int;
    fn cuCtxCreate_v2(context: *mut *mut c_void, flags: c_uint, device: c_int) -> c_int;
    fn cuCtxGetCurrent(context: *mut *mut c_void) -> c_int;
}

/// The current context, or NULL.
fn current() -> *mut c_void {
    let mut context = null_mut();
    // SAFETY: `context` is valid for writes.
    let result = unsafe { cuCtxGetCurrent(&mut context) };
    // 3: the driver has not been started.
    assert!(result == 0 || result == 3, "{result}");
    context
}

/// Multiplies on the GPU, and checks the current context after each call.
fn check_kept() {
    let before = current();
    let kept = |status| assert_eq!((status, current()), (Status::Ok, before));
    let (offsets, columns, values) = ([0_i64, 1, 3], [0_i32, 1, 2], [1.0, 2.0, 3.0]);
    let pattern = Pattern {
        rows: 2,
        columns: 3,
        entries: 3,
        row_offset_type: IndexType::Int64 as i32,
        column_index_type: IndexType::Int32 as i32,
        row_offsets: offsets.as_ptr().cast(),
        column_indices: columns.as_ptr().cast(),
        reserved: [0; 4],
    };
    let (mut executor, mut plan) = (Executor { id: 0 }, Plan { id: 0 });
    let (x, mut y) = ([1.0, 10.0, 100.0], [0.0; 2]);
    // SAFETY: a string, memory for handles, and arrays of the stated lengths.
    unsafe {
        kept(warp_spmv_executor_create(c"cuda".as_ptr(), 0, &mut executor));
        kept(warp_spmv_plan_create_float64(executor, &pattern, values.as_ptr(), null(), &mut plan));
        kept(warp_spmv_plan_apply_float64(plan, 1.0, x.as_ptr(), 3, 0.0, y.as_mut_ptr(), 2));
    }
    assert_eq!(y, [1.0, 320.0]);
    kept(warp_spmv_executor_destroy(executor));
    kept(warp_spmv_plan_destroy(plan));
}

#[test]
#[ignore = "it needs a GPU"]
fn the_current_context_is_kept() {
    // Before the driver is started, there is no context.
    check_kept();
    let (mut device, mut own) = (0, null_mut());
    // SAFETY: memory for a device and a context.
    unsafe {
        assert_eq!((cuInit(0), cuDeviceGet(&mut device, 0)), (0, 0));
        assert_eq!(cuCtxCreate_v2(&mut own, 0, device), 0);
    }
    assert!(!own.is_null() && current() == own);
    check_kept();
    std::thread::spawn(check_kept).join().unwrap();
    assert_eq!(current(), own);
}
