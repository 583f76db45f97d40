//! Transposes, and the ranks of the vertices of a graph.

use warp_spmv::executor::{Cpu, Executor};
use warp_spmv::solver::{Options, Outcome, Pagerank};
use warp_spmv::synthetic::Generator;
use warp_spmv::{Complex, Csr, Scalar};
use warp_spmv_distributed::{
    Communicator, DistributedMatrix, Distribution, Error, MatrixOptions, Ranges, Rows, Transitions, redistributed,
    transitions, transposed,
};

use crate::shared::matrices::matrices;

/// The rows of a rank as a separate matrix, with all columns.
pub fn part<T: Scalar>(matrix: &Csr<T>, ranges: &Ranges, rank: usize) -> Csr<T> {
    let rows = ranges.of(rank);
    let entries = (rows.start as usize..rows.end as usize).flat_map(|row| {
        let first = rows.start as usize;
        matrix.row(row).map(move |(column, value)| (row - first, column, value))
    });
    let (mut numbers, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (row, column, value) in entries {
        numbers.push(row as u32);
        columns.push(column);
        values.push(value);
    }
    let mut offsets = vec![0u64; (rows.end - rows.start) as usize + 1];
    numbers.iter().for_each(|&row| offsets[row as usize + 1] += 1);
    (1..offsets.len()).for_each(|row| offsets[row] += offsets[row - 1]);
    Csr::try_new(offsets.len() - 1, matrix.columns(), offsets, columns, values).unwrap()
}

fn transposes_of<T: Scalar>(communicator: &Communicator) -> Result<(), Error> {
    let (rank, ranks) = (communicator.rank(), communicator.ranks());
    let last = |total: usize| (0..=ranks).map(|rank| if rank == ranks { total as u64 } else { 0 }).collect();
    let large: Generator = "uniform:rows=3000,columns=900,per-row=100,seed=3".parse().unwrap();
    let large = ("more than goes at a time".to_owned(), large.generate::<T>().unwrap());
    for (number, (name, matrix)) in matrices::<T>().into_iter().chain([large]).enumerate() {
        let of_rows = Ranges::balanced(matrix.row_lengths(), ranks)?;
        let columns = match number % 3 {
            0 => Ranges::try_new(last(matrix.columns()))?,
            _ => Ranges::even(matrix.columns() as u64, ranks)?,
        };
        let mut expected = matrix.transposed()?;
        expected.sort_rows()?;
        expected.sum_duplicates()?;
        let found = transposed(communicator, &part(&matrix, &of_rows, rank), &of_rows, &columns)?;
        let text = |matrix: &Csr<T>| format!("{:?}", Rows::of(matrix, 0..matrix.rows() as u64).unwrap());
        assert_eq!(text(&found), text(&part(&expected, &columns, rank)), "{name}");
    }
    Ok(())
}

/// All matrices, entry by entry.
pub fn transposes(communicator: &Communicator) -> Result<(), Error> {
    transposes_of::<f64>(communicator)?;
    transposes_of::<Complex<f32>>(communicator)
}

/// The same as on one rank, up to rounding.
pub fn pageranks(communicator: &Communicator) -> Result<(), Error> {
    let (rank, ranks, cpu) = (communicator.rank(), communicator.ranks(), Cpu::new());
    // Vertices without edges, few vertices, no edges, and duplicate edges.
    for text in
        ["rmat:scale=8,seed=2", "barabasi-albert:vertices=90,edges-per-vertex=2", "permutation:rows=3", "rmat:scale=1"]
    {
        let generator: Generator = text.parse().unwrap();
        let graph = generator.generate::<f64>().unwrap();
        let positive = graph.values().iter().map(|value| value.abs()).collect();
        let (offsets, columns) = (graph.row_offsets().clone(), graph.column_indices().to_vec());
        let graph = Csr::try_new(graph.rows(), graph.columns(), offsets, columns, positive)?;
        let options = Options { relative_tolerance: 1e-13, stagnation_window: None, ..Options::default() };
        let (expected, alone) = Pagerank::new(&cpu, &graph)?.rank(0.85, None, &options, None)?;
        assert_eq!(alone.outcome, Outcome::Converged);

        let of_edges = Ranges::balanced(graph.row_lengths(), ranks)?;
        let own = part(&graph, &of_edges, rank);
        let Transitions { ranges, rows, dangling, longest_row } = transitions(communicator, &own, &of_edges)?;
        let longest = (0..graph.columns() as u32)
            .map(|column| graph.column_indices().iter().filter(|&&other| other == column).count())
            .max();
        assert_eq!(longest_row, longest.unwrap_or(0) as u64, "{text}");
        let matrix = DistributedMatrix::new(
            communicator,
            &cpu,
            Distribution::square(ranges.clone()),
            Rows::from_csr(rows)?,
            &MatrixOptions::default(),
        )?;
        let mut pagerank = Pagerank::of_operator(&cpu, matrix, dangling)?;
        let (x, report) = pagerank.rank(0.85, None, &options, None)?;
        assert_eq!(report.outcome, Outcome::Converged, "{text}");
        // The sums are added in another order.
        assert!(report.iterations.abs_diff(alone.iterations) <= 1, "{text}");
        let x = redistributed(communicator, &cpu.download(&x)?, &ranges, &of_edges)?;
        let first = of_edges.of(rank).start as usize;
        for (place, x) in x.iter().enumerate() {
            assert!((x - expected[first + place]).abs() < 1e-14, "{text}, vertex {}", first + place);
        }
        // Some vertices are preferred.
        let preferred = |range: std::ops::Range<u64>| range.map(|vertex| (vertex % 3) as f64).collect::<Vec<_>>();
        if graph.rows() > 2 {
            let all = preferred(0..graph.rows() as u64);
            let (expected, _) = Pagerank::new(&cpu, &graph)?.rank(0.5, Some(&all), &options, None)?;
            let own = preferred(ranges.of(rank));
            let (x, _) = pagerank.rank(0.5, Some(&own), &options, None)?;
            let first = ranges.of(rank).start as usize;
            assert!(x.iter().enumerate().all(|(place, x)| (x - expected[first + place]).abs() < 1e-14), "{text}");
        }
    }
    Ok(())
}
