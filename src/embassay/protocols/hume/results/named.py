"""What the tasks of a study are called in its tables: a dataset may have several languages, a task each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from embassay.protocols.hume.folder import Task
from embassay.protocols.hume.published.study import ENGLISH_ONLY, MULTILINGUAL


@dataclass(frozen=True)
class Named:
    """The dataset of a task, and whether that has other languages than English in the study."""

    dataset: str
    group: str


def named(tasks: Sequence[Task]) -> Mapping[str, Named]:
    """Name of a task -> its dataset: the task's name without its language, where that tells all tasks apart."""
    short = {task.name: without_language(task.name, task.lang) for task in tasks}
    counts = Counter((short[task.name], task.lang) for task in tasks)
    families = {name: {one.family for one in tasks if short[one.name] == name} for name in short.values()}
    dataset = {
        task.name: short[task.name]
        if counts[short[task.name], task.lang] == 1 and len(families[short[task.name]]) == 1
        else task.name
        for task in tasks
    }
    langs: dict[str, set[str]] = {}
    for task in tasks:
        langs.setdefault(dataset[task.name], set()).add(task.lang)
    return {
        name: Named(own, MULTILINGUAL if langs[own] - {"eng"} else ENGLISH_ONLY)
        for name, own in dataset.items()
    }


def without_language(name: str, lang: str) -> str:
    """The name without a language at its end.

    >>> without_language("sib200-dan", "dan"), without_language("sib200", "dan"), without_language("dan", "dan")
    ('sib200', 'sib200', 'dan')
    """
    short = name.removesuffix(lang).rstrip("-_.")
    return short if name.endswith(lang) and short and short != name.removesuffix(lang) else name
