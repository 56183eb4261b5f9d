"""`embassay rag score`: score run files against graded judgements."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from embassay.cli import options as given
from embassay.cli.options import column_map

if TYPE_CHECKING:
    from embassay.protocols.rag.scoring.inputs import ScoreRequest
    from embassay.protocols.rag.scoring.protocol import Scored


class Unjudged(StrEnum):
    """How a retrieved document without a grade is treated."""

    zero = "zero"
    grade1 = "grade1"
    condense = "condense"
    error = "error"


class Test(StrEnum):
    """How p-values of pairs are made."""

    bootstrap = "bootstrap"
    randomization = "randomization"


Qrels = Annotated[
    str,
    typer.Option(
        "--qrels",
        help="Graded judgements: TREC, BEIR, JSONL, CSV or Parquet.", metavar="FILE",
    ),
]  # fmt: skip
Runs = Annotated[
    list[str],
    typer.Option("--run", help="A run as FILE or NAME=FILE: TREC, JSONL, CSV or Parquet.", metavar="FILE"),
]
Pools = Annotated[
    list[str] | None,
    typer.Option(
        "--pool", metavar="FILE",
        help="Passages that PROC may reorder: a file for all, one per run, or `union` of all. Default: the run itself.",
    ),
]  # fmt: skip
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        help="A measure from `embassay list measures`. Default: the usual ones.",
    ),
]
Cutoffs = Annotated[
    list[int] | None,
    typer.Option("-k", min=1, help="Cutoff of measures named without one. Default: 10 and 30."),
]
Grades = Annotated[
    str | None,
    typer.Option(
        "--grades",
        help="Grade map: identity, binary, trec3, cranfield, or value=grade,... Default: grades 1 to 5.",
    ),
]
PerQuery = Annotated[
    bool | None,
    typer.Option(
        "--per-query/--no-per-query",
        help="Print every query's values; --json has them by default.",
    ),
]
Answers = Annotated[
    str | None,
    typer.Option(
        "--answers", metavar="FILE", rich_help_panel="Data",
        help="File of `query_id, correct` (0 to 1), to relate answers to evidence found (Acc|Hit@K).",
    ),
]  # fmt: skip
Treatment = Annotated[
    Unjudged,
    typer.Option(
        "--unjudged",
        help="Treat a document without a grade as worth 0, as grade 1, as absent, or as an error.",
    ),
]
Pairwise = Annotated[Test, typer.Option("--test", help="Paired test of two runs, over queries.")]
Resamples = Annotated[int, typer.Option("--resamples", min=1, help="Resamples behind intervals and tests.")]
Sensitivity = Annotated[
    bool, typer.Option("--sensitivity", help="Show RA-nWG under 24 settings of its constants.")
]
Separator = Annotated[
    str,
    typer.Option(
        "--source-separator",
        help="Character before which ids of one source agree, for novelty measures.",
    ),
]
_IN_JSON = (
    "verdict", "comparisons", "likeness", "sensitivity", "readings", "guidance", "notes", "runs", "judgements",
    "settings",
)  # fmt: skip
ExcludeSelf = Annotated[
    bool,
    typer.Option("--exclude-self", help="Leave a query's own document out of runs, pools and judgements."),
]  # fmt: skip
Library = Annotated[
    str,
    typer.Option(
        "--corpus", rich_help_panel="Data",
        help="The passages searched, where runs hold texts or judgements are spans: a folder of documents, a table.",
    ),
]  # fmt: skip
Asked = Annotated[
    str,
    typer.Option(
        "--queries", rich_help_panel="Data", metavar="FILE",
        help="The questions, where runs hold their texts, or for --by-tag.",
    ),
]  # fmt: skip
ByTag = Annotated[
    bool, typer.Option("--by-tag", help="Scores by the `tags` of --queries too: language, kind of question.")
]
Seed = Annotated[int, typer.Option("--seed", help="Random seed.")]
Out = Annotated[Path | None, typer.Option("--out", help="Folder of the results. Default: none.")]


def score(
    qrels: Qrels,
    run: Runs,
    pool: Pools = None,
    measure: Measures = None,
    k: Cutoffs = None,
    grades: Grades = None,
    per_query: PerQuery = None,
    unjudged: Treatment = Unjudged.zero,
    answers: Answers = None,
    sensitivity: Sensitivity = False,
    test: Pairwise = Test.bootstrap,
    resamples: Resamples = 10_000,
    mapping: given.Mapping = None,
    split: given.Split = None,
    source_separator: Separator = "#",
    exclude_self: ExcludeSelf = False,
    corpus: Library = "",
    queries: Asked = "",
    by_tag: ByTag = False,
    seed: Seed = 0,
    out: Out = None,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Score retrieval runs against graded judgements.

    Tells whether the pool or the order is at fault, and which run is better.

    Example: embassay rag score --qrels qrels.jsonl --run a.trec --run b.trec
    """
    from embassay.protocols.rag.scoring.inputs import CUTOFFS, ScoreRequest
    from embassay.protocols.rag.scoring.protocol import score_request

    request = ScoreRequest(
        qrels, tuple(run), tuple(pool or ()), tuple(measure or ()), tuple(k or CUTOFFS), grades, unjudged.value,
        answers, sensitivity, test.value, resamples, seed, split, column_map(mapping),
        source_separator, exclude_self, corpus, queries, by_tag,
    )  # fmt: skip
    if json:
        scored = score_request(request, out, _command())
        _print_json(scored, None if out is None else _report(out), per_query=per_query is not False)
    else:
        run_score(request, out, per_query=bool(per_query), wide=wide, report=True)


def run_score(
    request: ScoreRequest,
    out: Path | None,
    *,
    per_query: bool = False,
    wide: bool = False,
    report: bool = False,
) -> None:
    """Carry out a request and print it as text, with a `report` of its own where there is a folder, or without."""
    from embassay.protocols.rag.scoring.protocol import score_request

    _print(score_request(request, out, _command()), per_query=per_query, wide=wide)
    if out is not None and report:
        typer.echo(f"\nReport: {_report(out)}")


def _report(out: Path) -> Path:
    from embassay.report import write_report

    return write_report(out)


def _command() -> str:
    return shlex.join(["embassay", *sys.argv[1:]])


def _print(scored: Scored, *, per_query: bool, wide: bool) -> None:
    from embassay.cli.terminal import show_blocks
    from embassay.report.rag.tables import per_query_lines, score_view

    show_blocks(score_view(scored.record, wide), wide)
    if per_query:
        typer.echo("")
        for line in per_query_lines(scored.per_query()):
            typer.echo(line)


def _print_json(scored: Scored, report: Path | None, *, per_query: bool) -> None:
    """One object; the many values per query are written by columns, which is ten times as fast."""
    import json

    from embassay.protocols.rag.scoring.tables import result_rows
    from embassay.runs.folder import to_json

    record = scored.record.as_dict()
    rest = {name: record[name] for name in _IN_JSON} | {"report": None if report is None else str(report)}
    head = to_json({"results": [row.as_dict() for row in result_rows(scored.record)]})[:-1]
    values = scored.per_query().write_json() if per_query else json.dumps([])
    typer.echo(f'{head}, "per_query": {values}, {to_json(rest)[1:]}')
