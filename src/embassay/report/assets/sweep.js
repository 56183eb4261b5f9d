// The frontier of a sweep: two limits choose again, by the rule of the record. Rows stand in the order that decides ties.
$$(".sweep").forEach((box, place) => {
  const { rows, scale: [low, high, left, wide], target, jitter, share, limits, measure } = JSON.parse(box.dataset.rows);
  const said = el("p", { role: "status" }), points = $$(".pt", box);
  const choose = (save) => {
    const [ms, usd] = inputs.map((one) => (one.value === "" ? Infinity : Number(one.value)));
    const free = target === null, keeps = ([, cost, time, got]) => time <= ms && cost <= usd && (free || got >= target - 1e-9);
    let best = rows.filter(keeps);
    const least = (of, within = 0, part = 0) => { const first = Math.min(...best.map(of)); best = best.filter((row) => of(row) <= first + within + part * first); };
    const none = !best.length;
    if (none) {
      best = rows;
      const over = (got, most) => (most < Infinity ? (got - most) / (most || 1) : 0);
      least(([, cost, time, got]) => Math.max(0, over(time, ms), over(cost, usd), free ? 0 : (target - got) / (target || 1)));
    } else {
      const by = (i, ...gap) => least((row) => (i - 3 ? row[i] : -row[i]), ...gap), pay = () => by(1, 1e-9, share);
      if (free) by(3, 1e-9);
      else { by(2, jitter); pay(); }
      by(7);
      pay();
      by(2);
      by(3);
    }
    const [id, cost, time, got, x, y] = best[0];
    said.replaceChildren(none ? "No stack keeps these limits; the nearest is " : "Use ", el("b", el("bdi", id)), `: ${measure} ${fixed(got)}, ${fixed(time, time < 99.5 ? 1 : 0)} ms, $${cost ? fixed(cost, cost < 0.00995 ? 4 : 2) : 0} per 1,000 queries.`);
    rows.forEach((row) => points[row[6]].classList.toggle("over", row[1] > usd));
    const mark = $(".pick", box), band = $(".band", box), shade = $(".shade", box);
    const at = (value) => left + wide * Math.min(1, Math.max(0, Math.log(Math.max(value, 1e-9) / low) / Math.log(high / low)));
    const span = (rect, a, b) => { rect.setAttribute("x", `${a}%`); rect.setAttribute("width", `${b - a}%`); };
    mark.setAttribute("cx", `${x}%`);
    mark.setAttribute("cy", y);
    span(shade, at(ms), left + wide);
    if (band) span(band, at(time - jitter), at(time + jitter));
    if (save) remember({ [`ms${place}`]: inputs[0].value, [`usd${place}`]: inputs[1].value });
  };
  const inputs = limits.map((value) => el("input", { type: "number", min: 0, step: "any", value: value ?? "", oninput: () => choose(true) }));
  box.prepend(el("div.fields", ...["At most ms", "At most $ per 1,000 queries"].map((title, i) => el("label.field", title, inputs[i]))), said);
  onView(box.closest(".view").id, (params) => {
    inputs.forEach((one, i) => { one.value = params.get(`${["ms", "usd"][i]}${place}`) ?? limits[i] ?? ""; });
    choose();
  });
});
