"""The page that says how every number came about: that of one run, or of several with what they share said once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from embassay.report.citing import Citation, citations
from embassay.report.found import Left
from embassay.report.gathered import Run
from embassay.report.method import DatasetFacts, MethodPage, method_page
from embassay.report.verdict import listed, plain

MACHINE = ("processor", "cores, memory", "platform", "embassay")


@dataclass(frozen=True)
class Said:
    """What is said of some runs, by their titles."""

    runs: tuple[str, ...]
    text: str

    @property
    def named(self) -> str:
        """`SAGE, PTEB and HUME`."""
        return plain(listed(self.runs))


@dataclass(frozen=True)
class SharedDataset:
    """A dataset, and a line per run of what it took of it."""

    facts: DatasetFacts
    taken: tuple[str, ...]


@dataclass(frozen=True)
class Methods:
    """The content of the page: a part per run, folders that were left out, and the papers. The rest is of several runs:
    equal sentences are said once. `quiet` are the runs without a note."""

    parts: tuple[MethodPage, ...]
    left: tuple[Left, ...]
    citations: tuple[Citation, ...]
    commands: tuple[Said, ...]
    quiet: str
    datasets: tuple[SharedDataset, ...]
    intervals: tuple[Said, ...]
    tests: tuple[Said, ...]
    files: tuple[Said, ...]


def methods_of(runs: Sequence[Run]) -> Methods:
    """The page of all runs."""
    parts = [method_page(run.record, run.board, mark=run.mark, title=run.title) for run in runs]
    later = [_after(parts[0], one) for one in parts[1:]]
    return Methods(
        parts=(*parts[:1], *later),
        left=runs[0].left,
        citations=citations({run.record.kind for run in runs}),
        commands=_said(parts, lambda one: one.command),
        quiet=plain(listed([one.title for one in parts if not one.notes])),
        datasets=_datasets(parts),
        intervals=_said(parts, lambda one: one.wording.intervals),
        tests=_said(parts, _test),
        files=_said(parts, lambda one: one.wording.files),
    )


def _after(first: MethodPage, one: MethodPage) -> MethodPage:
    """A part without the versions and the machine of the first, where they are the same."""
    machine = {fact for fact in first.facts if fact[0] in MACHINE}
    return replace(
        one,
        versions=() if one.versions == first.versions else one.versions,
        facts=tuple(fact for fact in one.facts if fact not in machine),
    )


def _test(one: MethodPage) -> str:
    if not one.test:
        return ""
    return (
        f"{one.test[:1].upper()}{one.test[1:]}. p is adjusted over all pairs of a task "
        f"({one.correction.capitalize()}), α = {one.alpha}."
    )


def _said(parts: Sequence[MethodPage], text: Callable[[MethodPage], str]) -> tuple[Said, ...]:
    """The sentences of all parts, each once, with the runs that it is of."""
    found: dict[str, list[str]] = {}
    for one in parts:
        if said := text(one):
            found.setdefault(said, []).append(one.title)
    return tuple(Said(tuple(titles), said) for said, titles in found.items())


def _datasets(parts: Sequence[MethodPage]) -> tuple[SharedDataset, ...]:
    """The datasets of all parts: one that several took stands once."""
    found: dict[DatasetFacts, list[str]] = {}
    for part in parts:
        for one in part.datasets:
            tasks = "; ".join(f"{task} {n}" for task, n in one.tasks)
            named = [part.title] if len(parts) > 1 else []
            found.setdefault(replace(one, tasks=()), []).append(": ".join(filter(None, (*named, tasks))))
    return tuple(SharedDataset(facts, tuple(taken)) for facts, taken in found.items())
