"""`embassay hume sample`: a study drawn from data, for people to answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from embassay.cli import options as given
from embassay.cli.options import settings
from embassay.errors import UsageError
from embassay.protocols.kernel.request import column_map, option

if TYPE_CHECKING:
    from embassay.protocols.hume.folder import Task
    from embassay.protocols.hume.sampling import Sampled, SampleRequest

Words = list[str] | None


@dataclass(frozen=True)
class Drawing:
    """Settings of the tasks that are drawn; in a file, every task has its own."""

    label: Words = option(None, "What a label means: joy='Happy, pleased.'.")
    label_name: Words = option(None, "A label's name on its button: 0=sadness.")
    guidelines: str | None = option(None, "Your own guidelines, in Markdown.")
    question: str = option("", "Your own question above every item.")
    scale: str | None = option(None, "Rating scale, LOW-HIGH[:STEP]. Default: 0-5.")
    groups: int | None = option(None, "Gold clusters to draw from. Default: 6 or 5.")
    relevant: int = option(3, "Most relevant documents per query.")
    candidates: int = option(7, "Documents per query.")
    negatives: Literal["auto", "lists", "bm25"] = option(
        "auto", "Hard negatives from the data's lists or from bm25; auto prefers lists."
    )
    against: Words = option(None, "Training data to search for leaked items.")
    drop_leaked: bool = option(False, "Leave leaked texts out.")
    practice: int = option(3, "Practice items per task.")
    whole: bool = option(
        False,
        "Take every item as it is: the data are an annotated set. Of the suite hume this is the default.",
    )

    give_k: bool = option(False, "Tell people how many groups there are, as models are told.")

    def as_content(self) -> dict[str, Any]:
        """The keys of a task in a file. Raises UsageError for a label or a scale that cannot be read."""
        from embassay.protocols.hume.sampling.options import read_guidelines

        return {
            "labels": labels_of(self.label or (), self.label_name or ()),
            "guidelines": self.guidelines and read_guidelines(self.guidelines),
            "question": self.question, "scale": self.scale and scale_of(self.scale), "groups": self.groups,
            "relevant": self.relevant, "candidates": self.candidates,
            "negatives": None if self.negatives == "auto" else self.negatives,
            "against": self.against or [], "drop_leaked": self.drop_leaked, "practice": self.practice,
            "whole": self.whole, "give_k": self.give_k,
        }  # fmt: skip


ANNOTATED = ("hume", "mteb-hume")
"""Suites of sets that people have annotated: to draw from them anew would lose what they answered."""


@dataclass(frozen=True)
class DataOptions:
    """Which data to draw from, by the options that other commands have too."""

    datasets: Sequence[str]
    families: Sequence[str]
    n: int | None
    lang: Sequence[str]
    mapping: Sequence[str]
    split: str | None
    grades: str | None

    @property
    def is_empty(self) -> bool:
        """Whether none was given."""
        return not any(
            (self.datasets, self.families, self.n, self.lang, self.mapping, self.split, self.grades)
        )

    def request(self, name: str, own: Drawing, profile: Sequence[str] = ()) -> SampleRequest:
        """The request for one study of all datasets. Raises UsageError where there are none."""
        from embassay.protocols.hume.sampling.options import checked

        if not self.datasets:
            raise UsageError(
                "There is nothing to sample from.",
                mend="Give -d DATASET, or --config FILE; -d sample to try it out.",
            )
        one = {
            "family": list(self.families), "n": self.n, "lang": list(self.lang),
            "map": column_map(list(self.mapping)), "split": self.split, "grades": self.grades, **own.as_content(),
        }  # fmt: skip
        tasks = [task for data in self.datasets for task in self._tasks(data, one)]
        return checked({"name": name, "tasks": tasks, "profile": list(profile)})

    def _tasks(self, data: str, one: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The task of a dataset; those of a suite, which are for the families that were asked for."""
        from embassay.data.catalogue.suites import suite_of
        from embassay.protocols.hume.sampling.options import suite_task

        suite = suite_of(data)
        if suite is None:
            yield {"data": data, **one}
            return
        for member in (suite.of_tasks(self.families) if self.families else suite).members:
            yield {**one, **suite_task(member, suite.name), "whole": one["whole"] or suite.name in ANNOTATED}


def labels_of(told: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Label -> what people are told of it, from LABEL=WORDS.

    >>> labels_of(["0=Low spirits."], ["0=sadness"])
    {'0': {'description': 'Low spirits.', 'name': 'sadness'}}
    """
    labels: dict[str, dict[str, str]] = {}
    for flag, key, entries in (("--label", "description", told), ("--label-name", "name", names)):
        for entry in entries:
            value, found, words = (part.strip() for part in entry.partition("="))
            if not (value and found and words):
                raise UsageError(f"Cannot read {flag} {entry!r}.", mend=f"Write {flag} LABEL='words'.")
            labels.setdefault(value, {})[key] = words
    return labels


def scale_of(text: str) -> dict[str, float]:
    """A scale from LOW-HIGH or LOW-HIGH:STEP.

    >>> scale_of("1-4:0.5")
    {'low': 1.0, 'high': 4.0, 'step': 0.5}
    """
    number = r"(-?\d+(?:\.\d+)?)"
    found = re.fullmatch(rf"{number}-{number}(?::(\d+(?:\.\d+)?))?", text.strip())
    if found is None or not float(found[1]) < float(found[2]):
        raise UsageError(
            f"Cannot read --scale {text!r}.", mend="Write LOW-HIGH or LOW-HIGH:STEP, as 1-4:0.5."
        )
    return {"low": float(found[1]), "high": float(found[2]), "step": float(found[3] or 1)}


class FamilyName(StrEnum):
    """A family of tasks."""

    classification = "classification"
    clustering = "clustering"
    reranking = "reranking"
    sts = "sts"


Out = Annotated[
    Path | None,
    typer.Option("--out", help="New folder of the study; required without --dry-run."),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option("--dataset", "-d", help="A catalogue name or a path."),
]
Config = Annotated[Path | None, typer.Option("--config", help="YAML file with settings for every task.")]
Families = Annotated[
    list[FamilyName] | None,
    typer.Option("--task", "-t", help="A task family. Default: all that fit the data."),
]
Number = Annotated[
    int | None, typer.Option("--n", min=2, help="Items per task. Default: 40; clustering and reranking 30.")
]
StudyName = Annotated[str | None, typer.Option("--name", help="The study's name. Default: that of --out.")]
Langs = Annotated[
    list[str] | None,
    typer.Option(
        "--lang", help="Only this language, such as eng; also sets the language of data that state none."
    ),
]


class Topic(StrEnum):
    """What annotators may be asked about themselves."""

    language = "language"
    expertise = "expertise"
    age = "age"
    gender = "gender"


Ask = Annotated[
    list[Topic] | None,
    typer.Option("--ask", help="Ask annotators about themselves. Default: nothing."),
]
Limit = Annotated[int | None, typer.Option("--limit", min=2, help="Most items per task, for a trial.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Random seed. Default: 1337.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be sampled; write nothing.")]


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
    ask: Ask = None,
    limit: Limit = None,
    seed: Seed = None,
    dry_run: DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Draw items for people to answer, by HUME's sizes and rules.

    Gold goes into a file of its own. The same command gives the same study.

    Example: embassay hume sample -d sample --out study
    """
    from embassay.cli.progress import Waiting
    from embassay.protocols.hume.folder import write_study
    from embassay.protocols.hume.sampling import sample as drawn

    if out is None and not dry_run:
        raise UsageError("The study needs a folder.", mend="Name one with --out FOLDER, or add --dry-run.")
    families = [family.value for family in task or ()]
    asked = DataOptions(dataset or (), families, n, lang or (), mapping or (), split, grades)
    named = name or (out.resolve().name if out else "study")
    request = _request(config, asked, own, named, seed, [topic.value for topic in ask or ()])
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


def _request(
    config: Path | None, asked: DataOptions, own: Drawing, name: str, seed: int | None, profile: Sequence[str]
) -> SampleRequest:
    from embassay.protocols.hume.sampling.options import read_config

    if config is None:
        request = asked.request(name, own, profile)
    elif not asked.is_empty or profile or own.as_content() != Drawing().as_content():
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
