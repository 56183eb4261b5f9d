"""`embassay rag golden`, `rag check` and `rag prompts`: a golden set, graded by a judge and confirmed by a person."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from embassay.cli.options import (
    PrintOptions,
    RunOptions,
    TitledCommandApp,
    add_dataclass_options_default_none,
    add_options_from_record_parameters,
    stopping_at_memory,
)
from embassay.cli.session import RunOnDisk, StdoutFormatOptions, print_results_json, run_and_show_results, show_run_plan
from embassay.cli.terminal import print_as_json, print_table_to_fit_screen, print_view_blocks
from embassay.protocols.kernel.request import DATA, OUTPUT, SPEED, RunRequest, option, redeclare_option
from embassay.protocols.live import RetrieverOption
from embassay.protocols.rag.golden.options import (
    GoldenRequest,
    HumanCheckSampling,
    make_golden_request,
    resolve_golden_settings,
)
from embassay.runs.folder import format_value_as_json
from embassay.stats import Estimate

if TYPE_CHECKING:
    from embassay.protocols.rag.golden.summary import GoldenRunRecord, HumanCheckOfJudge


@dataclass(frozen=True)
class ConfigAndProfileOptions:
    """The sources of settings that the command line does not give."""

    config: Path | None = option(None, "TOML file of settings. Default: ./embassay.toml.", group=DATA)
    profile: str | None = option(None, "Settings profile: fast, thorough (the defaults) or a TOML file.", group=DATA)


@dataclass(frozen=True)
class GoldenSetRedoOptions:
    """Options for what of a golden set is done again, and whose passages join it."""

    from_stage: str | None = option(None, "Redo this stage and all later ones.", value="S1-S6", group=SPEED)
    force: bool = option(False, "Redo all stages.", name="--force", group=SPEED)
    add_runs: tuple[str, ...] = option(
        (),
        "A run (FILE or NAME=FILE) whose first --depth passages are graded too; existing grades are kept.",
        name="--add-run", value="FILE"
    )  # fmt: skip
    retrievers: tuple[str, ...] = redeclare_option(
        RetrieverOption, "retrievers",
        help="A retriever to query now; its first --depth passages are graded too: SPEC or NAME=SPEC, as in rag score."
    )  # fmt: skip


ONCE = ("--force", "--from-stage=")
"""Flags that the command which resumes must not have: it would begin anew."""


@add_options_from_record_parameters()
@add_dataclass_options_default_none(GoldenRequest, "chosen")
def golden(
    chosen: Mapping[str, Any], sources: ConfigAndProfileOptions, redoing: GoldenSetRedoOptions, running: RunOptions
) -> None:
    """Make a golden set: a judge grades and orders the passages found.

    Later sources override earlier ones: defaults, embassay.toml, profile, EMBASSAY_GOLDEN_*, options.

    Example: embassay rag golden -d sample -s minilm -j ollama:gemma3:27b
    """
    from embassay.protocols.rag.golden.protocol import GoldenSetProtocol

    settings = resolve_golden_settings(chosen, environment=os.environ, config=sources.config, profile=sources.profile)
    request, display = make_golden_request(settings), StdoutFormatOptions(running.json, running.wide)
    out = running.out or Path("runs") / f"{datetime.now().astimezone():%Y-%m-%d_%H%M%S}"
    if running.dry_run:
        show_run_plan(partial(GoldenSetProtocol().forecast_run_cost, request, out=out), display)
        if redoing.retrievers and not running.json:
            _preview_retriever_answers(redoing.retrievers, request)
        return
    run_golden_set_request(
        request, out, display, settings=settings, redo="S1" if redoing.force else redoing.from_stage,
        add_runs=redoing.add_runs, retrievers=redoing.retrievers, max_usd=running.max_cost
    )  # fmt: skip


def _preview_retriever_answers(retrievers: Sequence[str], request: GoldenRequest) -> None:
    """Ask each one question, and show how its answer is read."""
    from embassay.protocols.live.runs import describe_trial_of_retrievers
    from embassay.protocols.rag.golden.corpus import GoldenRunResources, read_golden_inputs
    from embassay.protocols.rag.golden.protocol import collect_asked_questions, make_engine_answer_matcher
    from embassay.systems.remote import Ledger

    work = GoldenRunResources(request, read_golden_inputs(request), Path(), Ledger())
    typer.echo("")
    for line in describe_trial_of_retrievers(
        retrievers, collect_asked_questions(work), make_engine_answer_matcher(work)
    ):
        typer.echo(line)


def run_golden_set_request(
    request: GoldenRequest,
    out: Path,
    display: StdoutFormatOptions,
    *,
    report: bool = True,
    max_usd: float | None = None,
    **how: Any,
) -> None:
    """Carry out a request for a golden set; `how` is what `Making` takes."""
    from embassay.protocols.rag.golden.protocol import GoldenSetProtocol

    do = partial(GoldenSetProtocol(**how).carry_out, request)
    run_and_show_results(
        do,
        out,
        display=display,
        report=report,
        once=ONCE,
        check=_raise_error_for_failed_questions,
        show=_show_golden_set,
        max_usd=max_usd,
    )


_MORE = (
    " The same model will give unreadable answers again. Have the server enforce the format with ?answers=schema at "
    "the end of --judge, or use another model. --failed ungraded keeps the questions without such passages."
)


def _raise_error_for_failed_questions(run: RunOnDisk, out: Path) -> None:
    """ModelError if questions failed, loudly if many did."""
    from embassay.errors import ModelError
    from embassay.protocols.rag.golden.conclusions import FAILED_LOUDLY
    from embassay.protocols.rag.judges import UNREADABLE

    cells = run.manifest["cells"]
    failed = [cell for cell in cells if cell["status"] == "failed"]
    if not failed:
        return
    first, share = failed[0], len(failed) / len(cells)
    loud = f"OVER {FAILED_LOUDLY:.0%} OF THE QUESTIONS FAILED: " if share > FAILED_LOUDLY else ""
    raise ModelError(
        f"{loud}{len(failed)} of {len(cells)} questions failed and are not in the golden set. First failure, "
        f"{first['query_id']} in {first['stage']}: {first['reason']}",
        mend=f"All are listed in {out / 'tables' / 'queries.md'}; repeat the command to try again."
        + (_MORE if any(UNREADABLE in cell["reason"] for cell in failed) else ""),
    )


def _show_golden_set(path: Path, display: StdoutFormatOptions, report: bool) -> None:
    """Show the golden set's results as JSON, or the verdict and what stands behind it."""
    from embassay.protocols.rag.golden.summary import read_golden_record
    from embassay.report import write_report

    golden = read_golden_record(path / "golden.json")
    written = write_report(path) if report else None
    if display.json:
        _print_golden_json(path, golden, written)
        return
    from embassay.report.rag.golden import golden_set_view

    print_view_blocks(golden_set_view(golden, path), display.wide)


def _print_golden_json(path: Path, golden: GoldenRunRecord, written: Path | None) -> None:
    per_query = [row for query in golden.queries for row in _iterate_measure_rows_of_query(query)]
    print_results_json(path, written, per_query=per_query)


def _iterate_measure_rows_of_query(query: Any) -> Iterator[dict[str, Any]]:
    grades = {f"grade_{grade}": count for grade, count in enumerate(query.grades, start=1)}
    values = {"pool": query.pool, **grades, "kept": query.kept, "calls": query.calls}
    done = query.status == "done"
    reason = "" if done else query.reason or f"{query.status} after {query.stage or 'nothing'}"
    for name, value in values.items():
        yield {
            "run": "golden", "query_id": query.query_id, "measure": name, "value": value if done else None,
            "reason": reason
        }  # fmt: skip


check_app = TitledCommandApp("Have a person check a golden set.")

GoldenRun = Annotated[Path, typer.Argument(help="A run from `embassay rag golden`.")]
_REMARKS = 10


@check_app.callback()
def group() -> None:
    """Have a person check a golden set."""


@check_app.command("sample")
@stopping_at_memory
@add_options_from_record_parameters()
def sample(
    run: GoldenRun,
    out: Annotated[Path, typer.Option("--out", help="New .csv or .tsv file.")],
    sampling: HumanCheckSampling,
) -> None:
    """Write a golden set's lists to a file for a person to edit.

    Example: embassay rag check sample runs/golden --out check.csv
    """
    from embassay.protocols.rag.golden.checks import write_sampled_lists_for_human_check

    lists = write_sampled_lists_for_human_check(run, out, sampling)
    passages = sum(len(final.passages) for final in lists)
    typer.echo(f"{len(lists):,} questions with {passages:,} passages written to {out}.")
    if sampling.blind:
        typer.echo("Fill in `place` (1 = best; ties and places such as 2.5 are allowed) and `grade` (1 to 5).")
    else:
        typer.echo(
            "Change `place` if a passage belongs elsewhere (2.5 is between 2 and 3; ties are allowed) and "
            "`grade` if it is wrong; leave the rest."
        )
    typer.echo(
        "Leave blank what you cannot judge; use `remark` for anything else. You may sort rows, but not remove any."
    )
    typer.echo(f"When the file is back, run: embassay rag check score {run} {out}")


@check_app.command("score")
@stopping_at_memory
@add_options_from_record_parameters(without=("share", "blind", "excerpt"))
def score(
    run: GoldenRun,
    file: Annotated[Path, typer.Argument(help="The edited file.")],
    sampling: HumanCheckSampling,
    shown: PrintOptions,
) -> None:
    """Compare a person's edited file with the judge.

    Example: embassay rag check score runs/golden check.csv
    """
    from embassay.protocols.rag.golden.checks import score_edited_check_file

    check = score_edited_check_file(run, file, seed=sampling.seed)
    if shown.json:
        typer.echo(format_value_as_json(asdict(check)))
        return
    _show_human_check(check, shown.wide)
    _warn_of_doubts_about_llm_judge(run)


def _warn_of_doubts_about_llm_judge(run: Path) -> None:
    """Warn that what the engine claims is another matter, and where it claims nothing."""
    from embassay.protocols.rag.golden.summary import read_golden_record
    from embassay.protocols.rag.golden.trust import list_judge_warnings
    from embassay.report.rag.golden import say_judge_doubts

    if not (record := run / "golden.json").exists():
        return
    golden = read_golden_record(record)
    for text in list_judge_warnings(golden):
        typer.echo(f"\n{text}")
    if golden.ranking is not None and (golden.ranking.claims or golden.ranking.doubts):
        typer.echo("\nThis shows how close the judge is to people. The run's own figures describe only the judge.")
    if doubt := say_judge_doubts(golden):
        typer.echo(doubt)


def _show_human_check(check: HumanCheckOfJudge, wide: bool) -> None:

    typer.echo(_describe_human_check_of_judge(check))
    if _is_check_file_untouched(check):
        return
    typer.echo()
    print_table_to_fit_screen(
        ["Order and grades", "Person against judge", "95%", "n"], list(_build_judge_check_rows(check)), wide=wide
    )
    if check.table:
        typer.echo("\nGrades of the judge (rows) and of the person (columns):\n")
        rows = [[str(grade), *map(str, check.table[grade - 1])] for grade in (5, 4, 3, 2, 1)]
        print_table_to_fit_screen(["", "1", "2", "3", "4", "5"], rows, wide=wide)
    _show_human_corrected_judge_grades(check, wide)
    for remark in check.remarks[:_REMARKS]:
        typer.echo(f"- {remark.query_id}, {remark.doc_id}: {remark.text}")
    if len(check.remarks) > _REMARKS:
        typer.echo(f"- and {len(check.remarks) - _REMARKS} more remarks (see --json)")


def _show_human_corrected_judge_grades(check: HumanCheckOfJudge, wide: bool) -> None:
    """Show what grades the person would give to all lists, and where the judge is off."""
    if not check.corrected:
        return
    from embassay.report.rag.decision import show_judge_assisted_means

    typer.echo()
    print_view_blocks(show_judge_assisted_means(check.corrected, check.off, "All final lists"), wide)


def _describe_human_check_of_judge(check: HumanCheckOfJudge) -> str:
    head = f"{check.queries:,} questions, {check.items:,} passages"
    if _is_check_file_untouched(check):
        return f"{head}: nothing was changed. If someone reviewed the whole file, all of it is confirmed."
    parts = [f"{check.moved:,} moved", f"{check.changed:,} with a different grade"]
    if check.remarks:
        parts.append(f"{len(check.remarks):,} with a remark")
    return f"{head}: {', '.join(parts)}."


def _is_check_file_untouched(check: HumanCheckOfJudge) -> bool:
    """Whether the file is as it was written: figures of it would be of the judge against himself."""
    return not (check.moved or check.changed or check.remarks or check.blind)


def _build_judge_check_rows(check: HumanCheckOfJudge) -> Iterator[list[str]]:
    from embassay.protocols.kernel import tables as numbers

    def format_estimate_row(name: str, figure: Estimate, *, percent: bool = False) -> list[str]:
        if figure.value is None:
            return [name, "n/a", figure.reason, f"{figure.n:,}"]
        value = numbers.format_percent(figure.value, 1) if percent else numbers.format_score(figure.value, 2)
        if figure.low is None or figure.high is None:
            return [name, value, "", f"{figure.n:,}"]
        if percent:
            return [name, value, numbers.format_interval(100 * figure.low, 100 * figure.high, 1) + "%", f"{figure.n:,}"]
        return [name, value, numbers.format_interval(figure.low, figure.high, 2), f"{figure.n:,}"]

    yield format_estimate_row("Kendall's tau, mean over questions", check.tau)
    yield format_estimate_row("Pairs in the opposite order", check.swapped, percent=True)
    if check.distance is not None:
        yield ["Median distance in places", f"{check.distance:g}", "", ""]
    yield format_estimate_row("Same grade", check.exact, percent=True)
    yield format_estimate_row("Same or next grade", check.within_one, percent=True)
    yield format_estimate_row("Weighted kappa of grades", check.kappa)


@add_options_from_record_parameters(wide=False)
def prompts(shown: PrintOptions) -> None:
    """Show the judge's instructions and their digests.

    Example: embassay rag prompts
    """
    from embassay.protocols.rag.judges.chat import KINDS, load_judge_prompt

    if shown.json:
        print_as_json([load_judge_prompt(kind).as_dict() for kind in KINDS])
        return
    for kind in KINDS:
        text = load_judge_prompt(kind)
        typer.echo(f"{text.identity}\n\n{text.text}\n")


@dataclass(frozen=True)
class JudgeComparisonOptions:
    """Options for comparing the judges of a golden set with people, and combining them."""

    judges: tuple[str, ...] = option(
        MISSING, "Golden runs or files of grades, one per judge: RUN or NAME=RUN.", name="RUN..."
    )
    people: str | None = option(None, "People's grades for the same passages.", value="FILE", group=DATA)
    grades: str | None = option(
        None, "How to map grades in files: identity, trec3, binary, value=grade,... Default: 1 to 5.", group=DATA
    )
    panel: Literal["median", "dawid_skene"] = option(
        "median", "How to combine the grades: by the median, or by the Dawid-Skene model."
    )
    seed: int = redeclare_option(RunRequest, "seed")
    out: Path | None = option(None, "Folder for tables and the panel's qrels. Default: none.", group=OUTPUT)


@add_options_from_record_parameters()
def judges(asked: JudgeComparisonOptions, shown: PrintOptions) -> None:
    """Compare judges of one golden set, and combine them in a panel.

    Shows how far they agree with each other and with people, and what each costs.

    Example: embassay rag judges runs/golden-a runs/golden-b --out runs/panel
    """
    from embassay.protocols.rag.golden import panel as panels

    read = [panels.read_grades_of_one_judge(judge, asked.grades) for judge in asked.judges]
    people = None if asked.people is None else panels.read_grades_of_one_judge(asked.people, asked.grades)
    panel = panels.compare_judges_and_make_panel(read, people, seed=asked.seed)
    written = None if asked.out is None else panels.write_judge_panel(asked.out, panel, asked.panel)
    if shown.json:
        typer.echo(format_value_as_json(panel.as_dict()))
        return

    typer.echo(panels.phrase_judge_panel_verdict(panel))
    for titles, rows in panels.list_judge_panel_terminal_tables(panel):
        typer.echo("")
        print_table_to_fit_screen(titles, rows, wide=shown.wide, numbers=True)
    if written is not None:
        typer.echo(f"\nThe panel's grades ({asked.panel}): {written}")
