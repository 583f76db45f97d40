// What a reader wants to know first: our fastest format against the fastest peer, by family.

// A family with its executor and precision, where these differ.
function families(selection) {
  const executors = new Set(selection.entries.map(({ executor }) => executor)).size;
  const name = entry => [entry.family || "unknown", executors > 1 ? entry.executor : "", entry.precision].filter(Boolean).join(", ");
  return d3.sort(d3.groups(selection.entries.filter(({ selected }) => selected.length), name), ([name]) => name);
}

const hundredths = number => (number == null ? "–" : number.toFixed(2));

function row(name, selection, entries) {
  const { mean, worst, ratios } = speedUps({ ...selection, entries }, ({ series }) => series.format, ({ series }) => series.peer);
  const best = entries.map(({ selected }) => fastest(selected.filter(({ series }) => series.format))).filter(Boolean);
  const wins = d3.sort(d3.rollups(best, runs => runs.length, ({ series }) => series.name), ([, count]) => -count);
  const copies = best.map(({ eta }) => eta).filter(eta => eta > 0);
  return [
    name, entries.length, wins.length ? `${wins[0][0]} (${wins[0][1]})` : "–", hundredths(mean),
    worst ? `${hundredths(worst.ratio)}, ${clip(worst.entry.filename, 40)}` : "–",
    ratios.length ? `${ratios.filter(({ ratio }) => ratio >= 1).length} of ${ratios.length}` : "–",
    hundredths(geometricMean(copies)),
  ];
}

function summaryTable(selection) {
  const groups = families(selection);
  if (!groups.length) return {};
  const rows = groups.map(([name, entries]) => row(name, selection, entries));
  const precisions = d3.groups(groups.flatMap(([, entries]) => entries), ({ precision }) => precision);
  const all = precisions.map(([precision, entries]) => row(["all", precision].filter(Boolean).join(", "), selection, entries));
  return {
    table: {
      caption: "Our fastest format against the fastest peer, by family",
      head: ["matrices", "number", "fastest most often", "speed-up, geometric mean", "worst", "as fast or faster", "fraction of a copy"],
      rows: groups.length > 1 ? [...all, ...rows] : rows,
    },
    caption: "Speed-up: time of the fastest peer over that of our fastest format. Fraction of a copy: bytes moved at least, over the "
      + "time, as a fraction of the bandwidth of a copy.",
  };
}
