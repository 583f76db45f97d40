//! Behaviour of ranks when one of them fails: all end at once, with an error that names it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use warp_spmv::Csr;
use warp_spmv::executor::Cpu;
use warp_spmv_distributed::{
    Communicator, DistributedMatrix, Distribution, Error, MatrixOptions, Options, Ranges, Rows, renumber_elements,
    renumbered, renumbered_ranges, restore_elements, reverse_cuthill_mckee, threads,
};

/// Ranks in every test.
const RANKS: usize = 4;

/// Does `work` on each rank, and returns the error of all. If no rank told the others, the timeout would, in other words.
fn failure(work: impl Fn(&Communicator) -> Result<(), Error> + Sync) -> String {
    let options = Options { timeout: Some(Duration::from_secs(120)) };
    threads::run_with(RANKS, options, work).unwrap_err().to_string()
}

/// Something that all ranks wait for: rank 2, or one that waits for it.
fn waits(communicator: &Communicator) -> Result<(), Error> {
    match communicator.rank() {
        3 => communicator.barrier(),
        _ => {
            let mut exchange = communicator.neighbour_exchange::<f64>(&[], &[(2, 1)])?;
            exchange.start()?;
            exchange.wait(&mut Vec::new())
        }
    }
}

#[test]
fn a_rank_that_fails_ends_all() {
    let error = failure(|communicator| match communicator.rank() {
        2 => Err(Error::Rows { row: 17, reason: "column 9 of 8".into() }),
        _ => waits(communicator),
    });
    assert_eq!(error, "rank 2: row 17: column 9 of 8");
}

#[test]
fn a_rank_that_panics_ends_all() {
    let error = failure(|communicator| match communicator.rank() {
        2 => panic!("planted"),
        _ => waits(communicator),
    });
    assert_eq!(error, "rank 2: panicked: planted");
}

#[test]
fn a_rank_that_says_so_ends_all_while_it_goes_on() {
    let error = failure(|communicator| match communicator.rank() {
        2 => {
            communicator.fail("the disk is full");
            let after = communicator.barrier().unwrap_err().to_string();
            assert_eq!(after, "rank 2: the disk is full");
            Ok(())
        }
        _ => waits(communicator),
    });
    assert_eq!(error, "rank 2: the disk is full");
}

#[test]
fn a_rank_that_ends_before_others_have_heard_of_it_ends_all() {
    let error = failure(|communicator| match communicator.rank() {
        2 => Ok(()),
        rank => {
            let mut exchange = communicator.neighbour_exchange::<f64>(&[], &[(2, 1)])?;
            // Only one of the others, so that the error is always the same.
            if rank == 1 {
                exchange.start()?;
                exchange.wait(&mut Vec::new())?;
            }
            Ok(())
        }
    });
    assert_eq!(error, "rank 2: it ended while rank 1 waited for its message");
}

#[test]
fn a_rank_that_does_something_else_ends_all() {
    let error = failure(|communicator| {
        communicator.barrier()?;
        if communicator.rank() == 3 { communicator.sum(&mut [1.0]) } else { communicator.barrier() }
    });
    // The rank that received an unexpected message has noticed, rank 3 or one that received a message from it.
    let known =
        ["a sum, collective 1, not a barrier, collective 1", "a barrier, collective 1, not a sum, collective 1"];
    assert!(error.contains("disagrees with rank ") && known.iter().any(|known| error.ends_with(known)), "{error}");
    assert!(error.contains("rank 3"), "{error}");
}

/// No rank gets an unexpected message.
#[test]
fn ranks_that_wait_for_each_other_end() {
    let error = failure(|communicator| {
        let rank = communicator.rank();
        let from = if rank == 3 { vec![] } else { vec![((rank + 1) % 3, 1)] };
        let mut exchange = communicator.neighbour_exchange::<f64>(&[], &from)?;
        exchange.start()?;
        exchange.wait(&mut Vec::new())?;
        communicator.barrier()
    });
    assert!(error.contains(": this rank and rank ") && error.ends_with(" wait for each other"), "{error}");
    assert!(!error.contains('3'), "{error}");
}

#[test]
fn a_rank_that_was_given_something_else_ends_all() {
    let of_rank = |rank: usize| if rank == 2 { 5 } else { 4 };
    let error = failure(|communicator| communicator.sum(&mut vec![0.0; of_rank(communicator.rank())]));
    assert!(error.contains("about the number of sums: "), "{error}");
    let error = failure(|communicator| communicator.agree("the seed", &of_rank(communicator.rank()).to_string()));
    assert_eq!(error, "rank 2: disagrees with rank 0 about the seed: 5, not 4");
    let error = failure(|communicator| {
        let ranges = Ranges::try_new(vec![0, 1, 2, 3, of_rank(communicator.rank()) as u64])?;
        let rows = Rows::<f64>::try_new(vec![0, 0], vec![], vec![])?;
        let distribution = Distribution::square(ranges);
        DistributedMatrix::new(communicator, &Cpu::new(), distribution, rows, &MatrixOptions::default()).map(drop)
    });
    assert_eq!(error, "rank 2: disagrees with rank 0 about rows: other ranges, not the same");
}

/// A dense matrix with a row per rank, which needs the elements of all.
fn dense(communicator: &Communicator) -> Result<DistributedMatrix<f64, Cpu>, Error> {
    let matrix = Csr::try_new(
        RANKS,
        RANKS,
        (0..=RANKS as u32).map(|row| row * RANKS as u32).collect::<Vec<_>>(),
        (0..RANKS as u32).collect::<Vec<_>>().repeat(RANKS),
        vec![1.0; RANKS * RANKS],
    )?;
    let distribution = Distribution::square(Ranges::even(RANKS as u64, RANKS)?);
    let rows = Rows::of(&matrix, distribution.rows.of(communicator.rank()))?;
    DistributedMatrix::new(communicator, &Cpu::new(), distribution, rows, &MatrixOptions::default())
}

/// The last rank dies after some collectives, with any number of ranks, while others poll or sleep.
#[test]
fn a_rank_that_dies_between_small_sums_ends_all() {
    for (ranks, sums) in [(2, 0), (2, 1), (3, 1000), (4, 2), (7, 33)] {
        let done = AtomicUsize::new(0);
        for asleep in [false, true] {
            let options = Options { timeout: Some(Duration::from_secs(120)) };
            let error = threads::run_with(ranks, options, |communicator| {
                for sum in 0.. {
                    if communicator.rank() + 1 == ranks && sum == sums {
                        sleep(Duration::from_millis(if asleep { 20 } else { 0 }));
                        panic!("planted");
                    }
                    communicator.sum(&mut [1.0, 2.0])?;
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            });
            assert_eq!(error.unwrap_err().to_string(), format!("rank {}: panicked: planted", ranks - 1));
        }
        assert_eq!(done.into_inner(), 2 * sums * ranks);
    }
}

/// One rank waits for a message, and the others for its slot.
#[test]
fn ranks_that_wait_for_each_other_in_different_ways_end() {
    let error = failure(|communicator| match communicator.rank() {
        1 => {
            let mut exchange = communicator.neighbour_exchange::<f64>(&[], &[(2, 1)])?;
            exchange.start()?;
            exchange.wait(&mut Vec::new())
        }
        _ => communicator.sum(&mut [1.0]),
    });
    assert!(error.contains(": this rank and rank ") && error.ends_with(" wait for each other"), "{error}");
    let error = failure(|communicator| match communicator.rank() {
        1 => communicator.broadcast(0, &[1]).map(drop),
        _ => communicator.sum(&mut [1.0]),
    });
    assert!(error.contains(": this rank and rank ") && error.ends_with(" wait for each other"), "{error}");
}

/// A rank that has done something in between that no other rank waited for.
#[test]
fn a_rank_that_is_ahead_of_others_ends_all() {
    let error = failure(|communicator| {
        if communicator.rank() == 2 {
            communicator.broadcast(2, &[1])?;
        }
        communicator.sum(&mut [1.0])
    });
    assert!(error.contains("about what to do: a sum, collective ") && error.contains("rank 2"), "{error}");
}

#[test]
fn a_rank_that_ends_before_a_small_sum_ends_all() {
    let error = failure(|communicator| match communicator.rank() {
        2 => Ok(()),
        // Only one of the others, so that the error is always the same.
        1 => communicator.sum(&mut [1.0]),
        _ => Ok(()),
    });
    assert!(error.contains(": it ended while rank 1 waited for its message"), "{error}");
}

#[test]
fn a_rank_that_dies_between_products_ends_all() {
    let products = AtomicUsize::new(0);
    let error = failure(|communicator| {
        let mut matrix = dense(communicator)?;
        let (x, mut y) = (vec![1.0], vec![0.0]);
        for product in 0.. {
            if (communicator.rank(), product) == (2, 5) {
                panic!("planted");
            }
            matrix.apply(1.0, &x, 0.0, &mut y)?;
            products.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    });
    assert_eq!(error, "rank 2: panicked: planted");
    // No rank can continue without it.
    assert_eq!(products.into_inner(), RANKS * 5);
}

#[test]
fn a_vector_that_does_not_fit_on_one_rank_ends_all() {
    let error = failure(|communicator| {
        let mut matrix = dense(communicator)?;
        let x = vec![1.0; 1 + usize::from(communicator.rank() == 1)];
        matrix.apply(1.0, &x, 0.0, &mut vec![0.0])
    });
    assert_eq!(error, "rank 1: x has length 2, expected 1");
}

#[test]
fn a_matrix_that_is_wrong_on_one_rank_ends_all() {
    let error = failure(|communicator| {
        let distribution = Distribution::square(Ranges::even(RANKS as u64, RANKS)?);
        let column = if communicator.rank() == 3 { 4 } else { 0 };
        let rows = Rows::try_new(vec![0, 1], vec![column], vec![1.0])?;
        DistributedMatrix::new(communicator, &Cpu::new(), distribution, rows, &MatrixOptions::default()).map(drop)
    });
    assert_eq!(error, "rank 3: row 3: column 4 of 4");
}

/// Two rows per rank, each with an entry in column 1.
fn two_rows() -> Result<(Ranges, Csr<f64>), Error> {
    let columns = vec![1; 2];
    Ok((Ranges::even(2 * RANKS as u64, RANKS)?, Csr::try_new(2, 2 * RANKS, vec![0u32, 1, 2], columns, vec![1.0; 2])?))
}

#[test]
fn rows_that_are_not_those_of_the_ranges_end_all() {
    let error = failure(|communicator| {
        let (ranges, rows) = two_rows()?;
        let ranges = match communicator.rank() {
            3 => Ranges::try_new(vec![0, 1, 4, 6, 8])?,
            _ => ranges,
        };
        reverse_cuthill_mckee(communicator, &rows, &ranges).map(drop)
    });
    assert_eq!(error, "rank 3: disagrees with rank 0 about rows: other ranges, not the same");
    let error = failure(|communicator| {
        let (ranges, rows) = two_rows()?;
        let rows = if communicator.rank() == 2 { Csr::try_new(1, 8, vec![0u32, 0], vec![], vec![])? } else { rows };
        reverse_cuthill_mckee(communicator, &rows, &ranges).map(drop)
    });
    assert_eq!(error, "rank 2: ranges of rows: 1 rows, expected 2");
    let error = failure(|communicator| {
        let (_, rows) = two_rows()?;
        reverse_cuthill_mckee(communicator, &rows, &Ranges::even(8, RANKS + 1)?).map(drop)
    });
    assert!(error.ends_with(": ranges of rows: 5 of them for 4 ranks"), "{error}");
    let error = failure(|communicator| {
        let (_, rows) = two_rows()?;
        let ranges = Ranges::even(4, RANKS)?;
        let rows = Csr::try_new(1, 8, vec![0u32, 1], vec![7], rows.values()[1..].to_vec())?;
        reverse_cuthill_mckee(communicator, &rows, &ranges).map(drop)
    });
    assert_eq!(error, "rank 0: the matrix has 4 rows and 8 columns, expected a square matrix");
}

#[test]
fn new_numbers_that_are_wrong_on_one_rank_end_all() {
    let with = |wrong: &[u32], to: fn() -> Result<Ranges, Error>| {
        failure(|communicator| {
            let (ranges, rows) = two_rows()?;
            let own: Vec<u32> = ranges.of(communicator.rank()).map(|number| number as u32).collect();
            let numbers = if communicator.rank() == 1 { wrong } else { &own };
            renumbered(communicator, &rows, &ranges, numbers, &to()?).map(drop)
        })
    };
    let even = || Ranges::even(8, RANKS);
    for (wrong, expected) in [
        (&[2][..], "rank 1: ranges of new numbers: 1 new numbers, expected 2"),
        (&[2, 8], "rank 1: a new number is 8, expected less than the number of rows"),
        // The rank that receives both reports it.
        (&[2, 7], "rank 3: a new number is 7, expected one that no other row has"),
    ] {
        assert_eq!(with(wrong, even), expected);
    }
    let error = with(&[2, 3], || Ranges::even(9, RANKS));
    assert_eq!(error, "rank 0: ranges of new numbers: 9 new numbers for 8 rows");
    let error = failure(|communicator| {
        let (ranges, rows) = two_rows()?;
        let numbers =
            if communicator.rank() == 1 { [2, 2] } else { [0, 1].map(|row| row + 2 * communicator.rank() as u32) };
        renumbered_ranges(communicator, &rows, &ranges, &numbers).map(drop)
    });
    assert_eq!(error, "rank 1: a new number is 2, expected one that no other row has");
    for is_back in [false, true] {
        let error = failure(|communicator| {
            let (ranges, _) = two_rows()?;
            let numbers = [0, 1].map(|row| row + 2 * communicator.rank() as u32);
            let elements = vec![0.0; if communicator.rank() == 2 { 3 } else { 2 }];
            let go = if is_back { restore_elements } else { renumber_elements };
            go(communicator, &elements, &ranges, &numbers, &ranges).map(drop)
        });
        assert_eq!(error, "rank 2: ranges of elements: 3 elements, expected 2");
    }
}

/// The error of a rank that then diverges contains the number of collectives.
#[test]
fn many_components_take_no_more_collectives_than_one() {
    let collectives = |components: u64| {
        let error = failure(|communicator| {
            let rows = 3 * components;
            let ranges = Ranges::even(rows, RANKS)?;
            let own = ranges.of(communicator.rank());
            // Of every three rows, two are neighbours and one is isolated.
            let columns: Vec<u32> = own.clone().map(|row| (if row % 3 == 0 { row + 1 } else { row }) as u32).collect();
            let offsets: Vec<u32> = (0..=columns.len() as u32).collect();
            let values = vec![1.0; columns.len()];
            let rows = Csr::try_new(columns.len(), rows as usize, offsets, columns, values)?;
            let numbers = reverse_cuthill_mckee(communicator, &rows, &ranges)?;
            assert!(own.zip(numbers).all(|(row, number)| (3 * components - 1 - row) / 3 == u64::from(number) / 3));
            match communicator.rank() {
                0 => communicator.barrier(),
                _ => communicator.sum(&mut [1.0]),
            }
        });
        let (_, number) = error.rsplit_once(' ').unwrap();
        number.parse::<u32>().unwrap_or_else(|_| panic!("{error}"))
    };
    let one = collectives(4);
    assert!(one < 60 && collectives(30_000) == one, "{one}");
}

#[test]
fn the_watchdog_ends_all_when_a_rank_is_silent() {
    let has_failed = AtomicBool::new(false);
    let silent = |communicator: &Communicator| {
        if communicator.rank() == 2 {
            while !has_failed.load(Ordering::Relaxed) {
                sleep(Duration::from_millis(10));
            }
        }
        communicator.barrier().inspect_err(|_| has_failed.store(true, Ordering::Relaxed))
    };
    let options = Options { timeout: Some(Duration::from_millis(50)) };
    let error = threads::run_with(RANKS, options, silent).unwrap_err().to_string();
    // Ranks that wait for another waiting rank may be first.
    assert!(error.contains(": sent nothing for 0.05 s while rank "), "{error}");

    let slow = |communicator: &Communicator| {
        if communicator.rank() == 2 {
            sleep(Duration::from_millis(300));
        }
        communicator.barrier()
    };
    threads::run_with(RANKS, Options { timeout: None }, slow).unwrap();
    threads::run(RANKS, slow).unwrap();
}

#[test]
fn there_is_a_rank() {
    assert_eq!(threads::run(0, |_| Ok(())).unwrap_err().to_string(), "the number of ranks is 0, expected 1 or more");
}
