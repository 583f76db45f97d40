// What the page holds, what the filters leave of it, and when it is drawn again.

const SHOWN_OWN = 7;
const SHOWN_PEERS = 4;

const data = JSON.parse(document.getElementById("data").textContent);
const byId = id => document.getElementById(id);

data.entries.forEach((entry, id) => {
  entry.id = id;
  entry.label = entry.filename + entry.qualifier;
  entry.runs = entry.runs.map(values => {
    const run = Object.fromEntries(data.columns.map((column, place) => [column, values[place] ?? null]));
    run.entry = entry;
    run.series = data.series[run.series];
    const rate = amount => (run.seconds == null || amount == null ? null : amount / run.seconds / 1e9);
    run.gflops = rate(2 * entry.nonzeros);
    run.gbps = rate(run.bytes_needed);
    run.intensity = run.bytes_needed ? (2 * entry.nonzeros) / run.bytes_needed : null;
    return run;
  });
});
const missing = data.entries.filter(({ error }) => error);

const FILTERS = ["family", "precision", "executor"];
const ALL = "*";

function options(select, names, chosen) {
  d3.select(select).selectAll("option").data(names).join("option")
    .attr("value", ([value]) => value).text(([, text]) => text)
    .property("defaultSelected", ([value]) => value === chosen);
  select.value = chosen;
}

function setUp() {
  const count = kind => data.series.filter(kind).length;
  byId("summary").textContent = `${data.entries.length} entries, `
    + `${count(({ format }) => format)} formats, ${count(({ peer }) => peer)} peers`;
  d3.select("#environments").selectAll("li").data(data.environments).join("li").text(text => text);
  d3.select("#missing").text(missing.length
    ? `Nothing was measured of: ${missing.map(({ label, error }) => `${label} (${error})`).join("; ")}.` : null);
  for (const name of FILTERS) {
    const values = d3.sort(new Set(data.entries.map(entry => entry[name] || "unknown")));
    options(byId(name), [[ALL, "all"], ...values.map(value => [value, value])], ALL);
  }
  const labels = d3.select("#series").selectAll("label").data(data.series).join("label");
  labels.append("input").attr("type", "checkbox").attr("checked", "").attr("value", ({ name }) => name);
  labels.append("span").text(({ name, peer, library }) => ` ${name}${peer ? ` (${library})` : ""}`);
  const own = data.series.flatMap(({ name, peer }, place) => (peer ? [] : [[String(place), name]]));
  options(byId("chosen-format"), own, String(data.chosen_format));
  const entries = data.entries.flatMap(({ id, label, row_lengths }) => (row_lengths ? [[String(id), clip(label, 80)]] : []));
  options(byId("chosen-entry"), entries, String(data.chosen_entry));

  byId("filters").addEventListener("submit", event => event.preventDefault());
  byId("filters").addEventListener("input", draw);
  // The fields change after the event.
  byId("filters").addEventListener("reset", () => setTimeout(draw));
  for (const [id, checked] of [["all", true], ["none", false]]) {
    byId(id).addEventListener("click", () => {
      d3.selectAll("#series input").property("checked", checked);
      draw();
    });
  }
  byId("chosen-format").addEventListener("input", draw);
  byId("chosen-entry").addEventListener("input", draw);
}

// What the filters leave. Of each entry `selected` are the runs with a result.
function select() {
  const wanted = new Set([...document.querySelectorAll("#series input:checked")].map(({ value }) => value));
  const least = Number(byId("nonzeros").value) || 0;
  const kept = entry => entry.nonzeros >= least
    && FILTERS.every(name => [ALL, entry[name] || "unknown"].includes(byId(name).value));
  const entries = data.entries.filter(kept);
  for (const entry of entries) {
    const runs = entry.runs.filter(({ series }) => wanted.has(series.name));
    entry.selected = runs.filter(({ seconds }) => seconds != null);
  }
  const records = entries.flatMap(({ runs }) => runs).filter(({ series }) => wanted.has(series.name));
  const series = data.series.filter(({ name }) => wanted.has(name));
  const first = (peer, count) => series.filter(one => one.peer === peer).slice(0, count);
  const shown = new Set([...first(false, SHOWN_OWN), ...first(true, SHOWN_PEERS)]);
  return { entries, series, shown, records, runs: entries.flatMap(({ selected }) => selected) };
}

function chosen() {
  return {
    chosenFormat: data.series[byId("chosen-format").value],
    chosenEntry: data.entries[byId("chosen-entry").value],
  };
}

const PLOTS = {
  families: summaryTable,
  speedup: plotSpeedUps,
  profile: plotProfile,
  roofline: plotRoofline,
  gflops: plotGflops,
  conversion: plotConversion,
  "row-lengths": plotRowLengths,
};

function simpleTable({ caption, head, rows }) {
  const scroll = d3.create("div").attr("class", "scroll").attr("tabindex", 0).attr("role", "region").attr("aria-label", caption);
  const table = scroll.append("table");
  table.append("caption").text(caption);
  table.append("thead").append("tr").selectAll("th").data(head).join("th").attr("scope", "col").text(text => text);
  table.append("tbody").selectAll("tr").data(rows).join("tr").selectAll("td").data(row => row).join("td").text(text => text);
  return scroll.node();
}

function draw() {
  const selection = select();
  byId("count").textContent = `${selection.entries.length} entries, ${selection.runs.length} results`;
  const width = Math.max(280, byId("gflops").clientWidth);
  const open = new Set([...document.querySelectorAll("#gflops details[open]")].map(({ dataset }) => dataset.group));
  for (const [id, plot] of Object.entries(PLOTS)) {
    const { plots = [], groups = [], legend, table, caption = "Nothing to draw: the filters leave no result." } =
      plot(selection, width, chosen());
    const figure = d3.create("figure");
    if (legend) figure.append(() => legend);
    const box = figure.append("div").attr("class", "plots");
    for (const svg of plots) box.append(() => stepped(svg));
    for (const { name, count, svg } of groups) {
      const details = figure.append("details").attr("data-group", name).property("open", open.has(name));
      details.append("summary").text(`${name}: ${count} ${count === 1 ? "matrix" : "matrices"}`);
      details.append("div").attr("class", "plots").append(() => stepped(svg));
    }
    figure.append("figcaption").attr("class", plots.length + groups.length || table ? null : "empty").text(caption);
    if (table) figure.append(() => simpleTable(table));
    replace(id, "figure", figure.node());
  }
  drawTable(selection);
}

function drawTable(selection = select()) {
  return d3.select(replace("records", "div", recordTable(selection.records, drawTable)));
}

function replace(section, element, next) {
  byId(section).querySelector(`:scope > ${element}`)?.remove();
  byId(section).append(next);
  return next;
}

// Lets the arrow keys go from mark to mark, as if they were pointed at.
function stepped(svg) {
  const name = svg.getAttribute("aria-label");
  const box = d3.create("div").attr("tabindex", 0).attr("role", "group").attr("aria-label", `${name}. The arrow keys step through its marks.`);
  svg.setAttribute("role", "img");
  let place = -1;
  box.on("keydown", event => {
    const marks = [...svg.querySelectorAll("g[aria-label=dot] > *, g[aria-label=bar] > *")];
    const next = { ArrowRight: place + 1, ArrowDown: place + 1, ArrowLeft: place - 1, ArrowUp: place - 1, Home: 0, End: marks.length - 1 }[event.key];
    if (event.key === "Escape") svg.dispatchEvent(new PointerEvent("pointerleave", { pointerType: "mouse" }));
    if (next === undefined || !marks.length) return;
    event.preventDefault();
    place = (next + marks.length) % marks.length;
    const { left, top, width, height } = marks[place].getBoundingClientRect();
    const at = { bubbles: true, pointerType: "mouse", clientX: left + width / 2, clientY: top + height / 2 };
    svg.dispatchEvent(new PointerEvent("pointerenter", at));
    svg.dispatchEvent(new PointerEvent("pointermove", at));
    // The tip is drawn with the next frame.
    requestAnimationFrame(() => requestAnimationFrame(() => {
      byId("record").textContent = [...svg.querySelectorAll("g[aria-label=tip] tspan")].map(({ textContent }) => textContent).join(" ");
    }));
  });
  box.append(() => svg);
  return box.node();
}

setUp();
draw();
let drawnWidth = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === drawnWidth) return;
  drawnWidth = innerWidth;
  draw();
});
