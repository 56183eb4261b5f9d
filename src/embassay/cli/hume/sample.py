"""`embassay hume sample`: a study drawn from data, for people to answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from embassay.cli.options import Shown, of_records
from embassay.errors import UsageError
from embassay.protocols.hume.options import DataOptions, Drawing
from embassay.protocols.kernel.request import OUTPUT, SPEED, option

if TYPE_CHECKING:
    from embassay.data.catalogue.suites import Suite
    from embassay.protocols.hume.sampling import Sampled, SampleRequest
    from embassay.protocols.hume.study import Task


@dataclass(frozen=True)
class Writing(Shown):
    """What is printed, and where the study is written."""

    out: Path | None = option(None, "New folder of the study; required without --dry-run.", group=OUTPUT)
    dry_run: bool = option(False, "Show what would be sampled; write nothing.", name="--dry-run", group=SPEED)


@of_records()
def sample(asked: DataOptions, writing: Writing) -> None:
    """Draw items for people to answer, by HUME's sizes and rules.

    Gold goes into a file of its own. The same command gives the same study.

    Example: embassay hume sample -d sample --out study
    """
    from embassay.cli.progress import Waiting
    from embassay.protocols.hume.sampling import NothingAtHand
    from embassay.protocols.hume.sampling import sample as drawn
    from embassay.protocols.hume.study import write_study

    out, dry_run = writing.out, writing.dry_run
    if out is None and not dry_run:
        raise UsageError("The study needs a folder.", mend="Name one with --out FOLDER, or add --dry-run.")
    named = asked.name or (out.resolve().name if out else "study")
    request = _request(asked, named)
    try:
        with Waiting() as waiting:
            study = drawn(request, limit=asked.limit, hear=waiting)
    except NothingAtHand:
        if not (dry_run and (suites := asked.suites)):
            raise
        _show_missing(suites, writing.json)
        return
    if out is not None and not dry_run:
        write_study(out, study.study, study.items, study.gold)
    if writing.json:
        _print_json(None if dry_run else out, study)
        return
    _show(study, writing.wide)
    for left in study.left_out:
        typer.echo(f"Left out: {left}")
    typer.echo("")
    typer.echo("Nothing is written (--dry-run)." if out is None or dry_run else _next(out, study))


def _show_missing(suites: Sequence[Suite], as_json: bool) -> None:
    """The plan of suites of which nothing is here: no task, and what they lack."""
    from json import dumps

    from embassay.protocols.kernel.plan import of_missing

    said = of_missing(suites)
    if as_json:
        typer.echo(dumps({"study": None, "content": None, "tasks": [], "left_out": said}, ensure_ascii=False))
        return
    typer.echo("\n".join((*said, "", "Nothing is written (--dry-run).")))


def _request(asked: DataOptions, name: str) -> SampleRequest:
    from embassay.protocols.hume.sampling.options import read_config

    if asked.config is None:
        request = asked.request(name)
    elif not asked.is_empty or asked.ask or asked.own.as_content() != Drawing().as_content():
        raise UsageError(
            "Both --config and settings of data are given.",
            mend="Write data and settings into the file only.",
        )
    else:
        request = read_config(asked.config)
    return request if asked.seed is None else request.model_copy(update={"seed": asked.seed})


def _show(sampled: Sampled, wide: bool) -> None:
    from embassay.cli.terminal import show_table

    rows = [[one.name, one.family, one.lang, str(one.n), _source(one)] for one in sampled.study.tasks]
    show_table(["task", "family", "lang", "n", "source"], rows, wide=wide)
    # Not in a column: a narrow screen would hide them, or fold them letter by letter.
    for task in sampled.study.tasks:
        if notes := _notes(sampled, task):
            typer.echo(f"{task.name}: {'; '.join(notes)}.")


def _source(task: Task) -> str:
    split = task.source.drawn_from
    return f"{task.source.dataset} ({split})" if split else task.source.dataset


def _notes(sampled: Sampled, task: Task) -> list[str]:
    return [*sampled.about_gold[task.name], *task.notes]


def _next(out: Path, sampled: Sampled) -> str:
    return (
        f"Written to {out}: study.json and items.jsonl for people, gold.jsonl apart. "
        f"Guidelines {sampled.study.guidelines_version}.\n"
        f"Next: embassay hume serve {out} --annotator NAME --annotator NAME"
    )


def _print_json(out: Path | None, sampled: Sampled) -> None:
    from json import dumps

    told = [
        {
            "task": task.name, "family": task.family, "lang": task.lang, "n": task.n, "source": task.source.dataset,
            "notes": _notes(sampled, task),
        }
        for task in sampled.study.tasks
    ]  # fmt: skip
    study = {
        "study": None if out is None else str(out), "content": sampled.study.content, "tasks": told,
        "left_out": sampled.left_out,
    }  # fmt: skip
    typer.echo(dumps(study, ensure_ascii=False))
