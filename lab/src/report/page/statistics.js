// The same as statistics.rs, of the entries and runs that the filters leave.

function geometricMean(numbers) {
  return numbers.length ? Math.exp(d3.sum(numbers, Math.log) / numbers.length) : null;
}

function fastest(runs) {
  return d3.least(runs, run => run.seconds);
}

// Of each series how many times slower than the best it is, ascending, and within(factor).
function performanceProfiles(selection) {
  const counted = selection.entries.filter(entry => entry.selected.length);
  const factors = new Map(selection.series.map(series => [series, []]));
  for (const { selected } of counted) {
    const best = fastest(selected).seconds;
    for (const run of selected) factors.get(run.series).push(run.seconds / best);
  }
  return [...factors].filter(([, factors]) => factors.length).map(([series, factors]) => {
    factors.sort(d3.ascending);
    return { series, worst: factors.at(-1), within: factor => d3.bisectRight(factors, factor) / counted.length };
  });
}

// The fastest run that `ours` takes against the fastest that `theirs` takes, entry by entry.
function speedUps(selection, ours, theirs) {
  const ratios = [];
  let unanswered = 0;
  for (const entry of selection.entries) {
    const [own, other] = [ours, theirs].map(chosen => fastest(entry.selected.filter(chosen)));
    if (own && other) ratios.push({ entry, own, other, ratio: other.seconds / own.seconds });
    else if (other) unanswered += 1;
  }
  const mean = geometricMean(ratios.map(({ ratio }) => ratio));
  return { ratios, unanswered, mean, worst: d3.least(ratios, d => d.ratio), best: d3.greatest(ratios, d => d.ratio) };
}

// Every speed-up that is shown: of our fastest and of the chosen format, against the best peer and each of them.
function allSpeedUps(selection, chosen) {
  const peers = selection.series.filter(({ peer }) => peer);
  const theirs = [["the fastest peer", run => run.series.peer]];
  for (const peer of peers) theirs.push([peer.name, run => run.series === peer]);
  const ours = [["our fastest", run => run.series.format]];
  if (chosen) ours.push([chosen.name, run => run.series === chosen]);
  return peers.length === 0 ? [] : theirs.flatMap(([their, isTheirs], place) =>
    ours.map(([our, isOurs], side) => ({ their, our, side, place, ...speedUps(selection, isOurs, isTheirs) })));
}
