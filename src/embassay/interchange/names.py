"""What our systems, tasks, measures and languages are called in files of MTEB."""

from __future__ import annotations

import re

from embassay.protocols.hume.exchange.mteb.writing import MODEL
from embassay.protocols.hume.published.languages import iso_639_3
from embassay.protocols.mteb.meta import published_name
from embassay.protocols.mteb.scripts import with_script
from embassay.protocols.mteb.types import task_types

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
