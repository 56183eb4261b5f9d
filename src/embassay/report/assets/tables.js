// Tables: sort by a click on a header, filter by name, show the rows beyond twelve, copy, CSV, LaTeX.
/** What a cell holds in full: value, low and high as texts, or nothing. */
const exact = (cell) => (cell && cell.dataset.v ? cell.dataset.v.split(",").map((one) => one.replace(/^(-?)(?=\.)/, "$10")) : []);
const number = (cell) => (exact(cell).length ? Number(exact(cell)[0]) : null);
/** What a header says, without the ends of its scale. */
const heading = (head) => [...head.childNodes].filter((node) => !node.matches?.(".ax")).map((node) => node.textContent).join("").trim();
const headings = (table) => $$("thead tr:last-child > *", table);
const rowsOf = (body) => $$(":scope > tr:not(.group)", body);
/** The cell of a row under a column, counting cells that span. */
function cellAt(row, index) {
  let at = 0;
  for (const cell of row.cells) {
    at += cell.colSpan;
    if (at > index) return cell;
  }
  return null;
}

function sortable(table) {
  const bodies = $$("tbody", table);
  const original = bodies.map(rowsOf);
  const heads = headings(table);
  let sorted = -1, direction = 0;
  const place = (index, way) => {
    sorted = way ? index : -1;
    direction = way;
    heads.forEach((head, i) => {
      if (i === sorted) head.setAttribute("aria-sort", way < 0 ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    bodies.forEach((body, b) => {
      const rows = [...original[b]];
      if (way) {
        const key = new Map(rows.map((row) => [row, number(cellAt(row, index))]));
        rows.sort((x, y) => {
          const [p, q] = [key.get(x), key.get(y)];
          if (p === null || q === null) return (p === null) - (q === null);
          return way * (p - q);
        });
      }
      body.append(...rows);
    });
  };
  heads.forEach((head, i) => {
    if (head.tagName !== "TH" || !$("td[data-v]", table) || i === 0 && !head.matches("[data-rank]")) return;
    if (!original.flat().some((row) => number(cellAt(row, i)) !== null)) return;
    const axis = $(".ax", head);
    const button = el("button.sort");
    button.append(...[...head.childNodes].filter((node) => node !== axis));
    head.prepend(button);
    // Best first: the highest score, but the lowest rank.
    const first = head.matches("[data-rank]") ? 1 : -1;
    button.onclick = () => {
      const way = sorted !== i ? first : direction === first ? -first : 0;
      place(i, way);
      remember({ sort: way ? `${table.id}.${i}.${way < 0 ? "down" : "up"}` : null });
      say(way ? `Sorted by ${button.textContent}, ${way < 0 ? "highest" : "lowest"} first` : "Original order");
    };
  });
  onView(table.closest(".view").id, (params) => {
    const [id, index, way] = (params.get("sort") || "").split(".");
    if (id === table.id && heads[index]) place(Number(index), way === "up" ? 1 : -1);
  });
}

function filterable(table) {
  const rows = $$("tbody tr:not(.group)", table);
  if (rows.length <= 12) return;
  const input = el("input", { type: "search", id: `${table.id}-filter`, placeholder: "Filter systems", ariaLabel: "Filter systems" });
  const status = el("span.small");
  const clear = el("button.link", { onclick: () => { input.value = ""; apply(true); } }, "Clear filter");
  const near = (text) => {
    const distance = (name) => [...text].filter((c) => !name.includes(c)).length;
    const names = rows.map((row) => $("th a", row).textContent);
    return names.sort((p, q) => distance(p.toLowerCase()) - distance(q.toLowerCase()))[0];
  };
  const apply = (save) => {
    const text = input.value.trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !$("th", row).textContent.toLowerCase().includes(text);
      shown += !row.hidden;
    }
    clear.hidden = !text;
    status.textContent = !text ? "" : shown ? `${shown} of ${rows.length} shown`
      : `No system matches ‘${text}’. Did you mean ${near(text)}?`;
    if (save) remember({ filter: text });
    if (text) say(status.textContent);
  };
  input.oninput = () => apply(true);
  table.closest(".frame").before(el("div.fields", input, status, clear));
  onView(table.closest(".view").id, (params) => { input.value = params.get("filter") || ""; apply(false); });
}

function foldMore(table) {
  const more = $$("tr.more", table);
  if (!more.length) return;
  const total = $$("tbody tr:not(.group):not(.reference)", table).length;
  const rest = $("tr.rest", table);
  const set = (open) => {
    more.forEach((row) => { row.hidden = !open; });
    if (rest) rest.hidden = open;
    button.textContent = open ? "Show the first 12" : `Show all ${total}`;
    button.setAttribute("aria-expanded", open);
  };
  const button = el("button.link.no-print", { onclick: () => set(button.ariaExpanded !== "true") });
  (table.closest(".frame") || table).after(button);
  set(false);
}

/** On a phone a board shows one score at a time, and the table of all systems one question. */
function narrow(table) {
  const board = table.matches(".board"), heads = $$(board ? "thead th.c0, thead th.c0 ~ th" : "thead th ~ th", table);
  if (heads.length < 2) return;
  const off = (cell, which) => board ? !cell.matches(`.c${which}`) : cell.cellIndex !== Number(which) + 1;
  const show = (which) => $$(board ? ".c0, .task" : "th ~ *", table).forEach((cell) => cell.classList.toggle("off", off(cell, which)));
  const label = field(board ? "Score shown" : "Question", heads.map((head, i) => [i, heading(head)]), 0, show);
  label.classList.add("narrow");
  table.closest(".frame").before(label);
  show(0);
}

/** A table as rows of cells: { text, value, low, high, reason, bold }. */
function read(table) {
  const heads = headings(table).map((head) => head.tagName === "TH" && (head.dataset.head || heading(head)));
  const body = $$("tbody tr", table).map((row) => {
    if (row.matches(".group")) return { group: row.innerText.trim() };
    return {
      cells: heads.map((head, i) => {
        const cell = cellAt(row, i);
        if (!cell || !head) return null;
        const name = cell.tagName === "TH";
        const [value, low, high] = exact(cell);
        const shown = (name ? $("a", cell) || cell : cell.childNodes[0] || {}).textContent || "";
        return { text: table.matches(".stacked") ? shown.trim().replaceAll("\n", " ") : shown.trim().split(/\n| \(/)[0], value, low, high, reason: cell.dataset.why, bold: cell.matches(".best") || !!$("b", cell), name };
      }),
    };
  });
  const keep = heads.map((head, i) => head && i);
  return { heads: heads.filter(Boolean), rows: body.map((row) => row.group ? row : row.cells.filter((_, i) => keep[i] !== false)) };
}
function asText(table) {
  const { heads, rows } = read(table);
  const line = (cells) => cells.map((cell) => cell === null ? "" : cell.low === undefined ? cell.text : `${cell.text} (${range(Number(cell.low), Number(cell.high), Number(table.dataset.digits || 3))})`).join("\t");
  return [heads.join("\t"), ...rows.filter(Array.isArray).map(line)].join("\n") + "\n";
}
function asCsv(table) {
  const quote = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const { heads, rows } = read(table);
  const cells = rows.filter(Array.isArray);
  const measured = heads.map((_, i) => cells.some((row) => row[i] && (row[i].value !== undefined || row[i].reason !== undefined) && !/^rank$/i.test(heads[i])));
  const columns = heads.flatMap((head, i) => measured[i] ? [head, `${head} low`, `${head} high`, `${head} reason`] : [head]);
  const lines = cells.map((row) => row.flatMap((cell, i) => {
    if (!measured[i]) return [cell ? cell.text : ""];
    if (!cell || cell.value === undefined) return ["null", "", "", (cell && cell.reason) || ""];
    return [cell.value, cell.low || "", cell.high || "", ""];
  }));
  return [columns, ...lines].map((line) => line.map(quote).join(",")).join("\n") + "\n";
}
function asLatex(table) {
  const { heads, rows } = read(table);
  const marks = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "−": "$-$", "–": "--" };
  const tex = (text) => text.replace(/[\\~^−–]|[&%$#_{}]/g, (sign) => marks[sign] || "\\" + sign);
  const line = (row) => row.group ? `\\midrule\n\\multicolumn{${heads.length}}{l}{\\emph{${tex(row.group)}}} \\\\`
    : row.map((cell) => (cell === null ? "" : cell.bold && !cell.name ? `\\textbf{${tex(cell.text)}}` : tex(cell.text))).join(" & ") + " \\\\";
  return [
    `% ${$("caption", table).textContent}; needs the package booktabs`, `\\begin{tabular}{l${"r".repeat(heads.length - 1)}}`, "\\toprule",
    heads.map(tex).join(" & ") + " \\\\", ...rows.map(line), "\\bottomrule", "\\end{tabular}", "",
  ].join("\n");
}
function download(text, name, type) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}
function exportable(table) {
  const action = (title, act) => el("button.link", { onclick: act }, title);
  const box = el("div.actions",
    action("Copy table", () => copy(asText(table), "Table")));
  if (table.dataset.export !== "copy") box.append(action("CSV", () => download(asCsv(table), `${DATA.run}-${table.id}.csv`, "text/csv")));
  if (table.matches("[data-latex], .board")) box.append(action("LaTeX", () => copy(asLatex(table), "LaTeX")));
  table.closest(".frame").after(box);
}

/** A drawing with the colours it has here, so that it stands alone. */
function asSvg(node) {
  const clone = node.cloneNode(true), copies = [clone, ...$$("*", clone)], box = node.getBoundingClientRect();
  [node, ...$$("*", node)].forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const key of ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font", "vector-effect"]) copies[i].style.setProperty(key, style.getPropertyValue(key));
  });
  for (const [key, value] of [["xmlns", SVG], ["width", box.width], ["height", box.height]]) clone.setAttribute(key, value);
  return new XMLSerializer().serializeToString(clone);
}
function drawn(figure) {
  const name = `${DATA.run}-${$("figcaption b", figure).textContent.toLowerCase().replaceAll(" ", "-")}.svg`;
  figure.append(el("div.actions", el("button.link", { onclick: () => download(asSvg($(".curve", figure)), name, "image/svg+xml") }, "SVG")));
}
// What can be done with tables and drawings is added when their view is first shown: a page opens with what is read.
const done = new Set();
views.forEach((view) => onView(view.id, () => {
  if (done.has(view)) return;
  done.add(view);
  for (const [which, add] of [["figure", drawn], [".board, .places", narrow], ["table[data-sort]", sortable], ["table[data-filter]", filterable], ["table", foldMore], ["table[data-export]", exportable]]) $$(which, view).forEach(add);
}));
