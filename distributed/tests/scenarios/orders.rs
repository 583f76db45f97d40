//! Orders that ranks compute together, and matrices in them.

use warp_spmv::executor::{Cpu, Executor};
use warp_spmv::synthetic::{Generator, reorder};
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Csr, Format, Scalar};
use warp_spmv_distributed::{
    Communicator, DistributedMatrix, Distribution, Error, MatrixOptions, Ranges, Rows, renumber_elements, renumbered,
    renumbered_ranges, restore_elements, reverse_cuthill_mckee,
};

use super::graphs::part;
use crate::shared::Numbers;
use crate::shared::matrices::{generated, matrices, with_rows};

/// Divisions of rows, some of which leave ranks without any.
fn ways_to_divide<T: Scalar>(matrix: &Csr<T>, ranks: usize) -> Result<[Ranges; 3], Error> {
    let rows = matrix.rows() as u64;
    let on_last = (0..=ranks).map(|rank| if rank == ranks { rows } else { 0 }).collect();
    Ok([Ranges::balanced(matrix.row_lengths(), ranks)?, Ranges::even(rows, ranks)?, Ranges::try_new(on_last)?])
}

fn of_edges<T: Scalar>(vertices: usize, edges: impl Iterator<Item = (u32, u32)>) -> Csr<T> {
    let (rows, columns): (Vec<_>, Vec<_>) = edges.unzip();
    let values = (0..rows.len()).map(|place| T::from_f64(1.0 + (place % 5) as f64)).collect::<Vec<_>>();
    Csr::try_from_triplets(vertices, vertices, &rows, &columns, &values).unwrap()
}

/// Square matrices: randomly numbered, with several components, with many, without any entry, without symmetry.
fn square<T: Scalar>() -> Vec<(String, Csr<T>)> {
    let mut square: Vec<_> = matrices().into_iter().filter(|(_, matrix)| matrix.rows() == matrix.columns()).collect();
    let shuffled = |text: &str| {
        let matrix = generated::<T>(text);
        let order = reorder::shuffle(matrix.rows(), 5).unwrap();
        (format!("{text}, numbered at random"), order.apply_symmetric(&matrix).unwrap())
    };
    square.extend(
        ["stencil:5:17x23", "stencil:7:5x6x7", "elasticity:width=5", "block-diagonal:size=3,blocks=40"].map(shuffled),
    );
    for text in [
        "rmat:scale=8,seed=2",
        "permutation:rows=300",
        "uniform:rows=500,per-row=0.8,seed=4",
        "dense:rows=20,columns=20",
    ] {
        square.push((text.into(), generated(text)));
    }
    let mut numbers = Numbers::new(9);
    let lengths: Vec<usize> = (0..200).map(|row| row * 7 % 4).collect();
    square.push(("duplicate entries".into(), with_rows(200, &lengths, &mut numbers)));
    square.push((
        "entries of two rows".into(),
        with_rows(60, &[vec![0; 40], vec![30; 2], vec![0; 18]].concat(), &mut numbers),
    ));
    square.push(("a star".into(), of_edges(90, (0..90).filter(|&leaf| leaf != 71).map(|leaf| (leaf, 71)))));
    square.push((
        "a way forth and back".into(),
        of_edges(64, (0..63).map(|step| (step * 37 % 64, (step + 1) * 37 % 64))),
    ));
    // The shorter paths begin with the larger numbers, and some rows are isolated.
    let ways = (1..9u32).flat_map(|length| {
        let first = 60 - length * (length + 1) / 2;
        (first..first + length - 1).map(|vertex| (vertex + 1, vertex))
    });
    square.push(("ways of all lengths".into(), of_edges(70, ways)));
    square
}

/// The same as on one thread, for every number of ranks.
pub fn orders(communicator: &Communicator) -> Result<(), Error> {
    for (name, matrix) in square::<f64>() {
        let expected = reorder::reverse_cuthill_mckee(&matrix)?.inverse()?;
        for ranges in ways_to_divide(&matrix, communicator.ranks())? {
            let own = ranges.of(communicator.rank());
            let rows = part(&matrix, &ranges, communicator.rank());
            let found = reverse_cuthill_mckee(communicator, &rows, &ranges)?;
            assert_eq!(found, expected.old_places()[own.start as usize..own.end as usize], "{name}, {ranges:?}");
        }
    }
    Ok(())
}

/// The same as for the whole, entry by entry and bit by bit, in any order; and vectors are restored.
pub fn renumbered_rows<T: Scalar>(communicator: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (communicator.rank(), communicator.ranks());
    let large: Generator = "uniform:rows=3000,columns=3000,per-row=100,seed=3".parse().unwrap();
    let large = ("more than goes at a time".to_owned(), large.generate::<T>().unwrap());
    for (number, (name, matrix)) in square::<T>().into_iter().chain([large]).enumerate() {
        let order = reorder::shuffle(matrix.rows(), number as u64)?;
        let (new, expected) = (order.inverse()?, order.apply_symmetric(&matrix)?);
        let ways = ways_to_divide(&matrix, ranks)?;
        let (ranges, to) = (&ways[number % 3], &ways[number / 3 % 3]);
        let own = ranges.of(rank).start as usize..ranges.of(rank).end as usize;
        let (rows, numbers) = (part(&matrix, ranges, rank), &new.old_places()[own.clone()]);
        let found = renumbered(communicator, &rows, ranges, numbers, to)?;
        let text = |matrix: &Csr<T>| format!("{:?}", Rows::of(matrix, 0..matrix.rows() as u64).unwrap());
        assert_eq!(text(&found), text(&part(&expected, to, rank)), "{name}");
        let balanced = renumbered_ranges(communicator, &rows, ranges, numbers)?;
        assert_eq!(balanced, Ranges::balanced(expected.row_lengths(), ranks)?, "{name}");

        let vector: Vec<u64> = (0..matrix.rows() as u64).map(|place| place * place).collect();
        let elements = renumber_elements(communicator, &vector[own.clone()], ranges, numbers, to)?;
        let there = to.of(rank).start as usize..to.of(rank).end as usize;
        assert_eq!(elements, order.apply(&vector)?[there], "{name}");
        assert_eq!(restore_elements(communicator, &elements, ranges, numbers, to)?, vector[own], "{name}");
    }
    Ok(())
}

/// The matrix in another order gives the same product, and its ranks exchange less.
pub fn products(communicator: &Communicator) -> Result<(), Error> {
    let (rank, ranks, cpu) = (communicator.rank(), communicator.ranks(), Cpu::new());
    for (name, matrix) in square::<f64>() {
        let ranges = Ranges::balanced(matrix.row_lengths(), ranks)?;
        let own = ranges.of(rank).start as usize..ranges.of(rank).end as usize;
        let rows = part(&matrix, &ranges, rank);
        let numbers = reverse_cuthill_mckee(communicator, &rows, &ranges)?;
        let to = renumbered_ranges(communicator, &rows, &ranges, &numbers)?;
        let new = Rows::from_csr(renumbered(communicator, &rows, &ranges, &numbers, &to)?)?;
        let options = MatrixOptions::default();
        let old = DistributedMatrix::new(
            communicator,
            &cpu,
            Distribution::square(ranges.clone()),
            Rows::from_csr(rows)?,
            &options,
        )?;
        let mut new = DistributedMatrix::new(communicator, &cpu, Distribution::square(to.clone()), new, &options)?;
        let x: Vec<f64> = Numbers::new(3).vector(matrix.rows());
        let own_x = cpu.upload(renumber_elements(communicator, &x[own.clone()], &ranges, &numbers, &to)?)?;
        let mut y = cpu.zeros(own_x.len())?;
        new.apply(1.0, &own_x, 0.0, &mut y)?;
        let y = restore_elements(communicator, &cpu.download(&y)?, &ranges, &numbers, &to)?;
        let expected = exact(&matrix, 1.0, &x, 0.0, &vec![0.0; matrix.rows()])?;
        let verification = verify(&y, &expected[own], Format::CSR_SCALAR)?;
        assert!(verification.passed(), "{name}: {verification:?}");
        let mut volumes = [old.halo(), new.halo()];
        communicator.reduce(&mut volumes, |sum, next| sum + next)?;
        if name == "stencil:5:17x23, numbered at random" {
            // In this order, two neighbours exchange a front of the grid, 17 wide and a few more.
            assert!(volumes[1] <= 2 * 2 * 17 * (ranks - 1), "{volumes:?}");
            assert!(ranks == 1 || 2 * volumes[1] < volumes[0], "{volumes:?}");
        }
    }
    Ok(())
}
