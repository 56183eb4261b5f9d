"""`embassay rag check`: a person confirms or edits a sample of a golden set; how far that is what the judge said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli.options import Json, Seed, Wide, stopping_at_memory

if TYPE_CHECKING:
    from embassay.protocols.rag.golden.summary import Figure, HumanCheck

app = typer.Typer(
    help="Human check of a golden set: draw questions for a person, evaluate the edited file.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Run = Annotated[Path, typer.Argument(help="The folder of a run of `embassay rag golden`.")]
_REMARKS = 10


@app.callback()
def group() -> None:
    """Human check of a golden set: draw questions for a person, evaluate the edited file."""


@app.command("sample")
@stopping_at_memory
def sample(
    run: Run,
    out: Annotated[Path, typer.Option("--out", help="The file to write: .csv or .tsv, new.")],
    share: Annotated[float, typer.Option("--share", help="Share of the questions, above 0 to 1.")] = 0.4,
    blind: Annotated[
        bool, typer.Option("--blind", help="Show neither places nor grades of the judge; passages are mixed.")
    ] = False,
    excerpt: Annotated[int, typer.Option("--excerpt", help="Most characters of a passage.")] = 800,
    seed: Seed = 1337,
) -> None:
    """Write the final lists of some questions to a file, with places and grades to confirm or edit."""
    from embassay.protocols.rag.golden.checking import Sampling, sample_check

    lists = sample_check(run, out, Sampling(share, blind, excerpt, seed))
    passages = sum(len(one.passages) for one in lists)
    typer.echo(f"{len(lists):,} questions with {passages:,} passages are in {out}.")
    if blind:
        typer.echo(
            "Fill in `place` (1 = best; equal or in-between places such as 2.5 are fine) and `grade` (1 to 5)."
        )
    else:
        typer.echo(
            "Change `place` where a passage belongs elsewhere (2.5 goes between 2 and 3; equal places are fine) and "
            "`grade` where it is wrong; leave the rest."
        )
    typer.echo(
        "What you cannot judge, leave blank; `remark` is for anything else. Rows may be sorted, not removed."
    )
    typer.echo(f"When it is back: embassay rag check score {run} {out}")


@app.command("score")
@stopping_at_memory
def score(
    run: Run,
    file: Annotated[Path, typer.Argument(help="The edited file.")],
    seed: Seed = 1337,
    json: Json = False,
    wide: Wide = False,
) -> None:
    """Compare an edited file with what the judge said: order, grades, remarks."""
    from embassay.protocols.rag.golden.checking import score_file

    found = score_file(run, file, seed=seed)
    if json:
        from dataclasses import asdict

        from embassay.runs.files import to_json

        typer.echo(to_json(asdict(found)))
        return
    _show(found, wide)
    _own(run)


def _own(run: Path) -> None:
    """What the engine claims is another matter: say so, and where it claims nothing."""
    from embassay.protocols.rag.golden.summary import read_golden
    from embassay.report.rag.ordering import doubts

    if not (record := run / "golden.json").exists():
        return
    golden = read_golden(record)
    if golden.ranking is not None and (golden.ranking.claims or golden.ranking.doubts):
        typer.echo(
            "\nThis is how near the judge is to people. What the run claims of its order is of the judge alone."
        )
    if said := doubts(golden):
        typer.echo(said)


def _show(found: HumanCheck, wide: bool) -> None:
    from embassay.cli.terminal import show_table

    typer.echo(_verdict(found))
    if _is_untouched(found):
        return
    typer.echo()
    show_table(["Order and grades", "Person against judge", "95%", "n"], list(_rows(found)), wide=wide)
    if found.table:
        typer.echo("\nGrades of the judge (rows) and of the person (columns):\n")
        rows = [[str(grade), *map(str, found.table[grade - 1])] for grade in (5, 4, 3, 2, 1)]
        show_table(["", "1", "2", "3", "4", "5"], rows, wide=wide)
    for remark in found.remarks[:_REMARKS]:
        typer.echo(f"- {remark.query_id}, {remark.doc_id}: {remark.text}")
    if len(found.remarks) > _REMARKS:
        typer.echo(f"- and {len(found.remarks) - _REMARKS} more remarks, see --json")


def _verdict(found: HumanCheck) -> str:
    head = f"{found.queries:,} questions, {found.items:,} passages"
    if _is_untouched(found):
        return f"{head}: nothing was changed. All is confirmed, if anybody has looked at it."
    told = [f"{found.moved:,} moved", f"{found.changed:,} with another grade"]
    if found.remarks:
        told.append(f"{len(found.remarks):,} with a remark")
    return f"{head}: {', '.join(told)}."


def _is_untouched(found: HumanCheck) -> bool:
    """Whether the file is as it was written: figures of it would be of the judge against himself."""
    return not (found.moved or found.changed or found.remarks or found.blind)


def _rows(found: HumanCheck) -> Iterator[list[str]]:
    from embassay.protocols import numbers

    def row(name: str, one: Figure, *, percent: bool = False) -> list[str]:
        if one.value is None:
            return [name, "n/a", one.reason, f"{one.n:,}"]
        said = numbers.percent(one.value, 1) if percent else numbers.score(one.value, 2)
        if one.low is None or one.high is None:
            return [name, said, "", f"{one.n:,}"]
        if percent:
            return [name, said, numbers.interval(100 * one.low, 100 * one.high, 1) + "%", f"{one.n:,}"]
        return [name, said, numbers.interval(one.low, one.high, 2), f"{one.n:,}"]

    yield row("Kendall's tau, mean over questions", found.tau)
    yield row("Pairs put the other way", found.swapped, percent=True)
    if found.distance is not None:
        yield ["Places between such two, median", f"{found.distance:g}", "", ""]
    yield row("Same grade", found.exact, percent=True)
    yield row("Same or next grade", found.within_one, percent=True)
    yield row("Weighted kappa of grades", found.kappa)
