//! A failure gives an error that says what failed and why, frees its memory, and leaves the process usable. Failures that
//! break a GPU's context run in processes of their own.

use std::process::{Command, ExitCode};

use cuda_std::GlobalMut;
use cuda_std::launch::{Grid, Launch, Place};
use gpu_kernels::ptx::ARCHIVES;
use gpu_kernels::vector::Scale;
use warp_spmv::executor::{Cpu, Cuda, CudaBuffer, Executor, KernelExecutor};
use warp_spmv::format::{FillLimit, Matrix};
use warp_spmv::memory::Buffer;
use warp_spmv::solver::dense::{Axpby, FIRST_SLOT, ONE, Space};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Csr, Error, Format, Plan, PlanOptions};

/// Flag that makes this program fail on purpose.
pub const FLAG: &str = "--fail=";

/// Failures that break a context, and machines without a GPU: name and environment of the process.
const FAILURES: &[(&str, &[(&str, &str)])] =
    &[("kernel", &[]), ("no-device", &[("CUDA_VISIBLE_DEVICES", "-1")]), ("too-many-devices", &[])];

fn matrix() -> Csr<f64> {
    "stencil:5:40x30".parse::<Generator>().unwrap().generate().unwrap()
}

/// Multiplies by ones, which gives the row sums.
fn multiply<E: Executor>(executor: &E) -> Result<Vec<f64>, Error> {
    let matrix = matrix();
    let x = executor.upload(vec![1.0; matrix.columns()])?;
    let mut y = executor.zeros(matrix.rows())?;
    Plan::with_format(executor, matrix, Format::CSR_VECTOR)?.apply(1.0, &x, 0.0, &mut y)?;
    executor.download(&y)
}

fn expected() -> Vec<f64> {
    multiply(&Cpu::new()).unwrap()
}

pub fn check_failures(gpu: &Cuda) {
    check_out_of_memory(gpu);
    check_other_contexts(gpu);
    check_arrays_outlive_executors();
    check_memory_is_used_again();
    check_arrays_of_others(gpu);
    check_two_gpus(gpu);
    check_recordings_of_several_handles(gpu);
    check_recordings_and_freed_arrays(gpu);
    check_recordings_and_new_values(gpu);
    let program = std::env::current_exe().unwrap();
    for &(failure, environment) in FAILURES {
        let output =
            Command::new(&program).arg(format!("{FLAG}{failure}")).envs(environment.iter().copied()).output().unwrap();
        let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        // No panic, no abort: the child reports the failure and exits by itself.
        assert!(output.status.success() && error.is_empty(), "{failure}: {}: {out}{error}", output.status);
        println!("- failure \"{failure}\": {}", out.trim());
    }
}

/// Allocations beyond the memory of the GPU: an error that gives the size, and nothing stays allocated.
fn check_out_of_memory(gpu: &Cuda) {
    let (before, free) = (gpu.memory_use().now, gpu.free_memory().unwrap());
    let error = gpu.zeros::<f64>(1 << 42).err().expect("no GPU has 32 TiB");
    assert_eq!(error.to_string(), "out of memory: 35184372088832 bytes for an array on the GPU");
    // One array that fits, and a second one that no longer does.
    let most = (free / 8) as usize / 10 * 9;
    let large: CudaBuffer<f64> = gpu.zeros(most).unwrap();
    let error = gpu.zeros::<f64>(most).err().expect("there is no memory for two arrays");
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    assert!(matches!(gpu.duplicate(&large), Err(Error::OutOfMemory { .. })));
    assert_eq!(multiply(gpu).unwrap(), expected());
    drop(large);
    assert_eq!(gpu.memory_use().now, before);
    assert!(gpu.zeros::<f64>(most).is_ok(), "freed memory can be allocated again");
    println!("- out of memory: \"{error}\", and the next multiplication is right");
}

/// Several executors by turns: each call finds the context of another one, or none, current.
fn check_other_contexts(gpu: &Cuda) {
    let others = [Cuda::new(0).unwrap(), Cuda::new(0).unwrap()];
    for executor in [gpu, &others[0], &others[1], gpu] {
        assert_eq!(multiply(executor).unwrap(), expected());
    }
    // A thread without a context, with an array made by another thread.
    let array = gpu.upload(vec![1.0f32; 1000]).unwrap();
    let before = gpu.memory_use().now;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(gpu.download(&array).unwrap(), vec![1.0; 1000]);
            assert_eq!(multiply(gpu).unwrap(), expected());
        });
    });
    let free = gpu.free_memory().unwrap();
    let large = gpu.zeros::<f64>(1 << 24).unwrap();
    // Freed on a thread that has made no other call.
    std::thread::spawn(move || drop(large)).join().unwrap();
    assert_eq!(gpu.memory_use().now, before);
    assert_eq!(gpu.free_memory().unwrap(), free, "an array that is dropped on another thread is freed");
    println!("- three executors on one GPU by turns, threads without a context: right, and all is freed");
}

fn check_arrays_outlive_executors() {
    let executor = Cuda::new(0).unwrap();
    let array = executor.upload(vec![2.0f32; 1000]).unwrap();
    drop(executor);
    drop(array);
    println!("- an array that outlives its executor: freed");
}

/// Memory of arrays dropped while kernels of this executor, or of another one, still read them: the next array
/// overwrites it at once.
fn check_memory_is_used_again() {
    let (own, other) = (Cuda::new(0).unwrap(), Cuda::new(0).unwrap());
    let drop_while_used = || {
        drop_while_used_by(&own, &own.clone());
        drop_while_used_by(&own, &other);
    };
    // Loads the kernels.
    drop_while_used();
    let free = own.free_memory().unwrap();
    drop_while_used();
    assert_eq!(own.free_memory().unwrap(), free);
    let kept = own.kept_memory();
    assert!(kept > 0, "memory is kept");
    other.release_memory().unwrap();
    assert!(own.kept_memory() < kept, "{kept} bytes are still kept");
    assert_eq!(own.free_memory().unwrap(), free);
    println!("- memory of dropped arrays is reused after their readers finish, and released");
}

fn drop_while_used_by(own: &Cuda, executor: &Cuda) {
    let matrix: Csr<f64> = "stencil:5:1500x1500".parse::<Generator>().unwrap().generate().unwrap();
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let row_sum = |row: usize| matrix.row(row).map(|(_, value)| value).sum::<f64>();
    let mut plan = Plan::with_format(executor, matrix.clone(), Format::CSR_MERGE_PATH).unwrap();
    let mut sums: Vec<_> = (0..3).map(|_| executor.zeros(rows).unwrap()).collect();
    for number in 1..=20 {
        let y = &mut sums[number % 3];
        let x = own.upload(vec![number as f64; columns]).unwrap();
        match plan.apply(1.0, &x, 0.0, y) {
            Err(Error::Foreign { .. }) => {
                // The copy waits for the upload, and freeing the array waits for the copy.
                let copy = executor.copy_of(&x).unwrap();
                drop(x);
                plan.apply(1.0, &copy, 0.0, y).unwrap();
            }
            result => {
                result.unwrap();
                drop(x);
            }
        }
        drop(own.upload(vec![f64::NAN; columns]).unwrap());
        let y = executor.download(y).unwrap();
        let wrong = (0..rows).find(|&row| y[row] != number as f64 * row_sum(row));
        assert_eq!(wrong.map(|row| (row, y[row])), None, "an array was overwritten while it was read");
    }
}

/// Arrays of another executor are refused wherever an array is accepted, and nothing is changed.
fn check_arrays_of_others(gpu: &Cuda) {
    let other = Cuda::new(0).unwrap();
    check_arrays_of(&other, gpu);
    let theirs = other.upload(vec![1.0; 1000]).unwrap();
    assert_eq!(gpu.download(&gpu.copy_of(&theirs).unwrap()).unwrap(), other.download(&theirs).unwrap());
    // A clone is the same executor.
    let mine = gpu.upload(vec![1.0; 1000]).unwrap();
    assert_eq!(gpu.clone().download(&mine).unwrap(), gpu.download(&mine).unwrap());
    println!("- arrays of another executor: refused in every format, by conversions, copies and passes");
}

fn check_arrays_of(other: &Cuda, gpu: &Cuda) {
    let ones = |executor: &Cuda| executor.upload(vec![1.0; matrix().columns()]).unwrap();
    let (mine, theirs) = (ones(gpu), ones(other));
    let mut y = gpu.upload(vec![7.0; matrix().rows()]).unwrap();
    for &format in Format::ALL {
        let Ok(mut plan) = Plan::with_format(gpu, matrix(), format) else { continue };
        let error = plan.apply(1.0, &theirs, 0.0, &mut y).expect_err("x is another executor's");
        assert!(matches!(error, Error::Foreign { .. }), "{format}: {error}");
        let error = plan.apply(1.0, &mine, 0.0, &mut ones(other)).expect_err("y is another executor's");
        assert!(matches!(error, Error::Foreign { .. }), "{format}: {error}");
        assert!(gpu.download(&y).unwrap().iter().all(|&y| y == 7.0), "{format}: y was changed");
    }
    let foreign = |result: Result<(), Error>| matches!(result, Err(Error::Foreign { .. }));
    let csr = || matrix().upload(other).unwrap();
    assert!(foreign(
        Plan::from_converted(gpu, Matrix::Csr(csr()), Format::CSR_SCALAR)
            .and_then(|mut plan| { plan.apply(1.0, &mine, 0.0, &mut y) })
    ));
    assert!(foreign(csr().convert(gpu, Format::SELL_P, FillLimit::default()).map(drop)));
    assert!(foreign(csr().duplicate(gpu).map(drop)));
    assert!(foreign(gpu.download(&theirs).map(drop)));
    assert!(foreign(gpu.duplicate(&theirs).map(drop)));
    assert!(foreign(gpu.copy(&theirs, &mut y)));
    assert!(foreign(gpu.copy(&mine, &mut ones(other))));
    let mut space = Space::new(gpu, FIRST_SLOT, 1).unwrap();
    assert!(foreign(space.pass(Axpby, [ONE, ONE], [&theirs], [&mut y])));
}

/// Two GPUs of one machine: each has its own arrays, whose memory returns to it whichever context is current.
fn check_two_gpus(gpu: &Cuda) {
    let Ok(other) = Cuda::new(1) else {
        println!("- two GPUs: only one is present");
        return;
    };
    check_arrays_of(&other, gpu);
    check_arrays_of(gpu, &other);
    let theirs = other.upload(vec![1.0; 1000]).unwrap();
    let error = gpu.copy_of(&theirs).map(drop).expect_err("the array is on another GPU");
    assert!(error.to_string().contains("another GPU"), "{error}");
    for executor in [gpu, &other, gpu, &other] {
        assert_eq!(multiply(executor).unwrap(), expected());
    }
    std::thread::scope(|scope| {
        for executor in [gpu, &other, gpu, &other] {
            scope.spawn(|| (0..50).for_each(|_| assert_eq!(multiply(executor).unwrap(), expected())));
        }
    });
    let free = [gpu, &other].map(|executor| executor.free_memory().unwrap());
    let arrays = [gpu, &other].map(|executor| executor.zeros::<f64>(1 << 24).unwrap());
    // The context of the first GPU is current on this thread, none on the other thread.
    gpu.synchronize().unwrap();
    let [mine, theirs] = arrays;
    drop(theirs);
    std::thread::spawn(move || drop(mine)).join().unwrap();
    assert_eq!([gpu, &other].map(|executor| executor.free_memory().unwrap()), free);
    // An array that outlives the executor of its GPU.
    let array = other.upload(vec![2.0f32; 1000]).unwrap();
    drop(other);
    drop(array);
    println!("- two GPUs by turns and at once: right, arrays of the other one are refused, and all is freed");
}

/// Work that a recording cannot keep still runs: kernels of another handle of the executor, which are dropped with it.
fn check_recordings_of_several_handles(gpu: &Cuda) {
    let (_, archive) = ARCHIVES.iter().min_by_key(|(capability, _)| capability).expect("there is PTX");
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(*archive)).unwrap();
    let text = std::io::read_to_string(archive.by_name("csr_vector_f64.ptx").unwrap()).unwrap();
    // SAFETY: the PTX is the library's own.
    let other = unsafe { gpu.clone().with_ptx(text) };
    let x = gpu.upload(vec![1.0; matrix().columns()]).unwrap();
    let mut ys = [gpu.zeros(matrix().rows()).unwrap(), gpu.zeros(matrix().rows()).unwrap()];
    let mut plans = [gpu, &other].map(|executor| Plan::with_format(executor, matrix(), Format::CSR_VECTOR).unwrap());
    let mut recording = Default::default();
    for times in 1..4 {
        gpu.repeat(&mut recording, times, &mut || {
            plans.iter_mut().zip(&mut ys).try_for_each(|(plan, y)| plan.apply(1.0, &x, 0.5, y))
        })
        .unwrap();
    }
    // Each product halves y first: six products with the sum s give s (2 - 2^-5).
    let expected: Vec<_> = expected().iter().map(|sum| sum * (2.0 - 0.5f64.powi(5))).collect();
    drop((plans, other));
    assert!(ys.iter().all(|y| gpu.download(y).unwrap() == expected));
    println!("- recordings with kernels of two handles: not kept, and right");
}

/// Work is recorded again when one of its arrays was freed, by whichever thread, and when another array has its memory.
fn check_recordings_and_freed_arrays(gpu: &Cuda) {
    let mut plan = Plan::with_format(gpu, matrix(), Format::COO).unwrap();
    let sums = expected();
    let mut recording = Default::default();
    let mut check = |factor: f64| {
        let x = gpu.upload(vec![factor; matrix().columns()]).unwrap();
        let mut y = gpu.zeros(matrix().rows()).unwrap();
        for _ in 0..5 {
            gpu.repeat(&mut recording, 3, &mut || plan.apply(1.0, &x, 0.0, &mut y)).unwrap();
            assert!(gpu.download(&y).unwrap().iter().zip(&sums).all(|(y, sum)| *y == factor * sum), "factor {factor}");
        }
        std::thread::spawn(move || drop((x, y))).join().unwrap();
        drop(gpu.upload(vec![f64::NAN; matrix().columns()]).unwrap());
    };
    (1..20).for_each(|factor| check(f64::from(factor)));
    // The same while another thread frees arrays.
    std::thread::scope(|scope| {
        scope.spawn(|| (0..5000).for_each(|_| drop(gpu.upload(vec![f64::NAN; matrix().columns()]).unwrap())));
        (1..100).for_each(|factor| check(f64::from(factor)));
    });
    println!("- recordings whose arrays are freed by other threads: recorded again, and right");
}

/// A recording stays valid if new values are copied over the old ones; work is recorded again if the matrix is
/// converted again.
fn check_recordings_and_new_values(gpu: &Cuda) {
    let sums = expected();
    let options = PlanOptions { updates: true, ..PlanOptions::default() };
    for (format, in_place) in [(Format::CSR_TILED, true), (Format::COO, true), (Format::SELL_P, false)] {
        let mut plan = Plan::with_options(gpu, matrix(), format, options).unwrap();
        let x = gpu.upload(vec![1.0; matrix().columns()]).unwrap();
        let mut y = gpu.zeros(matrix().rows()).unwrap();
        let values = |factor: f64| gpu.upload(matrix().values().iter().map(|value| factor * value).collect()).unwrap();
        // Freeing any array ends a recording, so all are kept until the end.
        let all = [2.0, 3.0, 4.0].map(|factor| (factor, values(factor)));
        let mut recording = Default::default();
        let mut done = 0;
        for (factor, values) in &all {
            plan.update_values(values).unwrap();
            let before = done;
            for _ in 0..4 {
                let mut work = || {
                    done += 1;
                    plan.apply(1.0, &x, 0.0, &mut y)
                };
                gpu.repeat(&mut recording, 2, &mut work).unwrap();
            }
            let new = gpu.download(&y).unwrap();
            assert!(new.iter().zip(&sums).all(|(new, sum)| *new == factor * sum), "{format}, factor {factor}");
            let again = if *factor == 2.0 { 2 } else { u64::from(!in_place) };
            assert_eq!(done - before, again, "{format}, factor {factor}: the work was done");
        }
    }
    println!("- recordings of plans that get new values: kept in CSR and COO, otherwise recorded again, and right");
}

/// Runs `failure` in a process started for it, which must exit by itself.
pub fn fail(failure: &str) -> ExitCode {
    match failure {
        "kernel" => fail_in_a_kernel(),
        "no-device" => find_no_device(0),
        "too-many-devices" => find_no_device(1000),
        _ => panic!("there is no failure named {failure}"),
    }
    ExitCode::SUCCESS
}

fn find_no_device(number: u32) {
    let error = Cuda::new(number).err().expect("there is no such device");
    assert!(matches!(error, Error::Unavailable { .. }), "{error}");
    assert_eq!(error.to_string().lines().count(), 1);
    assert_eq!(expected().len(), matrix().rows());
    println!("\"{error}\", and the CPU multiplies");
}

/// A kernel that writes to unmapped memory breaks the context: every later call is an error, nothing panics, and once
/// everything is dropped a new executor works.
fn fail_in_a_kernel() {
    let gpu = Cuda::new(0).unwrap();
    let sums = multiply(&gpu).unwrap();
    let array = gpu.upload(vec![1.0f64; 100]).unwrap();
    let x = gpu.upload(vec![1.0; matrix().columns()]).unwrap();
    let mut y = gpu.zeros(matrix().rows()).unwrap();
    let mut plan = Plan::with_format(&gpu, matrix(), Format::SELL_P).unwrap();
    let Place::Device(owner) = array.global().place() else { panic!("the array is on the GPU") };
    let nothing = GlobalMut::from_device(1 << 46, 1 << 20, owner);
    let kernel = Scale { count: 1 << 20, beta: 2.0f64, y: nothing };
    let grid = Grid { blocks: 64, threads_per_block: 128, shared_bytes: 0 };
    // SAFETY: none: the kernel accesses an address outside all arrays, which the GPU refuses. This process expects it.
    let launched = unsafe { gpu.launch(&Launch::new(grid, kernel)) };
    let error = launched.and_then(|()| gpu.synchronize()).expect_err("the kernel fails");
    let message = error.to_string();
    assert!(message.contains("scale_f64") && message.lines().count() == 1, "{message}");
    // From here on, every call returns an error.
    let failures = [
        gpu.synchronize().err(),
        gpu.download(&array).err(),
        gpu.upload(vec![1.0f64]).err(),
        gpu.zeros::<f64>(1000).err(),
        gpu.duplicate(&array).err(),
        plan.apply(1.0, &x, 0.0, &mut y).and_then(|()| gpu.synchronize()).err(),
        gpu.time(&mut || Ok(())).err(),
        multiply(&gpu).err(),
    ];
    for (place, error) in failures.iter().enumerate() {
        assert!(matches!(error, Some(Error::Cuda { .. })), "call {place}: {error:?}");
    }
    // The CPU still works.
    assert_eq!(expected(), sums);
    drop((plan, x, y, array));
    drop(gpu);
    let again = match Cuda::new(0).and_then(|gpu| multiply(&gpu)) {
        Ok(again) => {
            assert_eq!(again, sums);
            "a new executor works"
        }
        // Some drivers permanently refuse a process whose kernel failed.
        Err(Error::Unavailable { .. } | Error::Cuda { .. }) => "the driver refuses this process a new context",
        Err(other) => panic!("{other}"),
    };
    println!("\"{message}\", {} later calls are errors, the CPU multiplies, {again}", failures.len());
}
