//! The choice of a format.

use std::fs;

use crate::scenarios::matrices;
use warp_spmv::executor::{Cpu, Emulated, Executor, Reference};
use warp_spmv::format::{BlockSize, FillLimit, Matrix, NarrowType};
use warp_spmv::select::{
    Analysis, Calibration, Candidate, Choice, Exclusion, KernelWork, Machine, Measure, Outcomes, Sampling, Selection,
    Store, Traffic, choose, choose_with,
};
use warp_spmv::verify::{exact, verify};
use warp_spmv::{Complex, Csr, Error, Format, Plan, PlanOptions, Real, Scalar, ValueStorage};

const MACHINE: Machine =
    Machine { has_kernels: true, resident_threads: 132 * 2048, cache_bytes: 50 << 20, shared_bytes: None };

fn generated<T: Real>(text: &str) -> Csr<T> {
    text.parse::<warp_spmv::synthetic::Generator>().unwrap().generate().unwrap()
}

/// Returns a selection that uses no file of the user and accepts conversions of any length.
fn selection() -> Selection {
    Selection { store: None, multiplications: None, measure: Measure::Never, ..Selection::default() }
}

/// After an analysis without sampling, the predicted bytes equal those of the converted matrix.
fn check_traffic<T: Scalar>() {
    for (name, matrix) in matrices::<T>() {
        let analysis = Analysis::with_sampling(&matrix, Sampling::Everything).unwrap();
        for &format in Format::ALL {
            let place = format!("{name}, {format}, {}", T::NAME);
            let traffic = Traffic::new(&analysis, format, &MACHINE);
            if format == Format::COLUMN_PANELS {
                // How many pieces a row has depends on its columns, and at most a tile per panel is not full.
                let bytes = format.bytes::<_, T>(&matrix).unwrap();
                let panels = matrix.columns().div_ceil((92 << 10) / size_of::<T>()).max(1);
                let most = panels * (4 * (32 + 256) + 512 * size_of::<T>() + 16 + 8 * matrix.rows());
                assert!(!traffic.exact && traffic.stored.abs_diff(bytes) <= most as u128, "{place}");
                continue;
            }
            assert!(traffic.exact, "{place}");
            assert_eq!(traffic.stored, format.bytes::<_, T>(&matrix).unwrap(), "{place}");
            let Ok(converted) = Matrix::try_from_csr(matrix.clone(), format, FillLimit::default()) else { continue };
            assert_eq!(traffic.stored, converted.bytes(), "{place}");
            if !matches!(format, Format::Bellpack(_)) {
                assert_eq!(traffic.needed, converted.bytes_needed(), "{place}");
            } else {
                // Padding that the kernel skips is still counted as read.
                assert!(traffic.needed >= converted.bytes_needed().min(traffic.stored), "{place}");
            }
        }
    }
}

#[test]
fn the_traffic_of_every_format_is_that_of_the_matrix() {
    check_traffic::<f32>();
    check_traffic::<f64>();
    check_traffic::<Complex<f32>>();
    check_traffic::<Complex<f64>>();
}

/// The 95 % confidence interval contains the number of blocks about that often.
#[test]
fn sampled_fill_is_within_its_confidence() {
    let (mut inside, mut all) = (0, 0);
    for seed in 0..4 {
        for text in ["pareto:rows=60000,k=1.5,base=4", "uniform:rows=80000,per-row=6,lengths=poisson", "rmat:scale=16"]
        {
            let matrix: Csr<f32> = generated(&format!("{text},seed={seed}"));
            let analysis = Analysis::new(&matrix).unwrap();
            for &size in BlockSize::ALL {
                let blocks =
                    Matrix::try_from_csr(matrix.clone(), Format::Bcsr(size), FillLimit { times_csr: f64::INFINITY })
                        .unwrap();
                let ratio = blocks.fill();
                let fill = analysis.fill(size).unwrap();
                assert!(!fill.is_exact() && fill.sampled * 10 < fill.block_rows, "{text}: {}", fill.sampled);
                let estimate = fill.ratio(matrix.nnz());
                inside += usize::from((estimate - ratio).abs() <= fill.uncertainty * estimate);
                all += 1;
                assert!((estimate / ratio - 1.0).abs() < 0.15, "{text}, seed {seed}: {estimate} for {ratio}");
            }
        }
    }
    assert!(inside * 100 >= all * 90, "{inside} of {all}");
}

/// Blocks of one size throughout are found, whatever part of them is sampled.
#[test]
fn a_block_structure_is_found() {
    let matrix: Csr<f64> = generated("block-diagonal:blocks=20000,size=6");
    let analysis = Analysis::new(&matrix).unwrap();
    for &size in &[BlockSize::B2x2, BlockSize::B3x3, BlockSize::B6x6] {
        let fill = analysis.fill(size).unwrap();
        assert!((fill.ratio(matrix.nnz()) - 1.0).abs() < 1e-9 && fill.uncertainty < 0.03, "{size:?}");
    }
    assert!(analysis.fill(BlockSize::B7x7).unwrap().ratio(matrix.nnz()) > 1.5);
}

/// Predicted loads of x: blocks with one entry each load it as often as entries do, and rows that were sorted share
/// none of it with their new neighbours.
#[test]
fn blocks_and_sorted_rows_gather_what_they_touch() {
    let gathered = |analysis: &Analysis, format: &str| {
        Traffic::new(analysis, format.parse().unwrap(), &MACHINE).gathered / analysis.nnz as f64
    };
    let scattered = Analysis::new(&generated::<f64>("uniform:rows=20000,per-row=5,lengths=poisson")).unwrap();
    for format in ["sell-p", "sell-p-sorted", "bcsr-1x2", "bcsr-3x3", "bellpack-1x2"] {
        let each = gathered(&scattered, format);
        assert!((each / 32.0 - 1.0).abs() < 0.05, "{format}: {each} bytes for an entry");
    }
    // Here four rows share a sector, in any order.
    let grid = Analysis::new(&generated::<f64>("stencil:5:300")).unwrap();
    let [sliced, sorted, blocks] = ["sell-p", "sell-p-sorted", "bellpack-2x2"].map(|format| gathered(&grid, format));
    assert!(sliced < 12.0 && sorted < 1.1 * sliced && blocks < 1.1 * sliced, "{sliced}, {sorted}, {blocks}");
}

/// Launches, and the work that HYB does twice.
#[test]
fn the_work_of_hyb_is_that_of_its_parts() {
    let terms = |text: &str, format: &str| {
        let work = KernelWork::new(&Analysis::new(&generated::<f64>(text)).unwrap(), format.parse().unwrap(), &MACHINE);
        (work.kernel, work.terms)
    };
    // With equal rows, only the ELL part exists.
    let [(hyb, mine), (ell, its)] =
        ["hyb-imbalance-limit", "ell-subwarp"].map(|format| terms("dense:rows=100", format));
    assert_eq!((hyb, mine), (ell, its));
    let (hyb, [launches, _, far, ..]) = terms("pareto:rows=30000,k=1.5", "hyb-imbalance-limit");
    let (_, [once, _, near, ..]) = terms("pareto:rows=30000,k=1.5", "csr-vector");
    assert_eq!((hyb, launches, once), ("hyb", 3.0, 1.0));
    assert!(far > near, "{far}, {near}");
}

fn check_auto<E: Executor>(executor: &E) {
    for (name, matrix) in matrices::<f64>() {
        let x: Vec<f64> = (0..matrix.columns()).map(|column| (column as f64).cos()).collect();
        let y = vec![0.0; matrix.rows()];
        let expected = exact(&matrix, 1.0, &x, 0.0, &y).unwrap();
        let mut plan = Plan::automatic(executor, matrix.clone(), &selection()).unwrap();
        let choice = plan.explain().unwrap();
        assert_eq!(choice.format, plan.format(), "{name}");
        assert!(Format::ALL.contains(&choice.format) && choice.format.reproducible(), "{name}");
        let (x, mut y) = (executor.upload(x).unwrap(), executor.upload(y).unwrap());
        plan.apply(1.0, &x, 0.0, &mut y).unwrap();
        let result = verify(&executor.download(&y).unwrap(), &expected, plan.format()).unwrap();
        assert!(result.passed(), "{name}, {}: {result:?}", plan.format());
    }
}

#[test]
fn auto_is_right_on_every_executor() {
    check_auto(&Reference::new());
    check_auto(&Cpu::new());
    check_auto(&Emulated::new(3));
}

#[test]
fn auto_is_a_format_like_others() {
    assert_eq!("auto".parse::<Format>().unwrap(), Format::Auto);
    let matrix: Csr<f64> = generated("stencil:5:30");
    let cpu = Cpu::new();
    let options = PlanOptions { reproducible: true, ..PlanOptions::default() };
    let plan = Plan::with_options(&cpu, matrix.clone(), Format::Auto, options).unwrap();
    assert_ne!(plan.format(), Format::Auto);
    assert!(plan.explain().is_some());
    assert!(Plan::with_format(&cpu, matrix.clone(), Format::COO).unwrap().explain().is_none());
    // `Auto` is refused where a concrete format is needed.
    let message = "any matrix: auto stands for other formats, but none was chosen";
    let error = Matrix::try_from_csr(matrix.clone(), Format::Auto, FillLimit::default()).map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), message);
    let mut plan = Plan::with_format(&cpu, matrix, Format::CSR_SCALAR).unwrap();
    assert!(plan.set_format(Format::Auto).is_err());
}

#[test]
fn the_choice_keeps_to_what_is_asked() {
    let matrix: Csr<f64> = generated("pareto:rows=3000,k=1.1");
    let analysis = Analysis::new(&matrix).unwrap();
    let cpu = Cpu::new();
    let chosen = |selection: &Selection| choose(&analysis, cpu.device(), selection);
    let excluded = |choice: &Choice, format| {
        let candidate = choice.candidates.iter().find(|candidate| candidate.format == format);
        candidate.unwrap_or_else(|| panic!("{format} was not considered")).excluded
    };
    let choice = chosen(&selection()).unwrap();
    assert_eq!(excluded(&choice, Format::COO_ATOMIC), Some(Exclusion::NotReproducible));
    assert_eq!(excluded(&choice, Format::ELL), Some(Exclusion::Fill));
    assert_eq!(excluded(&choice, Format::CSR_SCALAR), None);
    let choice = chosen(&Selection { reproducible: false, ..selection() }).unwrap();
    assert_eq!(excluded(&choice, Format::COO_ATOMIC), None);
    let choice = chosen(&Selection { multivectors: true, ..selection() }).unwrap();
    assert_eq!(excluded(&choice, Format::Coo16), Some(Exclusion::NoMultivectors));
    assert!(choice.format.multiplies_multivectors());
    let choice = chosen(&Selection { transposed: true, reproducible: false, ..selection() }).unwrap();
    assert_eq!(excluded(&choice, Format::SELL_P), Some(Exclusion::NoTranspose));
    assert!(choice.format.multiplies_transposed());
    // A stored transpose is multiplied like any matrix.
    let choice = chosen(&Selection { transposed: true, ..selection() }).unwrap();
    assert_eq!(excluded(&choice, Format::SELL_P), None);
    // Just enough for CSR, the smallest format here.
    let csr = matrix.bytes() as u64;
    let choice = chosen(&Selection { memory_budget: Some(csr), ..selection() }).unwrap();
    assert!(choice.candidates.iter().all(|it| it.excluded.is_some() || it.traffic.stored <= csr.into()));
    assert_eq!(excluded(&choice, Format::COO), Some(Exclusion::Memory));
    let error = chosen(&Selection { memory_budget: Some(10), ..selection() }).unwrap_err();
    assert!(matches!(error, Error::NoFormat { budget: Some(10), .. }), "{error}");
    assert!(error.to_string().ends_with("bytes, and the budget is 10"), "{error}");
    // No conversion pays for one multiplication.
    let choice = chosen(&Selection { multiplications: Some(1), ..selection() }).unwrap();
    assert_eq!(choice.format.storage(), Format::CSR_SCALAR.storage());
    // A GPU of compute capability 7.5 has too little shared memory for large panels.
    let wide = Analysis::new(&generated::<f64>("uniform:rows=90000,per-row=1")).unwrap();
    for (shared_bytes, expected) in [(64 << 10, Some(Exclusion::SharedMemory)), (99 << 10, None)] {
        let machine = Machine { shared_bytes: Some(shared_bytes), ..MACHINE };
        let fill_limit = FillLimit { times_csr: f64::INFINITY };
        let calibration = Calibration::shipped(cpu.device());
        let selection = Selection { fill_limit, ..selection() };
        let choice = choose_with(&wide, &machine, &calibration, &Outcomes::default(), &selection).unwrap();
        assert_eq!(excluded(&choice, Format::Coo16), expected);
    }
    // Restricted to two formats.
    let choice = chosen(&Selection { among: vec![Format::COO, Format::CSR_AUTOMATIC], ..selection() }).unwrap();
    assert_eq!((choice.format, choice.candidates.len()), (Format::COO, 1));
}

/// On a CPU, formats with the same arrays count as one, and CSR stays unless another format is predicted to be clearly
/// faster.
#[test]
fn a_cpu_leaves_csr_for_a_clear_lead_only() {
    let machine = Machine { has_kernels: false, resident_threads: 2, cache_bytes: 32 << 20, shared_bytes: None };
    let calibration = Calibration::shipped(Cpu::new().device());
    let choose = |text, measured: &Outcomes| {
        let analysis = Analysis::new(&generated::<f64>(text)).unwrap();
        choose_with(&analysis, &machine, &calibration, measured, &selection()).unwrap()
    };
    let banded = choose("banded:rows=40000,bands=9", &Outcomes::new());
    assert_eq!(banded.format, Format::Dia);
    let seconds = |format| banded.candidates.iter().find(|other| other.format == format).unwrap().multiply;
    assert!(seconds(Format::CSR_SCALAR) > 1.3 * seconds(Format::Dia));
    for format in [Format::CSR_VECTOR, Format::CSR_TILED] {
        assert_eq!(seconds(format).to_bits(), seconds(Format::CSR_SCALAR).to_bits(), "{format}");
    }
    let permutation = choose("permutation:rows=20000", &Outcomes::new());
    let possible = permutation.candidates.iter().filter(|candidate| candidate.excluded.is_none());
    let fastest = possible.min_by(|left, right| left.multiply.total_cmp(&right.multiply)).unwrap();
    assert!(!fastest.format.shares_arrays(Format::CSR_SCALAR), "{}", fastest.format);
    assert!(permutation.format.shares_arrays(Format::CSR_SCALAR), "{}", permutation.format);
    let reason = format!(
        "CSR, unless predicted to take more than 1.3 times the time of {} for many multiplications",
        fastest.format
    );
    assert!(permutation.reason().contains(&reason), "{}", permutation.reason());
    // Measured times are used if the predicted best format is among them.
    let times = |csr: f64| [("csr-scalar".to_owned(), csr), (fastest.format.to_string(), 2.0 * fastest.multiply)];
    let alone = Outcomes::from_iter(times(1.0).into_iter().skip(1));
    assert!(choose("permutation:rows=20000", &alone).format.shares_arrays(Format::CSR_SCALAR));
    let hardly_slower = choose("permutation:rows=20000", &Outcomes::from(times(2.08 * fastest.multiply)));
    assert_eq!(hardly_slower.format, Format::CSR_SCALAR);
    let reason = format!("CSR, unless measured to take more than 1.05 times the time of {} for", fastest.format);
    assert!(hardly_slower.reason().contains(&reason), "{}", hardly_slower.reason());
    let slower = Outcomes::from(times(1.0 * fastest.multiply));
    assert_eq!(choose("permutation:rows=20000", &slower).format, Format::CSR_SCALAR);
    let chosen = choose("permutation:rows=20000", &Outcomes::from(times(3.0 * fastest.multiply)));
    assert_eq!(chosen.format, fastest.format);
    assert!(chosen.reason().contains(": measured to be the fastest for many multiplications; "), "{}", chosen.reason());
}

/// The fastest of the formats that a CPU measured: CSR, unless another one takes less than 1 / 1.05 of its time.
fn fastest(choice: &Choice) -> &Candidate {
    let weighted = |candidate: &Candidate| {
        let lead = if candidate.format.shares_arrays(Format::CSR_SCALAR) { 1.0 } else { 1.05 };
        candidate.measured.unwrap() * lead
    };
    let measured = choice.candidates.iter().filter(|candidate| candidate.measured.is_some());
    measured.min_by(|left, right| weighted(left).total_cmp(&weighted(right))).unwrap()
}

#[test]
fn what_is_unsure_is_measured_where_it_pays() {
    let matrix = generated::<f64>("stencil:5:60");
    let measured = |multiplications, plan: &Choice| {
        let times = |choice: &Choice| -> Vec<f64> { choice.candidates.iter().filter_map(|c| c.measured).collect() };
        assert_eq!(plan.multiplications, multiplications);
        times(plan)
    };
    let cpu = Cpu::new();
    for (multiplications, measures) in [(Some(1), false), (Some(u64::MAX), true), (None, true)] {
        let selection = Selection { multiplications, measure: Measure::WhereUnsure, ..selection() };
        let plan = Plan::automatic(&cpu, matrix.clone(), &selection).unwrap();
        let choice = plan.explain().unwrap();
        let times = measured(multiplications, choice);
        assert_eq!(times.len() > 1, measures, "{choice}");
        if measures {
            assert_eq!(choice.candidates[0].format, fastest(choice).format, "{choice}");
            assert!(times.len() <= 8, "{choice}");
        }
        // Times of an emulator are meaningless.
        let plan = Plan::automatic(&Emulated::new(0), matrix.clone(), &selection).unwrap();
        assert!(measured(multiplications, plan.explain().unwrap()).is_empty());
    }
}

/// The matrix that was measured is kept, so its conversion no longer counts.
#[test]
fn the_fastest_that_was_measured_is_taken_whatever_its_conversion() {
    let selection = Selection { multiplications: Some(1), measure: Measure::Best(4), ..selection() };
    for (updates, name) in [(false, "stencil:5:60"), (true, "stencil:5:60"), (false, "banded:rows=3000,bands=9")] {
        let selection = Selection { updates, ..selection.clone() };
        let matrix = generated::<f64>(name);
        let mut plan = Plan::automatic(&Cpu::new(), matrix.clone(), &selection).unwrap();
        let choice = plan.explain().unwrap();
        let converted: Vec<_> = choice.candidates.iter().filter(|candidate| candidate.converted).collect();
        assert_eq!((converted.len(), converted[0].format), (1, plan.format()));
        assert_eq!(plan.format(), fastest(choice).format, "{choice}");
        let x = vec![1.0; matrix.columns()];
        let mut y = vec![f64::NAN; matrix.rows()];
        plan.apply(1.0, &x, 0.0, &mut y).unwrap();
        let expected = exact(&matrix, 1.0, &x, 0.0, &vec![0.0; y.len()]).unwrap();
        assert!(verify(&y, &expected, plan.format()).unwrap().passed());
        if updates {
            plan.update_values(&vec![2.0; matrix.nnz()]).unwrap();
            plan.apply(1.0, &x, 0.0, &mut y).unwrap();
            assert!((0..matrix.rows()).all(|row| y[row] == 2.0 * matrix.range(row).len() as f64));
        }
    }
}

/// Formats that a CPU multiplies alike are measured once.
#[test]
fn a_cpu_measures_formats_that_differ() {
    let selection = Selection { measure: Measure::Best(4), ..selection() };
    let plan = Plan::automatic(&Cpu::new(), generated::<f64>("stencil:27:12"), &selection).unwrap();
    let candidates = &plan.explain().unwrap().candidates;
    let measured: Vec<_> =
        candidates.iter().filter(|other| other.measured.is_some()).map(|other| other.format).collect();
    assert_eq!(measured.len(), 4);
    for (place, format) in measured.iter().enumerate() {
        assert!(measured[..place].iter().all(|before| !before.shares_arrays(*format)), "{measured:?}");
    }
}

#[test]
fn what_was_measured_decides() {
    let matrix: Csr<f32> = generated("uniform:rows=2000,per-row=5");
    let folder = tempfile::tempdir().unwrap();
    let store = Some(Store::at(folder.path().join("not there yet")));
    let selection = Selection { store: store.clone(), measure: Measure::Best(2), ..selection() };
    let cpu = Cpu::new();
    let plan = Plan::automatic(&cpu, matrix.clone(), &selection).unwrap();
    let choice = plan.explain().unwrap();
    let measured: Vec<_> = choice.candidates.iter().filter(|candidate| candidate.measured.is_some()).collect();
    assert_eq!((measured.len(), measured[0].format), (2, plan.format()));
    assert_eq!(measured[0].format, fastest(choice).format, "{choice}");
    // The second time, the stored times are used, even without measuring.
    let analysis = Analysis::new(&matrix).unwrap();
    let again = choose(&analysis, cpu.device(), &Selection { measure: Measure::Never, ..selection.clone() }).unwrap();
    assert_eq!(again.candidates.iter().filter(|candidate| candidate.measured.is_some()).count(), 2);
    assert_eq!(again.format, plan.format());
    // A different matrix has no stored times.
    let other: Csr<f32> = generated("uniform:rows=2000,per-row=5,seed=8");
    let other =
        choose(&Analysis::new(&other).unwrap(), cpu.device(), &Selection { measure: Measure::Never, ..selection })
            .unwrap();
    assert!(other.candidates.iter().all(|candidate| candidate.measured.is_none()));
    // An invalid file is ignored.
    let path = folder.path().join("not there yet/outcomes.json");
    for text in ["{", "[]", r#"{"a": {"ell": -1.0}}"#] {
        fs::write(&path, text).unwrap();
        let choice = choose(&analysis, cpu.device(), &Selection { store: store.clone(), ..Selection::default() });
        let note = choice.unwrap().note.unwrap();
        assert!(note.starts_with(path.to_str().unwrap()) && note.lines().count() == 1, "{note}");
    }
}

/// Values missed by the sample change how values are stored, and enter the product.
#[test]
fn a_rare_value_is_not_lost() {
    let (rows, odd) = (200_000, 123_457);
    let entries: Vec<u32> = (0..rows).collect();
    let mut values = vec![2.0; entries.len()];
    let plan_of = |values: &[f64]| {
        let matrix = Csr::try_from_triplets(entries.len(), entries.len(), &entries, &entries, values).unwrap();
        let narrow = Analysis::new(&matrix).unwrap().narrow;
        let selection = Selection { values: ValueStorage::Lossless, among: vec![Format::CSR_TILED], ..selection() };
        (narrow, Plan::automatic(&Cpu::new(), matrix, &selection).unwrap())
    };
    let stored = |plan: &Plan<f64, Cpu>| plan.explain().unwrap().candidates[0].narrow;
    let (guessed, plan) = plan_of(&values);
    assert_eq!((guessed, stored(&plan)), (Some(NarrowType::Same), Some(NarrowType::Same)));
    values[odd] = 0.3;
    let (guessed, mut plan) = plan_of(&values);
    assert_eq!((guessed, stored(&plan)), (Some(NarrowType::Same), Some(NarrowType::Table)));
    let mut y = vec![0.0; entries.len()];
    plan.apply(1.0, &vec![1.0; entries.len()], 0.0, &mut y).unwrap();
    assert!((y[odd], y[odd + 1]) == (0.3, 2.0));
    // With many different values, no narrow type is left.
    let many: Vec<f64> =
        values.iter().zip(0..).map(|(&value, n)| if n % 700 == 699 { f64::from(n).sqrt() } else { value }).collect();
    let (_, plan) = plan_of(&many);
    assert!(stored(&plan).is_none() && !matches!(plan.matrix(), Matrix::Narrow(_)));
}

/// By default, no format is chosen whose conversion would take longer than a few solves.
#[test]
fn a_plan_without_a_format_is_for_some_multiplications() {
    let matrix: Csr<f64> = generated("stencil:7:12");
    let (cpu, x) = (Cpu::new(), vec![1.0; matrix.columns()]);
    let mut plan = Plan::new(&cpu, matrix.clone()).unwrap();
    let choice = plan.explain().unwrap();
    assert_eq!((choice.format, choice.multiplications), (plan.format(), Some(Selection::MULTIPLICATIONS)));
    let mut y = vec![f64::NAN; matrix.rows()];
    let expected = exact(&matrix, 1.0, &x, 0.0, &y).unwrap();
    plan.apply(1.0, &x, 0.0, &mut y).unwrap();
    assert!(verify(&y, &expected, plan.format()).unwrap().passed());
}
