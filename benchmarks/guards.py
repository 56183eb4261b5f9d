"""Which guard restores a search of damaged questions, and what does it cost? Real collections, paired intervals:

    python benchmarks/guards.py DATA [--work runs/guards] [--limit 120] > benchmarks/results/guards.md

DATA holds what benchmarks/datasets describe. `embassay sage run -t guards` on every collection.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from choose_collections import COLLECTIONS, Files
from recall_loss import WORDS, lay_out

import embassay as eb
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.sage.guards import ALONE, ANSWERED, GUARDS, HEADLINE, PRICE, TIME, find_cheapest_guard
from embassay.protocols.sage.options import SageOptions
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder
from embassay.stats import bootstrap_ci

CORPORA = ("scifact", "cranfield", "med", "cosqa", "wikiqa", "newsgroups")
SYSTEMS = ("minilm", "wordllama", "bm25")
EDITS = ("capitalize", "delete10", "numerize", "typos", "speech")
KEEP, SEED = 0.95, 1337
Rows = Mapping[tuple[str, str, str, str], ResultRow]


def main() -> None:
    """Measure, and print the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/guards"))
    parser.add_argument("--limit", type=int, default=120)
    asked = parser.parse_args()
    files = Files(asked.data)
    folders = [
        lay_out(COLLECTIONS[name](files, name), asked.work / name, questions=asked.limit, words=WORDS)
        for name in CORPORA
    ]
    options = SageOptions(guard_edits=",".join(EDITS), guard_keep=KEEP)
    run = eb.sage.run(
        SYSTEMS, datasets=folders, tasks=["guards"], tokenizer="words", options=options, seed=SEED,
        out=asked.work / "run"
    )  # fmt: skip
    folder = RunFolder(run.path)
    counts = {(cell["dataset"], cell["system"]): cell["counts"] for cell in run.manifest["cells"]}
    print("\n".join(page(folder.read_results(), counts, asked.limit)))


def page(rows: Sequence[ResultRow], counts: Mapping[tuple[str, str], Mapping[str, int]], limit: int) -> Iterator[str]:
    """The page of results."""
    by_key = {(row.dataset, row.system, row.measure, row.variant): row for row in rows if row.dataset}
    yield "# Which guard restores a search of damaged questions?"
    yield ""
    yield f"{len(CORPORA)} real collections (at most {limit} questions, the first {WORDS} words of about 300 passages)."
    yield "Every question is damaged; kept is the share of the clean nDCG@10 of the system alone, wanted are"
    yield f"{KEEP:.0%}. Guards: cleaning (unicode, whitespace, spelling, case), a second search (`bm25`) fused by"
    yield "reciprocal ranks, `overlap` as a reranker of 50, a threshold that refuses a fifth of the questions at most."
    yield "Times are of two busy cores, the second search with its index; for `bm25` itself it is the same search."
    yield "`embassay sage run -t guards`; written by `benchmarks/guards.py`."
    yield ""
    yield from _means(by_key)
    yield from _conclusions()
    yield from _cheapest(by_key, counts)
    yield from _times(counts)
    for system in SYSTEMS:
        yield from _kept(by_key, system)


def _means(rows: Rows) -> Iterator[str]:
    yield f"## Kept, the mean of {len(CORPORA)} collections"
    yield ""
    yield "Intervals: 95% bootstrap over collections, few as they are. Last row: what a guard does to clean questions,"
    yield "in nDCG@10. Of a threshold, the mean over the questions that it leaves answered."
    yield ""
    names = (ALONE, *GUARDS)
    for system in SYSTEMS:
        yield f"| {system} | {' | '.join(names)} |"
        yield f"|---|{'---:|' * len(names)}"
        for edit in EDITS:
            cells = [_over(rows, system, HEADLINE, _variant(edit, name)) for name in names]
            yield f"| {edit} | {' | '.join(cells)} |"
        cells = ["" if name == ALONE else _over(rows, system, PRICE, name, signed=True) for name in names]
        yield f"| *clean* | {' | '.join(cells)} |"
        yield ""


def _conclusions() -> Iterator[str]:
    yield "Cleaning is the cheapest, and the only guard that helps often: against typos, and against capitals where a"
    yield "system minds them. Nothing mends `numerize`: with most words unknown, the speller takes the question for"
    yield "another language and leaves it. A second search by words suffers more from damage than `minilm` and drags it"
    yield "down, as a reranker by words does. A threshold keeps what it answers good, and refuses up to a fifth."
    yield ""


def _variant(edit: str, guard: str) -> str:
    return edit if guard == ALONE else f"{edit}:{guard}"


def _over(rows: Rows, system: str, measure: str, variant: str, *, signed: bool = False) -> str:
    values = [rows[corpus, system, measure, variant].value for corpus in CORPORA]
    mean = bootstrap_ci(np.array([value for value in values if value is not None]), np.mean, seed=SEED)
    said = numbers.format_change(mean.value, 3) if signed else f"{mean.value:.3f}"
    # There is no interval where every collection gives the same.
    return f"{said} ({numbers.format_interval(mean.low, mean.high, 2)})" if np.isfinite(mean.low) else said


def _cheapest(rows: Rows, counts: Mapping[tuple[str, str], Mapping[str, int]]) -> Iterator[str]:
    yield f"## The cheapest that keeps {KEEP:.0%}"
    yield ""
    yield "Bold: the whole interval is enough. –: nothing is. Alone: no guard is needed."
    yield ""
    yield f"| System, damage | {' | '.join(CORPORA)} |"
    yield f"|---|{'---|' * len(CORPORA)}"
    for system in SYSTEMS:
        for edit in EDITS:
            cells = [_named(rows, counts, corpus, system, edit) for corpus in CORPORA]
            yield f"| {system}, {edit} | {' | '.join(cells)} |"
    yield ""


def _named(rows: Rows, counts: Mapping[tuple[str, str], Mapping[str, int]], corpus: str, system: str, edit: str) -> str:
    kept = {key[3]: row for key, row in rows.items() if key[:3] == (corpus, system, HEADLINE)}
    name = find_cheapest_guard(kept, edit, counts[corpus, system], KEEP)
    if name is None:
        return "–"
    low = kept[_variant(edit, name)].ci_low
    return f"**{name}**" if low is not None and low >= KEEP else name


def _times(counts: Mapping[tuple[str, str], Mapping[str, int]]) -> Iterator[str]:
    yield "## Milliseconds for a question, the median collection"
    yield ""
    names = [name for name in GUARDS if any(f"{TIME}{name}" in spent for spent in counts.values())]
    yield f"| System | {' | '.join(names)} |"
    yield f"|---|{'---:|' * len(names)}"
    for system in SYSTEMS:
        medians = [np.median([counts[corpus, system][f"{TIME}{name}"] for corpus in CORPORA]) for name in names]
        yield f"| {system} | {' | '.join(f'{median / 1000:.2f}' for median in medians)} |"
    yield ""


def _kept(rows: Rows, system: str) -> Iterator[str]:
    yield f"## {system}: kept, on every collection"
    yield ""
    yield f"| Damage, guard | {' | '.join(CORPORA)} |"
    yield f"|---|{'---:|' * len(CORPORA)}"
    clean = [rows[corpus, system, "ndcg@10", "clean"] for corpus in CORPORA]
    yield f"| *clean nDCG@10* | {' | '.join(f'{row.value:.3f}' for row in clean)} |"
    for edit in EDITS:
        for name in (ALONE, *GUARDS):
            cells = [_said(rows[corpus, system, HEADLINE, _variant(edit, name)]) for corpus in CORPORA]
            yield f"| {edit}, {name} | {' | '.join(cells)} |"
        answered = [rows[corpus, system, ANSWERED, f"{edit}:threshold"].value for corpus in CORPORA]
        yield f"| {edit}, answered | {' | '.join(f'{value:.0%}' for value in answered)} |"
    yield ""


def _said(row: ResultRow) -> str:
    if row.value is None:
        return "–"
    ends = "" if row.ci_low is None else f" ({numbers.format_interval(row.ci_low, row.ci_high or 0.0, 2)})"
    return f"{row.value:.3f}{ends}"


if __name__ == "__main__":
    main()
