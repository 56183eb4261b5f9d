"""The five SAGE tasks: what each needs in data and in memory, how it is evaluated, and what its headline is called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity, Tokenizer
from embassay.errors import UsageError
from embassay.protocols.kernel import evaluation
from embassay.protocols.kernel.evaluation import Fields, Task, loader
from embassay.protocols.kernel.forecast import (
    count_vector_dimensions,
    estimate_text_memory_bytes,
    estimate_token_bytes_of_texts,
    pairwise_distance_bytes,
    replicate_bytes,
    sum_memory_footprint,
    vector_bytes,
)
from embassay.protocols.sage.options import ALL, SageOptions, read_needle
from embassay.records import Documents, LabelledTexts, LoadedDataset, RetrievalSet, SkippedItems
from embassay.registry import Registry
from embassay.runs.memory import WorkMemoryEstimate
from embassay.search.exact import SHARD
from embassay.text import (
    FURTHER,
    PERTURBATIONS,
    SEMANTIC,
    SUPERFICIAL,
    Perturbation,
    first_tokens,
    insertion_variants,
    perturb,
    perturb_all,
    removal_variants,
    retrieval_variants,
)

if TYPE_CHECKING:
    from embassay.data import Dataset


POSITIONS = 3
"""Start, middle and end: variants of one size stand together."""
# Shares of a text's tokens: the variants of spec sage 6.
INSERTED = (0.15, 0.5, 1.0)
REMOVED = (0.15, 0.5, 0.9)
EDITS = (*SUPERFICIAL, *SEMANTIC)
INSERTIONS = insertion_variants(INSERTED)
REMOVALS = removal_variants(REMOVED)
OF_2024 = {
    "delete10": "delete10:within=sentences",
    "sentence_shuffle": "sentence_shuffle:split=lines",
    "word_shuffle": "word_shuffle:split=spaces",
}
"""The edits that the first author's earlier code did otherwise."""
_SEVERAL = ("", "mul", "und")
"""Languages of a dataset that say nothing of a text: each is negated in the language that it seems to be in."""
RETRIEVAL_EDITS = retrieval_variants()
"""The 18 perturbed versions of every document in task 5 (spec section 8)."""


@dataclass(frozen=True)
class TextEdit:
    """One edit as a run does it: its spec string, and what it depends on."""

    name: str
    tokenizer: Tokenizer
    seed: int
    needle: str = ""
    """The text that is inserted; empty for ours."""

    def __call__(self, texts: Sequence[str], ids: Sequence[str], langs: Sequence[str] | None = None) -> list[str]:
        """The texts edited; the language that a row states comes before that of the dataset."""
        if langs is None or self.name.partition(":")[0] != "negate":
            return perturb_all(self._build_perturbation(self.name), texts, ids, self.seed)
        names = [self.name if lang in _SEVERAL else f"negate:lang={lang}" for lang in langs]
        built = {name: self._build_perturbation(name) for name in dict.fromkeys(names)}
        return [
            perturb(built[name], text, seed=self.seed, text_id=key)
            for name, text, key in zip(names, texts, ids, strict=True)
        ]

    def _build_perturbation(self, name: str) -> Perturbation:
        return PERTURBATIONS.build(name, tokenizer=self.tokenizer, needle_text=self.needle)


def list_indices_of_unchanged_texts(texts: Sequence[str], edited: Sequence[str]) -> NDArray[np.int64]:
    """The places of the texts that an edit left as they were."""
    same = (place for place, (a, b) in enumerate(zip(texts, edited, strict=True)) if a == b)
    return np.fromiter(same, dtype=np.int64)


def make_unchanged_skip(name: str, rows: Sequence[int], ids: Sequence[str], what: str = "texts") -> SkippedItems:
    """Describe the texts that an edit left as they were as skipped items."""
    return SkippedItems(f"{name}: {what} left unchanged", len(rows), tuple(ids[i] for i in rows[:5]))


def edit_documents(variant: str, documents: Documents, context: SageContext) -> list[str]:
    """Every document under one edit; options of the run that change an edit are applied here."""
    return make_edit_for_run_options(variant, context)(documents.texts, documents.ids, documents.langs)


def make_edit_for_run_options(variant: str, context: SageContext) -> TextEdit:
    """The edit as the options of the run have it."""
    if context.options.edits == "2024":
        variant = OF_2024.get(variant, variant)
    if variant == "numerize" and context.options.numerize_both_cases:
        variant = "numerize:both_cases=true"
    if variant == "delete10" and context.options.delete_next_if_space:
        variant = "delete10:spaces=next"
    if variant == "negate" and context.lang not in _SEVERAL:
        variant = f"negate:lang={context.lang}"
    return TextEdit(variant, context.tokenizer, context.seed, read_needle(context.options.needle))


def shorten_documents(documents: Documents, context: SageContext) -> Documents:
    """The documents with texts of at most `text_tokens` tokens [A16]."""
    most = context.options.text_tokens
    if most is None:
        return documents
    texts = tuple(first_tokens(text, context.tokenizer, most) for text in documents.texts)
    return replace(documents, texts=texts)


def retrieval_edits(context: SageContext) -> tuple[str, ...]:
    """The edits whose corpora task 5 searches."""
    named = context.options.retrieval_edits
    return RETRIEVAL_EDITS if named == ALL else parse_edit_list(named)


def parse_edit_list(names: str) -> tuple[str, ...]:
    """The edits of a list such as `capitalize,insertion:p=0.15,q=0`, each once, in the order of the paper, further ones
    behind; `insertion` and `removal` alone are their six. UsageError for an empty list and for another name.

    >>> parse_edit_list("removal:p=0.5,q=1, capitalize")
    ('capitalize', 'removal:p=0.5,q=1')
    """
    known = (*RETRIEVAL_EDITS, *FURTHER)
    chosen: set[str] = set()
    # A comma stands before the next edit, or before the next parameter of the same.
    for name in re.split(r",(?!\s*[pq]\s*=)", names):
        edits = [edit for edit in known if name.strip() in (edit, edit.partition(":")[0])]
        if not edits:
            near = get_close_matches(name.strip(), known, n=1)
            raise UsageError(
                f"There is no edit {name.strip()!r} for retrieval corpora.",
                mend=(f"Did you mean {near[0]}? " if near else "") + f"Available: {', '.join(known)}.",
            )
        chosen.update(edits)
    return tuple(edit for edit in known if edit in chosen)


def compute_total_version_length_ratio(context: SageContext) -> float:
    """The tokens of all versions of a document in task 5 together, in units of the original's."""
    return 1.0 + sum(map(_forecast_edited_length_ratio, retrieval_edits(context)))


def _forecast_edited_length_ratio(edit: str) -> float:
    kind, _, parameters = edit.partition(":")
    share = float(parameters.partition(",")[0].removeprefix("p=") or 0)
    return {"insertion": 1 + share, "removal": 1 - share}.get(kind, 1.0)


@dataclass(frozen=True)
class SageContext(evaluation.TaskContext):
    """With the options of SAGE."""

    options: SageOptions = field(default_factory=SageOptions)


def preference() -> Task:
    """Does similarity follow human choices and ratings?"""
    from embassay.protocols.sage.preference import HEADLINE, HumanPreferences, evaluate_system

    def load_preferences(dataset: Dataset, limit: int | None, seed: int) -> LoadedDataset[Any]:
        halves = [
            dataset.load(shape, limit=limit, seed=seed) if not dataset.missing(shape) else None
            for shape in ("comparisons", "ratings")
        ]
        present = [half for half in halves if half is not None]
        data = HumanPreferences(*(half.data if half else None for half in halves))
        return replace(
            present[0],
            data=data,
            skipped=tuple(skip for half in present for skip in half.skipped),
            warnings=tuple(dict.fromkeys(warning for half in present for warning in half.warnings)),
        )

    def collect_text_fields(data: HumanPreferences) -> Fields:
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

    def count_preference_judgements(data: HumanPreferences) -> int:
        return len(data.comparisons or ()) + len(data.ratings or ())

    return Task(
        "preference", "Human preference", ("comparisons", "ratings"), HEADLINE, 2, evaluate_system,
        load_preferences, collect_text_fields, count_preference_judgements
    )  # fmt: skip


def robustness() -> Task:
    """Superficial noise over summary over meaning-changing edit?"""
    from embassay.protocols.sage.robustness import HEADLINE, evaluate_system

    return Task(
        "robustness",
        "Transformation robustness",
        ("summarised",),
        HEADLINE,
        8,
        evaluate_system,
        loader("summarised"),
        lambda data: {"text": (data.ids, data.texts), "summary": (data.ids, data.summaries)},
    )


def sensitivity() -> Task:
    """Does similarity fall on the expected curve as text is added or removed?"""
    from embassay.protocols.sage.sensitivity import HEADLINE, evaluate_system

    return Task(
        "sensitivity",
        "Information sensitivity",
        ("documents",),
        HEADLINE,
        19,
        evaluate_system,
        loader("documents"),
        lambda data: {"text": (data.ids, data.texts)},
    )


def clustering() -> Task:
    """V-measure of complete-linkage clusters."""
    from embassay.protocols.sage.clustering import HEADLINE, evaluate_system

    return Task(
        "clustering", "Clustering", ("labelled",), HEADLINE, 1, evaluate_system, loader("labelled"),
        lambda data: {"text": (data.ids, data.texts), "label": (data.ids, data.labels), "set": (data.ids, data.sets)}
    )  # fmt: skip


def _collect_queries_and_documents(data: RetrievalSet) -> Fields:
    return {"query": (data.queries.ids, data.queries.texts), "document": (data.corpus.ids, data.corpus.texts)}


def retrieval() -> Task:
    """How much of nDCG@10 survives 18 perturbations of every document?"""
    from embassay.protocols.sage.retrieval import HEADLINE, evaluate_system

    return Task(
        "retrieval", "Retrieval robustness", ("retrieval",), HEADLINE, 19, evaluate_system, loader("retrieval"),
        _collect_queries_and_documents, lambda data: len(data.corpus)
    )  # fmt: skip


def attack() -> Task:
    """How many small errors flip an order that the system has right?"""
    from embassay.protocols.sage.attack import HEADLINE, SHAPES, evaluate_word_attack, load_pair_similarity_orders

    return Task(
        "attack", "Attack", SHAPES, HEADLINE, 4, evaluate_word_attack, load_pair_similarity_orders,
        lambda data: {
            "text": (data.ids, data.first), "text2": (data.ids, data.second),
            "lower": (data.ids, data.lower_first), "lower2": (data.ids, data.lower_second),
        }
    )  # fmt: skip


def guards() -> Task:
    """Which guard restores a search of damaged text?"""
    from embassay.protocols.sage.guards import HEADLINE, measure_guards_against_text_edits

    return Task(
        "guards", "Guards", ("retrieval",), HEADLINE, 2, measure_guards_against_text_edits, loader("retrieval"),
        _collect_queries_and_documents, lambda data: len(data.corpus)
    )  # fmt: skip


TASKS: Registry[Task] = Registry("task", advice="embassay.protocols.kernel.evaluation:advise_other_protocol")
for _factory in (preference, robustness, sensitivity, clustering, retrieval, attack, guards):
    TASKS.register(_factory.__name__)(_factory)
TASK_NAMES = ("preference", "robustness", "sensitivity", "clustering", "retrieval")
PAIR_CORPUS = "reference"
"""Whose statistics of words two texts are compared with in tasks 1 to 3 [A3]."""


_BATCHES = {"preference": 3, "robustness": 2, "sensitivity": 2}
"""Texts of an item that are compared in one call."""


def estimate_task_memory(
    task: str, system: Similarity, data: Any, fields: Any, options: SageOptions
) -> WorkMemoryEstimate:
    """The estimate for one system on one dataset; `fields` are the task's texts (`Task.fields`)."""
    if isinstance(data, RetrievalSet):
        return (
            _estimate_memory_of_guarded_search(system, data, options)
            if task == "guards"
            else _estimate_retrieval_memory(system, data, options)
        )
    if isinstance(data, LabelledTexts):
        return _estimate_clustering_memory(system, data, options)
    texts = max((column for _, column in fields.values()), key=len)
    n = len(texts) * _BATCHES.get(task, 8)
    parts = {
        "texts": estimate_text_memory_bytes(texts, n),
        "replicates": replicate_bytes(len(texts), 40, options.resamples),
    }
    parts |= _estimate_comparison_memory(system, texts, n)
    return sum_memory_footprint(parts, "Use fewer items (--limit).")


def _estimate_comparison_memory(system: Similarity, texts: Any, n: int) -> dict[str, int]:
    """What `n` of the texts are while they are compared in pairs."""
    dim = count_vector_dimensions(system)
    return {"vectors": vector_bytes(2 * n, dim)} if dim else {"tokens": estimate_token_bytes_of_texts(texts, 2 * n)}


def _estimate_clustering_memory(system: Similarity, data: LabelledTexts, options: SageOptions) -> WorkMemoryEstimate:
    largest = max(Counter(data.sets).values(), default=0)
    embedding = system.kind == "embedding"
    n = min(largest, options.embedding_cap if embedding else options.string_cap)
    parts = {
        f"the distances of {n:,} texts": pairwise_distance_bytes(n),
        "texts": estimate_text_memory_bytes(data.texts, n),
    }
    dim = count_vector_dimensions(system)
    parts |= {"vectors": vector_bytes(n, dim)} if dim else {"tokens": estimate_token_bytes_of_texts(data.texts, n)}
    return sum_memory_footprint(
        parts, f"Cluster fewer texts (--{'embedding' if embedding else 'string'}-cap, --limit)."
    )


def _estimate_memory_of_guarded_search(
    system: Similarity, data: RetrievalSet, options: SageOptions
) -> WorkMemoryEstimate:
    """The whole corpus at once, and once more as it is damaged or cleaned; its words for the second search."""
    edits = len(parse_edit_list(options.guard_edits))
    texts, queries, dim = data.corpus.texts, len(data), count_vector_dimensions(system)
    n = len(texts)
    parts = {
        "texts": 3 * estimate_text_memory_bytes(texts, n), "tokens": estimate_token_bytes_of_texts(texts, n),
        "replicates": replicate_bytes(queries, 6 * (1 + edits), options.resamples),
    }  # fmt: skip
    if dim:
        parts["vectors"] = vector_bytes(n, dim) + vector_bytes(queries, dim)
    return sum_memory_footprint(parts, "Search a smaller corpus (--limit)")


def _estimate_retrieval_memory(system: Similarity, data: RetrievalSet, options: SageOptions) -> WorkMemoryEstimate:
    """Estimate the memory of retrieval: one shard at a time is held, and the best of every version."""
    chosen = options.retrieval_edits
    versions = 19 if chosen == ALL else 1 + len(parse_edit_list(chosen))
    shard, queries, texts = min(SHARD, len(data.corpus)), len(data), data.corpus.texts
    dim = count_vector_dimensions(system)
    parts = {
        # As they are, edited, and as the keys of what is looked up.
        f"a shard's {shard:,} texts": 3 * estimate_text_memory_bytes(texts, shard),
        "what was found": 16 * queries * 11 * (4 * versions + 8),
        "replicates": replicate_bytes(queries, versions + 2, options.resamples),
    }
    if dim:
        parts["vectors"] = vector_bytes(shard, dim) + vector_bytes(queries, dim)
    else:
        asked = data.queries.texts
        parts["tokens"] = estimate_token_bytes_of_texts(texts, shard) + estimate_token_bytes_of_texts(asked)
    return sum_memory_footprint(parts, "Search a smaller corpus (--limit)")
