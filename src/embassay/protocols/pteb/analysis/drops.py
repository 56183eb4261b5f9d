"""What paraphrasing did to every system on every dataset, from the rows of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from embassay.records import Result, Skipped

HEADLINES: Mapping[str, str] = {
    "sts": "spearman",
    "classification": "accuracy",
    "clustering": "v_measure",
    "pair_classification": "average_precision",
    "reranking": "map",
    "retrieval": "ndcg@10",
    "summarization": "spearman",
}
"""Task -> the measure that its score is."""

_PREFIX, _SEED = "paraphrase:", "seed="


@dataclass(frozen=True)
class Drop:
    """One system on one dataset: its `original` score and what was added by paraphrasing, `delta` (negative: points
    were lost), the mean over `runs` runs. Both are fractions."""

    task: str
    dataset: str
    lang: str
    system: str
    original: float
    delta: float
    runs: int

    @property
    def place(self) -> str:
        """The task and the dataset: what bootstrap resamples draw as one."""
        return f"{self.task}/{self.dataset}"


@dataclass(frozen=True)
class Drops:
    """The drops of a run, and what has none, counted by reason."""

    rows: tuple[Drop, ...]
    missing: tuple[Skipped, ...]


def drops(rows: Iterable[Result], *, by_language: bool = False, source: str | None = None) -> Drops:
    """The drop of every system on every dataset.

    `by_language` gives the languages of a dataset that has several, each by itself, and no row of all of them.
    `source` keeps the runs of one paraphraser or prompt (`by=NAME`, `prompt=NAME`); otherwise the mean is over the
    runs of all. A cell with a run without a score has no drop, and is counted.
    """
    cells: dict[tuple[str, ...], list[Result]] = {}
    originals: dict[tuple[str, ...], Result] = {}
    divided: set[tuple[str, ...]] = set()
    for row in rows:
        if row.protocol != "pteb" or not row.dataset or row.task not in HEADLINES:
            continue
        key = (row.task, row.dataset, row.subset, row.lang, row.system)
        if row.subset:
            divided.add((row.task, row.dataset))
        if row.variant == "original" and row.measure == HEADLINES[row.task]:
            originals[key] = row
        elif row.measure == "delta" and _is_of(row.variant, source):
            cells.setdefault(key, []).append(row)
    kept = {
        key: deltas for key, deltas in cells.items() if bool(key[2]) == (by_language and key[:2] in divided)
    }
    return _means(kept, originals)


def source_of(variant: str) -> str:
    """The paraphraser or prompt of a variant of a cell; empty where a run has one.

    >>> source_of("paraphrase:by=ollama:gemma3:27b,seed=1337")
    'by=ollama:gemma3:27b'
    """
    return variant.removeprefix(_PREFIX).rpartition(_SEED)[0].rstrip(",")


def is_run(variant: str) -> bool:
    """Whether the variant is that of a run on paraphrases."""
    return variant.startswith(_PREFIX) and _SEED in variant


def _is_of(variant: str, source: str | None) -> bool:
    return is_run(variant) and source in (None, source_of(variant))


def _means(
    cells: Mapping[tuple[str, ...], list[Result]], originals: Mapping[tuple[str, ...], Result]
) -> Drops:
    found: list[Drop] = []
    missing: dict[str, list[str]] = {}
    for (task, dataset, subset, lang, system), deltas in cells.items():
        original = originals.get((task, dataset, subset, lang, system))
        values = [row.value for row in deltas if row.value is not None]
        reason = ""
        if original is None or original.value is None:
            reason = "no original score"
        elif len(values) < len(deltas):
            reason = "a run without a score"
        if reason or original is None or original.value is None:
            missing.setdefault(reason, []).append(" ".join(filter(None, (system, task, dataset, subset))))
        else:
            found.append(Drop(task, dataset, lang, system, original.value, fmean(values), len(values)))
    counted = (Skipped(reason, len(cells), tuple(cells[:5])) for reason, cells in missing.items())
    return Drops(tuple(found), tuple(counted))
