// The plots. Each function returns { plots, groups, legend, caption, table } for a selection; all parts are optional.

// The same as in style.rs, as are the colours in style.css.
const SYMBOLS = ["circle", "triangle", "square", "diamond2", "times", "plus", "star"];
const DASHES = ["none", "7 3", "2 3", "12 3", "4 6"];
const REST = "var(--rest)";
const WIDE = 720;

const colourOf = ({ style }) => `var(--series-${style % 7})`;
const symbolOf = ({ style }) => SYMBOLS[(style + Math.floor(style / SYMBOLS.length)) % SYMBOLS.length];
const dashOf = ({ style }) => DASHES[style % DASHES.length];

// A number with three digits.
function short(number) {
  if (number == null) return "–";
  return number !== 0 && (Math.abs(number) >= 1e6 || Math.abs(number) < 1e-3)
    ? number.toExponential(2) : String(Number(number.toPrecision(3)));
}

function seconds(time) {
  if (time == null) return "–";
  const [scale, unit] = time >= 1 ? [1, "s"] : time >= 1e-3 ? [1e3, "ms"] : [1e6, "µs"];
  return `${short(time * scale)} ${unit}`;
}

// What an entry is called in so many letters.
const called = ({ filename, qualifier }, length) => clip(filename, length - qualifier.length) + qualifier;

function clip(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

// The record of a run as lines.
function describe(run) {
  const { entry, series } = run;
  const lines = [
    `${series.name}${series.peer ? ` (${series.library})` : ""}: ${short(run.gflops)} GFLOP/s`,
    called(entry, 60),
    `${entry.rows.toLocaleString("en")} × ${entry.cols.toLocaleString("en")}, ${entry.nonzeros.toLocaleString("en")} nonzeros`,
    `${seconds(run.seconds)}${run.lower_quartile ? `, half within ${seconds(run.lower_quartile)} to ${seconds(run.upper_quartile)}` : ""}`
      + `${run.cold ? ", caches cold" : ""}${run.repetitions ? `, ${run.repetitions} times` : ""}`,
  ];
  if (run.gbps != null) lines.push(`${short(run.gbps)} GB/s${run.eta != null ? `, ${short(run.eta)} of the copy, ${short(run.eta_uncached)} if x were not cached` : ""}`);
  if (run.fill_ratio != null) lines.push(`fill ${short(run.fill_ratio)}`);
  if (run.csr_calls != null) lines.push(`conversion ${short(run.csr_calls)} CSR calls, repaid after ${run.break_even == null ? "–" : short(run.break_even)}`);
  if (run.error_of_bound != null) lines.push(`error ${short(run.error_of_bound)} of the bound`);
  if (run.strategy) lines.push(clip(run.strategy, 60));
  return lines.join("\n");
}

function legend(series, { dashed = false } = {}) {
  const list = d3.create("ul").attr("class", "legend");
  for (const one of series) {
    const item = list.append("li");
    const svg = item.append("svg").attr("width", 34).attr("height", 14).attr("aria-hidden", "true");
    if (dashed) {
      svg.append("line").attr("x2", 34).attr("y1", 7).attr("y2", 7).attr("stroke", colourOf(one)).attr("stroke-width", 2)
        .attr("stroke-dasharray", dashOf(one));
    }
    const symbol = d3[`symbol${symbolOf(one)[0].toUpperCase()}${symbolOf(one).slice(1)}`];
    svg.append("path").attr("transform", "translate(17,7)").attr("d", d3.symbol(symbol, 40)()).attr("fill", "none")
      .attr("stroke", colourOf(one)).attr("stroke-width", 1.5);
    item.append("span").text(` ${one.name}`);
  }
  return list.node();
}

// Dots of runs: those shown in colour, and the rest.
function dots(selection, runs, channels) {
  const shown = runs.filter(({ series }) => selection.shown.has(series));
  const rest = runs.filter(({ series }) => !selection.shown.has(series));
  return [
    Plot.dot(rest, { ...channels, r: 1.5, fill: REST, fillOpacity: 0.6 }),
    Plot.dot(shown, {
      ...channels, r: 4, stroke: ({ series }) => colourOf(series), symbol: ({ series }) => symbolOf(series),
      strokeWidth: 1.5, fill: "var(--background)", fillOpacity: 0.3,
    }),
    tip(runs, { ...channels, title: describe }),
  ];
}

const tip = (data, channels) =>
  Plot.tip(data, Plot.pointer({ ...channels, fill: "var(--background)", stroke: "var(--faint)", lineWidth: 40 }));
const frame = (width, more) => ({ width, style: { color: "var(--text)", fontSize: "12px" }, ...more });

function restNote(selection) {
  const rest = selection.series.length - selection.shown.size;
  return rest > 0 ? ` Grey: ${rest === 1 ? "the other one" : `the ${rest} others`}.` : "";
}

// From this many matrices on, each family has a plot of its own, closed at first.
const GROUPED = 24;

function plotGflops(selection, width) {
  const entries = selection.entries.filter(({ selected }) => selected.length);
  if (!entries.some(({ selected }) => selected.some(({ gflops }) => gflops > 0))) return {};
  const groups = entries.length < GROUPED ? [] : families(selection).map(([name, ofFamily]) =>
    ({ name, count: ofFamily.length, svg: gflopsOf(ofFamily, selection, width, name) }));
  const without = d3.rollups(selection.records.filter(({ state }) => state), runs => runs.length, ({ state }) => state);
  return {
    groups, plots: groups.length ? [] : [gflopsOf(entries, selection, width, "all")], legend: legend(selection.shown),
    caption: `2 · nonzeros over the median time, caches cold where the matrix would fit into them. Farther right is faster.${restNote(selection)}`
      + (without.length ? ` Without a right result: ${without.map(([state, count]) => `${count} ${state}`).join(", ")}; the table says why.` : ""),
  };
}

function gflopsOf(entries, selection, width, name) {
  const runs = entries.flatMap(({ selected }) => selected).filter(({ gflops }) => gflops > 0);
  const wide = width >= WIDE;
  const label = new Map(entries.map(entry => [entry.id, called(entry, wide ? 38 : Math.floor(width / 8))]));
  return Plot.plot(frame(width, {
    ariaLabel: `Speed of each run in GFLOP/s, by matrix: ${name}`,
    height: 70 + entries.length * (wide ? 20 : 34),
    marginLeft: wide ? 270 : 8, marginRight: 24, marginTop: 36,
    x: { type: "log", label: "GFLOP/s →", grid: true, axis: "both", tickFormat: short, ticks: 6 },
    y: { type: "point", domain: entries.map(({ id }) => id), label: null, axis: wide ? "left" : null, tickFormat: id => label.get(id), tickSize: 0 },
    marks: [
      Plot.ruleY(entries, { y: "id", stroke: "var(--line)", strokeWidth: 0.5 }),
      ...(wide ? [] : [Plot.text(entries, { y: "id", frameAnchor: "left", text: ({ id }) => label.get(id), dy: -13, fill: "currentColor" })]),
      ...dots(selection, runs, { x: "gflops", y: ({ entry }) => entry.id }),
    ],
  }));
}

function plotProfile(selection, width) {
  const profiles = performanceProfiles(selection);
  if (!profiles.length) return {};
  const limit = Math.min(10, Math.max(1.5, d3.max(profiles, ({ worst }) => worst)));
  const steps = d3.range(0, 201).map(step => limit ** (step / 200));
  const marked = d3.range(0, 11).map(step => limit ** (step / 10));
  const points = (profile, factors) =>
    factors.map(factor => ({ series: profile.series, factor, fraction: profile.within(factor) }));
  const line = (profile, options) =>
    Plot.line(points(profile, steps), { x: "factor", y: "fraction", curve: "step-after", ...options });
  const shown = profiles.filter(({ series }) => selection.shown.has(series));
  const title = ({ series, factor, fraction }) =>
    `${series.name}\nwithin ${short(factor)} of the best on ${short(100 * fraction)} % of the matrices`;
  const marks = shown.flatMap(profile => points(profile, marked));
  const plot = Plot.plot(frame(width, {
    ariaLabel: "Performance profile: fraction of the matrices on which each format is within a factor of the best",
    height: Math.min(480, 240 + width / 4), marginLeft: 50, marginRight: 24,
    x: { type: "log", domain: [1, limit], label: "factor of the best time →", grid: true, tickFormat: short, ticks: 8 },
    y: { domain: [0, 1], percent: false, label: "↑ fraction of the matrices", grid: true, tickFormat: "%" },
    marks: [
      ...profiles.filter(({ series }) => !selection.shown.has(series))
        .map(profile => line(profile, { stroke: REST, strokeWidth: 0.75, strokeOpacity: 0.7 })),
      ...shown.map(profile => line(profile, { stroke: colourOf(profile.series), strokeWidth: 2, strokeDasharray: dashOf(profile.series) })),
      Plot.dot(marks, { x: "factor", y: "fraction", r: 4, stroke: ({ series }) => colourOf(series), symbol: ({ series }) => symbolOf(series), strokeWidth: 1.5 }),
      tip(profiles.flatMap(profile => points(profile, marked)), { x: "factor", y: "fraction", title }),
    ],
  }));
  return {
    plots: [plot], legend: legend(shown.map(({ series }) => series), { dashed: true }),
    caption: `How often a format is at most so many times slower than the fastest (Anzt et al. 2020, eq. 8). Higher is better; at 1 it is how often it is the fastest. A run without a result is never within.${restNote(selection)}`,
  };
}

function plotSpeedUps(selection, width, { chosenFormat }) {
  const all = allSpeedUps(selection, chosenFormat);
  const groups = all.filter(({ ratios }) => ratios.length);
  if (!groups.length) return { caption: "There is no peer with a result among these." };
  const wide = width >= WIDE;
  const names = [...new Set(groups.map(({ their }) => their))];
  const points = groups.flatMap(group => group.ratios.map(ratio => ({ ...ratio, ...{ their: group.their, our: group.our, side: group.side } })));
  const title = ({ entry, own, other, ratio }) =>
    `${short(ratio)} times as fast\n${own.series.name} ${seconds(own.seconds)}\n${other.series.name} ${seconds(other.seconds)}\n${called(entry, 60)}`;
  const colours = ["var(--series-0)", "var(--series-1)"];
  const marks = [0, 1].flatMap(side => {
    const dy = side ? 8 : -6;
    const ofSide = data => data.filter(datum => datum.side === side);
    return [
      Plot.dot(ofSide(points), { x: "ratio", y: "their", dy, r: 3, stroke: colours[side], symbol: side ? "triangle" : "circle", strokeOpacity: 0.7 }),
      Plot.tickX(ofSide(groups), { x: "mean", y: "their", dy, stroke: colours[side], strokeWidth: 4, insetTop: 14, insetBottom: 14 }),
      tip(ofSide(points), { x: "ratio", y: "their", dy, title }),
    ];
  });
  const plot = Plot.plot(frame(width, {
    ariaLabel: "Speed-up against each peer, by matrix, with the geometric mean",
    height: 70 + names.length * 46, marginLeft: wide ? 200 : 8, marginRight: 24, marginTop: 36,
    x: { type: "log", label: "speed-up →", grid: true, axis: "both", tickFormat: short, ticks: 6 },
    y: { type: "band", domain: names, label: null, axis: wide ? "left" : null, tickSize: 0, tickFormat: name => clip(name, 28) },
    marks: [
      Plot.ruleX([1], { stroke: "var(--text)", strokeDasharray: "4 3" }),
      ...(wide ? [] : [Plot.text(names, { y: name => name, frameAnchor: "left", text: name => name, dy: -20, fill: "currentColor" })]),
      ...marks,
    ],
  }));
  const rows = all.map(({ their, our, ratios, unanswered, mean, worst, best }) => [
    our, their, ratios.length, unanswered, short(mean),
    worst ? `${short(worst.ratio)}, ${called(worst.entry, 60)}` : "–", best ? `${short(best.ratio)}, ${called(best.entry, 60)}` : "–",
  ]);
  return {
    plots: [plot],
    table: { caption: "Speed-ups in numbers", head: ["ours", "against", "matrices", "only theirs has a result", "geometric mean", "worst", "best"], rows },
    caption: `The peer's time over ours, matrix by matrix: circles for the fastest of our formats${chosenFormat ? `, triangles for ${chosenFormat.name}` : ""}; bars are geometric means. Right of 1 we are faster.`,
  };
}

function plotRoofline(selection, width) {
  const runs = selection.runs.filter(({ intensity, gflops }) => intensity > 0 && gflops > 0);
  if (!runs.length) return { caption: "No run here says how many bytes it has to move." };
  const [low, high] = d3.extent(runs, ({ intensity }) => intensity);
  const [from, to] = [low / 1.15, high * 1.15];
  const kinds = [["copy", "copy_gbps", "none"], ["read", "read_gbps", "8 4"], ["gather", "gather_gbps", "2 3"]];
  const devices = d3.groups(selection.entries.filter(({ ceilings }) => ceilings), ({ executor, device }) => `${executor} ${device}`);
  const ceilings = devices.flatMap(([device, entries]) => kinds.map(([kind, field, dash]) =>
    ({ kind: devices.length > 1 ? `${kind}, ${device}` : kind, gbps: d3.max(entries, ({ ceilings }) => ceilings[field]), dash })))
    .filter(({ gbps }) => gbps > 0);
  const marks = ceilings.flatMap(({ kind, gbps, dash }) => {
    const ends = [from, to].map(intensity => ({ intensity, gflops: intensity * gbps }));
    return [
      Plot.line(ends, { x: "intensity", y: "gflops", stroke: "var(--text)", strokeDasharray: dash }),
      Plot.text([ends[1]], { x: "intensity", y: "gflops", text: () => `${kind} ${short(gbps)} GB/s`, textAnchor: "end", dy: dash === "8 4" ? -12 : 12, fill: "currentColor" }),
    ];
  });
  const plot = Plot.plot(frame(width, {
    ariaLabel: "Roofline: arithmetic intensity against speed, with the ceilings of the memory",
    height: Math.min(520, 260 + width / 4), marginLeft: 55, marginRight: 24,
    x: { type: "log", domain: [from, to], label: "floating-point operations per byte →", grid: true, tickFormat: short, ticks: 6 },
    y: { type: "log", label: "↑ GFLOP/s", grid: true, tickFormat: short, ticks: 6 },
    marks: [...marks, ...dots(selection, runs, { x: "intensity", y: "gflops" })],
  }));
  const without = selection.runs.length - runs.length;
  return {
    plots: [plot], legend: legend(selection.shown),
    caption: `2 · nonzeros over the bytes that the format has to move, against speed. Lines: what the memory allows when copied, read, and gathered at random, as measured in the same runs.${restNote(selection)}`
      + (without ? ` ${without} runs do not say how many bytes they move and are not here.` : ""),
  };
}

function plotConversion(selection, width) {
  const converted = selection.runs.filter(({ csr_calls }) => csr_calls > 0);
  if (!converted.length) return { caption: "No conversion was measured here." };
  const names = d3.groupSort(converted, runs => d3.median(runs, ({ csr_calls }) => csr_calls), ({ series }) => series.name);
  const wide = width >= WIDE;
  const panelWidth = wide ? (width - 16) / 2 : width;
  const panel = (field, label, ariaLabel) => {
    const runs = converted.filter(run => run[field] > 0);
    return Plot.plot(frame(panelWidth, {
      ariaLabel, height: 60 + names.length * 20, marginLeft: 130, marginRight: 24,
      x: { type: "log", label: `${label} →`, grid: true, tickFormat: short, ticks: 5 },
      y: { type: "band", domain: names, label: null, tickSize: 0, tickFormat: name => clip(name, 18) },
      marks: [
        Plot.dot(runs, { x: field, y: ({ series }) => series.name, r: 3, stroke: "var(--series-0)", strokeOpacity: 0.6 }),
        Plot.tickX(runs, Plot.groupY({ x: "median" }, { x: field, y: ({ series }) => series.name, stroke: "var(--series-1)", strokeWidth: 3 })),
        tip(runs, { x: field, y: ({ series }) => series.name, title: describe }),
      ],
    }));
  };
  const never = converted.filter(({ break_even }) => break_even == null).length;
  return {
    plots: [
      panel("csr_calls", "conversion, in CSR multiplications", "Time of conversion from CSR, in multiplications with CSR"),
      ...(converted.some(({ break_even }) => break_even > 0)
        ? [panel("break_even", "multiplications until it is repaid", "Multiplications until a conversion is repaid")] : []),
    ],
    caption: `A dot is a matrix, a bar the median. ${never} of ${converted.length} conversions are never repaid, because the format is not faster than CSR there; they are not in the second plot.`,
  };
}

function plotRowLengths(selection, width, { chosenEntry }) {
  if (!chosenEntry) return { caption: "No row lengths are known." };
  const { shortest, longest, mean, deviation, histogram } = chosenEntry.row_lengths;
  const bins = histogram.map((rows, place) => {
    const [from, to] = place === 0 ? [0, 0] : [2 ** (place - 1), 2 ** place - 1];
    return { rows, name: from === to ? `${from}` : `${from}–${to}` };
  });
  const last = d3.max(bins, ({ rows }, place) => (rows > 0 ? place : 0)) ?? 0;
  const used = bins.slice(0, last + 1);
  const plot = Plot.plot(frame(width, {
    ariaLabel: "Histogram of the row lengths of the chosen matrix",
    height: 300, marginLeft: 60, marginBottom: 70,
    x: { type: "band", domain: used.map(({ name }) => name), label: "entries in a row", tickRotate: -35 },
    y: { type: "symlog", label: "↑ rows", grid: true, tickFormat: short, ticks: d3.range(0, 12).map(power => 10 ** power).filter(rows => rows <= d3.max(used, ({ rows }) => rows)) },
    marks: [
      Plot.barY(used, { x: "name", y: "rows", fill: "var(--series-0)" }),
      Plot.text(used.filter(({ rows }) => rows), { x: "name", y: "rows", text: ({ rows }) => short(rows), dy: -8, fill: "currentColor" }),
      Plot.ruleY([0]),
      tip(used.filter(({ rows }) => rows), { x: "name", y: "rows", title: ({ name, rows }) => `${rows.toLocaleString("en")} rows of ${name} entries` }),
    ],
  }));
  return {
    plots: [plot],
    caption: `${chosenEntry.filename}: ${chosenEntry.rows.toLocaleString("en")} rows, ${shortest} to ${longest} entries each, mean ${short(mean)}, deviation ${short(deviation)}.`,
  };
}
