//! The subjects of a report: formats and peers.

use std::collections::{BTreeMap, BTreeSet};

use host::Format;
use serde::Serialize;

use crate::record::Entry;
use crate::statistics::performance_profiles;

/// A format or a peer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The name in [`Entry::spmv`].
    pub name: String,
    /// Whether it is a peer.
    pub peer: bool,
    /// Whether it is one of our formats: the choice among them is a separate row, but not one of them.
    pub format: bool,
    /// The library, if known.
    pub library: Option<String>,
    /// The number among all, which determines colour, marker and dashes.
    pub style: usize,
    /// Whether it is coloured in a figure of all; there are too many to colour all.
    pub shown: bool,
}

/// Numbers of formats and of peers that are coloured in a figure.
const SHOWN_OWN: usize = 7;
const SHOWN_PEERS: usize = 4;

/// Returns all formats and peers: first our formats, then the peers, both sorted from the closest to the best to those
/// without a result.
pub fn series(entries: &[Entry]) -> Vec<Series> {
    let mut libraries: BTreeMap<&str, Option<&str>> = BTreeMap::new();
    let mut peers = BTreeSet::new();
    for (name, run) in entries.iter().flat_map(|entry| &entry.spmv) {
        let library = libraries.entry(name).or_default();
        *library = library.or(run.library.as_deref());
        if run.is_peer() {
            peers.insert(name.as_str());
        }
    }
    let profiles = performance_profiles(entries);
    let ranked: Vec<_> = profiles.iter().map(|profile| profile.name.as_str()).collect();
    let failed = libraries.keys().copied().filter(|name| !ranked.contains(name));
    let (theirs, ours): (Vec<_>, Vec<_>) = ranked.iter().copied().chain(failed).partition(|&name| peers.contains(name));
    let ours = ours.iter().enumerate().map(|(place, &name)| (name, false, place < SHOWN_OWN));
    let theirs = theirs.iter().enumerate().map(|(place, &name)| (name, true, place < SHOWN_PEERS));
    let mut series: Vec<_> = ours
        .chain(theirs)
        .map(|(name, peer, shown)| {
            let library = libraries[name].map(str::to_owned);
            let format = !peer && name != Format::Auto.name();
            Series { name: name.to_owned(), peer, format, library, style: 0, shown }
        })
        .collect();
    // Coloured ones get the most distinct styles.
    let mut by_style: Vec<_> = series.iter_mut().collect();
    by_style.sort_by_key(|series| !series.shown);
    by_style.into_iter().enumerate().for_each(|(style, series)| series.style = style);
    series
}
