//! Text output of `bench`.

use std::collections::BTreeSet;
use std::time::Duration;

use lab::contests::{Contest, contests, standings};
use lab::measure::UNIT;
use lab::record::{Entry, Run, is_own_format, layout_name};
use lab::statistics::SpeedUps;
use lab::sweeps::Sweep;
use warp_spmv::{Format, Multivector};

use crate::cli::output::printable;
use crate::cli::units::{duration, four_digits};

/// The results of searches for all matrices together, one line per executor and precision.
pub fn potential(sweeps: &[Sweep], entries: &[Entry]) -> String {
    let kind = |entry: &Entry| (entry.env.executor.clone(), entry.env.precision.clone());
    let kinds: BTreeSet<_> = entries.iter().map(kind).collect();
    let mut told = String::new();
    for &sweep in sweeps {
        for of in &kinds {
            if let Some(potential) = sweep.potential(entries.iter().filter(|&entry| kind(entry) == *of)) {
                let (executor, precision) = of;
                told += &format!("{executor}, {precision}, {potential}\n");
            }
        }
    }
    told
}

/// The fastest formats of an entry, the format chosen, and the results of searches, in one line.
pub fn summary(entry: &Entry, sweeps: &[Sweep]) -> String {
    let mut told = Vec::new();
    let mut tell = |name: &str, run: &Run| {
        let Some(seconds) = run.seconds() else { return };
        let mut text = format!("{name} {}", duration(Duration::from_secs_f64(seconds)));
        if let Some(gflops) = run.gflops {
            text += &format!(", {} GFLOP/s", four_digits(gflops));
        }
        if let Some(eta) = run.eta {
            text += &format!(", {eta:.2} of copy");
        }
        told.push(text);
    };
    let own = entry.fastest(is_own_format).map(|(name, _)| name.to_owned());
    let peer = entry.fastest(|_, run| run.is_peer()).map(|(name, _)| name.to_owned());
    let unit = Some(UNIT.name().to_owned()).filter(|_| own.as_deref() != Some(UNIT.name()));
    for name in [own, unit, peer].into_iter().flatten() {
        if let Some(run) = entry.spmv.get(&name) {
            tell(&name, run);
        }
    }
    told.extend(entry.spmv.get(Format::Auto.name()).and_then(choice));
    let found = sweeps.iter().filter_map(|&sweep| Some((sweep, sweep.found(entry)?)));
    told.extend(found.map(|(sweep, (best, gain))| {
        let usual = sweep.formats()[0];
        format!("{sweep}: {best}, {gain:.2} times as fast as {usual}")
    }));
    if told.is_empty() { "nothing measured".into() } else { told.join("; ") }
}

/// The format chosen, and the cost of the choice.
fn choice(run: &Run) -> Option<String> {
    let format = run.strategy.as_deref()?;
    let text = format!("{}: {format} {}", Format::Auto, duration(Duration::from_secs_f64(run.seconds()?)));
    Some(match run.conversion.as_ref().and_then(|conversion| conversion.csr_calls) {
        Some(calls) => format!("{text}, ready in {} times the time of {UNIT}", four_digits(calls)),
        None => text,
    })
}

/// Our fastest format, the fastest peer and single products, one line per number and layout of vectors.
pub fn of_products(entry: &Entry) -> String {
    contests(entry).map(|contest| format!("  {}: {}\n", shape(contest.shape), told(&contest))).collect()
}

fn told(contest: &Contest<'_>) -> String {
    let side = |side: Option<(&str, f64)>| {
        side.map(|(name, seconds)| format!("{name} {}", duration(Duration::from_secs_f64(seconds))))
    };
    let times = |ratio: Option<f64>, what: &str| ratio.map(|ratio| format!("{ratio:.2} times as fast as {what}"));
    let told = [
        side(contest.own),
        side(contest.peer),
        times(contest.speed_up(), "the peer"),
        times(contest.over_singles(), "single products"),
    ];
    let told: Vec<_> = told.into_iter().flatten().collect();
    if told.is_empty() { "nothing measured".into() } else { told.join("; ") }
}

/// Number and layout of vectors.
pub fn shape(shape: Multivector) -> String {
    let (vectors, layout) = (shape.vectors, layout_name(shape.layout));
    format!("{vectors} {}, {layout}", if vectors == 1 { "vector" } else { "vectors" })
}

/// Comparison of products with several vectors on all matrices together, one line per executor, precision, and number
/// and layout of vectors.
pub fn compared(entries: &[Entry]) -> String {
    let ratios = |found: &SpeedUps, what: &str| {
        let (mean, (place, worst)) = (found.mean()?, found.worst()?);
        let of = printable(&entries[place].filename);
        Some(format!("{mean:.2} times as fast as {what} in the geometric mean, {worst:.2} at worst ({of})"))
    };
    let lines = standings(entries).into_iter().filter_map(|standing| {
        let told = [ratios(&standing.against_peers, "the peers"), ratios(&standing.against_singles, "single products")];
        let told: Vec<_> = told.into_iter().flatten().collect();
        let of = format!("{}, {}, {}", standing.executor, standing.precision, shape(standing.shape));
        (!told.is_empty()).then(|| format!("{of}: {}\n", told.join("; ")))
    });
    lines.collect()
}
