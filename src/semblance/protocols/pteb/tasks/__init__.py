"""The seven tasks of PTEB (spec/pteb, section 5), made when they are asked for: `TASKS.build("sts")`."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from semblance.contracts import Similarity
from semblance.protocols.estimates import Items, undefined
from semblance.protocols.pteb.context import Context
from semblance.protocols.pteb.tasks.task import Reworded, Task, Wording
from semblance.records import Loaded, TaskOutcome
from semblance.registry import Registry

if TYPE_CHECKING:
    from semblance.data import Dataset

__all__ = ["TASKS", "TASK_NAMES", "Reworded", "Task", "Wording"]


def sts() -> Task:
    """Does similarity rank pairs as people do?"""
    return _task("sts", "Semantic textual similarity", "pairs")


def classification() -> Task:
    """Can a classifier tell the labels apart by the vectors?"""
    whole = _task("classification", "Classification", "classification", vectors=True)
    return replace(
        whole, unworded=lambda options: ("train:",) if options.classification_texts == "test" else ()
    )


def clustering() -> Task:
    """Do clusters of the vectors agree with the labels?"""
    return _task("clustering", "Clustering", "labelled", vectors=True)


def pair_classification() -> Task:
    """Does similarity tell pairs that belong together from others?"""
    return _task("pair_classification", "Pair classification", "labelled_pairs")


def reranking() -> Task:
    """Are the relevant candidates most similar to the query?"""
    return _task("reranking", "Reranking", "reranking")


def retrieval() -> Task:
    """Are relevant documents found with a paraphrased query?"""
    return _task("retrieval", "Retrieval", "retrieval")


def summarization() -> Task:
    """Are the machine summaries that people rate highest most similar to people's own?"""
    return _task("summarization", "Summarization", "summaries")


def _task(name: str, title: str, shape: str, *, vectors: bool = False) -> Task:
    """The task whose parts are in the module of its name."""
    module: Any = import_module(f"{__name__}.{name}")

    def evaluate(system: Similarity, data: Any, context: Context) -> TaskOutcome:
        if len(data):
            outcome: TaskOutcome = module.evaluate(system, data, context)
            return outcome
        return TaskOutcome(
            (undefined(module.HEADLINE, 0, "nothing is left to be evaluated"),), {}, Items().columns
        )

    def load(dataset: Dataset, limit: int | None, seed: int) -> Loaded[Any]:
        return dataset.load(shape, limit=limit, seed=seed)

    return Task(
        name,
        title,
        (shape,),
        module.HEADLINE,
        evaluate,
        load,
        module.texts,
        module.reword,
        vectors=vectors,
    )


TASKS: Registry[Task] = Registry("task")
for _factory in (sts, classification, clustering, pair_classification, reranking, retrieval, summarization):
    TASKS.register(_factory.__name__)(_factory)
TASK_NAMES = tuple(entry.name for entry in TASKS)
