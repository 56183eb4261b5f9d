"""The seven tasks of PTEB (spec/pteb, section 5), made when they are asked for: `TASKS.build("sts")`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from embassay.contracts import Similarity
from embassay.protocols.kernel.estimates import Items, make_undefined_score
from embassay.protocols.kernel.evaluation import loader
from embassay.protocols.tasks.task import OriginalAndParaphrasedData, PtebContext, PtebOptions, Task, Wording
from embassay.records import TaskOutcome
from embassay.registry import Registry

__all__ = ["TASKS", "TASK_NAMES", "OriginalAndParaphrasedData", "Task", "Wording"]

_TASKS = {
    "sts": ("Semantic textual similarity", "pairs", "Does similarity rank pairs the way people do?"),
    "classification": ("Classification", "classification", "Can a classifier distinguish labels from the vectors?"),
    "clustering": ("Clustering", "labelled", "Do clusters of the vectors agree with the labels?"),
    "pair_classification": (
        "Pair classification",
        "labelled_pairs",
        "Does similarity distinguish pairs that belong together from others?",
    ),
    "reranking": ("Reranking", "reranking", "Are the relevant candidates the most similar to the query?"),
    "retrieval": ("Retrieval", "retrieval", "Does a paraphrased query still find the relevant documents?"),
    "summarization": (
        "Summarization",
        "summaries",
        "Are the summaries that people rate highest also the most similar to human summaries?",
    ),
}
"""Name -> title, shape of the data, question; its parts are in the module of its name."""

_VECTORS = ("classification", "clustering")
TASK_NAMES = tuple(_TASKS)
TASKS: Registry[Task] = Registry(
    "task", group="embassay.pteb_tasks", advice="embassay.protocols.kernel.evaluation:advise_other_protocol"
)


def _make_task_factory(name: str, title: str, shape: str) -> Callable[[], Task]:
    def make() -> Task:
        module: Any = import_module(f"{__name__}.{name}")

        def evaluate_task(system: Similarity, data: Any, context: PtebContext) -> TaskOutcome:
            if len(data):
                outcome: TaskOutcome = module.evaluate_system(system, data, context)
                return outcome
            nothing = make_undefined_score(module.HEADLINE, 0, "nothing is left to evaluate")
            return TaskOutcome((nothing,), {}, Items().columns)

        def list_text_places_never_paraphrased(options: PtebOptions) -> tuple[str, ...]:
            return ("train:",) if options.classification_texts == "test" and name == "classification" else ()

        return Task(
            name, title, (shape,), module.HEADLINE, evaluate_task, loader(shape), module.list_texts,
            module.replace_texts,
            vectors=name in _VECTORS, unworded=list_text_places_never_paraphrased
        )  # fmt: skip

    return make


for _name, (_title, _shape, _question) in _TASKS.items():
    TASKS.register(_name, _question)(_make_task_factory(_name, _title, _shape))
