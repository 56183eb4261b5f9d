"""`embassay rag score`: score run files against graded judgements."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli import options as given
from embassay.protocols.kernel.request import column_map

if TYPE_CHECKING:
    from embassay.protocols.kernel.tables import ColumnTable
    from embassay.protocols.rag.decision.options import DecisionRequest
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
JudgeGrades = Annotated[
    str | None,
    typer.Option(
        "--judge-grades", metavar="FILE", rich_help_panel="Data",
        help="A judge's grades of all passages, which the few of people in --qrels correct.",
    ),
]  # fmt: skip
UntilDecided = Annotated[
    bool,
    typer.Option(
        "--until-decided",
        help="Ask only for grades that can still change which run is better, or whether --bar is met.",
    ),
]
Bar = Annotated[
    float | None, typer.Option("--bar", help="With --until-decided: the value that each run has to reach.")
]
Alpha = Annotated[
    float, typer.Option("--alpha", help="Share of studies that --until-decided may decide wrongly.")
]
Block = Annotated[
    int, typer.Option("--next", min=1, help="Passages that --until-decided asks for at a time.")
]
JudgeName = Annotated[
    str | None,
    typer.Option(
        "--judge", "-j", metavar="NAME",
        help="With --until-decided: a chat model that grades what is asked, into --qrels.",
    ),
]  # fmt: skip
LabelPrice = Annotated[
    float | None,
    typer.Option(
        "--label-price", min=0, metavar="USD", help="What a grade costs, to say what more would.",
        rich_help_panel="Speed and money",
    ),
]  # fmt: skip
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
    until_decided: UntilDecided = False,
    bar: Bar = None,
    alpha: Alpha = 0.05,
    block: Block = 20,
    judge_grades: JudgeGrades = None,
    judge: JudgeName = None,
    label_price: LabelPrice = None,
    max_cost: given.MaxCost = None,
    seed: Seed = 0,
    out: Out = None,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Score retrieval runs against graded judgements.

    Shows whether the pool or the order is at fault, and which run is better.

    Example: embassay rag score --qrels qrels.jsonl --run a.trec --run b.trec
    """
    from embassay.protocols.rag.decision.options import DecisionRequest
    from embassay.protocols.rag.scoring.inputs import CUTOFFS, ScoreRequest

    if until_decided:
        wanted = DecisionRequest(
            qrels, tuple(run), _one(measure, k), bar, alpha, block, seed, grades, judge_grades, corpus or None,
            queries or None, judge, label_price, column_map(mapping),
        )  # fmt: skip
        run_decision(wanted, out, json=json, wide=wide, max_usd=max_cost)
        return
    _only_until_decided({"--bar": bar, "--judge": judge})
    request = ScoreRequest(
        qrels, tuple(run), tuple(pool or ()), tuple(measure or ()), tuple(k or CUTOFFS), grades, unjudged.value,
        answers, sensitivity, test.value, resamples, seed, split, column_map(mapping),
        source_separator, exclude_self, corpus, queries, by_tag, judge_grades,
    )  # fmt: skip
    _score(request, out, json=json, per_query=per_query, wide=wide, price=label_price)


def _score(
    request: ScoreRequest,
    out: Path | None,
    *,
    json: bool,
    per_query: bool | None,
    wide: bool,
    price: float | None,
) -> None:
    from embassay.protocols.rag.scoring.protocol import score_request

    if not json:
        run_score(request, out, per_query=bool(per_query), wide=wide, report=True, price=price)
        return
    scored = score_request(request, out, _command())
    _print_json(scored, None if out is None else _report(out), per_query=per_query is not False)


def _one(measures: list[str] | None, cutoffs: list[int] | None) -> str:
    """The measure that decides. UsageError for several: each would be another question."""
    from embassay.errors import UsageError
    from embassay.protocols.rag.decision.options import MEASURE

    if len(measures or ()) > 1 or len(cutoffs or ()) > 1:
        raise UsageError("Only one measure can decide.", mend="Name one: -m Precision4+@10.")
    name = measures[0] if measures else MEASURE.partition("@")[0] if cutoffs else MEASURE
    return name if "@" in name or not cutoffs else f"{name}@{cutoffs[0]}"


def _only_until_decided(given: dict[str, object]) -> None:
    from embassay.errors import UsageError

    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"{name} works only with --until-decided.", mend="Add --until-decided, or leave it out."
            )


def run_decision(
    request: DecisionRequest,
    out: Path | None,
    *,
    json: bool = False,
    wide: bool = False,
    max_usd: float | None = None,
) -> None:
    """Say what is decided, or what to grade next."""
    from embassay.cli.terminal import show_blocks
    from embassay.protocols.rag.decision.protocol import decide
    from embassay.report.rag.decision import decision_view
    from embassay.runs.folder import to_json

    found = decide(request, out, max_usd=max_usd)
    if json:
        typer.echo(to_json(found.as_dict()))
        return
    show_blocks(decision_view(found), wide)
    if found.is_open and out is not None:
        typer.echo(f"\nGrade what {out / 'ask.jsonl'} lists, into {request.labels}, and run this again.")
        typer.echo(f"Or in the browser: embassay hume serve {out} --until-decided -a ann -a bob")


def run_score(
    request: ScoreRequest,
    out: Path | None,
    *,
    per_query: bool = False,
    wide: bool = False,
    report: bool = False,
    price: float | None = None,
) -> None:
    """Carry out a request and print it as text, with a `report` of its own where there is a folder, or without."""
    from embassay.protocols.rag.scoring.protocol import score_request

    _print(score_request(request, out, _command()), per_query=per_query, wide=wide, price=price)
    if out is not None and report:
        typer.echo(f"\nReport: {_report(out)}")


def _report(out: Path) -> Path:
    from embassay.report import write_report

    return write_report(out)


def _command() -> str:
    return shlex.join(["embassay", *sys.argv[1:]])


def _print(scored: Scored, *, per_query: bool, wide: bool, price: float | None = None) -> None:
    from embassay.cli.terminal import show_blocks, show_table
    from embassay.report.rag.decision import undecided_blocks
    from embassay.report.rag.tables import per_query_lines, score_view

    show_blocks(score_view(scored.record, wide), wide)
    if scored.by_tag is not None:
        typer.echo(f"\n{scored.by_tag.title}\n")
        show_table(*_rows_of(scored.by_tag), wide=wide)
    if scored.corrections is not None:
        from embassay.report.rag.decision import corrections_view

        typer.echo("")
        show_blocks(corrections_view(scored.corrections, scored.record.headline, price), wide)
    elif bought := list(undecided_blocks(scored.record, price)):
        typer.echo("")
        show_blocks(bought, wide)
    if per_query:
        typer.echo("")
        for line in per_query_lines(scored.per_query()):
            typer.echo(line)


def _rows_of(table: ColumnTable) -> tuple[list[str], list[list[str]]]:
    """Tag, run, value, difference and queries, with intervals."""
    from embassay.protocols.kernel import tables as numbers

    def shown(value: Any, low: Any, high: Any) -> str:
        if value is None:
            return numbers.NONE
        return numbers.score(value) + ("" if low is None else f" {numbers.interval(low, high)}")

    heads = [table.columns[place].name for place in (0, 1, 2, 6, 5)]
    rows = [
        [str(row[0]), str(row[1]), shown(*row[2:5]), shown(*row[6:9]), f"{row[5]:,}"] for row in table.rows
    ]
    return heads, rows


def _print_json(scored: Scored, report: Path | None, *, per_query: bool) -> None:
    """One object; the many values per query are written by columns, which is ten times as fast."""
    import json

    from embassay.protocols.rag.scoring.tables import result_rows
    from embassay.runs.folder import to_json

    record = scored.record.as_dict()
    if scored.corrections is not None:
        record["corrections"] = scored.corrections.as_dict()
    named = (*_IN_JSON, *(("corrections",) if scored.corrections is not None else ()))
    rest = {name: record[name] for name in named} | {"report": None if report is None else str(report)}
    if scored.by_tag is not None:
        titles = [one.name for one in scored.by_tag.columns]
        rest["by_tag"] = [dict(zip(titles, row, strict=True)) for row in scored.by_tag.rows]
    head = to_json({"results": [row.as_dict() for row in result_rows(scored.record)]})[:-1]
    values = scored.per_query().write_json() if per_query else json.dumps([])
    typer.echo(f'{head}, "per_query": {values}, {to_json(rest)[1:]}')
