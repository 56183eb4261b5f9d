// The forest plot of one system against the others, on any scope that has comparisons.
function comparable() {
  const box = $("#compare-fields");
  if (!box || !DATA.scopes.length) return;
  const scopeOf = (name) => DATA.scopes.find((scope) => scope.name === name) || DATA.scopes[0];
  let scope = scopeOf(), base = scope.systems[0];

  const differences = () => scope.pairs.filter((pair) => pair[0] === base || pair[1] === base).map((pair) => {
    const [a, b, difference, low, high, adjusted] = pair;
    return b === base ? { other: a, difference, low, high, adjusted }
      : { other: b, difference: -difference, low: -high, high: -low, adjusted };
  }).sort((x, y) => y.difference - x.difference);

  function limits(rows) {
    const ends = rows.flatMap((row) => [row.low, row.high, 0]);
    const low = Math.min(...ends), high = Math.max(...ends), pad = 0.08 * (high - low) || 0.02;
    const between = (most) => {
      const least = (high - low + 2 * pad) / most, power = 10 ** Math.floor(Math.log10(least));
      const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= least * (1 - 1e-9));
      return { low: Math.floor((low - pad) / step + 1e-9) * step, high: Math.ceil((high + pad) / step - 1e-9) * step, step };
    };
    // As `scale_of`: finer steps where the round numbers around the values leave much of the width empty.
    const wide = (one) => one.high - one.low, made = between(4), finer = between(6);
    return high - low + 2 * pad < 0.75 * wide(made) && wide(finer) < wide(made) ? finer : made;
  }
  function draw() {
    const rows = differences(), { low, high, step } = limits(rows);
    const at = (value) => `${(100 * (value - low) / (high - low)).toFixed(2)}%`;
    const name = DATA.systems[base].label;
    for (const id of ["#compare-base", "#compare-base-2"]) $(id).replaceChildren(el("bdi", name));
    $("#compare-scope").textContent = scope.title.toLowerCase();
    const digits = Math.max(0, -Math.floor(Math.log10(step * scope.factor) + 1e-9));
    const ends = [low, high].map((value) => fixed(value * scope.factor, digits)).join(" ");
    $("#forest thead .bar").replaceChildren(el("i.ax", { ariaHidden: "true" }, ends));
    const grid = `g${Math.round((high - low) / step)}`;
    $("#forest tbody").replaceChildren(...rows.map((row) => {
      const other = DATA.systems[row.other], sure = row.adjusted < DATA.alpha;
      const mark = el("u", { className: `iv ${grid} zero ${other.kind} x w t` });
      for (const [place, value] of Object.entries({ x: at((row.low + row.high) / 2), w: at(low + row.high - row.low), t: at(row.difference), r: at(0) })) mark.style.setProperty(`--${place}`, value);
      const p = row.adjusted < 0.001 ? "<0.001" : row.adjusted.toFixed(3);
      const words = sure ? (row.difference > 0 ? "beats " : "is beaten by ") : "cannot be told apart from ";
      return el("tr", {},
        el("th", { scope: "row", className: other.kind }, el("a", { href: `#system-${row.other}` }, other.label)),
        el("td.bar", mark),
        el("td.num", signed(row.difference * scope.factor, scope.digits) + " ", el("small", range(row.low * scope.factor, row.high * scope.factor, scope.digits))),
        el("td", { className: sure ? "num best" : "num" }, p),
        el("td", words, el("bdi", name)));
    }));
  }
  function fields() {
    const systems = scope.systems.map((index) => [index, DATA.systems[index].label]);
    const choose = (changes) => { remember(changes); update(address().params); };
    box.replaceChildren(el("div.fields",
      field("Compare the others with", systems, base, (value) => choose({ base: value })),
      field("On", DATA.scopes.map((one) => [one.name, one.title]), scope.name, (value) => choose({ on: value }))));
  }
  function update(params) {
    if (!params.has("base") && !params.has("on")) { fields(); return; }
    scope = scopeOf(params.get("on"));
    base = Number(params.get("base"));
    if (!params.has("base") || !scope.systems.includes(base)) base = scope.systems[0];
    fields();
    draw();
  }
  onView("overview", update);
}
comparable();
