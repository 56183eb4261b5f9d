"""Hybrid annotation: a language model first, people where its draws disagree or a sample of people shows its bias.

Every item has several draws of the model. Where all draws agree its answer may stand; people get the others, and a
sample of those that agree. Where people contradict the sample more than may be, the model is biased, and its answers
stand for nothing: people get the task whole. Ours; HUME names it as future work.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from embassay.errors import UsageError
from embassay.protocols.hume.llms.answers import LlmAnswers, read_llm_answers
from embassay.protocols.hume.options import HybridOptions
from embassay.protocols.hume.results.contestants import Answered, answered
from embassay.protocols.hume.sampling.pools import seeded
from embassay.protocols.hume.study import Family, StudyFolder
from embassay.runs.folder import to_json, write_atomic
from embassay.stats import wilson
from embassay.stats.intervals import Estimate

Why = Literal["agreed", "disagree", "check", "biased", "unread"]
"""Why an item is the model's (`agreed`), or people's: its draws disagree, it is of the sample, the model is biased, an
answer could not be read."""
FAMILIES: tuple[Family, ...] = ("classification", "sts")
"""Families whose items have one answer each. Clusters have none, and documents are judged several at a time."""


@dataclass(frozen=True)
class Hybrid:
    """A task: of every item why it is whose, and its value where there is one. `contradicted` is the share of the
    sample that people contradict, with Wilson's 95% interval, None where nobody has answered of it yet; `open` are the
    items that wait for people."""

    task: str
    why: Mapping[str, Why]
    values: Mapping[str, Any]
    open: tuple[str, ...]
    contradicted: Estimate | None = None
    biased: bool = field(default=False, kw_only=True)

    @property
    def share_of_people(self) -> float:
        """The share of the items that people answer, 0 to 1."""
        return sum(why != "agreed" for why in self.why.values()) / len(self.why) if self.why else math.nan

    @property
    def saved(self) -> int:
        """The items that nobody needs to answer."""
        return sum(why == "agreed" for why in self.why.values())


def hybrid(
    task: str,
    family: Family,
    draws: Mapping[str, Sequence[Any]],
    people: Mapping[str, Any],
    options: HybridOptions | None = None,
) -> Hybrid:
    """Decide a task. `draws` are item -> the model's answers (None: not read), `people` item -> people's answer as far
    as there is one.

    An answer of people always stands. The sample is drawn with the seed among the items whose draws agree, and does not
    depend on what people said. UsageError for fewer than two draws of an item, and for another family.
    """
    options = options or HybridOptions()
    if family not in FAMILIES:
        raise UsageError(
            f"{task} is a task of {family}.", mend=f"Hybrid annotation is for {' and '.join(FAMILIES)}."
        )
    if short := [item for item, own in draws.items() if len(own) < 2]:
        raise UsageError(
            f"{task}: the model has one answer to {short[0]}, and a single draw cannot disagree.",
            mend="Ask for more: embassay hume annotate STUDY --llm NAME --runs 3.",
        )
    why: dict[str, Why] = {item: _state(family, own, options) for item, own in draws.items()}
    agreed = [item for item, state in why.items() if state == "agreed"]
    size = (
        min(len(agreed), max(options.least, math.ceil(options.check * len(agreed)))) if options.check else 0
    )
    for place in seeded(agreed, options.seed, "hybrid", task)[:size]:
        why[agreed[place]] = "check"
    contradicted = _contradicted(family, draws, people, [i for i, w in why.items() if w == "check"], options)
    # Bias is what the interval says, not the share of a few items.
    biased = contradicted is not None and contradicted.low > options.most_wrong
    if biased:
        why = {item: "biased" if state == "agreed" else state for item, state in why.items()}
    own = {item: joined(family, draws[item]) for item, state in why.items() if state == "agreed"}
    values = own | {item: value for item, value in people.items() if item in draws}
    waiting = tuple(item for item in draws if item not in values)
    return Hybrid(task, why, values, waiting, contradicted, biased=biased)


def study_hybrid(
    folder: StudyFolder, llm: str = "", options: HybridOptions | None = None
) -> tuple[Hybrid, ...]:
    """The tasks of a study that a language model answered, decided with what people answered by now.

    `llm` is its name, which may be left out where one answered. UsageError for another name, for several models without
    one, and for a model with a single draw.
    """
    every = [one for one in read_llm_answers(folder) if not llm or one.model == llm]
    known = ", ".join(dict.fromkeys(one.model for one in read_llm_answers(folder)))
    names = dict.fromkeys(one.model for one in every)
    if len(names) != 1:
        what = f"No answers of {llm!r} are here" if llm else "Answers of several models are here" if names else (
            "No language model has answered this study"
        )  # fmt: skip
        mend = (
            f"Name one with --llm: {known}." if known else "embassay hume annotate STUDY --llm NAME --runs 3."
        )
        raise UsageError(f"{what}.", mend=mend)
    people = answered(folder, folder.study.tasks, anyone=False)
    found = []
    for task in people:
        draws = next((own for one in every if (own := draws_of(one, task))), {})
        if draws and task.task.family in FAMILIES:
            found.append(hybrid(task.task.name, task.task.family, draws, people_of(task), options))
    if not found:
        raise UsageError(
            f"{next(iter(names))} has answered no task of {' or '.join(FAMILIES)}.",
            mend="Other families have no single answer per item.",
        )
    return tuple(found)


def write_hybrid(path: Path, tasks: Sequence[Hybrid]) -> None:
    """A line per item: task, whose it is and why, and its value, null while it waits for people."""
    lines = (
        to_json({"task": one.task, "item_id": item, "why": why, "value": one.values.get(item)}) + "\n"
        for one in tasks
        for item, why in one.why.items()
    )
    write_atomic(path, "".join(lines))


def draws_of(answers: LlmAnswers, task: Answered) -> dict[str, list[Any]]:
    """Item -> the answers of every run, None for one that was not read; items nobody asked about have no entry."""
    found: dict[str, list[Any]] = {}
    for row in sorted(answers.of(task.task.name), key=lambda row: row.run):
        found.setdefault(row.item_id, []).append(row.value if row.status == "ok" else None)
    return {item: found[item] for item in task.items if item in found}


def people_of(task: Answered) -> dict[str, Any]:
    """Item -> what people say together: of labels the one most give, of ratings the mean; a tie is the smallest."""
    given: dict[str, list[Any]] = {}
    for own in task.answers.values():
        for item, value in own.items():
            given.setdefault(item, []).append(value)
    return {item: joined(task.task.family, values) for item, values in given.items()}


def joined(family: Family, values: Sequence[Any]) -> Any:
    """One answer of several, as people's are made one: the label that most give (of equals the smallest), the mean
    rating.

    >>> joined("classification", ["b", "a", "b"]), joined("classification", ["b", "a"]), joined("sts", [1, 2])
    ('b', 'a', 1.5)
    """
    if family == "sts":
        return math.fsum(map(float, values)) / len(values)
    counts = Counter(map(str, values))
    return min(counts, key=lambda one: (-counts[one], one))


def _state(family: Family, draws: Sequence[Any], options: HybridOptions) -> Why:
    if any(one is None for one in draws):
        return "unread"
    if family == "sts":
        return (
            "agreed" if max(map(float, draws)) - min(map(float, draws)) <= options.tolerance else "disagree"
        )
    return "agreed" if len(set(map(str, draws))) == 1 else "disagree"


def _contradicted(
    family: Family,
    draws: Mapping[str, Sequence[Any]],
    people: Mapping[str, Any],
    sample: Sequence[str],
    options: HybridOptions,
) -> Estimate | None:
    answered = [item for item in sample if item in people]
    if not answered:
        return None
    wrong = sum(_differ(family, joined(family, draws[item]), people[item], options) for item in answered)
    return wilson(wrong / len(answered), len(answered))


def _differ(family: Family, one: Any, other: Any, options: HybridOptions) -> bool:
    return abs(float(one) - float(other)) > options.tolerance if family == "sts" else str(one) != str(other)
