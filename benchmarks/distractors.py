"""What do distractors do to answers: readers by number by nearness, on real collections, without a language model?

    python benchmarks/distractors.py DATA [--work runs/distractors] [--limit 120] > benchmarks/results/distractors.md

DATA holds what benchmarks/datasets describe. Every question is answered from the first ten passages of BM25 by readers
that quote the sentence nearest to it; an answer is right where it stands in a passage that people judged relevant.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from choose_collections import COLLECTIONS, Files
from recall_loss import lay_out

import embassay as eb
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.answers.figures import CHANGE, HEADLINE, PER_DISTRACTOR
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder
from embassay.search.bm25 import BM25Index
from embassay.stats import bootstrap_ci

CORPORA = ("scifact", "cranfield", "med", "cosqa", "wikiqa", "qags")
READERS = ("extract:jaccard", "extract:wordllama", "extract:minilm")
GRADES = {"cranfield": "1=2,2=3,3=4,4=5"}
NUMBERS, NEARNESS, K, SEED = (1, 3, 5), ("near", "middle", "random"), 10, 1337
Rows = Mapping[tuple[str, str, str, str], ResultRow]


def main() -> None:
    """Measure, and print the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/distractors"))
    parser.add_argument("--limit", type=int, default=120)
    asked = parser.parse_args()
    rows: list[ResultRow] = []
    for name in CORPORA:
        folder = Path(lay_out(COLLECTIONS[name](Files(asked.data), name), asked.work / name, questions=asked.limit))
        run = eb.rag.answer(
            folder, [search_words(folder)], READERS, "extract", k=K, distractors=NUMBERS, nearness=NEARNESS,
            seed=SEED, grades=GRADES.get(name), out=asked.work / f"{name}-answers"
        )  # fmt: skip
        rows += RunFolder(run.path).read_results()
    print("\n".join(page(rows, asked.limit)))


def search_words(folder: Path) -> Path:
    """A run of BM25 over a collection, in TREC's form."""
    passages, questions = (_read_texts(folder / f"{name}.jsonl") for name in ("corpus", "queries"))
    index = BM25Index.of(list(passages), list(passages.values()))
    lines = [
        f"{query} Q0 {hit.id} {rank} {-rank} bm25"
        for query, text in questions.items()
        for rank, hit in enumerate(index.search(text, K), 1)
    ]
    path = folder / "bm25.trec"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _read_texts(path: Path) -> dict[str, str]:
    rows = map(json.loads, path.read_text("utf-8").splitlines())
    return {row["_id"]: row["text"] for row in rows}


def page(rows: Sequence[ResultRow], limit: int) -> Iterator[str]:
    """The page of results."""
    by_key = {(row.dataset, row.system, row.measure, row.variant): row for row in rows}
    corpora = list(dict.fromkeys(row.dataset for row in rows))
    systems = list(dict.fromkeys(row.system for row in rows))
    yield "# What distractors do to answers"
    yield ""
    yield f"{len(corpora)} real collections (at most {limit} questions), the first {K} passages of BM25, and readers"
    yield "that quote the sentence nearest to the question (`embassay rag answer -g extract:SYSTEM -j extract`). They"
    yield "are no language models: what distractors do to them is what they do to finding the evidence. Change: of"
    yield "accuracy, against the same question without distractors. Intervals: 95%, paired bootstrap over questions,"
    yield f"10,000 draws, seed {SEED}. Written by `benchmarks/distractors.py`."
    yield ""
    yield from _summary(by_key, corpora, systems)
    for system in systems:
        yield from _changes(by_key, corpora, system)


def _summary(rows: Rows, corpora: Sequence[str], systems: Sequence[str]) -> Iterator[str]:
    yield f"## Accuracy per distractor, the mean of {len(corpora)} collections"
    yield ""
    yield "Interval: 95% bootstrap over collections, few as they are."
    yield ""
    yield f"| Reader | {' | '.join(NEARNESS)} | near minus random |"
    yield f"|---|{'---:|' * (len(NEARNESS) + 1)}"
    for system in systems:
        slopes = np.array(
            [[_value(rows, corpus, system, PER_DISTRACTOR, near) for corpus in corpora] for near in NEARNESS]
        )
        cells = [_mean(line) for line in (*slopes, slopes[0] - slopes[-1])]
        yield f"| {_reader(system)} | {' | '.join(cells)} |"
    yield ""
    yield "The ten passages of BM25 hold distractors of their own; more of them in the place of the last change next to"
    yield "nothing for a reader that quotes. Effects of order, or of what persuades, it cannot have: measure them with"
    yield "a language model as the generator."
    yield ""


def _changes(rows: Rows, corpora: Sequence[str], system: str) -> Iterator[str]:
    yield f"## {_reader(system)}"
    yield ""
    yield f"| Prompt | {' | '.join(corpora)} |"
    yield f"|---|{'---:|' * len(corpora)}"
    yield _line("*accuracy without distractors*", [_plain(rows[c, system, HEADLINE, ""]) for c in corpora])
    yield _line(f"*Acc\\|Hit@{K}*", [_plain(rows[c, system, f"Acc|Hit@{K}", ""]) for c in corpora])
    for near in NEARNESS:
        for number in NUMBERS:
            changes = [rows[corpus, system, CHANGE, f"{number} {near}"] for corpus in corpora]
            yield _line(f"{number} {near}, change", [_signed(row) for row in changes])
    for near in NEARNESS:
        slopes = [rows[corpus, system, PER_DISTRACTOR, near] for corpus in corpora]
        yield _line(f"per distractor, {near}", [_signed(row) for row in slopes])
    harm = [rows[corpus, system, f"accuracy per Harm@{K}", ""] for corpus in corpora]
    yield _line(f"per Harm@{K} (0 to 1)", [_signed(row) for row in harm])
    yield ""


def _line(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def _reader(system: str) -> str:
    return system.partition(", ")[2]


def _value(rows: Rows, corpus: str, system: str, measure: str, variant: str) -> float:
    value = rows[corpus, system, measure, variant].value
    return np.nan if value is None else value


def _mean(values: np.ndarray) -> str:
    known = values[~np.isnan(values)]
    mean = bootstrap_ci(known, np.mean, seed=SEED)
    return f"{numbers.format_change(mean.value, 3)} ({numbers.format_interval(mean.low, mean.high, 3)})"


def _plain(row: ResultRow) -> str:
    return "–" if row.value is None else f"{row.value:.3f}{_ends(row)}"


def _signed(row: ResultRow) -> str:
    return "–" if row.value is None else f"{numbers.format_change(row.value, 3)}{_ends(row)}"


def _ends(row: ResultRow) -> str:
    if row.ci_low is None or row.ci_high is None:
        return ""
    return f" ({numbers.format_interval(row.ci_low, row.ci_high, 2)})"


if __name__ == "__main__":
    main()
