"""How passages came by their labels: how many pass each stage, what is known of the judge, what is claimed of the
order, one final list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

from markupsafe import Markup

from embassay.document.blocks import (
    Column,
    Figure,
    LabelledTableRow,
    Said,
    StyledWords,
    Table,
    TableCell,
    append_bracketed_interval,
    choose_heat_step,
)
from embassay.document.marks import (
    LinearScale,
    draw_difference_mark,
    draw_interval_mark,
    fit_axis_scale,
    format_percent_position,
)
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.golden.final_lists import FinalListPassage, read_final_list
from embassay.protocols.rag.golden.stages import SingleQueryFolder
from embassay.protocols.rag.golden.summary import (
    GoldenQuerySummary,
    GoldenRunRecord,
    GoldenStageSummary,
    HumanCheckOfJudge,
    JudgeCallCounts,
    JudgeFacts,
    JudgeRepeatability,
    RankingEngineRunSummary,
)
from embassay.records import ResultRow
from embassay.report.rag.tables import CLAIMS
from embassay.stats import Estimate

COUNTED = {
    "S2": (("dense", "by vectors"), ("sparse", "by words")),
    "S3": (("candidates", "candidates"), ("both", "found both ways")),
    "S4": (("graded", "graded"), ("ungraded", "without a grade")),
    "S5": (("kept", "kept"),),
    "S6": (("ranked", "ordered"), ("calls", "calls to the judge")),
}
"""What a stage counts, in words; of S2 both are drawn, of the others the first."""
MOST_STRIPS = 60


def make_golden_stage_progress_table(golden: GoldenRunRecord) -> Table | None:
    """The stages of the run, in their order: questions through each and failed in it, its passages, its time."""
    both = next((stage.counts.get("both", 0) for stage in golden.stages if stage.name == "S3"), 0)
    counts = {stage.name: _count_stage_passages(stage, both) for stage in golden.stages}
    passages = {name: sum(of[:2] if name == "S2" else of[:1]) for name, of in counts.items()}
    most = max(passages.values(), default=0)
    lines = tuple(_golden_stage_row(stage, counts[stage.name], passages[stage.name], most) for stage in golden.stages)
    numbered = (Column(title, style="num") for title in ("Questions", "Failed", "Time"))
    columns = (Column("", style="bar"), Column("Passages", style="num"), Column("Of these"), *numbered)
    table = Table("funnel", "Stages", "Stage", columns, lines, "values grid", 3, is_titled=False,
        is_sortable=False, export="copy",)  # fmt: skip
    return table if lines else None


def _count_stage_passages(stage: GoldenStageSummary, either: int) -> list[int]:
    """What the stage counted; what S2 found by one search alone is without what `both` found."""
    counts = [stage.counts.get(name, 0) for name, _ in COUNTED.get(stage.name, ())]
    return [n + either if n else 0 for n in counts] if stage.name == "S2" else counts


def _golden_stage_row(stage: GoldenStageSummary, counts: Sequence[int], passages: int, most: int) -> LabelledTableRow:
    drawn = (
        '<svg class="gaps" aria-hidden="true">'
        f'<rect class="q4" width="{format_percent_position(100 * passages / most)}"/></svg>'
        if passages
        else ""
    )
    words = [word for _, word in COUNTED.get(stage.name, ())]
    parts = ", ".join(f"{numbers.format_count(n)} {word}" for n, word in zip(counts, words, strict=True) if n)
    failed: Said = (StyledWords(f"✕ {stage.failed}", "state failed"),) if stage.failed else "0"
    time = numbers.NONE if stage.seconds is None else numbers.format_duration(stage.seconds)
    total = numbers.format_count(passages) if passages else numbers.NONE
    texts: tuple[Said, ...] = (Markup(drawn), total, parts, numbers.format_count(stage.done), failed, time)
    return LabelledTableRow(f"{stage.name} {stage.title.lower()}", tuple(map(TableCell, texts)))


def draw_grade_shares_by_question(golden: GoldenRunRecord) -> tuple[Figure, int] | None:
    """A column per question, most of grade 5 and 4 first: shares of grade 5 (at the foot, darkest) to 1. And how many
    questions have no column."""
    graded = [query for query in golden.queries if query.grades and sum(query.grades)]
    if not graded:
        return None
    ordered = sorted(graded, key=lambda query: (-_share_of_good_grades(query), query.query_id))
    shown = ordered[:MOST_STRIPS]
    wide = 100 / len(shown)
    paths = dict.fromkeys(range(1, 6), "")
    for i, query in enumerate(shown):
        top = 100.0
        for grade in range(5, 0, -1):
            high = 100 * query.grades[grade - 1] / sum(query.grades)
            if high:
                # A rectangle; the 12% of its width that are missing are the gap between columns.
                paths[grade] += f"M{i * wide:.2f} {top:.1f}h{0.88 * wide:.2f}v-{high:.1f}h-{0.88 * wide:.2f}z"
                top -= high
    drawn = "".join(f'<path class="q{grade if grade > 1 else 0}" d="{path}"/>' for grade, path in paths.items() if path)
    shares = [_share_of_good_grades(query) for query in graded]
    summary = (
        f"Grades in the pools of {numbers.format_noun_count(len(graded), 'question')}: the share of grade 4 or 5 "
        f"ranges from {numbers.format_percent(min(shares))} to {numbers.format_percent(max(shares))}."
    )
    svg = f'<svg class="strips" viewBox="0 0 100 100" preserveAspectRatio="none">{drawn}</svg>'
    return Figure("Grades of every pool", Markup(svg), summary), len(graded) - len(shown)


def _share_of_good_grades(query: GoldenQuerySummary) -> float:
    return sum(query.grades[3:]) / sum(query.grades)


LABELS = (("grade5_count", "Grade 5"), ("grade4_count", "Grade 4"), ("grade4plus5_count", "Grade 4 or 5"))
PREVALENCE = "grade4plus5_pool_prevalence"
LACKING = (
    ("queries_without_grade5", "no passage of grade 5"),
    ("queries_without_grade4plus5", "no passage of grade 4 or 5"),
)


def pool_grade_counts_table(golden: GoldenRunRecord) -> Table:
    """The paper's layout: median and mean of grade 5, grade 4 and both, and their share of the pool."""

    def make_label_count_cell(name: str, sign: str = "") -> TableCell:
        value = golden.labels.get(name)
        if value is None:
            return TableCell("n/a", why="no question is done")
        return TableCell(f"{value:.1f}{sign}", exact=f"{value:.6g}")

    rows = [
        LabelledTableRow(
            title,
            (
                *(make_label_count_cell(f"{name}_{of}") for name, _ in LABELS),
                make_label_count_cell(f"{PREVALENCE}_{of}_percent", "%"),
            ),
        )
        for of, title in (("median", "Median per question"), ("mean", "Mean per question"))
    ]
    columns = (*(title for _, title in LABELS), "Their share of the pool")
    return Table("labels", "Labels of the golden set", "Passages", columns, tuple(rows), is_sortable=False)


def describe_poor_pool_question_counts(golden: GoldenRunRecord) -> str:
    """How many questions have nothing good in their pool; empty where that is not known."""
    labels = golden.labels
    parts = [
        f"{int(value)} of {int(labels.get('n_queries') or 0)} questions have {what}"
        for name, what in LACKING
        if (value := labels.get(name)) is not None
    ]
    return "; ".join(parts)


SHARE, SIGNED = LinearScale(0.0, 1.0, 0.5), LinearScale(-1.0, 1.0, 1.0)


def estimate_bars_table(label: str, lines: Sequence[LabelledTableRow], scale: LinearScale = SHARE) -> Table:
    """A table of estimates as lines with bars on one scale."""
    heads = ("Value, 95%", "n")
    what = (Column("What it is"),) if any(len(line.entries) > len(heads) + 1 for line in lines) else ()
    columns = (Column("", scale, "bar"), *(Column(head, style="num") for head in heads), *what)
    return Table(
        "", label, "Quantity", columns, tuple(lines), "forest", 3, is_titled=False, is_sortable=False, export=""
    )


def judge_attempts_faults_table(judge: JudgeFacts | None) -> Table | None:
    """Calls by how many attempts they took, and rejected answers by their fault."""
    kinds = [answer for answer in judge.answers if answer.calls or answer.failed] if judge is not None else []
    if not kinds:
        return None
    most = max(len(kind.attempts) for kind in kinds)
    attempts = (numbers.format_noun_count(n, "attempt") for n in range(1, most + 1))
    columns = ("Answers", *attempts, "Questions failed", "Rejected answers")
    rows = tuple(_make_judge_call_counts_row(kind, most) for kind in kinds)
    return Table("judge-answers", "Answers and attempts", "Requested", columns, rows, digits=0, is_sortable=False)


def _make_judge_call_counts_row(one: JudgeCallCounts, most: int) -> LabelledTableRow:
    attempts = [*one.attempts, *[0] * (most - len(one.attempts))]
    faults = ", ".join(f"{kind} {numbers.format_count(n)}" for kind, n in one.rejected.items())
    counts = (one.calls, *attempts, one.failed)
    cells = (TableCell(numbers.format_count(n), exact=str(n)) for n in counts)
    rejected = f"{numbers.format_count(sum(one.rejected.values()))}: {faults}" if faults else "none"
    return LabelledTableRow(
        {"grade": "grades", "order": "orders"}.get(one.kind, one.kind), (*cells, TableCell(rejected))
    )


def judge_reliability_bars(golden: GoldenRunRecord) -> tuple[LabelledTableRow, ...]:
    """Repeatability, contradictions and the estimated noise, each from 0 to 1."""
    lines = []
    repeat, ranking = golden.repeated, golden.ranking
    if repeat is not None and not repeat.reason:
        lines += [
            make_estimate_table_row("Same grade again", repeat.exact, "share of passages graded twice"),
            make_estimate_table_row("Within one grade", repeat.within_one, "share of passages graded twice"),
            make_estimate_table_row("κ, quadratic", repeat.kappa, "agreement beyond chance; 1 is perfect"),
            make_estimate_table_row(
                "Pairs turned round", repeat.discordant, "share of a call’s pairs that its repeat orders differently"
            ),
        ]
    contradictions = ranking.contradictions if ranking is not None else None
    if contradictions is not None:
        lines += [
            make_estimate_table_row(
                "Contradicted pairs",
                contradictions.share,
                "share of the pairs shown together twice or more that were ordered both ways",
            ),
            make_estimate_table_row(
                "Noise, estimated", contradictions.noise, "share of all pairs that the judge would misorder"
            ),
        ]
    return tuple(line for line in lines if line is not None)


def make_estimate_table_row(
    title: str, figure: Estimate | None, what: str, scale: LinearScale = SHARE
) -> LabelledTableRow | None:
    """A figure as bar and tick, its text, its n and how to read it; None where there is none."""
    if figure is None:
        return None
    if figure.value is None:
        texts = (Markup(""), append_bracketed_interval("n/a", figure.reason), "", what)
    else:
        mark = draw_interval_mark(_convert_estimate_to_result(figure), "llm", scale, width=180)
        value = append_bracketed_interval(numbers.format_score(figure.value), _format_estimate_interval(figure))
        texts = (mark, value, numbers.format_count(figure.n), what)
    return LabelledTableRow(title, tuple(map(TableCell, texts)))


def say_repeated_judgements(repeated: JudgeRepeatability | None) -> str:
    """What was judged twice, or why nothing was."""
    if repeated is None:
        return (
            "Nothing was judged twice, so the judge's consistency is unknown. Use --repeat to judge some items twice."
        )
    if repeated.reason:
        return f"Judged again: {repeated.reason}."
    passages, questions = (
        numbers.format_noun_count(repeated.items, "passage"),
        numbers.format_noun_count(repeated.queries, "question"),
    )
    failed = f" {repeated.failed} repeats gave no answer." if repeated.failed else ""
    return (
        f"{passages} of {questions} were graded a second time, with "
        f"{numbers.format_noun_count(repeated.calls, 'ordering call')} "
        f"repeated.{_say_grade_shift(repeated.shift)}{failed}"
    )


def _say_grade_shift(shift: Estimate | None) -> str:
    if shift is None or shift.value is None:
        return ""
    ends = "" if shift.low is None else f" ({numbers.format_interval(*shift.ends, 2)})"
    return f" On average, the second grade minus the first is {numbers.format_change(shift.value, 2)}{ends}."


def repeated_grades_table(repeated: JudgeRepeatability | None) -> Table | None:
    """A table of the first against the second grade of what was judged twice."""
    if repeated is None:
        return None
    return grade_confusion_table("judge-repeats", "First grade against second", "First", repeated.table)


def grade_confusion_table(name: str, title: str, heading: str, table: Sequence[Sequence[int]]) -> Table | None:
    """Counts of grade against grade; None for an empty table."""
    most = max((n for row in table for n in row), default=0)
    if not most:
        return None
    lines = tuple(
        LabelledTableRow(f"grade {grade}", tuple(_count_entry(n, most, bold=i == grade) for i, n in enumerate(row, 1)))
        for grade, row in enumerate(table, 1)
    )
    columns = tuple(f"then {grade}" for grade in range(1, len(table[0]) + 1))
    return Table(name, title, heading, columns, lines, style="heat grid lines", digits=0, is_sortable=False)


def _count_entry(n: int, most: int, *, bold: bool) -> TableCell:
    return TableCell(numbers.format_count(n), exact=str(n), step=choose_heat_step(n / most) if n else 1, bold=bold)


CLAIM_COLUMNS = ("Mean", "Lowest", "Highest", "Stops at", "Reached by")


def make_ranking_engine_claims_table(golden: GoldenRunRecord) -> Table | None:
    """A row per claim: mean, lowest and highest over questions, and the target; None where nothing is claimed."""
    done = [query.claims for query in golden.queries if query.status == "done" and query.claims]
    wanted, rows = read_targets_of_ranking_engine(golden.settings.ranking), []
    for name, words in CLAIMS.items():
        values = [claims_of[name] for claims_of in done if name in claims_of]
        if values:
            rows.append(_engine_claim_row(words.format(top=golden.settings.top), values, wanted.get(name)))
    if not rows:
        return None
    return Table(
        "claims", "What the engine expects of its order", "Expected", CLAIM_COLUMNS, tuple(rows), is_sortable=False
    )


def read_targets_of_ranking_engine(engine: str) -> Mapping[str, float]:
    """What the engine's claims must reach before it stops; none for engines that claim nothing."""
    from embassay.protocols.rag.ranking.engines import BayesRankingOptions
    from embassay.spec import COLON

    try:
        spec = COLON.parse(engine)
        bayes_options = BayesRankingOptions(**dict(spec.params)) if spec.name == "bayes" else None  # type: ignore[arg-type]
    except (UsageError, TypeError, ValueError):
        bayes_options = None
    if bayes_options is None or not bayes_options.stop:
        return {}
    return {"set_errors_at_most_1": bayes_options.surely, "overlap": bayes_options.overlap, "tau": bayes_options.tau}


def _engine_claim_row(title: str, values: Sequence[float], target: float | None) -> LabelledTableRow:
    figures = (mean(values), min(values), max(values))
    cells = [TableCell(numbers.format_score(figure), exact=f"{figure:.6g}") for figure in figures]
    if target is None:
        return LabelledTableRow(title, (*cells, TableCell(numbers.NONE), TableCell(numbers.NONE)))
    reached = sum(value >= target for value in values)
    share = TableCell(f"{reached} of {len(values)}", exact=str(reached))
    return LabelledTableRow(title, (*cells, TableCell(numbers.format_score(target, 2), exact=f"{target:g}"), share))


def position_bias_table(ranking: RankingEngineRunSummary | None) -> Table | None:
    """What being shown at a place does, a line per place on one scale."""
    places = ranking.place_bias if ranking is not None else ()
    ends = [
        end
        for place_bias in places
        for end in (place_bias.gain.value, place_bias.gain.low, place_bias.gain.high)
        if end is not None
    ]
    if not ends:
        return None
    scale = fit_axis_scale([*ends, 0.0], within=None)
    lines = [
        LabelledTableRow(
            f"shown at place {place_bias.place}",
            (
                TableCell(
                    draw_difference_mark(place_bias.gain.low, place_bias.gain.value, place_bias.gain.high, "llm", scale)
                ),
                TableCell(
                    append_bracketed_interval(
                        numbers.format_change(place_bias.gain.value, 2), _format_estimate_interval(place_bias.gain, 2)
                    )
                ),
                TableCell(numbers.format_count(place_bias.gain.n)),
            ),
        )
        for place_bias in places
        if place_bias.gain.value is not None
    ]
    return estimate_bars_table("Bias of places", lines, scale)


def make_table_of_human_judge_agreement(check: HumanCheckOfJudge) -> Table:
    """What a person said of the final lists, all on the scale of a correlation."""
    figures = (
        ("Kendall’s τ-b", check.tau, "the person's order against the judge's, mean over questions"),
        ("Pairs swapped", check.swapped, "share of pairs that the person orders the other way"),
        ("Same grade", check.exact, "share of graded passages"),
        ("Within one grade", check.within_one, "share of graded passages"),
        ("κ, quadratic", check.kappa, "agreement of grades beyond chance; 1 is perfect"),
    )
    lines = (make_estimate_table_row(*estimate, SIGNED) for estimate in figures)
    return estimate_bars_table("A person compared with the judge", [line for line in lines if line is not None], SIGNED)


def _format_estimate_interval(figure: Estimate, decimals: int = 3) -> str:
    return "no interval" if figure.low is None else numbers.format_interval(*figure.ends, decimals)


def _convert_estimate_to_result(figure: Estimate) -> ResultRow:
    return ResultRow("rag", "golden", "", "", "", "", "", "", figure.value, figure.n, figure.low, figure.high)


LONG = 280


@dataclass(frozen=True)
class QuestionTopPassages:
    """The question (by its rewriting too, where that differs) and the first places of its list."""

    query_id: str
    question: str
    rewrite: str
    passages: tuple[FinalListPassage, ...]


def pick_typical_final_list(run: Path, golden: GoldenRunRecord) -> QuestionTopPassages | None:
    """Pick the final list of a typical done question: the median by passages of grade 4 and 5."""
    done = sorted((one for one in golden.queries if one.status == "done" and one.grades), key=_good_grades_sort_key)
    for query in done[len(done) // 2 :] + done[: len(done) // 2]:
        shown = _read_final_list_or_none(run, query, golden.settings.top)
        if shown is not None:
            return shown
    return None


def _good_grades_sort_key(query: GoldenQuerySummary) -> tuple[int, str]:
    return sum(query.grades[3:]), query.query_id


def _read_final_list_or_none(run: Path, query: GoldenQuerySummary, top: int) -> QuestionTopPassages | None:
    """Read a question's final list; None where it is not there or cannot be read."""
    try:
        ranked = read_final_list(query.query_id, SingleQueryFolder(run, query.folder).ranked(top))
    except DataError:
        return None
    passages = tuple(replace(passage, text=_cut_text(passage.text)) for passage in ranked.passages)
    return QuestionTopPassages(
        query.query_id, query.text, query.rewrite if query.rewrite != query.text else "", passages
    )


def _cut_text(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= LONG else flat[:LONG].rsplit(" ", 1)[0] + " …"
