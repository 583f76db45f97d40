//! Collectives and exchanges.

use warp_spmv_distributed::{Communicator, Error};

/// A rank's contribution: as many numbers as its rank.
fn of_rank(rank: usize) -> Vec<u64> {
    (0..rank as u64).map(|place| 100 * rank as u64 + place).collect()
}

pub fn collectives(communicator: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (communicator.rank(), communicator.ranks());
    let all: Vec<_> = (0..ranks).map(of_rank).collect();
    communicator.barrier()?;
    assert_eq!(communicator.all_gather(&of_rank(rank))?, all);
    for root in 0..ranks {
        assert_eq!(communicator.broadcast(root, &of_rank(rank))?, of_rank(root));
        let gathered = communicator.gather(root, &of_rank(rank))?;
        assert_eq!(gathered, (rank == root).then(|| all.clone()));
    }
    // Longer than a message that MPI sends eagerly.
    let long: Vec<f64> = (0..100_000).map(|place| (place * (rank + 1)) as f64).collect();
    assert_eq!(communicator.broadcast(ranks - 1, &long)?[99_999], (99_999 * ranks) as f64);
    let lists: Vec<Vec<[u32; 2]>> = (0..ranks).map(|to| vec![[rank as u32, to as u32]; to % 3]).collect();
    for (from, list) in communicator.all_to_all(&lists)?.into_iter().enumerate() {
        assert_eq!(list, vec![[from as u32, rank as u32]; rank % 3]);
    }
    let mut extremes = [rank as i32, -(rank as i32)];
    communicator.reduce(&mut extremes, i32::max)?;
    assert_eq!(extremes, [ranks as i32 - 1, 0]);
    communicator.agree("a word", "the same")?;
    communicator.sum(&mut [])
}

pub fn sums_in_order(communicator: &Communicator) -> Result<(), Error> {
    // Another order of additions would round differently.
    let of_rank = |rank: usize| [0.1, 1e16, -1e16, 0.3, 1e-20, 7.0, -0.7][rank % 7] * (1.0 + rank as f64 / 7.0);
    for _ in 0..3 {
        let mut sum = [of_rank(communicator.rank()), 1.0];
        communicator.sum(&mut sum)?;
        let expected = (1..communicator.ranks()).fold(of_rank(0), |sum, rank| sum + of_rank(rank));
        assert_eq!(sum.map(f64::to_bits), [expected, communicator.ranks() as f64].map(f64::to_bits));
    }
    Ok(())
}

/// Two exchanges around a ring, in opposite directions, in progress during a sum.
pub fn exchanges(communicator: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (communicator.rank(), communicator.ranks());
    let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    // A rank sends one element more than its number; alone, it has no neighbour.
    let neighbour = |rank: usize, length: usize| if ranks == 1 { vec![] } else { vec![(rank, length)] };
    let mut forth =
        communicator.neighbour_exchange::<f32>(&neighbour(next, rank + 1), &neighbour(before, before + 1))?;
    let mut back = communicator.neighbour_exchange::<u64>(&neighbour(before, rank + 1), &neighbour(next, next + 1))?;
    for round in 0..5 {
        forth.outgoing().fill((10 * rank + round) as f32);
        back.outgoing().fill((1000 * rank + round) as u64);
        forth.start()?;
        back.start()?;
        let mut sum = [1.0];
        communicator.sum(&mut sum)?;
        assert_eq!(sum, [ranks as f64]);
        let (mut of_before, mut of_next) = (vec![-1.0], Vec::new());
        back.wait(&mut of_next)?;
        forth.wait(&mut of_before)?;
        if ranks > 1 {
            let expected = [&[-1.0], &vec![(10 * before + round) as f32; before + 1][..]].concat();
            assert_eq!((of_before, of_next), (expected, vec![(1000 * next + round) as u64; next + 1]));
        }
    }
    let error = forth.wait(&mut Vec::new()).unwrap_err().to_string();
    assert_eq!(error, "the exchange is not in progress, expected one that was started");
    forth.start()?;
    let error = forth.start().unwrap_err().to_string();
    assert_eq!(error, "the exchange is in progress, expected one that was waited for");
    forth.wait(&mut Vec::new())?;
    let error = communicator.neighbour_exchange::<f64>(&[(rank, 1)], &[]).err().unwrap().to_string();
    assert_eq!(error, format!("the rank of a neighbour is {rank}, expected another rank"));
    Ok(())
}

/// Small and large contributions in turn, of different lengths per rank: both those that are shown and those that are sent.
pub fn small_and_large(communicator: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (communicator.rank(), communicator.ranks());
    for round in 0..200_usize {
        // Around the number of bytes that threads can show; in some rounds a single rank exceeds it.
        let length = |rank: usize| [0, 7, 8, 9, 8 + rank % 2, 1000 * (rank % 3)][round % 6];
        let of = |rank: usize| (0..length(rank)).map(|place| (rank + round * place) as u64).collect::<Vec<_>>();
        assert_eq!(communicator.all_gather(&of(rank))?, (0..ranks).map(of).collect::<Vec<_>>(), "{round}");
        // No rank waits for the others in a broadcast.
        let root = round % ranks;
        assert_eq!(communicator.broadcast(root, &[round + rank])?, [round + root]);
        let mut most = [rank * round, round];
        communicator.reduce(&mut most, usize::max)?;
        assert_eq!(most, [(ranks - 1) * round, round]);
        if round % 50 == rank {
            // The others are asleep by then.
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    }
    Ok(())
}
