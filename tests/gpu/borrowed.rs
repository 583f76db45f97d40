//! Contexts, streams and arrays owned by the caller, which here uses cust.

use std::ffi::c_void;
use std::ptr::{null_mut, without_provenance_mut};

use warp_spmv::executor::cust::context::CurrentContext;
use warp_spmv::executor::cust::context::legacy::{Context as OwnContext, ContextFlags, ContextStack};
use warp_spmv::executor::cust::context::{Context, ContextHandle};
use warp_spmv::executor::cust::device::Device;
use warp_spmv::executor::cust::memory::{CopyDestination, DeviceBuffer};
use warp_spmv::executor::cust::stream::{Stream, StreamFlags};
use warp_spmv::executor::cust::sys::{
    CUgraph, CUgraphExec, CUresult, CUstreamCaptureMode, cuEventCreate, cuEventDestroy_v2, cuEventRecord,
    cuGraphDestroy, cuGraphExecDestroy, cuGraphInstantiateWithFlags, cuGraphLaunch, cuMemcpyDtoDAsync_v2,
    cuStreamBeginCapture_v2, cuStreamEndCapture, cuStreamWaitEvent,
};
use warp_spmv::executor::{Cpu, Cuda, CudaBuffer, CudaMemory, DeviceCsr, DeviceIndices, Executor};
use warp_spmv::format::{Matrix, Offsets};
use warp_spmv::memory::{Buffer, Element};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, Error, Format, Plan, PlanOptions};

/// Size in bytes of an array whose copies keep a stream busy.
const LONG: usize = 256 << 20;

/// Number of those copies: a few milliseconds of work.
const COPIES: usize = 40;

pub fn check_borrowed() {
    let context = Context::new(Device::get_device(0).unwrap()).unwrap();
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
    // SAFETY: the context and the stream outlive it.
    let gpu = unsafe { Cuda::on_stream(context.get_inner().cast(), stream.as_inner().cast()) }.unwrap();
    check_formats(&gpu);
    check_types_of_indices(&gpu);
    check_new_values(&gpu);
    check_wrong_arrays(&gpu);
    check_wrong_pointers(&gpu);
    check_recordings(&gpu);
    check_captures(&gpu, &stream);
    drop(gpu);
    check_order(&stream);
    check_default_streams();
    check_another_context(&context);
}

fn matrix() -> Csr<f64> {
    "stencil:5:40x30".parse::<Generator>().unwrap().generate().unwrap()
}

/// Small whole numbers, so that every format gives the same bits.
fn vector(length: usize) -> Vec<f64> {
    (0..length).map(|place| (place % 7) as f64 - 3.0).collect()
}

fn expected(matrix: &Csr<f64>, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; matrix.rows()];
    Plan::with_format(&Cpu::new(), matrix.clone(), Format::CSR_SCALAR)
        .unwrap()
        .apply(1.0, &x.to_vec(), 0.0, &mut y)
        .unwrap();
    y
}

fn address<T: Element>(array: &DeviceBuffer<T>) -> u64 {
    array.as_device_ptr().as_raw()
}

/// Borrows an array of the program.
fn borrow<T: Element>(gpu: &Cuda, array: &DeviceBuffer<T>) -> CudaBuffer<T> {
    // SAFETY: the tests wait for the results before they drop the borrowed arrays, and use them nowhere else until then.
    unsafe { gpu.borrow(address(array), array.len()) }.unwrap()
}

fn host<T: Element>(array: &DeviceBuffer<T>) -> Vec<T> {
    let mut copy = vec![T::default(); array.len()];
    array.copy_to(&mut copy).unwrap();
    copy
}

/// A matrix in arrays owned by the program.
struct Arrays {
    shape: [usize; 3],
    offsets: DeviceBuffer<u32>,
    columns: DeviceBuffer<u32>,
    values: DeviceBuffer<f64>,
}

impl Arrays {
    fn new(matrix: &Csr<f64>) -> Self {
        let Offsets::Narrow(offsets) = matrix.row_offsets() else { panic!("the matrix is small") };
        Self {
            shape: [matrix.rows(), matrix.columns(), matrix.nnz()],
            offsets: DeviceBuffer::from_slice(offsets).unwrap(),
            columns: DeviceBuffer::from_slice(matrix.column_indices()).unwrap(),
            values: DeviceBuffer::from_slice(matrix.values()).unwrap(),
        }
    }

    fn described(&self) -> DeviceCsr {
        let [rows, columns, entries] = self.shape;
        DeviceCsr {
            rows,
            columns,
            entries,
            row_offsets: DeviceIndices::Narrow(address(&self.offsets)),
            column_indices: DeviceIndices::Narrow(address(&self.columns)),
            values: address(&self.values),
        }
    }

    fn borrow(&self, gpu: &Cuda) -> Csr<f64, CudaMemory> {
        // SAFETY: as in `borrow`.
        unsafe { gpu.borrow_csr(&self.described()) }.unwrap()
    }
}

/// Every format from borrowed arrays, which stay unchanged; CSR and COO use them in place.
fn check_formats(gpu: &Cuda) {
    let matrix = matrix();
    let (arrays, numbers) = (Arrays::new(&matrix), vector(matrix.columns()));
    let x = DeviceBuffer::from_slice(&numbers).unwrap();
    let expected = expected(&matrix, &numbers);
    let mut checked = 0;
    for &format in Format::ALL {
        let y = DeviceBuffer::from_slice(&vec![f64::NAN; matrix.rows()]).unwrap();
        let before = gpu.memory_use().now;
        let csr = arrays.borrow(gpu);
        assert_eq!(csr.values().address(), address(&arrays.values));
        assert_eq!(csr.column_indices().address(), address(&arrays.columns));
        assert_eq!(gpu.memory_use().now, before, "a borrowed matrix takes memory");
        let mut plan = match Plan::in_memory(gpu, csr, format, PlanOptions::default()) {
            Ok(plan) => plan,
            Err(Error::Fill { .. }) => continue,
            Err(error) => panic!("{format}: {error}"),
        };
        match plan.matrix() {
            Matrix::Csr(csr) => assert_eq!(csr.values().address(), address(&arrays.values)),
            Matrix::Coo(coo) => assert_eq!(coo.column_indices().address(), address(&arrays.columns)),
            _ => {}
        }
        plan.apply(1.0, &borrow(gpu, &x), 0.0, &mut borrow(gpu, &y)).unwrap();
        gpu.synchronize().unwrap();
        assert!(host(&y) == expected, "{format}: wrong");
        drop(plan);
        assert_eq!(gpu.memory_use().now, before, "{format}: memory is leaked");
        checked += 1;
    }
    assert!(host(&arrays.columns) == *matrix.column_indices() && host(&arrays.values) == *matrix.values());
    assert!(host(&x) == numbers);
    let selection = warp_spmv::select::Selection { store: None, ..Default::default() };
    let mut plan = Plan::automatic_in_memory(gpu, arrays.borrow(gpu), &selection).unwrap();
    let mut y = gpu.zeros(matrix.rows()).unwrap();
    plan.apply(1.0, &borrow(gpu, &x), 0.0, &mut y).unwrap();
    assert!(gpu.download(&y).unwrap() == expected);
    println!("- borrowed arrays in {checked} formats: right, and the borrowed arrays are unchanged");
}

fn check_types_of_indices(gpu: &Cuda) {
    let matrix = matrix();
    let (arrays, numbers) = (Arrays::new(&matrix), vector(matrix.columns()));
    let wide = |array: &DeviceBuffer<u32>| {
        DeviceBuffer::from_slice(&host(array).into_iter().map(u64::from).collect::<Vec<_>>()).unwrap()
    };
    let (wide_offsets, wide_columns) = (wide(&arrays.offsets), wide(&arrays.columns));
    let x = gpu.upload(numbers.clone()).unwrap();
    for (offsets_wide, columns_wide) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut described = arrays.described();
        if offsets_wide {
            described.row_offsets = DeviceIndices::Wide(address(&wide_offsets));
        }
        if columns_wide {
            described.column_indices = DeviceIndices::Wide(address(&wide_columns));
        }
        for checked in [true, false] {
            // SAFETY: as in `borrow`; the arrays form a valid matrix.
            let csr = unsafe {
                if checked { gpu.borrow_csr::<f64>(&described) } else { gpu.borrow_csr_unchecked(&described) }
            };
            let mut plan = Plan::in_memory(gpu, csr.unwrap(), Format::CSR_AUTOMATIC, PlanOptions::default()).unwrap();
            let mut y = gpu.zeros(matrix.rows()).unwrap();
            plan.apply(1.0, &x, 0.0, &mut y).unwrap();
            assert!(gpu.download(&y).unwrap() == expected(&matrix, &numbers));
        }
    }
    println!("- borrowed row offsets and columns of 32 and 64 bits: right");
}

/// New values from an array of the program; the arrays that the plan was made from stay unchanged.
fn check_new_values(gpu: &Cuda) {
    let matrix = matrix();
    let (arrays, numbers) = (Arrays::new(&matrix), vector(matrix.columns()));
    let x = gpu.upload(numbers.clone()).unwrap();
    let mut y = gpu.zeros(matrix.rows()).unwrap();
    let options = PlanOptions { updates: true, ..PlanOptions::default() };
    for format in [Format::CSR_TILED, Format::COO, Format::SELL_P] {
        let mut plan = Plan::in_memory(gpu, arrays.borrow(gpu), format, options).unwrap();
        let mut memory = None;
        for factor in [2.0, 3.0, 4.0] {
            let mut new = matrix.clone();
            new.values_mut().iter_mut().for_each(|value| *value *= factor);
            let values = DeviceBuffer::from_slice(new.values()).unwrap();
            plan.update_values(&borrow(gpu, &values)).unwrap();
            plan.apply(1.0, &x, 0.0, &mut y).unwrap();
            assert!(gpu.download(&y).unwrap() == expected(&new, &numbers), "{format}, factor {factor}");
            let now = gpu.memory_use().now;
            assert_eq!(*memory.get_or_insert(now), now, "{format}: each update takes memory");
        }
        assert!(host(&arrays.values) == *matrix.values(), "{format}: the borrowed values were changed");
    }
    // A format that uses the program's array in place sees what the program writes to it.
    let mut plan = Plan::in_memory(gpu, arrays.borrow(gpu), Format::CSR_VECTOR, options).unwrap();
    let mut theirs = arrays.values;
    theirs.copy_from(&vec![1.0; matrix.nnz()]).unwrap();
    plan.apply(1.0, &x, 0.0, &mut y).unwrap();
    let ones = Csr::try_new(
        matrix.rows(),
        matrix.columns(),
        matrix.row_offsets().clone(),
        matrix.column_indices().clone(),
        vec![1.0; matrix.nnz()],
    );
    assert!(gpu.download(&y).unwrap() == expected(&ones.unwrap(), &numbers));
    println!("- new values from borrowed arrays: right; the arrays that a plan was made from are unchanged");
}

/// Arrays that do not form a matrix.
fn check_wrong_arrays(gpu: &Cuda) {
    let arrays = Arrays {
        shape: [2, 3, 3],
        offsets: DeviceBuffer::from_slice(&[0, 1, 3]).unwrap(),
        columns: DeviceBuffer::from_slice(&[0, 1, 2]).unwrap(),
        values: DeviceBuffer::from_slice(&[1.0, 2.0, 3.0]).unwrap(),
    };
    let message = |described: &DeviceCsr| {
        // SAFETY: as in `borrow`; the contents are checked.
        unsafe { gpu.borrow_csr::<f64>(described) }.map(drop).unwrap_err().to_string()
    };
    let with_offsets = |offsets: [i32; 3]| {
        let offsets = DeviceBuffer::from_slice(&offsets).unwrap();
        let narrow = DeviceIndices::Narrow(offsets.as_device_ptr().as_raw());
        message(&DeviceCsr { row_offsets: narrow, ..arrays.described() })
    };
    assert_eq!(with_offsets([0, 4, 3]), "CSR matrix: row 1 ends before it begins");
    assert_eq!(with_offsets([0, -1, 3]), "CSR matrix: row 1 ends before it begins");
    assert_eq!(with_offsets([1, 2, 3]), "CSR matrix: the first row offset is 1, expected 0");
    assert_eq!(with_offsets([0, 1, 2]), "CSR matrix: the last row offset is 2, expected 3");
    let with_columns = |columns: [i32; 3]| {
        let columns = DeviceBuffer::from_slice(&columns).unwrap();
        let narrow = DeviceIndices::Narrow(columns.as_device_ptr().as_raw());
        message(&DeviceCsr { column_indices: narrow, ..arrays.described() })
    };
    assert_eq!(with_columns([0, 3, 2]), "CSR matrix: entry 1 is in column 3 of 3");
    assert_eq!(with_columns([0, 1, -1]), "CSR matrix: entry 2 is in column 4294967295 of 3");
    let wide = DeviceBuffer::from_slice(&[0_u64, 1 << 40, 2]).unwrap();
    let columns = DeviceIndices::Wide(address(&wide));
    let described = DeviceCsr { column_indices: columns, ..arrays.described() };
    assert_eq!(message(&described), "CSR matrix: entry 1 is in column 1099511627776 of 3");
    let described = DeviceCsr { rows: usize::MAX, ..arrays.described() };
    assert!(message(&described).contains("the limit is 2147483647"));
    println!("- borrowed arrays that contradict each other: refused");
}

/// Addresses that cannot be borrowed.
fn check_wrong_pointers(gpu: &Cuda) {
    let message = |address: u64, length: usize| {
        // SAFETY: refused addresses are never accessed.
        unsafe { gpu.borrow::<f64>(address, length) }.map(drop).unwrap_err().to_string()
    };
    let array = DeviceBuffer::from_slice(&[1.0_f64; 100]).unwrap();
    let there = address(&array);
    assert!(message(0, 1).contains("is 0x0, expected the address of a non-empty array"));
    assert!(message(there + 4, 1).contains("expected a multiple of the size of the elements"));
    let elsewhere = "expected one in the memory of the executor's GPU and context";
    let on_host = [1.0_f64; 4];
    assert!(message(on_host.as_ptr().addr() as u64, 4).contains(elsewhere));
    assert!(message(there, 1 << 40).contains(elsewhere), "an array longer than memory");
    drop(array);
    assert!(message(there, 100).contains(elsewhere), "an array that was freed");
    // SAFETY: an empty array is never accessed.
    let empty = unsafe { gpu.borrow::<f64>(0, 0) }.unwrap();
    assert!(empty.is_empty() && gpu.download(&empty).unwrap().is_empty());
    // SAFETY: NULL is refused.
    unsafe {
        assert!(gpu.wait_for_event(null_mut()).unwrap_err().to_string().contains("the event is NULL"));
        assert!(gpu.record_event(null_mut()).unwrap_err().to_string().contains("the event is NULL"));
    }
    let other = Cuda::new(0).unwrap();
    let mine = borrow(gpu, &DeviceBuffer::from_slice(&[1.0_f64]).unwrap());
    assert!(matches!(other.download(&mine), Err(Error::Foreign { .. })));
    println!("- addresses that are NULL, misaligned, on the host, too close to the end or freed: refused");
}

/// Work is recorded again when a borrowed array has been returned.
fn check_recordings(gpu: &Cuda) {
    let matrix = matrix();
    let arrays = Arrays::new(&matrix);
    let mut plan = Plan::in_memory(gpu, arrays.borrow(gpu), Format::CSR_MERGE_PATH, PlanOptions::default()).unwrap();
    let mut recording = Default::default();
    for factor in [1.0, 2.0, 3.0] {
        let numbers: Vec<f64> = vector(matrix.columns()).iter().map(|number| factor * number).collect();
        let (x, y) = (DeviceBuffer::from_slice(&numbers).unwrap(), DeviceBuffer::from_slice(&vec![0.0; matrix.rows()]));
        let y = y.unwrap();
        let (from, mut to) = (borrow(gpu, &x), borrow(gpu, &y));
        for _ in 0..4 {
            gpu.repeat(&mut recording, 3, &mut || plan.apply(1.0, &from, 0.0, &mut to)).unwrap();
        }
        gpu.synchronize().unwrap();
        assert!(host(&y) == expected(&matrix, &numbers), "factor {factor}");
    }
    println!("- recordings of borrowed arrays on a borrowed stream: right");
}

/// A stream that the program captures into a graph: products become part of the graph.
fn check_captures(gpu: &Cuda, stream: &Stream) {
    let matrix = matrix();
    let numbers = vector(matrix.columns());
    let expected = expected(&matrix, &numbers);
    for format in [Format::CSR_TILED, Format::CSR_VECTOR, Format::SELL_P] {
        let mut plan = Plan::with_format(gpu, matrix.clone(), format).unwrap();
        let x = gpu.upload(numbers.clone()).unwrap();
        let [mut captured, mut direct] = [0, 1].map(|_| gpu.upload(vec![f64::NAN; matrix.rows()]).unwrap());
        // Compiles the kernel, which a capture cannot.
        let mut first = Plan::with_format(gpu, matrix.clone(), format).unwrap();
        first.apply(1.0, &x, 0.0, &mut direct).unwrap();
        gpu.synchronize().unwrap();
        let (mut graph, mut executable): (CUgraph, CUgraphExec) = (null_mut(), null_mut());
        let handle = stream.as_inner();
        // SAFETY: the stream exists, and everything captured outlives the graph.
        unsafe {
            let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
            assert_eq!(cuStreamBeginCapture_v2(handle, mode), CUresult::CUDA_SUCCESS);
            plan.apply(1.0, &x, 0.0, &mut captured).unwrap();
            for error in [gpu.synchronize().err(), gpu.zeros::<f64>(10).err(), gpu.download(&x).err()] {
                assert!(error.is_some_and(|error| error.to_string().contains("the stream is captured")));
            }
            assert_eq!(cuStreamEndCapture(handle, &mut graph), CUresult::CUDA_SUCCESS);
        }
        // Captured work has not run, and the plan does not assume that it has.
        plan.apply(1.0, &x, 0.0, &mut direct).unwrap();
        assert!(gpu.download(&direct).unwrap() == expected, "{format}: after a capture");
        assert!(gpu.download(&captured).unwrap().iter().all(|y| y.is_nan()), "{format}: the captured work was run");
        // SAFETY: the graph and its arrays exist.
        unsafe {
            assert_eq!(cuGraphInstantiateWithFlags(&mut executable, graph, 0), CUresult::CUDA_SUCCESS);
            assert_eq!(cuGraphLaunch(executable, handle), CUresult::CUDA_SUCCESS);
        }
        assert!(gpu.download(&captured).unwrap() == expected, "{format}: the graph");
        // SAFETY: nothing uses them afterwards.
        unsafe {
            cuGraphExecDestroy(executable);
            cuGraphDestroy(graph);
        }
    }
    println!("- products that the program captures into its own graph: right");
}

/// Keeps a stream busy for a while, then copies one array to another.
fn copy_late<T: Element>(stream: *mut c_void, long: &DeviceBuffer<u32>, from: &DeviceBuffer<T>, to: &DeviceBuffer<T>) {
    let half = (long.len() / 2 * size_of::<u32>()) as u64;
    for _ in 0..COPIES {
        // SAFETY: both halves are inside the array.
        let result = unsafe { cuMemcpyDtoDAsync_v2(address(long), address(long) + half, half as usize, stream.cast()) };
        assert_eq!(result, CUresult::CUDA_SUCCESS);
    }
    copy_soon(stream, from, to);
}

fn copy_soon<T: Element>(stream: *mut c_void, from: &DeviceBuffer<T>, to: &DeviceBuffer<T>) {
    let bytes = from.len() * size_of::<T>();
    // SAFETY: the arrays have the same length, and the caller waits for the stream.
    let result = unsafe { cuMemcpyDtoDAsync_v2(address(to), address(from), bytes, stream.cast()) };
    assert_eq!(result, CUresult::CUDA_SUCCESS);
}

/// A product between copies on the program's stream, ordered by that very stream, by streams, and by events.
fn check_order(stream: &Stream) {
    let matrix = matrix();
    let (rows, numbers) = (matrix.rows(), vector(matrix.columns()));
    let expected = expected(&matrix, &numbers);
    let long = DeviceBuffer::from_slice(&vec![0_u32; LONG / size_of::<u32>()]).unwrap();
    let right = DeviceBuffer::from_slice(&numbers).unwrap();
    let wrong = DeviceBuffer::from_slice(&vec![f64::NAN; matrix.columns()]).unwrap();
    let theirs: *mut c_void = stream.as_inner().cast();
    // SAFETY: the context and the stream outlive it.
    let on_theirs = unsafe { Cuda::on_stream(null_mut(), theirs) }.unwrap();
    let own = Cuda::new(0).unwrap();
    // SAFETY: the streams exist.
    assert!(on_theirs.is_on(theirs) && !own.is_on(theirs));
    let (mut filled, mut done) = (null_mut(), null_mut());
    // SAFETY: both pointers are valid for writes.
    unsafe {
        assert_eq!(cuEventCreate(&mut filled, 2), CUresult::CUDA_SUCCESS);
        assert_eq!(cuEventCreate(&mut done, 2), CUresult::CUDA_SUCCESS);
    }
    for (way, gpu) in [("its stream", &on_theirs), ("streams", &own), ("events", &own)] {
        let arrays = Arrays::new(&matrix);
        let mut plan = Plan::in_memory(gpu, arrays.borrow(gpu), Format::CSR_VECTOR, PlanOptions::default()).unwrap();
        let [x, y, copy] = [0, 1, 2].map(|_| DeviceBuffer::from_slice(&vec![7.0; rows]).unwrap());
        let (from, mut to) = (borrow(gpu, &x), borrow(gpu, &y));
        // Compiles the kernel now, since that blocks.
        plan.apply(1.0, &from, 0.0, &mut to).unwrap();
        gpu.synchronize().unwrap();
        copy_late(theirs, &long, &right, &x);
        let mut work = || plan.apply(1.0, &from, 0.0, &mut to);
        // SAFETY: the stream and the events exist.
        unsafe {
            match way {
                "events" => {
                    assert_eq!(cuEventRecord(filled, theirs.cast()), CUresult::CUDA_SUCCESS);
                    gpu.wait_for_event(filled.cast()).unwrap();
                    work().unwrap();
                    gpu.record_event(done.cast()).unwrap();
                    assert_eq!(cuStreamWaitEvent(theirs.cast(), done, 0), CUresult::CUDA_SUCCESS);
                }
                _ => gpu.in_order_of(theirs, &mut work).unwrap(),
            }
        }
        copy_soon(theirs, &y, &copy);
        copy_soon(theirs, &wrong, &x);
        stream.synchronize().unwrap();
        assert!(host(&copy) == expected, "in the order of {way}: wrong");
        gpu.synchronize().unwrap();
    }
    // SAFETY: nothing uses them afterwards.
    unsafe {
        cuEventDestroy_v2(filled);
        cuEventDestroy_v2(done);
    }
    println!("- products between copies on the program's stream, ordered by the stream, by streams, by events: right");
}

/// The default streams, one of which is per thread.
fn check_default_streams() {
    let (matrix, numbers) = (matrix(), vector(matrix().columns()));
    for number in [0, 1, 2] {
        let handle: *mut c_void = without_provenance_mut(number);
        // SAFETY: default streams always exist, and a context is current.
        let gpu = unsafe { Cuda::on_stream(null_mut(), handle) }.unwrap();
        assert!(gpu.is_on(handle) && gpu.is_on(without_provenance_mut(number.max(1))));
        let mut plan = Plan::with_format(&gpu, matrix.clone(), Format::CSR_TILED).unwrap();
        let x = gpu.upload(numbers.clone()).unwrap();
        let mut y = gpu.zeros(matrix.rows()).unwrap();
        plan.apply(1.0, &x, 0.0, &mut y).unwrap();
        assert!(gpu.download(&y).unwrap() == expected(&matrix, &numbers), "default stream {number}");
        let before = gpu.memory_use().now;
        let elsewhere = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let result = gpu.download(&x).map(drop);
                    drop(plan);
                    result
                })
                .join()
                .unwrap()
        });
        let refused = elsewhere.is_err_and(|error| error.to_string().contains("the default stream of the thread"));
        assert_eq!(refused, number == 2, "default stream {number} on another thread");
        assert!(gpu.memory_use().now < before, "an array dropped on another thread is freed");
    }
    println!("- the legacy default stream and that of the thread: right, the latter refused on other threads");
}

/// A context other than the device's primary one; executors of other contexts refuse its arrays.
fn check_another_context(primary: &Context) {
    let device = Device::get_device(0).unwrap();
    let other = OwnContext::create_and_push(ContextFlags::SCHED_AUTO, device).unwrap();
    let (matrix, numbers) = (matrix(), vector(matrix().columns()));
    {
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
        let arrays = Arrays::new(&matrix);
        let x = DeviceBuffer::from_slice(&numbers).unwrap();
        // SAFETY: context and stream outlive it.
        let gpu = unsafe { Cuda::on_stream(null_mut(), stream.as_inner().cast()) }.unwrap();
        let mut plan = Plan::in_memory(&gpu, arrays.borrow(&gpu), Format::SELL_P, PlanOptions::default()).unwrap();
        let mut y = gpu.zeros(matrix.rows()).unwrap();
        plan.apply(1.0, &borrow(&gpu, &x), 0.0, &mut y).unwrap();
        assert!(gpu.download(&y).unwrap() == expected(&matrix, &numbers));
        let in_primary = Cuda::new(0).unwrap();
        // SAFETY: it is refused.
        let error = unsafe { in_primary.borrow::<f64>(address(&x), x.len()) }.map(drop).unwrap_err();
        assert!(error.to_string().contains("the executor's GPU and context"), "{error}");
        // SAFETY: the context exists; the stream belongs to the other one.
        let error =
            unsafe { Cuda::on_stream(primary.get_inner().cast(), stream.as_inner().cast()).map(drop).unwrap_err() };
        assert!(error.to_string().contains("it belongs to another context"), "{error}");
        drop((plan, y, gpu, in_primary));
        // cust frees memory in the current context.
        CurrentContext::set_current(&other).unwrap();
    }
    ContextStack::pop().unwrap();
    drop(other);
    CurrentContext::set_current(primary).unwrap();
    println!("- a separate context of the program: right; its arrays and streams are refused elsewhere");
}
