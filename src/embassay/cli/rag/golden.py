"""`embassay rag golden`: a golden set from questions and a corpus, graded and ordered by a judge."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli import options as given
from embassay.cli.options import column_map, knobs
from embassay.protocols.rag.golden.options import GoldenOptions

if TYPE_CHECKING:
    from embassay.cli.running import Display, Run
    from embassay.protocols.rag.golden.request import GoldenRequest
    from embassay.protocols.rag.golden.summary import Golden

Corpus = Annotated[
    Path | None, typer.Option("--corpus", help="Documents: a table with `text`, and `id`, `title` and more.")
]
Queries = Annotated[
    Path | None,
    typer.Option(
        "--queries", help="Questions: a table with `text`, and `id`, `rewrite`, `bm25_query`, `tags`."
    ),
]
Dataset = Annotated[
    str | None,
    typer.Option("--dataset", "-d", help="In place of two files: a catalogue name, `sample`, or a folder."),
]
Encoder = Annotated[
    str | None,
    typer.Option("--system", "-s", help="The encoder that finds passages: see `embassay list systems`."),
]
JudgeName = Annotated[
    str | None,
    typer.Option(
        "--judge", "-j", help="Who grades and orders: a chat model (ollama:gemma3:27b), recorded:FILE, simulated:QRELS."
    ),
]  # fmt: skip
RewriterName = Annotated[
    str | None,
    typer.Option(
        "--rewriter", help="identity, rules, or llm:MODEL. Rewrites of the file win. Default: identity."
    ),
]
RankingName = Annotated[
    str | None,
    typer.Option(
        "--ranking", help="bayes, locks, single_shot or grades, with options: locks:stability_turns=5."
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Draw at most this many questions.")]
Seed = Annotated[int | None, typer.Option("--seed", help="Seed of every random choice. Default: 1337.")]
Tokens = Annotated[
    str | None,
    typer.Option("--tokenizer", help="What counts the tokens of chunks and candidates. Default: words."),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="Settings in a TOML file, [golden]. Default: ./embassay.toml."),
]
Profile = Annotated[
    str | None, typer.Option("--profile", help="fast, thorough (the defaults), or the path of a TOML file.")
]
FromStage = Annotated[
    str | None, typer.Option("--from-stage", metavar="S1-S6", help="Redo this stage and all later ones.")
]
Force = Annotated[bool, typer.Option("--force", help="Redo all stages.")]
ONCE = ("--force", "--from-stage=")
"""Flags that the command which resumes must not have: it would begin anew."""


@knobs(GoldenOptions, "chosen")
def golden(
    corpus: Corpus = None,
    queries: Queries = None,
    dataset: Dataset = None,
    system: Encoder = None,
    judge: JudgeName = None,
    rewriter: RewriterName = None,
    ranking: RankingName = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    limit: Limit = None,
    seed: Seed = None,
    tokenizer: Tokens = None,
    config: Config = None,
    profile: Profile = None,
    out: given.Out = None,
    from_stage: FromStage = None,
    force: Force = False,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
    chosen: Mapping[str, Any] = {},
) -> None:
    """Find passages for every question, have a judge grade and order them, and export them as judgements.

    The same command with the same --out resumes. Settings: defaults < embassay.toml < profile < EMBASSAY_GOLDEN_* <
    these options.
    """
    from embassay.cli.running import Display, show_plan
    from embassay.protocols.rag.golden import session
    from embassay.protocols.rag.golden.config import request_of, resolve

    named = {
        "corpus": corpus and str(corpus), "queries": queries and str(queries), "dataset": dataset, "encoder": system,
        "judge": judge, "rewriter": rewriter, "ranking": ranking, "mapping": column_map(mapping) or None,
        "split": split, "limit": limit, "seed": seed, "tokenizer": tokenizer, **chosen,
    }  # fmt: skip
    settings = resolve(named, environment=os.environ, config=config, profile=profile)
    request, display = request_of(settings), Display(json, wide)
    out = out or Path("runs") / f"{datetime.now().astimezone():%Y-%m-%d_%H%M%S}"
    if dry_run:
        show_plan(partial(session.forecast_of, request, out), display)
        return
    redo = "S1" if force else from_stage
    run_golden(request, out, display, settings=settings, redo=redo, max_usd=max_cost)


def run_golden(
    request: GoldenRequest,
    out: Path,
    display: Display,
    *,
    report: bool = True,
    max_usd: float | None = None,
    **how: Any,
) -> None:
    """Carry out a request; `how` is what `session.carry_out` takes besides."""
    from embassay.cli.running import carry_out
    from embassay.protocols.rag.golden import session

    do = partial(session.carry_out, request, **how)
    carry_out(do, out, display=display, report=report, once=ONCE, check=_check, show=_show, max_usd=max_usd)


_MORE = (
    " A language model's answers are kept, also those that cannot be read: let it try more often, with ?attempts=12 "
    "at the end of --judge and --from-stage S4."
)


def _check(run: Run, out: Path) -> None:
    """ModelError if questions failed, loudly if many did."""
    from embassay.errors import ModelError
    from embassay.protocols.rag.golden.record import FAILED_LOUDLY
    from embassay.protocols.rag.judges.contract import UNREADABLE

    cells = run.manifest["cells"]
    failed = [cell for cell in cells if cell["status"] == "failed"]
    if not failed:
        return
    first, share = failed[0], len(failed) / len(cells)
    loud = f"OVER {FAILED_LOUDLY:.0%} OF THE QUESTIONS FAILED: " if share > FAILED_LOUDLY else ""
    raise ModelError(
        f"{loud}{len(failed)} of {len(cells)} questions failed and are not in the golden set; the first, "
        f"{first['query_id']}, in {first['stage']}: {first['reason']}",
        mend=f"All are listed in {out / 'tables' / 'queries.md'}; the same command tries them again."
        + (_MORE if any(UNREADABLE in cell["reason"] for cell in failed) else ""),
    )


def _show(path: Path, display: Display, report: bool) -> None:
    """The results as JSON, or the verdict and what stands behind it."""
    from embassay.protocols.rag.golden.summary import read_golden
    from embassay.report import write_report

    golden = read_golden(path / "golden.json")
    written = write_report(path) if report else None
    if display.json:
        _print_json(path, golden, written)
        return
    from embassay.cli.terminal import screen, show
    from embassay.report.rag.golden_terminal import render_golden

    here = screen()
    show(render_golden(golden, path, width=here.width, wide=display.wide, unicode=here.unicode))


def _print_json(path: Path, golden: Golden, written: Path | None) -> None:
    import json

    from embassay.runs.folder import RunFolder

    rows = [row.as_dict() for row in RunFolder(path).read_results()]
    per_query = [row for one in golden.queries for row in _of_query(one)]
    said = {"results": rows, "per_query": per_query, "report": str(written) if written else None}
    typer.echo(json.dumps(said, ensure_ascii=False))


def _of_query(one: Any) -> Iterator[dict[str, Any]]:
    grades = {f"grade_{grade}": count for grade, count in enumerate(one.grades, start=1)}
    values = {"pool": one.pool, **grades, "kept": one.kept, "calls": one.calls}
    done = one.status == "done"
    reason = "" if done else one.reason or f"{one.status} after {one.stage or 'nothing'}"
    for name, value in values.items():
        yield {
            "run": "golden", "query_id": one.query_id, "measure": name, "value": value if done else None,
            "reason": reason,
        }  # fmt: skip
