"use strict";
/* Everything that this writes into the page is text: what phones and models say is never taken for markup. */
(() => {
  const data = JSON.parse(document.getElementById("page-data").textContent);
  const dialog = document.getElementById("cell"), body = document.getElementById("cell-body");
  const SVG = "http://www.w3.org/2000/svg";
  const el = (name, attributes = {}, ...children) => {
    const one = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    one.append(...children.map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))));
    return one;
  };
  const svg = (name, attributes, text) => {
    const one = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    if (text !== undefined) one.textContent = text;
    return one;
  };
  const say = (value, digits = 4) => (value === null || value === undefined ? "–" : typeof value === "number" ? String(Number(value.toPrecision(digits))) : value);
  const percent = (value) => (value === null || value === undefined ? "–" : `${(value * 100).toFixed(1)} %`);

  function table(heads, rows) {
    const head = el("tr", {}, ...heads.map((words) => el("th", { scope: "col" }, words)));
    const lines = rows.map((row) => el("tr", {}, ...row.map((words) => el("td", {}, words))));
    return el("div", { class: "scroll", tabindex: "0" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...lines)));
  }

  function rounds(cell, parent) {
    if (!cell.rounds.length) return;
    parent.append(el("h3", {}, "Rounds, with the temperature beneath"));
    const measured = cell.rounds.filter((one) => one.p50_ms !== null);
    if (measured.length) {
      const chart = el("div", { class: "chart", role: "img", "aria-label": "p50 and temperature by round; the table has the same figures" });
      parent.append(chart);
      const dots = (rows, name, symbol) => ({ x: rows.map((one) => one.round), y: rows.map((one) => one.p50_ms), name, mode: "markers", type: "scatter", marker: { symbol, size: 9 } });
      const warm = (key, name) => ({ x: measured.map((one) => one.round), y: measured.map((one) => one[key]), name, yaxis: "y2", mode: "lines+markers", type: "scatter", line: { dash: key === "zone_c" ? "dot" : "solid" } });
      const traces = [dots(measured.filter((one) => one.counted), "counts", "circle"), dots(measured.filter((one) => !one.counted), "does not count", "x"), warm("battery_c", "battery °C"), warm("zone_c", "hottest zone °C")];
      Plotly.newPlot(chart, traces.filter((one) => one.y.some((value) => value !== null)), {
        height: 340, margin: { l: 60, r: 15, t: 10, b: 40 }, legend: { orientation: "h", y: -0.18 },
        xaxis: { title: { text: "round" }, anchor: "y2", dtick: measured.length > 30 ? undefined : 1 },
        yaxis: { title: { text: "p50 ms" }, domain: [0.4, 1], automargin: true }, yaxis2: { title: { text: "°C" }, domain: [0, 0.32], automargin: true },
      }, { displayModeBar: false, responsive: true });
    }
    parent.append(table(["round", "try", "p50 ms", "counts", "validity", "battery °C", "zone °C", "MHz", "why"],
      cell.rounds.map((one) => [say(one.round), say(one.try), say(one.p50_ms), one.counted ? "yes" : "no", one.validity, say(one.battery_c), say(one.zone_c), say(one.mhz), one.why || (one.outcome === "measured" ? "" : one.outcome)])));
  }

  function costs(cell, parent) {
    if (cell.partitions.length) {
      parent.append(el("h3", {}, "Time by partition, from a traced run"),
        table(["partition", "nodes", "ms", "the same nodes on the CPU, ms", "of the time"], cell.partitions.map((one, at) => [at + 1, say(one.nodes), say(one.ms), say(one.cpu_ms), percent(one.share)])));
    }
    if (cell.operators.length) {
      const device = cell.operators.some((one) => one.device_ms !== null), extra = (value) => (device ? [value] : []);
      parent.append(el("h3", {}, "Time by operator, from a traced run"),
        table(["operator", "runs on", "nodes", "ms a run", ...extra("kernels on the device, ms"), "of the time"], cell.operators.map((one) => [one.operator, one.ran_on, say(one.nodes), say(one.ms), ...extra(say(one.device_ms)), percent(one.share)])));
    }
  }

  /* A graph in its place: `own` nodes, which the other side of a pair has not, have a star and a thick frame. */
  function drawing(nodes) {
    const wide = 174, high = 56, box = { w: 160, h: 34 };
    const width = (Math.max(...nodes.map((one) => one.x)) + 1) * wide + 14, height = (Math.max(...nodes.map((one) => one.y)) + 1) * high + 14;
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
    picture.append(svg("title", {}, "The model's graph; the table below has the same nodes"));
    const at = (one) => [one.x * wide + 7, one.y * high + 7];
    for (const one of nodes) for (const from of one.after) {
      const [x1, y1] = at(nodes[from]), [x2, y2] = at(one);
      const [a, b, c, d] = [x1 + box.w / 2, y1 + box.h, x2 + box.w / 2, y2];
      picture.append(svg("path", { d: `M${a},${b} C${a},${b + 18} ${c},${d - 18} ${c},${d}` }));
    }
    for (const one of nodes) {
      const [x, y] = at(one), group = svg("g", { class: (one.partition === null ? "left" : "taken") + (one.own ? " own" : "") });
      group.append(svg("title", {}, [one.name, one.operator, one.shape, one.partition === null ? `CPU: ${one.reason}` : `NNAPI, partition ${one.partition + 1}`].filter(Boolean).join("\n")));
      group.append(svg("rect", { x, y, width: box.w, height: box.h, rx: 4 }));
      const word = (one.own ? "* " : "") + one.operator.split(":").pop();
      group.append(svg("text", { x: x + 6, y: y + 15 }, word.length > 20 ? `${word.slice(0, 19)}…` : word));
      group.append(svg("text", { x: x + 6, y: y + 29 }, `${one.partition === null ? "CPU" : `NNAPI ${one.partition + 1}`} ${one.shape}`.slice(0, 21)));
      picture.append(group);
    }
    return el("div", { class: "graph", tabindex: "0" }, picture);
  }

  function nodeTable(nodes) {
    const list = el("details", {}, el("summary", {}, "its nodes as a table"));
    list.append(table(["node", "operator", "name", "shape", "runs on", "why"], nodes.map((one, index) => [index, (one.own ? "* " : "") + one.operator, one.name, one.shape, one.partition === null ? "CPU" : `NNAPI, partition ${one.partition + 1}`, one.reason])));
    return list;
  }

  const KEY = "NNAPI should take the solid, green nodes; the dashed, red ones stay on the CPU";

  function graph(cell, parent) {
    const nodes = data.graphs[cell.graph];
    if (!nodes) return;
    const taken = nodes.filter((one) => one.partition !== null).length;
    parent.append(el("h3", {}, `The graph: ${taken} of ${nodes.length} nodes for NNAPI`), el("p", {}, KEY), drawing(nodes), nodeTable(nodes));
  }

  function openPair(id) {
    const pair = data.pairs[id];
    if (!pair) return;
    document.getElementById("cell-title").textContent = pair.title;
    body.replaceChildren(el("p", {}, `A star and a thick frame: not in the other one. ${KEY}. Graphs as NNAPI is asked about them: the runtime brings a .onnx to level basic before.`));
    const sides = pair.sides.map((side) => el("div", {}, el("h3", {}, `${side.name}, ${side.nodes.length} nodes, ${side.nodes.filter((one) => one.own).length} of its own`), drawing(side.nodes), nodeTable(side.nodes)));
    body.append(el("div", { class: "pair" }, ...sides));
    dialog.showModal();
    dialog.scrollTop = 0;
  }

  function open(id) {
    const cell = data.cells[id];
    if (!cell) return;
    document.getElementById("cell-title").textContent = cell.title;
    body.replaceChildren();
    if (cell.virtual) body.append(el("p", { class: "note" }, "virtual: computed by this computer, says nothing of a phone's speed"));
    if (cell.figure) body.append(el("p", {}, el("b", {}, cell.figure)));
    if (cell.reason) body.append(el("p", {}, cell.reason));
    dialog.showModal();
    rounds(cell, body);
    if (cell.why.length) body.append(el("h3", {}, "Why this number"), el("ol", { class: "why" }, ...cell.why.map((words) => el("li", {}, words))));
    costs(cell, body);
    if (cell.cold.length) body.append(el("h3", {}, "Before the first answer"), table(["what", "how much"], cell.cold));
    graph(cell, body);
    if (cell.command) body.append(el("h3", {}, `The command as it ran on ${cell.serial}, to paste into its shell (adb -s … shell)`), el("pre", {}, cell.command));
    body.append(el("h3", {}, "More of it, and the same measured again"), el("pre", {}, `${cell.show}\n${cell.replay}`));
    dialog.scrollTop = 0;
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-cell], [data-pair]");
    if (!link) return;
    event.preventDefault();
    if (link.dataset.pair) openPair(link.dataset.pair);
    else open(link.dataset.cell);
  });

  /* Paper shows what is folded on a screen. */
  const folded = new Set();
  matchMedia("print").addEventListener("change", (event) => {
    for (const one of document.querySelectorAll("main details")) {
      if (event.matches && !one.open) folded.add(one);
      if (folded.has(one)) one.open = event.matches;
    }
    if (!event.matches) folded.clear();
  });

  for (const form of document.querySelectorAll("form.filter")) {
    const section = form.closest("section");
    const apply = () => {
      const words = form.elements.words.value.toLowerCase().split(/\s+/).filter(Boolean);
      let seen = 0, all = 0;
      for (const row of section.querySelectorAll("table.settings tbody tr")) {
        const name = row.querySelector("th").textContent.toLowerCase();
        const fits = words.every((word) => name.includes(word)) && (!form.elements.measured.checked || row.dataset.measured === "1");
        row.hidden = !fits;
        all += 1;
        seen += fits ? 1 : 0;
      }
      form.querySelector("output").textContent = seen === all ? "" : `${seen} of ${all} rows`;
    };
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  for (const button of document.querySelectorAll("table.settings th button")) {
    button.addEventListener("click", () => {
      const rows = button.closest("table").tBodies[0], down = button.getAttribute("aria-sort") === "ascending";
      const by = button.dataset.by;
      const key = (row) => (by === "rank" ? Number(row.dataset.order) : by === "name" ? row.querySelector("th").textContent : JSON.parse(row.dataset.sort)[Number(by)]);
      const order = (a, b) => (a === null ? 1 : b === null ? -1 : (typeof a === "string" ? a.localeCompare(b) : a - b) * (down ? -1 : 1));
      rows.append(...[...rows.rows].sort((a, b) => order(key(a), key(b))));
      for (const other of button.closest("tr").querySelectorAll("button")) other.removeAttribute("aria-sort");
      button.setAttribute("aria-sort", down ? "descending" : "ascending");
    });
  }
})();
