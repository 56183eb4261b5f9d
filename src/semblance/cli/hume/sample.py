"""`semblance hume sample`: a study drawn from data, for people to answer."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semblance.cli import options as given
from semblance.cli.options import column_map
from semblance.errors import UsageError

if TYPE_CHECKING:
    from semblance.protocols.hume.folder import Task
    from semblance.protocols.hume.sampling import Sampled, SampleRequest


class FamilyName(StrEnum):
    """A family of tasks."""

    classification = "classification"
    clustering = "clustering"
    reranking = "reranking"
    sts = "sts"


class NegativesName(StrEnum):
    """Where hard negatives come from."""

    lists = "lists"
    bm25 = "bm25"


_MANY = "Settings of one dataset"


def _own(*flags: str, help: str, **more: Any) -> Any:
    return typer.Option(*flags, help=help, rich_help_panel=_MANY, **more)


def sample(
    out: Annotated[Path, typer.Option("--out", help="The folder of the study; not one that holds another.")],
    dataset: Annotated[
        list[str] | None,
        typer.Option("--dataset", "-d", help="A catalogue name or a path. Repeatable: one study of several."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", help="A YAML file with a block of settings for every task.")
    ] = None,
    task: Annotated[
        list[FamilyName] | None,
        typer.Option(
            "--task", "-t", help="A family. Default: all that the data have the columns of. Repeatable."
        ),
    ] = None,
    n: Annotated[
        int | None,
        typer.Option("--n", min=2, help="Items per task. Default: 40; clustering and reranking 30."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="The study's name. Default: that of --out.")
    ] = None,
    lang: Annotated[
        list[str] | None,
        typer.Option(
            "--lang", help="Only this language, or that of data that state none: eng, dan. Repeatable."
        ),
    ] = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    grades: given.Grades = None,
    label: Annotated[
        list[str] | None,
        _own("--label", help="What a label means, for people: joy='Happy, pleased.'. Repeatable."),
    ] = None,
    label_name: Annotated[
        list[str] | None,
        _own("--label-name", help="The word for a label on its button: 0=sadness. Repeatable."),
    ] = None,
    guidelines: Annotated[
        Path | None, _own("--guidelines", help="Your own guidelines, a file in Markdown.")
    ] = None,
    question: Annotated[str, _own("--question", help="Your own question above every item.")] = "",
    scale: Annotated[
        str | None,
        _own("--scale", metavar="LOW-HIGH[:STEP]", help="Scale of ratings: 0-5:0.5. Default: 0-5."),
    ] = None,
    groups: Annotated[
        int | None, _own("--groups", min=2, help="Gold clusters to draw from. Default: 6 or 5.")
    ] = None,
    relevant: Annotated[int, _own("--relevant", min=1, help="Relevant documents per query, at most.")] = 3,
    candidates: Annotated[int, _own("--candidates", min=2, help="Documents per query.")] = 7,
    negatives: Annotated[
        NegativesName | None,
        _own(
            "--negatives",
            help="Hard negatives from the data's lists or found by bm25. Default: lists if there are any.",
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        _own("--against", help="Data that models train on, to look for the items' texts in. Repeatable."),
    ] = None,
    drop_leaked: Annotated[
        bool, _own("--drop-leaked", help="Leave out texts that are also in the training data.")
    ] = False,
    practice: Annotated[int, _own("--practice", min=0, max=10, help="Items to practise on, per task.")] = 3,
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=2, help="Draw at most this many items per task, to try it out."),
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of every draw. Default: 1337.")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Draw and show what would be sampled; write nothing.")
    ] = False,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Draw items for people to answer, with HUME's sizes and rules; gold goes into a file of its own.

    Classification takes as many texts of every label, clustering 6 or 5 gold clusters, STS the whole range of scores,
    reranking the relevant documents of a query among hard negatives. The same command gives the same study.
    """
    from semblance.protocols.hume.folder import write_study
    from semblance.protocols.hume.sampling import sample as drawn

    one = {
        "family": [family.value for family in task or ()], "n": n, "lang": lang or [],
        "map": column_map(mapping), "split": split, "grades": grades, "labels": _labels(label, label_name),
        "guidelines": _guidelines(guidelines), "question": question, "scale": _scale(scale), "groups": groups,
        "relevant": relevant, "candidates": candidates, "negatives": negatives and negatives.value,
        "against": against or [], "drop_leaked": drop_leaked, "practice": practice,
    }  # fmt: skip
    request = _request(config, dataset or [], one, name or out.resolve().name, seed)
    study = drawn(request, limit=limit)
    if not dry_run:
        write_study(out, study.study, study.items, study.gold)
    if json:
        _print_json(None if dry_run else out, study)
        return
    _show(study, wide)
    typer.echo("")
    typer.echo("Nothing is written (--dry-run)." if dry_run else _next(out, study.study.guidelines_version))


def _request(
    config: Path | None, datasets: list[str], one: dict[str, Any], name: str, seed: int | None
) -> SampleRequest:
    from semblance.protocols.hume.sampling.config import checked, read_config

    if config is not None:
        if datasets:
            raise UsageError("Both --config and --dataset are given.", mend="Name the data in the file only.")
        request = read_config(config)
        return request if seed is None else request.model_copy(update={"seed": seed})
    if not datasets:
        raise UsageError(
            "There is nothing to sample from.",
            mend="Give -d DATASET, or --config FILE; -d sample to try it out.",
        )
    content: dict[str, Any] = {"name": name, "tasks": [{"data": data, **one} for data in datasets]}
    return checked(content if seed is None else {**content, "seed": seed})


def _labels(told: list[str] | None, names: list[str] | None) -> dict[str, dict[str, str]]:
    labels: dict[str, dict[str, str]] = {}
    for flag, key, entries in (("--label", "description", told), ("--label-name", "name", names)):
        for entry in entries or ():
            value, found, words = entry.partition("=")
            if not (value.strip() and found and words.strip()):
                raise UsageError(f"Cannot read {flag} {entry!r}.", mend=f"Write {flag} LABEL='words'.")
            labels.setdefault(value.strip(), {})[key] = words.strip()
    return labels


def _guidelines(path: Path | None) -> str | None:
    from semblance.protocols.hume.sampling.config import read_guidelines

    return None if path is None else read_guidelines(path)


def _scale(text: str | None) -> dict[str, float] | None:
    import re

    if text is None:
        return None
    number = r"(-?\d+(?:\.\d+)?)"
    found = re.fullmatch(rf"{number}-{number}(?::(\d+(?:\.\d+)?))?", text.strip())
    if found is None or not float(found[1]) < float(found[2]):
        raise UsageError(
            f"Cannot read --scale {text!r}.", mend="Write LOW-HIGH or LOW-HIGH:STEP, as 1-4:0.5."
        )
    return {"low": float(found[1]), "high": float(found[2]), "step": float(found[3] or 1)}


def _show(sampled: Sampled, wide: bool) -> None:
    from semblance.cli.terminal import show_table

    rows = [
        [one.name, one.family, one.lang, str(one.n), one.source.dataset, "; ".join(_notes(sampled, one))]
        for one in sampled.study.tasks
    ]
    show_table(["task", "family", "lang", "n", "source", "notes"], rows, wide=wide)


def _notes(sampled: Sampled, task: Task) -> list[str]:
    return [*sampled.about_gold[task.name], *task.notes]


def _next(out: Path, version: str) -> str:
    return (
        f"Written to {out}: study.json and items.jsonl for people, gold.jsonl apart. Guidelines {version}.\n"
        f"Next: semblance hume serve {out}"
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
