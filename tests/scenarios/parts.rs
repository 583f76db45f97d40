//! Arrays that an executor fills, and reads and writes of their parts.

use warp_spmv::executor::Executor;

/// Reads elements from the middle of an array and writes them there: few, and more than are copied to a GPU at a time.
/// The elements read are those from before the concurrent work.
pub fn check_parts_of_arrays<E: Executor>(executor: &E) {
    for length in [0, 1, 1001] {
        let filled = executor.filled::<f64>(length, 0x3f).unwrap();
        assert_eq!(executor.download(&filled).unwrap(), vec![f64::from_ne_bytes([0x3f; 8]); length]);
        let zeros = executor.zeros::<u32>(length).unwrap();
        assert_eq!(executor.download(&zeros).unwrap(), vec![0; length]);
    }
    let mut numbers: Vec<u32> = (0..100_000).collect();
    let mut array = executor.upload(numbers.clone()).unwrap();
    for (first, count) in [(0, 1), (7, 12), (5, 90_000), (99_999, 1), (100_000, 0)] {
        let mut part = vec![u32::MAX; count];
        let mut times = 0;
        let mut work = || {
            times += 1;
            // The work reads as well.
            let mut other = [u32::MAX; 3];
            executor.read(&array, 10, &mut other)?;
            assert_eq!(other, numbers[10..13]);
            Ok(())
        };
        executor.read_during(&array, first, &mut part, &mut work).unwrap();
        assert_eq!((times, &part[..]), (1, &numbers[first..first + count]));
        part.iter_mut().for_each(|number| *number = number.wrapping_mul(3) + 1);
        numbers[first..first + count].copy_from_slice(&part);
        executor.write(&part, &mut array, first).unwrap();
        assert!(executor.download(&array).unwrap() == numbers, "{count} from {first} on");
    }
    let error = executor.read(&array, 99_999, &mut [0; 2]).unwrap_err().to_string();
    assert_eq!(error, "the array has length 100000, expected 100001");
    let error = executor.write(&[0], &mut array, usize::MAX).unwrap_err().to_string();
    assert_eq!(error, format!("the array has length 100000, expected {}", usize::MAX));
}
