//! Begin and end of the steps of one product on each rank.

use std::fmt::{self, Display};

use serde::Serialize;
use warp_spmv::distributed::{Communicator, Span, Timeline};

use crate::cli::error::Error;

/// The begin and the end of each step on each rank, in microseconds since the product began there.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Timelines(Vec<Steps>);

#[derive(Debug, Serialize)]
struct Steps {
    rank: usize,
    pack: [f64; 2],
    exchange: [f64; 2],
    local: [f64; 2],
    /// Null if a rank needs nothing of others.
    remote: Option<[f64; 2]>,
    /// Null if that is part of the remote product.
    add: Option<[f64; 2]>,
}

impl Timelines {
    /// The timelines of all ranks, on each of them.
    pub fn gathered(communicator: &Communicator, own: &Timeline) -> Result<Self, Error> {
        let microseconds = |span: Span| [span.begin, span.end].map(|time| time.as_secs_f64() * 1e6);
        let [remote, add] = [own.remote, own.add].map(|step| step.map_or([f64::NAN; 2], microseconds));
        let steps = [microseconds(own.pack), microseconds(own.exchange), microseconds(own.local), remote, add];
        let all = communicator.all_gather(&steps)?;
        let there_is = |step: [f64; 2]| Some(step).filter(|step| !step[0].is_nan());
        let steps = all.iter().enumerate().map(|(rank, steps)| Steps {
            rank,
            pack: steps[0],
            exchange: steps[1],
            local: steps[2],
            remote: there_is(steps[3]),
            add: there_is(steps[4]),
        });
        Ok(Self(steps.collect()))
    }
}

/// Formats a table.
impl Display for Timelines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "microseconds             pack           exchange              local             remote                add"
        )?;
        let span = |[begin, end]: [f64; 2]| format!("{begin:.1} to {end:.1}");
        for Steps { rank, pack, exchange, local, remote, add } in &self.0 {
            let [pack, exchange, local] = [pack, exchange, local].map(|&step| span(step));
            let [remote, add] = [remote, add].map(|step| step.map_or("none".to_owned(), span));
            writeln!(f, "{rank:<10} {pack:>18} {exchange:>18} {local:>18} {remote:>18} {add:>18}")?;
        }
        Ok(())
    }
}
