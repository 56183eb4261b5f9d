"""`embassay hume sample`: a study drawn from data, for people to answer."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli import options as given
from embassay.cli.hume.drawing import Asked, Drawing
from embassay.cli.options import settings
from embassay.errors import UsageError

if TYPE_CHECKING:
    from embassay.protocols.hume.folder import Task
    from embassay.protocols.hume.sampling import Sampled, SampleRequest


class FamilyName(StrEnum):
    """A family of tasks."""

    classification = "classification"
    clustering = "clustering"
    reranking = "reranking"
    sts = "sts"


Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="The folder of the study; not one that holds another. Needed but for --dry-run."
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", "-d", help="A catalogue name or a path. Repeatable: one study of several."),
]
Config = Annotated[
    Path | None, typer.Option("--config", help="A YAML file with a block of settings for every task.")
]
Families = Annotated[
    list[FamilyName] | None,
    typer.Option(
        "--task", "-t", help="A family. Default: all that the data have the columns of. Repeatable."
    ),
]
Number = Annotated[
    int | None, typer.Option("--n", min=2, help="Items per task. Default: 40; clustering and reranking 30.")
]
StudyName = Annotated[str | None, typer.Option("--name", help="The study's name. Default: that of --out.")]
Langs = Annotated[
    list[str] | None,
    typer.Option("--lang", help="Only this language, or that of data that state none: eng, dan. Repeatable."),
]
Limit = Annotated[
    int | None, typer.Option("--limit", min=2, help="Draw at most this many items per task, to try it out.")
]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of every draw. Default: 1337.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Draw and show what would be sampled; write nothing.")
]


@settings(Drawing, "own")
def sample(
    own: Drawing,
    out: Out = None,
    dataset: Datasets = None,
    config: Config = None,
    task: Families = None,
    n: Number = None,
    name: StudyName = None,
    lang: Langs = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    grades: given.Grades = None,
    limit: Limit = None,
    seed: Seed = None,
    dry_run: DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Draw items for people to answer, with HUME's sizes and rules; gold goes into a file of its own.

    Classification takes as many texts of every label, clustering 6 or 5 gold clusters, STS the whole range of scores,
    reranking the relevant documents of a query among hard negatives. The same command gives the same study.
    """
    from embassay.cli.waiting import Waiting
    from embassay.protocols.hume.folder import write_study
    from embassay.protocols.hume.sampling import sample as drawn

    if out is None and not dry_run:
        raise UsageError("The study needs a folder.", mend="Name one with --out FOLDER, or add --dry-run.")
    families = [family.value for family in task or ()]
    asked = Asked(dataset or (), families, n, lang or (), mapping or (), split, grades)
    request = _request(config, asked, own, name or (out.resolve().name if out else "study"), seed)
    with Waiting() as waiting:
        study = drawn(request, limit=limit, hear=waiting)
    if out is not None and not dry_run:
        write_study(out, study.study, study.items, study.gold)
    if json:
        _print_json(None if dry_run else out, study)
        return
    _show(study, wide)
    for left in study.left_out:
        typer.echo(f"Left out: {left}")
    typer.echo("")
    typer.echo("Nothing is written (--dry-run)." if out is None or dry_run else _next(out, study))


def _request(config: Path | None, asked: Asked, own: Drawing, name: str, seed: int | None) -> SampleRequest:
    from embassay.protocols.hume.sampling.config import read_config

    if config is None:
        request = asked.request(name, own)
    elif not asked.is_empty or own.as_content() != Drawing().as_content():
        raise UsageError(
            "Both --config and settings of data are given.",
            mend="Write data and settings into the file only.",
        )
    else:
        request = read_config(config)
    return request if seed is None else request.model_copy(update={"seed": seed})


def _show(sampled: Sampled, wide: bool) -> None:
    from embassay.cli.terminal import show_table

    rows = [[one.name, one.family, one.lang, str(one.n), _source(one)] for one in sampled.study.tasks]
    show_table(["task", "family", "lang", "n", "source"], rows, wide=wide)
    # Not in a column: a narrow screen would hide them, or fold them letter by letter.
    for one in sampled.study.tasks:
        if notes := _notes(sampled, one):
            typer.echo(f"{one.name}: {'; '.join(notes)}.")


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
            "task": one.name, "family": one.family, "lang": one.lang, "n": one.n, "source": one.source.dataset,
            "notes": _notes(sampled, one),
        }
        for one in sampled.study.tasks
    ]  # fmt: skip
    study = {"study": None if out is None else str(out), "content": sampled.study.content, "tasks": told}
    typer.echo(dumps(study, ensure_ascii=False))
