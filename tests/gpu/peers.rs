//! Peer libraries on the GPU give right results.

use lab::peers::{BOUND, Peer, PeerError, Peers, Stop, WithPeers, conjugate_gradients};
use warp_spmv::executor::{Cuda, Executor};
use warp_spmv::format::Offsets;
use warp_spmv::synthetic::Generator;
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Csr, Error, Layout, Multivector, NarrowType, Real, Scalar, ValueStorage};

use crate::scenarios::Numbers;

/// Pairs of α and β; with β = 0, y is filled with NaN.
const FACTORS: &[(f64, f64)] = &[(1.0, 0.0), (2.0, 0.0), (1.5, -0.5)];

const ONE: Multivector = Multivector { vectors: 1, layout: Layout::ColumnMajor };

/// Multiplies matrices of several structures by one vector with every peer.
pub fn check_peers<T: Scalar>(gpu: &Cuda) {
    check_each(gpu, gpu.peers::<T>(ValueStorage::Full), &matrices(), ONE);
}

/// The same in float64 with values that float32 represents, with the peers that store them so.
pub fn check_narrow_peers(gpu: &Cuda) {
    let values = NarrowType::Float32;
    let mut peers = gpu.peers::<f64>(ValueStorage::Rounded(values));
    peers.present.retain(|peer| is_narrow(peer.name()));
    let mut matrices = matrices();
    for (_, matrix) in &mut matrices {
        matrix.round_values(values).unwrap();
    }
    check_each(gpu, peers, &matrices, ONE);
}

/// Multiplies the same matrices by several vectors with every peer that supports it.
pub fn check_multivector_peers<T: Scalar>(gpu: &Cuda) {
    for vectors in [1, 4, 33] {
        for layout in [Layout::RowMajor, Layout::ColumnMajor] {
            let shape = Multivector { vectors, layout };
            println!("- {shape:?}");
            check_each(gpu, gpu.multivector_peers::<T>(shape), &matrices(), shape);
        }
    }
}

fn check_each<T: Scalar>(gpu: &Cuda, peers: Peers<'_, T, Cuda>, matrices: &[(String, Csr<T>)], shape: Multivector) {
    for absent in &peers.absent {
        println!("- {}: {}", absent.library, absent.reason);
    }
    for peer in &peers.present {
        let (mut right, mut worst, mut strategy) = (0, 0.0, None);
        let mut refused = Vec::new();
        for (name, matrix) in matrices {
            let place = format!("{}, {}, {name}", peer.name(), T::NAME);
            match check_peer(gpu, peer.as_ref(), &place, matrix, shape)
                .unwrap_or_else(|error| panic!("{place}: {error}"))
            {
                Ok((told, error)) => {
                    (right, worst) = (right + 1, f64::max(worst, error));
                    strategy.get_or_insert(told);
                }
                Err(error) => refused.push(format!("{name}: {error}")),
            }
        }
        println!(
            "- {}, {}, {}: {right} matrices right, worst error {worst:.2} of its bound; strategy: {}",
            peer.name(),
            T::NAME,
            peer.library(),
            strategy.as_deref().unwrap_or("nothing")
        );
        refused.iter().for_each(|refused| println!("  - refused: {refused}"));
        // An algorithm for several vectors may not support the layout, SpMVOp no complex numbers, and an older version no
        // narrower values.
        let may_refuse = shape != ONE || is_narrow(peer.name()) || (T::COMPLEX && peer.name().contains("-op-"));
        assert!(right > 0 || may_refuse, "{} refuses every matrix", peer.name());
    }
}

/// Solves a system with every peer's products and cuBLAS's vectors.
pub fn check_peer_solvers<T: Real>(gpu: &Cuda) {
    let blas = match gpu.blas::<T>() {
        Ok(blas) => blas,
        Err(absent) => return println!("- {}: {}", absent.library, absent.reason),
    };
    let matrix: Csr<T> = "stencil:7:24x20x16".parse::<Generator>().unwrap().generate().unwrap();
    let b = Numbers::new(29).vector::<T>(matrix.rows());
    let norm_of = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let tolerance = norm_of(&mut b.iter().map(|b| b.to_f64())) * if size_of::<T>() == 4 { 1e-4 } else { 1e-10 };
    let stop = Stop { tolerance, iterations: 500 };
    for peer in &gpu.peers::<T>(ValueStorage::Full).present {
        let solve = || -> Result<_, PeerError> {
            let on_gpu = matrix.clone().upload(gpu)?;
            let (right, mut x) = (gpu.upload(b.clone())?, gpu.zeros(b.len())?);
            let mut prepared = peer.prepare(&on_gpu, &right, &mut x)?;
            let solved = conjugate_gradients(gpu, prepared.as_mut(), blas.as_ref(), &right, &mut x, stop)?;
            Ok((solved, gpu.download(&x)?))
        };
        let place = format!("{} with {}, {}", peer.name(), blas.library(), T::NAME);
        match solve() {
            Ok((solved, x)) => {
                let residual = exact(&matrix, -T::ONE, &x, T::ONE, &b).unwrap();
                let norm = norm_of(&mut residual.iter().map(|element| element.value()));
                assert!(solved.converged && norm <= 2.0 * tolerance, "{place}: {solved:?}, {norm}");
                println!("- {place}: conjugate gradients right after {} iterations", solved.iterations);
            }
            Err(PeerError::Unfit { reason, .. }) => println!("- {place}: refused: {reason}"),
            Err(PeerError::Failed(error @ Error::Fill { .. })) => println!("- {place}: refused: {error}"),
            Err(PeerError::Failed(error)) => panic!("{place}: {error}"),
        }
    }
    let short = gpu.zeros::<T>(3).unwrap();
    assert!(
        blas.dot(&gpu.zeros(4).unwrap(), &short).is_err()
            && blas.axpy(T::ONE, &short, &mut gpu.zeros(4).unwrap()).is_err()
    );
}

/// Returns the peer's strategy and the worst error relative to its bound, or why the peer refuses the matrix.
fn check_peer<T: Scalar>(
    gpu: &Cuda,
    peer: &dyn Peer<T, Cuda>,
    place: &str,
    matrix: &Csr<T>,
    shape: Multivector,
) -> Result<Result<(String, f64), PeerError>, Error> {
    let mut numbers = Numbers::new(17);
    let (rows, columns) = (matrix.rows(), matrix.columns());
    let x = numbers.vector::<T>(columns * shape.vectors);
    let y = numbers.vector::<T>(rows * shape.vectors);
    let on_gpu = matrix.clone().upload(gpu)?;
    // Not the arrays that are multiplied: a peer must not keep those it was prepared with.
    let (shown_x, mut shown_y) = (gpu.zeros(x.len())?, gpu.zeros(y.len())?);
    let mut prepared = match peer.prepare(&on_gpu, &shown_x, &mut shown_y) {
        Ok(prepared) => prepared,
        // A padded format may refuse, and a library may not support offsets wider than columns.
        Err(refused @ PeerError::Failed(Error::Fill { .. })) => return Ok(Err(refused)),
        Err(PeerError::Failed(error)) if !matches!(on_gpu.row_offsets(), Offsets::Wide(_)) => return Err(error),
        Err(refused) => return Ok(Err(refused)),
    };
    drop((shown_x, shown_y));
    let device_x = gpu.upload(x.clone())?;
    let mut worst = 0.0;
    for &(alpha, beta) in FACTORS {
        let (alpha, beta) = (T::from_f64(alpha), T::from_f64(beta));
        let start = if beta == T::ZERO { vec![T::from_f64(f64::NAN); y.len()] } else { y.clone() };
        let one = |values: &[T], length: usize, vector: usize| -> Vec<T> {
            (0..length).map(|element| values[shape.place(length, element, vector)]).collect()
        };
        let exact = (0..shape.vectors)
            .map(|vector| exact(matrix, alpha, &one(&x, columns, vector), beta, &one(&y, rows, vector)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut multiply = || {
            let mut device_y = gpu.upload(start.clone())?;
            prepared.multiply(alpha, &device_x, beta, &mut device_y)?;
            gpu.download(&device_y)
        };
        let (first, second) = (multiply()?, multiply()?);
        let place = format!("{place}, alpha {alpha}, beta {beta}");
        for computed in [&first, &second] {
            for (vector, exact) in exact.iter().enumerate() {
                let result = verify(&one(computed, rows, vector), exact, BOUND)?;
                assert!(result.passed(), "{place}, vector {vector}: {result:?}");
                worst = f64::max(worst, result.worst);
            }
        }
        if prepared.reproducible() == Some(true) {
            assert_eq!(first, second, "{place}: not the same bits twice");
        }
    }
    assert!(prepared.multiply(T::ONE, &gpu.zeros(x.len() + 1)?, T::ZERO, &mut gpu.zeros(y.len())?).is_err());
    let value_bytes = if is_narrow(peer.name()) { size_of::<f32>() } else { size_of::<T>() };
    assert!(prepared.storage() as usize >= matrix.nnz() * value_bytes, "{place}");
    Ok(Ok((prepared.strategy(), worst)))
}

/// Returns whether a peer stores values in float32 for vectors in float64.
fn is_narrow(peer: &str) -> bool {
    peer.ends_with("-float32")
}

fn matrices<T: Scalar>() -> Vec<(String, Csr<T>)> {
    let generators = [
        "stencil:27:20",
        "stencil:5:101x37",
        "elasticity:width=8",
        "pareto:rows=4000,k=1.2,base=3",
        "rectangle:rows=600,columns=9000,per-row=70",
        "rectangle:rows=9000,columns=60,per-row=2",
    ];
    let generate = |text: &&str| (text.to_string(), text.parse::<Generator>().unwrap().generate().unwrap());
    let mut matrices: Vec<(String, Csr<T>)> = generators.iter().map(generate).collect();
    let rows: Vec<u32> = (0..9000).map(|entry| if entry % 3 == 0 { 5 + entry / 3 } else { 40 }).collect();
    let columns: Vec<u32> = (0..9000).collect();
    let values = Numbers::new(19).vector(9000);
    let empty_rows = Csr::try_from_triplets(4000, 9000, &rows, &columns, &values).unwrap();
    let (offsets, columns, values) = empty_rows.clone().into_parts();
    let offsets = Offsets::Wide((0..=4000).map(|row| offsets.get(row) as u64).collect());
    matrices.push(("empty rows and a long one".into(), empty_rows));
    matrices.push(("64-bit offsets".into(), Csr::try_new(4000, 9000, offsets, columns, values).unwrap()));
    matrices.push(("1 x 1".into(), Csr::try_from_triplets(1, 1, &[0], &[0], &[T::from_f64(-1.5)]).unwrap()));
    matrices
}
