"""Rewrite the tables of benchmarks/results/probes.md from finished runs of the probes:

    python benchmarks/probe_tables.py runs/names runs/noise runs/noise-scifact ...

What stands between `<!-- NAME -->` and `<!-- end NAME -->` is replaced; the text around it is written by hand. The page
says which commands made the runs.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.probes.bundles import CONDITIONS
from embassay.protocols.rag.probes.questions import LEVELS
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder

LANGUAGES = {"en": "English", "fr": "French"}
PUBLISHED = {
    "en": {
        "hard_name_mask": (-100.0, -100.0), "gibberish_name": (-76.9, -68.0), "edit_distance_near_miss": (-69.3, -64.4),
        "remove_label": (-3.0, 15.7), "strip_diacritics": (0.0, 0.0), "initials_form": (-11.0, -8.5),
        "name_order_inversion": (-3.6, -3.2), "case_punct_perturb": (-3.0, -7.4), "author_position_shift": (8.4, -6.2),
        "unicode_normalization_stress": (-6.9, -15.1),
    },
    "fr": {
        "hard_name_mask": (-100.0, -100.0), "gibberish_name": (-71.6, -71.4), "edit_distance_near_miss": (-76.2, -69.5),
        "remove_label": (6.1, 18.1), "strip_diacritics": (2.3, -1.5), "initials_form": (-10.7, -18.0),
        "name_order_inversion": (5.0, -8.5), "case_punct_perturb": (-3.4, -12.6), "author_position_shift": (21.8, 8.4),
        "unicode_normalization_stress": (-7.9, 1.7),
    },
}  # fmt: skip
"""Percent change of the name margin of the source's models A and B on its own texts (spec rag 6, item 9)."""
MARGINS = {"en": ((0.175, 0.305, 0.486), (0.160, 0.298, 0.464)), "fr": ((0.139, 0.260, 0.407), (0.164, 0.277, 0.447))}
COSINES = {
    "French, large model": (0.818, 0.653, 0.522), "French, small model": (0.936, 0.757, 0.559),
    "English, large model": (0.828, 0.749, 0.593), "English, small model": (0.908, 0.806, 0.634),
}  # fmt: skip
RECALL = "N-Recall4+@10"
ORDER = ("minilm", "wordllama", "bm25", "jaccard", "levenshtein")


class Rows:
    """The rows of one or more runs."""

    def __init__(self, paths: list[Path]) -> None:
        found = [row for path in paths for row in RunFolder(path).read_results()]
        self.by_key = {(one.dataset, one.system, one.variant, one.measure): one for one in found}
        self.datasets = {one.dataset: one.lang for one in found}
        systems = dict.fromkeys(one.system for one in found)
        self.systems = sorted(systems, key=lambda one: ORDER.index(one) if one in ORDER else len(ORDER))

    def cell(self, dataset: str, system: str, variant: str, measure: str, how: Callable[[ResultRow], str]) -> str:
        """The row as text, a dash where there is none."""
        row = self.by_key.get((dataset, system, variant, measure))
        return "–" if row is None or row.value is None else how(row)


def plain(decimals: int = 3) -> Callable[[ResultRow], str]:
    """Value (low to high)."""

    def said(row: ResultRow) -> str:
        text = numbers.format_score(row.value or 0.0, decimals)
        return text + _ends(row, decimals)

    return said


def signed(decimals: int = 3) -> Callable[[ResultRow], str]:
    """The same of a change."""

    def said(row: ResultRow) -> str:
        return numbers.format_change(row.value or 0.0, decimals) + _ends(row, decimals)

    return said


def bare(decimals: int = 3) -> Callable[[ResultRow], str]:
    """The value alone."""
    return lambda row: numbers.format_score(row.value or 0.0, decimals)


def _ends(row: ResultRow, decimals: int) -> str:
    if row.ci_low is None or row.ci_high is None:
        return ""
    return f" ({numbers.format_interval(row.ci_low, row.ci_high, decimals)})"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table, the first column to the left."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(one)} |" for one in lines)


def margins(rows: Rows) -> str:
    """Base margins: ours, then the source's."""
    heads = ["System", "Name", "Topic", "Both", "Name/topic", "SD between runs"]
    body = []
    for dataset, lang in rows.datasets.items():
        for system in rows.systems:
            cells = [
                rows.cell(dataset, system, "", one, plain())
                for one in ("d_name", "d_topic", "d_both", "d_name/d_topic")
            ]
            body.append(
                [
                    f"{system}, {LANGUAGES[lang]}",
                    *cells,
                    rows.cell(dataset, system, "", "d_name SD between runs", bare(4)),
                ]
            )
        for name, (margin, topic, both) in zip("AB", MARGINS[lang], strict=True):
            body.append(
                [
                    f"*source's {name}, {LANGUAGES[lang]}*",
                    f"{margin:.3f}",
                    f"{topic:.3f}",
                    f"{both:.3f}",
                    f"{margin / topic:.3f}",
                    "–",
                ]
            )
    return table(heads, body)


def ablations(rows: Rows, lang: str) -> str:
    """Percent change under every ablation; at the end the share of rows without one."""
    dataset = next(one for one, own in rows.datasets.items() if own == lang)
    heads = ["Ablation", *rows.systems, "*source's A*", "*source's B*"]
    body = []
    for name in PUBLISHED[lang]:
        published = [numbers.format_change(one, 1) for one in PUBLISHED[lang][name]]
        body.append(
            [name, *(rows.cell(dataset, one, name, "d_name change %", signed(1)) for one in rows.systems), *published]
        )
    first = next(iter(PUBLISHED[lang]))
    left_out = [
        rows.cell(dataset, one, first, "rows without percent", lambda row: numbers.format_percent(row.value or 0.0, 1))
        for one in rows.systems
    ]
    body.append(["rows left out (base under 0.02)", *left_out, "–", "–"])
    return table(heads, body)


def recall(rows: Rows, lang: str) -> str:
    """N-Recall4+@10 from the collection of all bundles, under every condition."""
    dataset = next(one for one, own in rows.datasets.items() if own == lang)
    body = [
        [name, *(rows.cell(dataset, one, "" if name == "base" else name, RECALL, plain()) for one in rows.systems)]
        for name in CONDITIONS
    ]
    return table(["Condition", *rows.systems], body)


def links(rows: Rows, of: str, variants: list[tuple[str, str]]) -> str:
    """Spearman's correlations of changes."""
    measures = (RECALL, "RA-nWG@10", "nDCG@10")
    body = []
    for dataset in rows.datasets:
        for system in rows.systems:
            for variant, words in variants:
                cells = [
                    rows.cell(dataset, system, variant, f"Spearman({of} change, {one} change)", signed(2))
                    for one in measures
                ]
                if any(cell != "–" for cell in cells):
                    body.append([f"{system}, {dataset}, {words}", *cells])
    return table(["Over", *measures], body)


def levels(rows: Rows) -> str:
    """Similarity by level, as asked and rewritten; then the source's at 0, 2 and 4."""
    body = []
    for dataset in rows.datasets:
        for system in rows.systems:
            for way in ("", ":rules"):
                cells = [
                    rows.cell(dataset, system, f"level={one}{way}", "similarity", bare()) for one in range(len(LEVELS))
                ]
                body.append([f"{system}, {dataset}{', rules' if way else ''}", *cells])
    for name, (first, second, third) in COSINES.items():
        body.append([f"*source: {name}*", f"{first:.3f}", "–", f"{second:.3f}", "–", f"{third:.3f}"])
    return table(["System and data", *(f"Level {one}" for one in range(len(LEVELS)))], body)


def drops(rows: Rows) -> str:
    """Drop from level 0 to 4, and what rewriting recovers."""
    heads = ["System and data", "Drop", "Drop, percent", "Drop after rules", "Recovered"]
    body = []
    for dataset in rows.datasets:
        for system in rows.systems:
            body.append(
                [
                    f"{system}, {dataset}", rows.cell(dataset, system, "", "drop", plain()),
                    rows.cell(dataset, system, "", "drop %", plain(1)),
                    rows.cell(dataset, system, "level=4:rules", "drop", plain()),
                    rows.cell(dataset, system, "level=4:rules", "recovered", plain(2)),
                ]
            )  # fmt: skip
    for name, (first, _, third) in COSINES.items():
        body.append([f"*source: {name}*", f"{first - third:.3f}", f"{100 * (1 - third / first):.1f}", "–", "–"])
    return table(heads, body)


def retrieval(rows: Rows) -> str:
    """Retrieval at level 4, before and after rewriting, against the clean question."""
    heads = [
        "System and data",
        "Measure",
        "Clean",
        "Level 4, change",
        "p",
        "After rules, change",
        "p",
        "overlap@10, noisy / rules",
        "τ, noisy / rules",
    ]
    body = []
    for dataset in rows.datasets:
        for system in rows.systems:
            for measure in (RECALL, "nDCG@10"):
                noisy, rewritten = (dataset, system, "level=4"), (dataset, system, "level=4:rules")
                pairs = [
                    " / ".join(rows.cell(*where, one, bare(2)) for where in (noisy, rewritten))
                    for one in ("overlap@10", "tau@10")
                ]
                body.append(
                    [
                        f"{system}, {dataset}", measure, rows.cell(dataset, system, "level=0", measure, bare()),
                        rows.cell(*noisy, f"{measure} change", signed()), rows.cell(*noisy, f"p({measure} change)", _p),
                        rows.cell(*rewritten, f"{measure} change", signed()),
                        rows.cell(*rewritten, f"p({measure} change)", _p), *pairs,
                    ]
                )  # fmt: skip
    return table(heads, body)


def _p(row: ResultRow) -> str:
    return numbers.format_p_value(row.value or 0.0)


def blocks(paths: list[Path]) -> Iterator[tuple[str, str]]:
    """Name of a block of the page, and its table."""
    kinds = {path: json.loads((path / "manifest.json").read_text("utf-8"))["kind"] for path in paths}
    names = [path for path, kind in kinds.items() if kind == "names"]
    noise = [path for path, kind in kinds.items() if kind == "noise"]
    if names:
        rows = Rows(names)
        yield "margins", margins(rows)
        for lang in LANGUAGES:
            if lang in rows.datasets.values():
                yield f"ablations-{lang}", ablations(rows, lang)
                yield f"recall-{lang}", recall(rows, lang)
        chosen = [
            ("gibberish_name", "queries, gibberish"),
            ("edit_distance_near_miss", "queries, near miss"),
            ("conditions", "all conditions"),
        ]
        yield "name-links", links(rows, "d_name", chosen)
    if noise:
        rows = Rows(noise)
        yield "levels", levels(rows)
        yield "drops", drops(rows)
        yield "noise-retrieval", retrieval(rows)
        yield ("noise-links", links(rows, "similarity", [("level=4", "queries, level 4"), ("levels", "all levels")]))


def main() -> None:
    """Rewrite the blocks of the page."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--page", type=Path, default=Path(__file__).parent / "results" / "probes.md")
    arguments = parser.parse_args()
    text = arguments.page.read_text("utf-8")
    for name, block in blocks(arguments.runs):
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        if not pattern.search(text):
            raise SystemExit(f"{arguments.page} has no block {name!r}")
        text = pattern.sub(lambda match, block=block: f"{match[1]}\n{block}\n\n{match[2]}", text)
    arguments.page.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
