"""The five SAGE tasks: what each needs in data and in memory, how it is evaluated, and what its headline is called."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from embassay.contracts import Similarity
from embassay.protocols.kernel.evaluation import Fields, Task, loader
from embassay.protocols.kernel.forecast import (
    dimensions,
    distances,
    footprint,
    replicates,
    text_bytes,
    token_bytes,
    vectors,
)
from embassay.protocols.sage.edits import chosen_edits
from embassay.protocols.sage.options import ALL, SageOptions
from embassay.records import LabelledTexts, Loaded, RetrievalSet
from embassay.registry import Registry
from embassay.runs.memory import Footprint
from embassay.search.exact import SHARD

if TYPE_CHECKING:
    from embassay.data import Dataset


def preference() -> Task:
    """Does similarity follow human choices and ratings?"""
    from embassay.protocols.sage.preference import HEADLINE, Preferences, evaluate

    def load(dataset: Dataset, limit: int | None, seed: int) -> Loaded[Any]:
        halves = [
            dataset.load(shape, limit=limit, seed=seed) if not dataset.missing(shape) else None
            for shape in ("comparisons", "ratings")
        ]
        present = [half for half in halves if half is not None]
        data = Preferences(*(half.data if half else None for half in halves))
        return replace(
            present[0],
            data=data,
            skipped=tuple(skip for half in present for skip in half.skipped),
            warnings=tuple(dict.fromkeys(warning for half in present for warning in half.warnings)),
        )

    def fields(data: Preferences) -> Fields:
        kept: Fields = {}
        if data.comparisons is not None:
            rows = data.comparisons
            kept |= {
                "source": (rows.ids, rows.sources),
                "first": (rows.ids, rows.first),
                "second": (rows.ids, rows.second),
            }
        if data.ratings is not None:
            rated = data.ratings
            ids, sources = kept.get("source", ((), ()))
            kept |= {
                "source": ((*ids, *rated.ids), (*sources, *rated.sources)),
                "summary": (rated.ids, rated.summaries),
            }
        return kept

    def size(data: Preferences) -> int:
        return len(data.comparisons or ()) + len(data.ratings or ())

    return Task(
        "preference",
        "Human preference",
        ("comparisons", "ratings"),
        HEADLINE,
        2,
        evaluate,
        load,
        fields,
        size,
    )


def robustness() -> Task:
    """Superficial noise over summary over meaning-changing edit?"""
    from embassay.protocols.sage.robustness import HEADLINE, evaluate

    return Task(
        "robustness", "Transformation robustness", ("summarised",), HEADLINE, 8, evaluate, loader("summarised"),
        lambda data: {"text": (data.ids, data.texts), "summary": (data.ids, data.summaries)},
    )  # fmt: skip


def sensitivity() -> Task:
    """Does similarity fall on the expected curve as text is added or removed?"""
    from embassay.protocols.sage.sensitivity import HEADLINE, evaluate

    return Task(
        "sensitivity", "Information sensitivity", ("documents",), HEADLINE, 19, evaluate, loader("documents"),
        lambda data: {"text": (data.ids, data.texts)},
    )  # fmt: skip


def clustering() -> Task:
    """V-measure of complete-linkage clusters."""
    from embassay.protocols.sage.clustering import HEADLINE, evaluate

    return Task(
        "clustering", "Clustering", ("labelled",), HEADLINE, 1, evaluate, loader("labelled"),
        lambda data: {"text": (data.ids, data.texts), "label": (data.ids, data.labels), "set": (data.ids, data.sets)},
    )  # fmt: skip


def retrieval() -> Task:
    """How much of nDCG@10 survives 18 perturbations of every document?"""
    from embassay.protocols.sage.retrieval import HEADLINE, evaluate

    return Task(
        "retrieval", "Retrieval robustness", ("retrieval",), HEADLINE, 19, evaluate, loader("retrieval"),
        lambda data: {
            "query": (data.queries.ids, data.queries.texts),
            "document": (data.corpus.ids, data.corpus.texts),
        },
        lambda data: len(data.corpus),
    )  # fmt: skip


TASKS: Registry[Task] = Registry("task", advice="embassay.protocols.kernel.evaluation:advice")
for _factory in (preference, robustness, sensitivity, clustering, retrieval):
    TASKS.register(_factory.__name__)(_factory)
TASK_NAMES = ("preference", "robustness", "sensitivity", "clustering", "retrieval")
PAIR_CORPUS = "reference"
"""Whose statistics of words two texts are compared with in tasks 1 to 3 [A3]."""


_BATCHES = {"preference": 3, "robustness": 2, "sensitivity": 2}
"""Texts of an item that are compared in one call."""


def needed(task: str, system: Similarity, data: Any, fields: Any, options: SageOptions) -> Footprint:
    """The estimate for one system on one dataset; `fields` are the task's texts (`Task.fields`)."""
    if isinstance(data, RetrievalSet):
        return _retrieval(system, data, options)
    if isinstance(data, LabelledTexts):
        return _clustering(system, data, options)
    texts = max((column for _, column in fields.values()), key=len)
    n = len(texts) * _BATCHES.get(task, 8)
    parts = {"texts": text_bytes(texts, n), "replicates": replicates(len(texts), 40, options.resamples)}
    parts |= _compared(system, texts, n)
    return footprint(parts, "Use fewer items (--limit).")


def _compared(system: Similarity, texts: Any, n: int) -> dict[str, int]:
    """What `n` of the texts are while they are compared in pairs."""
    dim = dimensions(system)
    return {"vectors": vectors(2 * n, dim)} if dim else {"tokens": token_bytes(texts, 2 * n)}


def _clustering(system: Similarity, data: LabelledTexts, options: SageOptions) -> Footprint:
    largest = max(Counter(data.sets).values(), default=0)
    embedding = system.kind == "embedding"
    n = min(largest, options.embedding_cap if embedding else options.string_cap)
    parts = {f"the distances of {n:,} texts": distances(n), "texts": text_bytes(data.texts, n)}
    dim = dimensions(system)
    parts |= {"vectors": vectors(n, dim)} if dim else {"tokens": token_bytes(data.texts, n)}
    return footprint(parts, f"Cluster fewer texts (--{'embedding' if embedding else 'string'}-cap, --limit).")


def _retrieval(system: Similarity, data: RetrievalSet, options: SageOptions) -> Footprint:
    """One shard is held at a time, and the best of every version."""
    chosen = options.retrieval_edits
    versions = 19 if chosen == ALL else 1 + len(chosen_edits(chosen))
    shard, queries, texts = min(SHARD, len(data.corpus)), len(data), data.corpus.texts
    dim = dimensions(system)
    parts = {
        # As they are, edited, and as the keys of what is looked up.
        f"a shard's {shard:,} texts": 3 * text_bytes(texts, shard),
        "what was found": 16 * queries * 11 * (4 * versions + 8),
        "replicates": replicates(queries, versions + 2, options.resamples),
    }
    if dim:
        parts["vectors"] = vectors(shard, dim) + vectors(queries, dim)
    else:
        asked = data.queries.texts
        parts["tokens"] = token_bytes(texts, shard) + token_bytes(asked)
    return footprint(parts, "Search a smaller corpus (--limit)")
