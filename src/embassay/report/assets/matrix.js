// Questions by systems: a click on a place opens its question; two fields choose a tag and a document.
function matrix(box) {
  const rows = $$("tbody tr", box);
  const fields = [["tag", "tag"], ["doc", "document"]].map(([key, word]) => {
    const values = [...new Set(rows.map((row) => row.dataset[key]).filter(Boolean))].sort();
    if (values.length < 2) return null;
    const label = `Only one ${word}`;
    const field = el("select", { ariaLabel: label, onchange: () => apply() }, ...[`All ${word}s`, ...values].map((value, i) => el("option", { value: i ? value : "" }, value)));
    box.querySelector("fieldset").append(field);
    return [key, field];
  }).filter(Boolean);
  const apply = () => rows.forEach((row) => { row.hidden = fields.some(([key, field]) => field.value && row.dataset[key] !== field.value); });
  box.addEventListener("click", (event) => {
    const cell = event.target.closest("td");
    if (!cell) return;
    const details = cell.parentNode.querySelector("details");
    details.open = !details.open;
  });
}
$$(".matrix").forEach(matrix);
