"""From the cells and answers of a study to its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from embassay.protocols.hume.models.families import VECTORS
from embassay.protocols.hume.results.concluded import (
    Contender,
    against_gap,
    correlation_bar,
    matrix_of,
    places,
    wins,
)
from embassay.protocols.hume.results.contestants import Contestant, llm_name, of_cell, of_llm
from embassay.protocols.hume.results.counting import rule_of
from embassay.protocols.hume.results.named import named
from embassay.protocols.hume.results.plan import Plan
from embassay.protocols.hume.results.study_pairs import study_pair
from embassay.protocols.hume.scoring.people import who_counts
from embassay.protocols.hume.summary.disputed import disputed
from embassay.protocols.hume.summary.record import PairRecord, Summary, SystemKind
from embassay.runs.cells import CellRecord
from embassay.runs.folder import RunFolder

OTHER_METHOD = (
    "classifies and clusters without vectors, by another method: not ranked with those that have them"
)
LLM = "language models are compared with people on their own pairs"


def study_summary(
    plan: Plan, records: Sequence[CellRecord], folder: RunFolder
) -> tuple[Summary, tuple[Contender, ...]]:
    """The record of a study as far as its cells have ended, and its systems."""
    entered = contenders(plan)
    ranked = [one.system for one in entered if one.ranked]
    kinds: Mapping[str, SystemKind] = {one.system: one.kind for one in entered}
    names = named(plan.folder.study.tasks)
    by_task: dict[str, list[Contestant]] = {one.task.name: [] for one in plan.answered}
    tasks = {one.task.name: one for one in plan.answered}
    for record in records:
        by_task[record.dataset].append(of_cell(record, kinds[record.system], tasks[record.dataset], folder))
    for of in plan.answered:
        by_task[of.task.name] += [one for answers in plan.llms if (one := of_llm(answers, of)) is not None]
    pairs = tuple(
        study_pair(of, plan.request, by_task[of.task.name], ranked, names[of.task.name]).model_copy(
            update={
                "disputed": disputed(
                    of.task.family,
                    plan.folder.items_of(of.task.name),
                    of.gold,
                    who_counts(of.answers, plan.request.min_answered),
                )
            }
        )
        for of in plan.answered
    )
    matrix = matrix_of(pairs, entered)
    gap = against_gap(pairs, matrix)
    summary = Summary(
        title=f"HUME, {plan.folder.study.name}", source="study", seed=plan.request.seed, pairs=pairs,
        places=places(pairs, entered, plan.request.seed), wins=wins(matrix),
        agreement_against_gap=correlation_bar(gap), agreement_against_gap_p=gap.p,
        notes=tuple(_notes(plan, pairs, entered)),
    )  # fmt: skip
    return summary, entered


def contenders(plan: Plan) -> tuple[Contender, ...]:
    """The systems, and the language models that annotated.

    Systems without vectors are ranked with the others only where no task takes vectors; where there are no others, they
    are ranked among themselves.
    """
    embedding = [one for one in plan.systems if one.kind == "embedding"]
    apart = bool(embedding) and any(one.task.family in VECTORS for one in plan.answered)
    found = [
        Contender(one.name, "embedding")
        if one.kind == "embedding"
        else Contender(one.name, "classical", None, not apart, OTHER_METHOD if apart else "")
        for one in plan.systems
    ]
    return (*found, *(Contender(llm_name(one), "llm", None, False, LLM) for one in plan.llms))


def _notes(plan: Plan, pairs: Sequence[PairRecord], entered: Sequence[Contender]) -> list[str]:
    notes = []
    nobody = [pair.name for pair in pairs if pair.human.value is None]
    if nobody:
        notes.append(f"Nobody annotated {', '.join(nobody)}: no part of means, ranks and wins.")
    if plan.request.aggregation == "pooled" and any(
        rule_of(pair.family, "pooled") != "pooled" for pair in pairs
    ):
        notes.append("Groups of several people cannot be pooled: clustering has the mean of its annotators.")
    apart = [one.system for one in entered if one.why_not == OTHER_METHOD]
    if apart:
        notes.append(f"{', '.join(apart)}: {OTHER_METHOD}.")
    return notes
