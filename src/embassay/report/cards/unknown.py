"""What a report does not know of a system: what was not asked, what is missing, what is too small to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.report.board import Row
from embassay.report.cards import ranks
from embassay.report.cards.findings import task_word
from embassay.report.cards.price import price_of
from embassay.report.gathered import Run
from embassay.report.notes import SMALL
from embassay.report.record import Record
from embassay.report.tasks import all_tasks
from embassay.report.verdict import listed, plain

ASKED = (
    (("sage",), "how it takes edits of a text (SAGE)"),
    (("pteb",), "what paraphrases take (PTEB)"),
    (("hume",), "how people do on the same items (HUME)"),
    (("score", "sweep", "golden"), "what it retrieves for prompts (RAG)"),
    (("names",), "whether it knows names from impostors"),
    (("noise",), "what small talk does to it"),
)
"""The questions that a report can answer, by the kinds of run that do."""


def unknown(runs: Sequence[Run], own: Sequence[Run], row: Row) -> Iterator[str]:
    """Each as one sentence. `own` are the runs that have results of the system."""
    if not row.system.ranked:
        return
    kinds = {run.record.kind for run in own}
    if row.system.kind == "llm":
        kinds |= {"sage", "pteb", "score", "names", "noise"}
    not_asked = [words for of, words in ASKED if not kinds & set(of)]
    if not_asked:
        yield f"Not asked of it here: {plain(listed(not_asked))}."
    for run in own:
        yield from (f"{run.title}: {said}" if len(runs) > 1 else said for said in _missing(run.record, row))
    yield from _untold(own, row)
    for run in (one for one in own if one.record.kind == "pteb"):
        from embassay.report.cards import of_pteb

        yield from of_pteb.unknown(run, run.board.row(row.system.name))
    yield from _identities(own, row)
    yield from _languages(own)
    if row.system.kind == "embedding":
        source, price, _ = price_of(own, row.system.name)
        if source == "server" and price is None:
            yield "Its price is not known: give price= in its name."
        yield "Whether it was trained on this data is not known."


def _untold(own: Sequence[Run], row: Row) -> Iterator[str]:
    for run in own:
        nothing = [task_word(task) for task in ranks.untold(run, run.board.row(row.system.name))]
        if nothing:
            yield f"{run.title}: no test tells it from any other on {plain(listed(nothing))}."


def _missing(record: Record, row: Row) -> Iterator[str]:
    """Tasks without a score, scores without an interval, and those of few items."""
    name = row.system.name
    tasks = all_tasks(record)
    absent = [task.short for task in tasks if not record.datasets(task.name)]
    if absent:
        yield f"{plain(listed(absent))} {'was' if len(absent) == 1 else 'were'} not part of the run."
    failed, waiting = (
        [cell for cell in record.cells if cell.system == name and cell.status == status]
        for status in ("failed", "not run")
    )
    for cells, verb in ((failed, "failed"), (waiting, "not run yet")):
        if cells:
            places = list(dict.fromkeys(f"{cell.task} on {cell.dataset}" for cell in cells))
            more = f" and {len(places) - 3} more" if len(places) > 3 else ""
            yield f"No score where cells {'are' if cells is waiting else 'have'} {verb}: {', '.join(places[:3])}{more}."
    small, bare = [], []
    for task in tasks:
        rows = [
            record.find(task.name, name, task.headline, dataset=one) for one in record.datasets(task.name)
        ]
        known = [one for one in rows if one is not None and one.value is not None]
        small += [f"{task.short} on {one.dataset} (n = {one.n})" for one in known if one.n < SMALL]
        bare += [f"{task.short} on {one.dataset}" for one in known if one.ci_low is None]
    if small:
        more = f" and {len(small) - 4} more" if len(small) > 4 else ""
        yield f"Rests on under {SMALL} items: {', '.join(small[:4])}{more}."
    if bare:
        more = f" and {len(bare) - 4} more" if len(bare) > 4 else ""
        yield f"Has no interval: {', '.join(bare[:4])}{more}."


def _identities(own: Sequence[Run], row: Row) -> Iterator[str]:
    """That what bears its name is not the same in all runs."""
    found = {
        run.record.by_name[row.system.name].identity: run.title
        for run in own
        if run.record.by_name[row.system.name].kind == row.system.kind
    }
    found.pop("", None)
    plainest = {_bare(identity) for identity in found}
    if len(plainest) > 1:
        yield (
            f"Whether it is the same in {plain(listed(list(found.values())))} is not known: its identity differs "
            "(weights, settings or tokenizer)."
        )


def _bare(identity: str) -> str:
    """An identity without how it was wrapped: a metric of texts is the cosine of its encoder's vectors."""
    return identity.removeprefix("cosine(").removesuffix(")") if identity.startswith("cosine(") else identity


def _languages(own: Sequence[Run]) -> Iterator[str]:
    langs = {
        one.get("lang", "")
        for run in own
        for one in run.record.manifest.get("datasets", ())
        if one.get("lang")
    }
    if langs and len(langs) < 4 and "mul" not in langs:
        yield f"Only texts in {plain(listed(sorted(langs)))} were looked at."
