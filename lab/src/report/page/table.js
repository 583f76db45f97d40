// The table of all records.

const ROWS_AT_FIRST = 100;

const TABLE_COLUMNS = [
  { name: "matrix", value: ({ entry }) => entry.filename },
  { name: "family", value: ({ entry }) => entry.family },
  { name: "precision", value: ({ entry }) => entry.precision },
  { name: "executor", value: ({ entry }) => entry.executor },
  { name: "format", value: ({ series }) => series.name },
  { name: "library", value: ({ series }) => series.library },
  { name: "GFLOP/s", value: ({ gflops }) => gflops, show: short },
  { name: "time", value: run => run.seconds, show: seconds },
  { name: "caches", value: ({ seconds, cold }) => (seconds == null ? null : cold ? "cold" : "warm") },
  { name: "GB/s", value: ({ gbps }) => gbps, show: short },
  { name: "of the copy, η₊", value: ({ eta }) => eta, show: short },
  { name: "x not cached, η₋", value: ({ eta_uncached }) => eta_uncached, show: short },
  { name: "fill", value: ({ fill_ratio }) => fill_ratio, show: short },
  { name: "storage, bytes", value: ({ storage }) => storage, show: storage => storage?.toLocaleString("en") ?? "–" },
  { name: "conversion, CSR calls", value: ({ csr_calls }) => csr_calls, show: short },
  { name: "repaid after", value: ({ break_even }) => break_even, show: short },
  { name: "error of bound", value: ({ error_of_bound }) => error_of_bound, show: short },
  { name: "same bits", value: ({ reproducible }) => (reproducible == null ? null : reproducible ? "yes" : "no") },
  { name: "strategy", value: ({ strategy }) => strategy },
  { name: "state", value: ({ state }) => state ?? "right" },
  { name: "error", value: ({ error }) => error },
];

const tableState = { column: 0, descending: false, all: false };

function recordTable(runs, redraw) {
  const { value } = TABLE_COLUMNS[tableState.column];
  const compare = tableState.descending ? d3.descending : d3.ascending;
  // What is missing is last in both orders.
  const sorted = d3.sort(runs, (left, right) =>
    (value(left) == null) - (value(right) == null) || compare(value(left), value(right)) || 0);
  const visible = tableState.all ? sorted : sorted.slice(0, ROWS_AT_FIRST);

  const box = d3.create("div");
  const scroll = box.append("div").attr("class", "scroll").attr("tabindex", 0).attr("role", "region").attr("aria-label", "Table of all records");
  const table = scroll.append("table");
  table.append("caption").text(`${visible.length} of ${runs.length} records. A head sorts by its column.`);
  const heads = table.append("thead").append("tr").selectAll("th").data(TABLE_COLUMNS).join("th")
    .attr("scope", "col").attr("class", ({ show }) => (show ? "number" : null))
    .attr("aria-sort", (_, place) => (place !== tableState.column ? null : tableState.descending ? "descending" : "ascending"));
  heads.append("button").attr("type", "button")
    .text(({ name }, place) => name + (place !== tableState.column ? "" : tableState.descending ? " ▼" : " ▲"))
    .on("click", (_, column) => {
      const place = TABLE_COLUMNS.indexOf(column);
      tableState.descending = place === tableState.column && !tableState.descending;
      tableState.column = place;
      redraw().select(`th:nth-child(${place + 1}) button`).node().focus();
    });
  table.append("tbody").selectAll("tr").data(visible).join("tr").selectAll("td")
    .data(run => TABLE_COLUMNS.map(({ value, show }) => ({ show, value: value(run) }))).join("td")
    .attr("class", ({ show }) => (show ? "number" : null))
    .attr("title", ({ value }) => (String(value).length > 50 ? value : null))
    .text(({ show, value }) => (show ? show(value) : clip(String(value ?? "–"), 50)));
  if (visible.length < runs.length) {
    box.append("button").attr("type", "button").attr("class", "more").text(`Show all ${runs.length}`).on("click", () => {
      tableState.all = true;
      redraw().select(".scroll").node().focus();
    });
  }
  return box.node();
}
