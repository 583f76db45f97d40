//! Arrays in a GPU's memory. Tests that need no GPU; others by hand, on a machine with a GPU:
//! `cargo test -p warp-spmv-c --features cuda device -- --ignored`.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use warp_spmv_c::*;

fn said(status: Status) -> (Status, String) {
    // SAFETY: the library's null-terminated string.
    let message = unsafe { CStr::from_ptr(warp_spmv_last_message()) };
    (status, message.to_str().unwrap().to_owned())
}

fn pattern() -> Pattern {
    Pattern {
        rows: 2,
        columns: 3,
        entries: 3,
        row_offset_type: IndexType::Int32 as i32,
        column_index_type: IndexType::Int32 as i32,
        row_offsets: null(),
        column_indices: null(),
        reserved: [0; 4],
    }
}

#[test]
fn executors_of_the_host_refuse_arrays_of_a_gpu() {
    let (mut on, mut plan) = (Executor { id: 0 }, Plan { id: 0 });
    let refused = (Status::Argument, "the executor is not on a GPU, but the arrays are".to_owned());
    let (offsets, columns, values) = ([0_i32, 1, 3], [0_i32, 1, 2], [1.0, 2.0, 3.0]);
    let own = Pattern { row_offsets: offsets.as_ptr().cast(), column_indices: columns.as_ptr().cast(), ..pattern() };
    let (x, mut y) = ([1.0; 3], [7.0; 2]);
    // SAFETY: a string, memory for handles, and arrays of these lengths, which are not read as those of a GPU.
    unsafe {
        assert_eq!(warp_spmv_executor_create(c"cpu".as_ptr(), 0, &mut on), Status::Ok);
        let status = warp_spmv_plan_create_device_float64(on, &own, values.as_ptr(), null(), null_mut(), &mut plan);
        assert_eq!((said(status), plan), (refused.clone(), Plan { id: 0 }));
        assert_eq!(warp_spmv_plan_create_float64(on, &own, values.as_ptr(), null(), &mut plan), Status::Ok);
        let status = warp_spmv_plan_apply_device_float64(plan, 1.0, x.as_ptr(), 3, 0.0, y.as_mut_ptr(), 2, null_mut());
        assert_eq!((said(status), y), (refused.clone(), [7.0; 2]));
        let status = warp_spmv_plan_update_values_device_float64(plan, values.as_ptr(), 3, null_mut());
        assert_eq!(said(status), refused);
    }
}

#[test]
fn handles_numbers_and_overlaps_are_checked() {
    let (mut on, mut plan) = (Executor { id: 0 }, Plan { id: 0 });
    let (offsets, columns, values) = ([0_i32, 1, 3], [0_i32, 1, 2], [1.0, 2.0, 3.0]);
    let own = Pattern { row_offsets: offsets.as_ptr().cast(), column_indices: columns.as_ptr().cast(), ..pattern() };
    let mut both = [1.0; 4];
    // SAFETY: a string, memory for handles, and pointers that are rejected before they are read.
    unsafe {
        let status =
            warp_spmv_plan_create_device_float32(Executor { id: 0 }, &own, null(), null(), null_mut(), &mut plan);
        assert_eq!(said(status), (Status::Handle, "no executor: the handle is 0".into()));
        assert_eq!(warp_spmv_executor_create(c"cpu".as_ptr(), 0, &mut on), Status::Ok);
        let status = warp_spmv_plan_create_device_float32(on, &own, null(), null(), null_mut(), null_mut());
        assert_eq!(said(status), (Status::Argument, "plan is NULL".into()));
        let status = warp_spmv_plan_create_device_float32(on, null(), null(), null(), null_mut(), &mut plan);
        assert_eq!(said(status), (Status::Argument, "pattern is NULL".into()));
        let status = warp_spmv_plan_update_values_device_float32(Plan { id: 0 }, null(), 0, null_mut());
        assert_eq!(said(status), (Status::Handle, "no plan: the handle is 0".into()));
        assert_eq!(warp_spmv_plan_create_float64(on, &own, values.as_ptr(), null(), &mut plan), Status::Ok);
        let status = warp_spmv_plan_apply_device_float32(plan, 1.0, null(), 3, 0.0, null_mut(), 2, null_mut());
        assert_eq!(said(status), (Status::NumberType, "the plan's numbers are not of type float32".into()));
        let y = both.as_mut_ptr().add(2);
        let status = warp_spmv_plan_apply_device_float64(plan, 1.0, both.as_ptr(), 3, 0.0, y, 2, null_mut());
        assert_eq!(said(status), (Status::Argument, "x and y overlap".into()));
        let status = warp_spmv_executor_create_on_stream(null_mut(), null_mut(), null_mut());
        assert_eq!(said(status), (Status::Argument, "executor is NULL".into()));
    }
}

#[test]
#[cfg(not(feature = "cuda"))]
fn a_stream_that_this_library_cannot_use_is_unavailable() {
    let mut made = Executor { id: 0 };
    // SAFETY: no context, the legacy default stream, and memory for a handle.
    let status = unsafe { warp_spmv_executor_create_on_stream(null_mut(), null_mut(), &mut made) };
    let message = "executor cuda is not available: this library was built without the feature `cuda`";
    assert_eq!((said(status), made), ((Status::Unavailable, message.into()), Executor { id: 0 }));
}

#[cfg(feature = "cuda")]
mod on_a_gpu {
    use std::ffi::{c_int, c_uint, c_void};

    use super::*;

    // The driver, linked by the library.
    unsafe extern "C" {
        fn cuInit(flags: c_uint) -> c_int;
        fn cuDeviceGet(device: *mut c_int, number: c_int) -> c_int;
        fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> c_int;
        fn cuCtxSetCurrent(context: *mut c_void) -> c_int;
        fn cuStreamCreate(stream: *mut *mut c_void, flags: c_uint) -> c_int;
        fn cuStreamSynchronize(stream: *mut c_void) -> c_int;
        fn cuMemAlloc_v2(address: *mut u64, bytes: usize) -> c_int;
        fn cuMemFree_v2(address: u64) -> c_int;
        fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, bytes: usize) -> c_int;
        fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, bytes: usize) -> c_int;
    }

    /// An array on the GPU.
    struct Array<T>(u64, std::marker::PhantomData<T>);

    impl<T> Array<T> {
        fn new(elements: &[T]) -> Self {
            let mut address = 0;
            // SAFETY: memory for an address, and arrays of equal size.
            unsafe {
                assert_eq!(cuMemAlloc_v2(&mut address, size_of_val(elements)), 0);
                assert_eq!(cuMemcpyHtoD_v2(address, elements.as_ptr().cast(), size_of_val(elements)), 0);
            }
            Self(address, std::marker::PhantomData)
        }

        fn pointer(&self) -> *mut T {
            std::ptr::without_provenance_mut(self.0 as usize)
        }
    }

    impl<T> Drop for Array<T> {
        fn drop(&mut self) {
            // SAFETY: the tests have waited for all uses.
            unsafe { cuMemFree_v2(self.0) };
        }
    }

    /// Multiplies on a stream, the second time with new values.
    fn check_products(on: Executor, stream: *mut c_void, format: &CStr) {
        let (offsets, columns) = (Array::new(&[0_i32, 1, 3]), Array::new(&[0_i64, 1, 2]));
        let (values, new) = (Array::new(&[1.0, 2.0, 3.0]), Array::new(&[4.0, 5.0, 6.0]));
        let (x, y) = (Array::new(&[1.0, 10.0, 100.0]), Array::new(&[f64::NAN; 2]));
        let pattern = Pattern {
            column_index_type: IndexType::Int64 as i32,
            row_offsets: offsets.pointer().cast(),
            column_indices: columns.pointer().cast(),
            ..pattern()
        };
        let options = Options { format: format.as_ptr(), updates: 1, ..warp_spmv_options_default() };
        let mut plan = Plan { id: 0 };
        // SAFETY: arrays on the GPU of these lengths, which live until the stream is done, and a stream.
        unsafe {
            let read = || {
                let mut result = [0.0; 2];
                assert_eq!(cuStreamSynchronize(stream), 0);
                assert_eq!(cuMemcpyDtoH_v2(result.as_mut_ptr().cast(), y.0, 16), 0);
                result
            };
            let made =
                warp_spmv_plan_create_device_float64(on, &pattern, values.pointer(), &options, stream, &mut plan);
            assert_eq!(said(made).0, Status::Ok, "{}", said(made).1);
            let product = |length| {
                let (x, y) = (x.pointer(), y.pointer());
                warp_spmv_plan_apply_device_float64(plan, 1.0, x, 3, 0.0, y, length, stream)
            };
            assert_eq!((product(2), read()), (Status::Ok, [1.0, 320.0]));
            assert_eq!(warp_spmv_plan_update_values_device_float64(plan, new.pointer(), 3, stream), Status::Ok);
            assert_eq!((product(2), read()), (Status::Ok, [4.0, 650.0]));
            assert_eq!(said(product(3)), (Status::Argument, "y has length 3, expected 2".into()));
            let status = warp_spmv_plan_apply_device_float64(plan, 1.0, null(), 3, 0.0, y.pointer(), 2, stream);
            let message = "the device pointer is 0x0, expected the address of a non-empty array";
            assert_eq!(said(status), (Status::Argument, message.into()));
            let on_host = [1.0; 3];
            let status =
                warp_spmv_plan_apply_device_float64(plan, 1.0, on_host.as_ptr(), 3, 0.0, y.pointer(), 2, stream);
            assert_eq!(status, Status::Argument);
            assert!(said(status).1.contains("in the memory of the executor's GPU"), "{}", said(status).1);
            assert_eq!(warp_spmv_plan_destroy(plan), Status::Ok);
            assert_eq!(cuStreamSynchronize(stream), 0);
        }
    }

    #[test]
    #[ignore = "it needs a GPU"]
    fn arrays_of_a_gpu_are_used_on_a_stream() {
        let (mut device, mut context, mut stream) = (0, null_mut(), null_mut());
        let (mut on_stream, mut own) = (Executor { id: 0 }, Executor { id: 0 });
        // SAFETY: memory for what is created.
        unsafe {
            assert_eq!((cuInit(0), cuDeviceGet(&mut device, 0)), (0, 0));
            assert_eq!((cuDevicePrimaryCtxRetain(&mut context, device), cuCtxSetCurrent(context)), (0, 0));
            assert_eq!(cuStreamCreate(&mut stream, 1), 0);
            assert_eq!(warp_spmv_executor_create_on_stream(null_mut(), stream, &mut on_stream), Status::Ok);
            assert_eq!(warp_spmv_executor_create(c"cuda".as_ptr(), 0, &mut own), Status::Ok);
        }
        for format in [c"csr-vector", c"csr-tiled", c"coo", c"sell-p", c"auto"] {
            check_products(on_stream, stream, format);
            check_products(own, stream, format);
            check_products(own, null_mut(), format);
        }
        assert_eq!(warp_spmv_executor_destroy(on_stream), Status::Ok);
        assert_eq!(warp_spmv_executor_destroy(own), Status::Ok);
    }
}
