"""Results of our runs as files of MTEB, and back; what things are called there."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay import __version__
from embassay.errors import DataError
from embassay.interchange.tables import RunTables
from embassay.protocols.hume.exchange.export import MODEL
from embassay.protocols.hume.published.paper import iso_639_3
from embassay.protocols.mteb.protocol import with_script
from embassay.protocols.mteb.survey import BLOCK, MAIN, Document, published_name, task_types
from embassay.records import Result
from embassay.runs.folder import digest

VERSION = 1
FITTING = ("sage", "pteb", "score", "hume")
"""Runs that score systems on datasets; others measure something else, which MTEB has no place for."""
Numbered = tuple[int, Result]


@dataclass(frozen=True)
class LeftOut:
    """Rows that a format has no place for: how many, of which run, and why."""

    run: str
    rows: int
    reason: str


def documents_of_run(run: RunTables, left_out: list[LeftOut]) -> Iterator[Document]:
    """A document for each system, task and dataset: an entry for each subset and language that has a headline.

    `main_score` is the headline, NaN where it has no value; the other measures stand beside it, those of variants as
    `VARIANT/MEASURE`. The rows themselves (intervals, n, seeds, reasons) are in our block. Rows without a dataset, or
    without a headline, do not fit: they go to `left_out`.
    """
    if run.kind not in FITTING:
        left_out.append(
            LeftOut(run.name, len(run.rows), f"of a {run.kind} run, which measures what MTEB has no task for")
        )
        return
    groups: dict[tuple[str, str, str], list[Numbered]] = {}
    over = 0
    for place, row in enumerate(run.rows):
        if row.dataset:
            groups.setdefault((row.system, row.task, row.dataset), []).append((place, row))
        else:
            over += 1
    if over:
        left_out.append(LeftOut(run.name, over, "over several datasets, and MTEB has a file for each one"))
    headless = 0
    for rows in groups.values():
        document = _document(run, rows)
        if document is None:
            headless += len(rows)
        else:
            yield document
    if headless:
        left_out.append(LeftOut(run.name, headless, "of a task without a headline on the dataset"))


def results_of(documents: Iterable[Document]) -> list[Result]:
    """The results of our own runs in documents of MTEB, as they were exported and in that order; documents of others
    have none. Raises DataError for a block that is not as we write it."""
    found: list[tuple[str, int, Result]] = []
    for document in documents:
        block = document.body.get(BLOCK)
        if not isinstance(block, dict) or "rows" not in block:
            continue
        try:
            if block["version"] != VERSION:
                raise ValueError(f"version {block['version']}")
            run = str(block["run"]["manifest"])
            for place, row in zip(block["places"], block["rows"], strict=True):
                found.append((run, int(place), Result(**row)))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"The block {BLOCK!r} of {document.model}, {document.task} is not as Embassay {__version__} writes it",
                found=str(error)[:80], mend="Export the run again.",
            ) from error  # fmt: skip
    runs = {run: place for place, run in reversed(list(enumerate(run for run, _, _ in found)))}
    return [row for _, _, row in sorted(found, key=lambda one: (runs[one[0]], one[1]))]


def revision_of(run: RunTables, system: str) -> str:
    """What stands for the revision of a system: a fingerprint of its identity, the same in all runs of it."""
    known = {one["name"]: one.get("identity") for one in run.manifest.get("systems", ())}
    return digest(known.get(system) or system)[:12]


def _document(run: RunTables, rows: Sequence[Numbered]) -> Document | None:
    first = rows[0][1]
    headline = run.headline_of(first.task) or next((row.measure for _, row in rows if not row.variant), None)
    heads = [i for i, (_, row) in enumerate(rows) if not row.variant and row.measure == headline]
    if not heads:
        return None
    block = {
        "version": VERSION,
        "run": {
            "protocol": run.protocol, "kind": run.kind, "name": run.name, "task": first.task,
            "dataset": first.dataset, "system": first.system, "headline": headline, "seed": first.seed,
            "manifest": run.manifest_digest, "embassay": run.manifest.get("embassay"),
        },
        "main": heads,
        "places": [place for place, _ in rows],
        "rows": [vars(row) for _, row in rows],
    }  # fmt: skip
    body = {
        "dataset_revision": run.fingerprint(first.dataset),
        "task_name": task_name(run.kind, first.task, first.dataset, published=_is_published(run)),
        "mteb_version": None,
        "scores": {"test": [_entry(rows[i][1], rows) for i in heads]},
        "evaluation_time": _seconds(run, first),
        "kg_co2_emissions": None,
        BLOCK: block,
    }
    return Document(model_name(run.protocol, first.system), revision_of(run, first.system), body)


def _is_published(run: RunTables) -> bool:
    """Whether a HUME run was made of result files (`hume score --from-mteb`), and not of a study of one's own."""
    return run.protocol == "hume" and "results" in (run.manifest.get("arguments") or {})


def _entry(head: Result, rows: Sequence[Numbered]) -> dict[str, Any]:
    own = [row for _, row in rows if (row.subset, row.lang) == (head.subset, head.lang)]
    return {
        **{score_name(row.variant, row.measure): row.value for row in own if row.value is not None},
        MAIN: math.nan if head.value is None else head.value,
        "hf_subset": head.subset or "default",
        "languages": [dataset_language(head.lang)],
    }


def _seconds(run: RunTables, first: Result) -> float | None:
    cells: Iterable[Mapping[str, Any]] = run.manifest.get("cells") or ()
    where = (first.task, first.dataset, first.system)
    known = [
        cell.get("seconds")
        for cell in cells
        if (cell.get("task"), cell.get("dataset"), cell.get("system")) == where
    ]
    numbers = [one for one in known if isinstance(one, int | float)]
    return math.fsum(numbers) if numbers else None


_TITLES = {"sage": "SAGE", "pteb": "PTEB", "score": "RAG", "hume": "HUME"}
_MEASURES = {
    "ndcg": "ndcg_at", "nDCG": "ndcg_at", "AP": "map_at", "RR": "mrr_at", "R": "recall_at", "P": "precision_at",
    "Hit": "hit_rate_at",
}  # fmt: skip
"""Measures with a cutoff that MTEB has too, by its name."""
_ALIKE = {"average_precision": "ap"}
_UNSAID = {"mul": "mul-Zyyy", "": "und-Zyyy"}
"""ISO 639-3 and 15924 for many languages and for one nobody named: MTEB leaves out an entry without any."""


def model_name(protocol: str, system: str) -> str:
    """A system as MTEB's `organization/model`; people are its baseline.

    >>> model_name("sage", "minilm"), model_name("hume", "Human")
    ('embassay/minilm', 'baseline/Human')
    """
    return MODEL if (protocol, system) == ("hume", "Human") else published_name(system)


def task_name(kind: str, task: str, dataset: str, *, published: bool = False) -> str:
    """The name of a task: one of ours, since the items, or how they are scored, are not those of MTEB's; but MTEB's own
    where the scores are its `published` ones.

    >>> task_name("hume", "sts", "STS12", published=True), task_name("pteb", "sts", "STS12")
    ('HUMESTS12', 'PTEB-sts-STS12')
    >>> task_name("score", "score", "qrels")
    'RAG-qrels'
    """
    if published and f"HUME{dataset}" in task_types():
        return f"HUME{dataset}"
    return "-".join([_TITLES.get(kind, kind), *([] if task == kind else [task]), dataset])


def score_name(variant: str, measure: str) -> str:
    """A measure by MTEB's name where it has one, behind its variant.

    >>> score_name("", "nDCG@10"), score_name("original", "v_measure"), score_name("", "RA-nWG@5")
    ('ndcg_at_10', 'original/v_measure', 'RA-nWG@5')
    """
    found = re.fullmatch(r"(\w+)@(\d+)", measure)
    known = (
        f"{_MEASURES[found[1]]}_{found[2]}"
        if found and found[1] in _MEASURES
        else _ALIKE.get(measure, measure)
    )
    return f"{variant}/{known}" if variant else known


def dataset_language(lang: str) -> str:
    """A language with its script, as MTEB writes it.

    >>> dataset_language("en"), dataset_language("mul")
    ('eng-Latn', 'mul-Zyyy')
    """
    return _UNSAID.get(lang) or with_script(iso_639_3(lang))
