"""`embassay reproduce`: a paper's experiment by name, and its printed tables beside those of a run."""

from __future__ import annotations

import json as writing
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from embassay.cli.options import PrintOptions, RunOptions, add_options_from_record_parameters, make_default_run_folder
from embassay.cli.terminal import format_command_line, print_view_blocks
from embassay.errors import UsageError
from embassay.protocols.kernel.request import OUTPUT, option, redeclare_option

if TYPE_CHECKING:
    from embassay.data.catalogue.suites import DatasetSuite
    from embassay.interchange.reproduction import PaperCommand, PaperRecipe, ReproducedTable


@dataclass(frozen=True)
class PaperReproductionOptions:
    """Options for which paper is repeated, what of it, and the tables to compare its own with."""

    paper: Literal["sage", "pteb", "hteb", "rag", "hume"] = option(
        MISSING, "The paper: sage, pteb, hteb, rag or hume.", name="PAPER"
    )
    more: tuple[str, ...] = option(
        (), "Options that override those of the paper's command, such as -s minilm --limit 100.", name="OPTIONS"
    )
    step: str = option("", "Another of the paper's commands.", value="NAME")
    run: bool = option(False, "Run the command; without --run, only show what it needs.", name="--run")
    out: Path | None = redeclare_option(RunOptions, "out")
    finished: tuple[Path, ...] = option(
        (), "Compare the paper's tables with finished runs.", name="--from", value="RUN"
    )
    json: bool = redeclare_option(PrintOptions, "json", help="Print the results as one JSON object.")
    markdown: bool = option(False, "Print the tables as Markdown.", name="--markdown", group=OUTPUT)
    wide: bool = redeclare_option(PrintOptions, "wide")

    def __post_init__(self) -> None:
        if self.finished and (self.run or self.more or self.out):
            flag = "--run" if self.run else "--out" if self.out else self.more[0]
            raise UsageError("--from only compares finished runs.", mend=f"Leave {flag} out.")
        if self.out is not None and not self.run:
            raise UsageError("--out needs --run.", mend="Add --run, or leave it out.")
        if "--dry-run" in self.more:
            raise UsageError("Without --run, nothing runs anyway.", mend="Leave --dry-run out.")


@add_options_from_record_parameters()
def reproduce(asked: PaperReproductionOptions) -> None:
    """Repeat a paper's experiment and compare its tables with yours.

    Shows the paper's commands and what the first needs; --run runs it on the datasets available here. Options of
    that command, such as -s, override the paper's.

    Example: embassay reproduce sage --run --out runs/sage
    """
    from embassay.interchange.reproduction import RECIPES

    recipe, more = RECIPES[asked.paper], asked.more
    chosen = recipe.step(asked.step)
    json, markdown, wide = asked.json, asked.markdown, asked.wide
    if asked.finished:
        _show_paper_tables(recipe, asked.finished, json=json, markdown=markdown, wide=wide)
        return
    if not asked.run:
        _show_paper_reproduction_commands(recipe, chosen, more, json=json, wide=wide)
        return
    folder = _run_paper_step(recipe, chosen, more, asked.out, json=json, wide=wide)
    if json:
        return
    typer.echo("")
    try:
        _show_paper_tables(recipe, [folder], json=False, markdown=markdown, wide=wide)
    except UsageError as error:
        # The run stands, also where the paper prints nothing of its data.
        typer.echo(error.message)


def _show_paper_reproduction_commands(
    recipe: PaperRecipe, step: PaperCommand, more: Sequence[str], *, json: bool, wide: bool
) -> None:
    """Show the paper's commands, and what the chosen one takes here."""
    if not json:
        for line in _describe_paper_reproduction(recipe, step, more):
            typer.echo(line)
        if lacking := step.list_missing_options(more):
            for name, about in lacking:
                typer.echo(f"Needs {name}: {about}.")
            return
    _run_command_in_process([*step.words(more), "--dry-run", *_list_display_flags(json, wide)])


def _describe_paper_reproduction(recipe: PaperRecipe, step: PaperCommand, more: Sequence[str]) -> list[str]:
    """Describe what the paper is, its commands and tables, and how much of its suite is here."""
    from embassay.data.catalogue.suites import read_all_suites

    lines = [f"{recipe.paper} ({recipe.source}). {recipe.caveat}", ""]
    for command in recipe.steps:
        words = command.list_command_words(more if command is step else ())
        lines.extend(
            (
                f"{command.tables}{'' if len(recipe.steps) == 1 else f' (--step {command.name})'}:",
                f"  {format_command_line(words)}",
            )
        )
        lines += [f"  {file} is {about}." for file, about in command.advised.values() if file in words]
    if recipe.suite:
        lines.append(_describe_number_of_local_suite_sets(read_all_suites()[recipe.suite]))
    return [*lines, ""]


def _describe_number_of_local_suite_sets(suite: DatasetSuite) -> str:
    """Describe how many of a suite's sets are on this machine, and what the others hold."""
    from embassay.data.catalogue.entries import describe_dataset_source

    absent = [
        member
        for member in suite.members
        if member.record and describe_dataset_source(member.record) not in ("mirror", "cache")
    ]
    sets = len(suite.sets) - len({member.set for member in absent})
    line = f"{sets} of {len(suite.sets)} sets of {suite.name} are on this machine."
    if not absent:
        return line
    items = sum(member.record.size for member in absent if member.record)
    return f"{line} The others have {items:,} items; `embassay data fetch {suite.name}` fetches the public ones."


def _run_paper_step(
    recipe: PaperRecipe, step: PaperCommand, more: Sequence[str], out: Path | None, *, json: bool, wide: bool
) -> Path:
    """Run a step of a paper, and return its folder."""

    if lacking := step.list_missing_options(more):
        name, about = lacking[0]
        raise UsageError(f"{recipe.paper} needs {name} from you: {about}.", mend=f"Add {name} ...")
    folder = out or make_default_run_folder(f"{recipe.paper.lower()}-{step.name}")
    words = [*step.words(more), "--out", str(folder), *_list_display_flags(json, wide)]
    typer.echo(format_command_line(words), err=True)
    _run_command_in_process(words)
    return folder


def _list_display_flags(json: bool, wide: bool) -> list[str]:
    return ["--json"] * json + ["--wide"] * wide


def _run_command_in_process(words: list[str]) -> None:
    """Run another command of ours in this process."""
    from embassay.cli import main

    debug = ["--debug"] * main.is_debugging()
    typer.main.get_command(main.build_app_with_commands(words[0]))(args=[*debug, *words], standalone_mode=False)


def _show_paper_tables(recipe: PaperRecipe, runs: Sequence[Path], *, json: bool, markdown: bool, wide: bool) -> None:
    """Show the paper's tables beside those of the runs."""
    from embassay.interchange.reproduction import (
        compare_paper_tables,
        describe_runs_with_differing_settings,
        describe_suite_coverage,
    )

    tables, notes = (
        compare_paper_tables(recipe.paper, runs),
        [*describe_suite_coverage(runs), *describe_runs_with_differing_settings(recipe, runs)],
    )
    if json:
        facts = {"paper": recipe.paper, "suites": notes, "tables": [table.as_dict() for table in tables]}
        typer.echo(writing.dumps(facts, ensure_ascii=False))
        return
    for line in (*notes, f"{recipe.caveat}", ""):
        typer.echo(line)
    for beside in tables:
        if markdown:
            typer.echo(beside.markdown() + "\n")
        else:
            _show_paper_beside_reproduced_table(beside, wide)


def _show_paper_beside_reproduced_table(beside: ReproducedTable, wide: bool) -> None:
    from embassay.document.blocks import Table, make_number_columns

    typer.echo(beside.title)
    print_view_blocks(
        [Table.of(beside.title, [beside.paper, *make_number_columns(*beside.columns)], list(beside.body()))], wide
    )
    typer.echo(f"{beside.describe_differences_from_published()}\n")
