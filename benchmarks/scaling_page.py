"""`docs/scaling.md` and `benchmarks/results/scaling.md` from the measured costs, the model and its checks.

python benchmarks/scaling_page.py --write
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scaling_model as model
import scaling_workloads as work
from scaling_model import BM25, MINILM, WORDLLAMA, Cluster, Estimate, Prices, System

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "scaling.md"
EVIDENCE = HERE / "results" / "scaling.md"
CHECKED = "## Does the model hold?"
"""Where the page ends and its evidence begins."""
NODES = (1, 2, 4, 8, 16, 32, 64)
SYSTEMS = (BM25, WORDLLAMA, MINILM)
PRICES = Prices()
NAMES = {
    "edit": "make a version of a text", "tokenise": "tokenise it with cl100k", "wordllama": "encode it with wordllama",
    "minilm": "encode it with MiniLM, onnxruntime, float32", "bm25_product": "score it for one query with bm25",
    "search": "compare with one query, for each dimension", "document": "read and keep a document",
}  # fmt: skip
"""The unit costs that the page shows; `scaling_costs.json` holds all."""


def table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def hours(value: float) -> str:
    if value < 1:
        return f"{60 * value:,.0f} min"
    return f"{value:,.1f} h" if value < 100 else f"{value / 24:,.0f} days"


def money(value: float) -> str:
    return f"${value:,.2f}" if value < 10 else f"${value:,.0f}"


def gigabytes(value: float) -> str:
    return f"{value / 1e9:,.1f} GB" if value < 1e12 else f"{value / 1e12:,.2f} TB"


def costs_table(told: dict[str, Any]) -> str:
    rows = [[what, *_line(told["seconds"][name], 1e6)] for name, what in NAMES.items()]
    return table(["what", "µs of CPU", "and for each token of the original"], rows)


def _line(one: dict[str, Any], unit: float) -> list[str]:
    """Three digits of small numbers, all before the point of large ones."""
    found = (unit * one[name] for name in ("fixed", "token"))
    return [f"{value:,.0f}" if value >= 100 else np.format_float_positional(float(f"{value:.3g}"), trim="-")
            for value in found]  # fmt: skip


def error(check: dict[str, Any], what: str) -> float:
    """What was said over what was measured, less 1."""
    return float(check["predicted"][what] / check["measured"][what] - 1)


def off(check: dict[str, Any], what: str) -> str:
    return f"{100 * error(check, what):+.0f}%" if check["measured"][what] else ""


def growth(checks: Sequence[dict[str, Any]]) -> str:
    """How far the model is off what CPU time grows by from the smallest to the largest run of a system."""
    told = []
    for system in SYSTEMS:
        mine = sorted((one for one in checks if one["system"] == system.name), key=lambda one: one["texts"])
        if len(mine) > 1:
            said, took = (mine[-1][how]["seconds"] - mine[0][how]["seconds"] for how in ("predicted", "measured"))
            told.append(f"{system.name} {100 * (said / took - 1):+.0f}%")
    return ", ".join(told)


def worst(checks: Sequence[dict[str, Any]], what: str) -> str:
    """The largest error."""
    errors = [abs(error(one, what)) for one in checks if one["measured"][what]]
    return f"{100 * max(errors, default=0.0):.0f}%"


def checks_table(checks: Sequence[dict[str, Any]]) -> str:
    rows = [
        [one["system"].replace("+", " and "), f"{one['documents']:,}", f"{one['tokens']:.0f}", one["queries"],
         f"{one['measured']['seconds']:,.1f} s ({off(one, 'seconds')})", _size(one, "memory"), _size(one, "disk")]
        for one in checks
    ]  # fmt: skip
    return table(["system", "documents", "tokens each", "queries", "CPU", "memory", "disk"], rows)


def _size(check: dict[str, Any], what: str) -> str:
    told = check["measured"][what]
    return f"{told / 1e6:,.1f} MB ({off(check, what)})" if told else "not measured"


def of_corpora(costs: model.Costs, corpora: Iterable[work.Corpus], system: System) -> Estimate:
    return model.together(model.retrieval(costs, one, system) for one in corpora)


def sage(costs: model.Costs, system: System) -> list[tuple[str, Estimate]]:
    pairs = (*work.PREFERENCE, *work.ROBUSTNESS, *work.SENSITIVITY)
    return [
        ("retrieval, 15 sets", of_corpora(costs, work.BEIR, system)),
        ("preference, robustness, sensitivity", model.together(model.compared(costs, one, system) for one in pairs)),
        ("clustering, 11 sets",
         model.together(model.clustered(costs, one, system) for one in work.CLUSTERING)),
    ]  # fmt: skip


def pteb(costs: model.Costs, system: System) -> Estimate:
    once = model.together(model.compared(costs, one, system) for one in work.PTEB)
    return model.together([once] * (1 + work.PTEB_RUNS))


def paraphrased_tokens() -> float:
    return work.PTEB_RUNS * sum(one.texts * one.tokens for one in work.PTEB)


def totals_table(costs: model.Costs) -> str:
    rows = []
    for system in SYSTEMS:
        asked = sage(costs, system) if system is MINILM else sage(costs, system)[:1]
        rows += [[system.name, f"SAGE {name}", *_total(one)] for name, one in asked]
        if system is MINILM:
            rows.append([system.name, "PTEB, original and 6 runs", *_total(pteb(costs, system))])
            rows.append([system.name, "HUME, 26 pairs",
                         *_total(model.together(model.compared(costs, one, system) for one in work.HUME))])  # fmt: skip
    rows.append(
        ["reference rows", "SAGE retrieval, once a run",
         *_total(model.together(model.references(costs, one) for one in work.BEIR))]
    )  # fmt: skip
    return table(["system", "workload", "texts", "CPU hours", "disk", "a process"], rows)


def _total(one: Estimate) -> list[str]:
    spent = one.seconds / 3600
    texts = f"{one.texts / 1e6:,.2f} M" if one.texts else ""
    room = [gigabytes(one.disk), f"{one.memory / 1e9:,.1f} GB"] if one.memory else ["", ""]
    return [texts, f"{spent:,.2f}" if spent < 10 else f"{spent:,.0f}", *room]


def cluster_table(estimate: Estimate, system: System) -> str:
    rows = []
    for nodes in (1, 8, 64):
        bill = model.bill(estimate, Cluster(nodes), PRICES)
        rows.append([f"{nodes} x 16 cores", hours(bill.hours), money(bill.compute)])
    if system.parameters:
        for cards in (1, 4):
            bill = model.bill(estimate, Cluster(2 * cards, cards=cards), PRICES, system)
            rows.append([f"{2 * cards} x 16 cores and {cards} GPU", hours(bill.hours), money(bill.compute)])
    return table(["cluster", "start to end", "machines"], rows)


def parts_table(costs: model.Costs, corpus: work.Corpus) -> str:
    names = ["edit", "tokenise", "encode", "search", "reference"]
    rows = []
    for system in SYSTEMS:
        one = model.run(costs, corpus, system)
        cells = [f"{one.parts[name] / 3600:,.1f}" if name in one.parts else "" for name in names]
        rows.append([system.name, *cells, f"{one.seconds / 3600:,.0f}", gigabytes(one.disk),
                     gigabytes(one.memory)])  # fmt: skip
    return table(["system", *names, "CPU hours", "disk", "memory"], rows)


def _scratch(costs: model.Costs, checks: Sequence[dict[str, Any]]) -> float:
    """Of the largest of these runs, by the model."""
    most = max(checks, key=lambda check: check["texts"])
    size = work.Corpus("", most["documents"], most["tokens"], most["queries"], most["texts"] // most["documents"])
    return model.postings(costs, size)


def page(told: dict[str, Any], checks: Sequence[dict[str, Any]]) -> str:
    costs = model.Costs.read(told)
    marco = {system.name: model.run(costs, work.MS_MARCO, system) for system in SYSTEMS}
    cheap = model.together(model.run(costs, one, BM25, WORDLLAMA) for one in work.BEIR)
    beir = model.together(model.run(costs, one, MINILM) for one in work.BEIR)
    own = [check for check in checks if check["edits"] == "all"]
    card = model.bill(marco["minilm"], Cluster(2, cards=1), PRICES, MINILM)
    knee = model.knee(marco["minilm"], NODES, PRICES)
    one, eight, whole = (
        model.bill(what, Cluster(nodes), PRICES) for what, nodes in ((cheap, 1), (marco["minilm"], 8), (beir, 8))
    )
    light = model.bill(marco["wordllama"], Cluster(1), PRICES)
    outside = [check for check in checks if check["edits"] != "all"]
    values = {
        "costs": costs_table(told), "checks": checks_table(own),
        "outside": checks_table(outside),
        "totals": totals_table(costs), "marco": parts_table(costs, work.MS_MARCO),
        "marco_minilm": cluster_table(marco["minilm"], MINILM),
        "light_time": hours(light.hours), "light_money": money(light.compute),
        "month": money(model.bill(marco["minilm"], Cluster(1), PRICES).disk),
        "cpu": told["cpu"], "cores": told["cores"], "python": told["python"], "repeats": told["repeats"],
        "short": f"{told['samples'][0]['tokens']:.0f}", "long": f"{told['samples'][1]['tokens']:.0f}",
        "sampled": told["samples"][0]["documents"],
        "texts": f"{work.MS_MARCO.texts / 1e6:.0f} M", "knee": knee,
        "knee_time": hours(model.bill(marco["minilm"], Cluster(knee), PRICES).hours),
        "cheap_time": hours(one.hours), "cheap_money": money(one.compute), "cheap_disk": gigabytes(cheap.disk),
        "cheap_node": gigabytes(16 * cheap.memory),
        "eight_time": hours(eight.hours), "eight_money": money(eight.compute),
        "beir_time": hours(whole.hours), "beir_money": money(whole.compute), "beir_disk": gigabytes(beir.disk),
        "beir_node": gigabytes(16 * beir.memory), "beir_most": gigabytes(max(beir.memory, cheap.memory)),
        "card_time": hours(card.hours), "card_money": money(card.compute),
        "most": gigabytes(marco["minilm"].memory), "node": gigabytes(16 * marco["minilm"].memory),
        "scratch_2m": gigabytes(_scratch(costs, outside)),
        "scratch": gigabytes(model.postings(costs, work.MS_MARCO)),
        "minilm_disk": gigabytes(marco["minilm"].disk), "reference": f"{marco['bm25'].parts['reference'] / 3600:,.0f}",
        "written": f"{paraphrased_tokens() / 1e6:.0f} M",
        "writing": money(paraphrased_tokens() / 1e6 * PRICES.million_tokens),
        **{f"worst_{what}": worst(own, what) for what in ("seconds", "memory", "disk")}, "growth": growth(own),
        "prices": f"${PRICES.cpu_hour} per core hour, ${PRICES.gpu_hour:.2f} per GPU hour, ${PRICES.gb_month} per GB "
                  f"of disk per month, ${PRICES.million_tokens} per million tokens written by a language model. These "
                  f"are example prices from {PRICES.at}",
    }  # fmt: skip
    text = (HERE / "scaling_page.md").read_text("utf-8")
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", str(value).rstrip("\n"))
    return text


def written() -> tuple[str, str]:
    """The page, and the evidence for it."""
    told, checks = (json.loads((HERE / f"scaling_{name}.json").read_text("utf-8")) for name in ("costs", "checks"))
    shown, _, evidence = page(told, [one for one in checks if "measured" in one]).partition(CHECKED)
    return shown.rstrip() + "\n", f"# The model of docs/scaling.md, checked\n\n{CHECKED}{evidence}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.write:
        for path, text in zip((PAGE, EVIDENCE), written(), strict=True):
            path.write_text(text, "utf-8")
    else:
        print(*written(), sep="\n")


if __name__ == "__main__":
    main()
