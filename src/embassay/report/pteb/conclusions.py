"""PTEB in words: its tasks, the points that paraphrasing takes, whether the order holds; its table on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from embassay.document.blocks import (
    Column,
    Part,
    Said,
    Sentence,
    Table,
    TableCell,
    VerdictText,
    convert_sentence_to_text,
    join_names_with_and,
    make_number_columns,
)
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import (
    VERBS,
    Claim,
    describe_leaders_beating_baselines,
    make_change_claim,
    make_count_claim,
    make_leader_claims,
    make_value_claim,
)
from embassay.protocols.kernel.tables import POINTS
from embassay.protocols.pteb.drops import parse_source_from_variant
from embassay.protocols.wordings.scores import CONTROLS
from embassay.records import ResultRow
from embassay.report.board import (
    BoardRow,
    BoardTask,
    BoardValue,
    SystemBoard,
    list_possible_leaders_above_reference,
    make_missing_board_value,
)
from embassay.report.record import OVERALL, RunRecord
from embassay.report.terminal import APART, format_value_or_state

ORIGINAL, DELTA, SD, PARAPHRASE = "original", "delta", "sd", "paraphrase:"


@dataclass(frozen=True)
class ParaphraseLoss:
    """One system on one dataset, or over those of a task, or over tasks (`task` None). Values are fractions.

    `original`, `score` and `delta` are of the same items, those with a usable wording; `whole` is the original score of
    all items.

    `runs` are the scores of every run where the level is a dataset; `missing` says why there is no drop.
    """

    row: BoardRow
    task: BoardTask | None
    dataset: str
    original: ResultRow | None
    score: ResultRow | None
    delta: ResultRow | None
    sd: ResultRow | None
    delta_sd: ResultRow | None
    whole: ResultRow | None
    runs: tuple[float, ...]
    missing: BoardValue | None

    @property
    def drop(self) -> float | None:
        """Paraphrased minus original; negative when points were lost."""
        return None if self.delta is None else self.delta.value

    @property
    def format_drop_in_points(self) -> str:
        """The drop in points, signed."""
        return "" if self.drop is None else POINTS.change(self.drop)

    @property
    def drop_interval(self) -> str:
        """The 95% interval of the drop; empty where there is none."""
        row = self.delta
        if row is None or row.ci_low is None or row.ci_high is None:
            return ""
        return POINTS.interval(row.ci_low, row.ci_high)

    @property
    def spread(self) -> str:
        """`± sd` of the score over runs, empty where one run has none."""
        return _format_plus_minus(self.sd)

    @property
    def format_drop_spread_over_runs(self) -> str:
        """The spread of the drop over runs, `± sd`."""
        return _format_plus_minus(self.delta_sd)

    @property
    def format_original_score_of_all_items(self) -> str:
        """The original score of all items, where it is printed as another number than that of the items kept."""
        if self.whole is None or self.whole.value is None or self.before.value is None:
            return ""
        text = POINTS.text(self.whole.value)
        return "" if text == POINTS.text(self.before.value) else text

    @property
    def before(self) -> BoardValue:
        """The original score."""
        has = self.original is not None and self.original.value is not None
        return BoardValue("value" if has else "undefined", self.original, unit=POINTS)

    @property
    def after(self) -> BoardValue:
        """The mean score on paraphrases."""
        known = self.score is not None and self.score.value is not None
        if known:
            return BoardValue("value", self.score, unit=POINTS)
        return self.missing or BoardValue("undefined", self.score, unit=POINTS)

    @property
    def change(self) -> BoardValue:
        """The drop, for sorting and CSV."""
        known = self.drop is not None
        return BoardValue("value" if known else "undefined", self.delta, unit=POINTS)


class ParaphraseLosses:
    """All losses of a record, by system, task and dataset."""

    def __init__(self, record: RunRecord, board: SystemBoard) -> None:
        self.record, self.board = record, board

    @property
    def rows(self) -> tuple[BoardRow, ...]:
        """The rows of the systems, references last."""
        return self.board.rows

    @cached_property
    def _map_cells_to_run_scores(self) -> Mapping[tuple[str, str, str, str], list[float]]:
        """The scores of all runs of a cell, in the order of the rows; those of controls are no part of the score."""
        values: dict[tuple[str, str, str, str], list[float]] = {}
        aside = list_control_paraphraser_labels(self.record)
        for (task, dataset, subset, variant, system, measure), row in self.record.rows.items():
            counts = variant.startswith(PARAPHRASE) and parse_source_from_variant(variant) not in aside
            if dataset and not subset and counts and row.value is not None:
                values.setdefault((task, dataset, system, measure), []).append(row.value)
        return values

    def find_overall_loss(self, row: BoardRow) -> ParaphraseLoss:
        """Find a system's loss over all tasks."""
        return self._build_paraphrase_loss(row, None, OVERALL, OVERALL, "")

    def find_task_loss(self, row: BoardRow, task: BoardTask) -> ParaphraseLoss:
        """Find a system's loss over the datasets of a task."""
        return self._build_paraphrase_loss(row, task, task.name, task.headline, "")

    def find_dataset_loss(self, row: BoardRow, task: BoardTask, dataset: str) -> ParaphraseLoss:
        """On one dataset."""
        return self._build_paraphrase_loss(row, task, task.name, task.headline, dataset)

    def leading(self, row: BoardRow) -> ParaphraseLoss:
        """Find a system's loss at the level of the board's leading score."""
        task = next((column for column in self.board.tasks if column.name == self.board.lead), None)
        return self.find_overall_loss(row) if task is None else self.find_task_loss(row, task)

    def _build_paraphrase_loss(
        self, row: BoardRow, task: BoardTask | None, name: str, measure: str, dataset: str
    ) -> ParaphraseLoss:
        find, system = self.record.find, row.system.name
        score = find(name, system, measure, dataset=dataset)
        delta = find(name, system, DELTA, dataset=dataset)
        missing = None
        if delta is None or delta.value is None:
            cells = [
                cell
                for cell in self.record.cells
                if cell.system == system and name in (OVERALL, cell.task) and dataset in ("", cell.dataset)
            ]
            missing = make_missing_board_value(self.record, cells, score or delta)
        whole = find(name, system, measure, dataset=dataset, variant=ORIGINAL)
        kept = find(name, system, "original", dataset=dataset)
        return ParaphraseLoss(
            row, task, dataset,
            whole if kept is None or kept.value is None else kept, score, delta,
            find(name, system, SD, dataset=dataset), find(name, system, "delta_sd", dataset=dataset), whole,
            tuple(self._map_cells_to_run_scores.get((name, dataset, system, measure), ())), missing
        )  # fmt: skip


def _format_plus_minus(sd: ResultRow | None) -> str:
    return "" if sd is None or sd.value is None else f"± {POINTS.text(sd.value)}"


def list_control_paraphraser_labels(record: RunRecord) -> set[str]:
    """The labels of sources that only stand beside the others; none where there are no others."""
    sources = record.paraphraser_entries
    labels = {
        source.get("label", "") for source in sources if source.get("paraphraser", "").partition(":")[0] in CONTROLS
    }
    # With nothing but controls, these are what the run is about.
    return labels if len(labels) < len(sources) else set()


def find_only_control_source(record: RunRecord) -> str:
    """The control that all wordings of the run come from: `permuted` or `copied`; empty where something paraphrased."""
    sources = record.paraphraser_entries
    kinds = {source.get("paraphraser", "").partition(":")[0] for source in sources}
    return kinds.pop() if len(kinds) == 1 and kinds <= set(CONTROLS) else ""


BOTH = " Both texts of a pair are paraphrased."

TASKS = (
    BoardTask(
        "sts", "Semantic similarity (STS)", "STS", "spearman", "Spearman correlation with gold, × 100", "pairs",
        "agrees best with gold similarity",
        "Spearman correlation of cosine similarity (or the metric’s similarity) with gold scores." + BOTH,
        printed=POINTS,
    ),
    BoardTask(
        "classification", "Classification", "Classification", "accuracy", "accuracy, × 100", "test texts",
        "classifies best",
        "Logistic regression on the vectors of all training texts; accuracy on the test texts. "
        "Systems without vectors use a nearest-neighbour vote instead and are ranked "
        "separately. Training and test texts are paraphrased.",
        printed=POINTS,
    ),
    BoardTask(
        "clustering", "Clustering", "Clustering", "v_measure", "V-measure, × 100", "texts",
        "clusters best",
        "Mini-batch k-means with as many clusters as labels; V-measure, mean over sets. Systems "
        "without vectors use complete linkage instead and are ranked separately.",
        "V-measure is not corrected for chance: random clusterings of small sets score above 0.",
        printed=POINTS,
    ),
    BoardTask(
        "pair_classification", "Pair classification", "Pairs", "average_precision", "average precision, × 100", "pairs",
        "classifies pairs best",
        "Average precision, with pairs ranked by similarity." + BOTH,
        printed=POINTS,
    ),
    BoardTask(
        "reranking", "Reranking", "Reranking", "map", "mean average precision, × 100", "queries",
        "reranks best",
        "Mean average precision over queries, with candidates ordered by similarity. Queries and candidates are "
        "paraphrased.",
        printed=POINTS,
    ),
    BoardTask(
        "retrieval", "Retrieval", "Retrieval", "ndcg@10", "nDCG@10, × 100", "queries",
        "retrieves best",
        "nDCG@10 with linear gain, mean over judged queries. Only queries are paraphrased; the corpus is unchanged.",
        printed=POINTS,
    ),
    BoardTask(
        "summarization", "Summarisation", "Summaries", "spearman", "Spearman correlation with relevance, × 100",
        "summaries",
        "agrees best with the relevance of summaries",
        "A machine summary’s score is its highest similarity to a human summary of the same text; the measure is the "
        "Spearman correlation of these scores with human relevance ratings. Human and machine summaries are "
        "paraphrased.",
        printed=POINTS,
    )
)  # fmt: skip
BY_NAME = {task.name: task for task in TASKS}


_QUERIES = (
    "Only queries are paraphrased; the corpus is unchanged.",
    "Documents, their titles and queries are transformed.",
)


def describe_tasks(record: RunRecord) -> tuple[BoardTask, ...]:
    """The tasks; of a run on the texts as they are without what is paraphrased, of HTEB with what is transformed."""
    if record.kind == "hteb":
        return tuple(
            replace(task, how=task.how.replace(*_QUERIES).replace("paraphrased", "transformed")) for task in TASKS
        )
    if record.kind != "original":
        return TASKS
    return tuple(replace(task, how=re.sub(r" [^.;]*\bparaphrased\b[^.]*\.", "", task.how)) for task in TASKS)


MOST_NAMES = 3
TEXTS = {
    "": ("when texts are paraphrased", "paraphrased texts"),
    "permuted": ("when words are reordered", "texts with reordered words"),
    "copied": ("when texts are unchanged", "copied texts"),
}
"""A run's only control, if nobody paraphrased -> when points are lost, and on which texts."""


def pteb_verdict(record: RunRecord, board: SystemBoard) -> VerdictText:
    """The verdict of the PTEB page."""
    losses = ParaphraseLosses(record, board)
    rows = (*board.ranked, *board.apart, *board.unranked)
    changes = [_make_score_change_claim(loss) for row in rows if (loss := losses.leading(row)).drop is not None]
    if not changes:
        return _make_verdict_without_leading_drop(losses, board)
    counts, first = _count_systems_by_score_change(changes), _state_possible_leaders(record, board)
    order, largest = _state_order_changes(record, board), _state_largest_loss(losses, board)
    lede = [
        _describe_drops_of_leading_systems(changes, board),
        *_say_possible_leaders(record, board, first),
        *_say_order_changes(order),
        *_say_largest_loss(largest, board),
    ]
    heading = _write_score_change_heading(changes, counts, board, TEXTS[find_only_control_source(record)][0])
    return VerdictText(heading, tuple(lede), (*changes, *counts.values(), *first, *order, *largest))


def _make_score_change_claim(loss: ParaphraseLoss) -> Claim:
    """Whether a system loses or gains points; neither where the interval includes 0 or there is none."""
    row = loss.delta
    assert row is not None
    return make_change_claim(loss.row.system.name, DELTA, row.value or 0.0, row.ci_low, row.ci_high)


def _count_systems_by_score_change(changes: Sequence[Claim]) -> dict[str, Claim]:
    """Of how many systems the score falls, of how many surely, and of how many it surely rises."""
    numbers_of = {
        "fall": sum((claim.value or 0.0) < 0 for claim in changes),
        "lost": sum(claim.relation == "falls" for claim in changes),
        "gained": sum(claim.relation == "rises" for claim in changes),
    }
    return {kind: make_count_claim(kind, n, len(changes)) for kind, n in numbers_of.items()}


def _write_score_change_heading(
    changes: Sequence[Claim], counts: Mapping[str, Claim], board: SystemBoard, when: str
) -> Sentence:
    if len(changes) == 1:
        return _format_heading_of_score_change(changes[0], board, f" {when}")
    fall, lost, gained = counts["fall"], counts["lost"], counts["gained"]
    if lost.n == lost.of:
        drops = sorted(-(claim.value or 0.0) for claim in changes)
        every = "Both systems lose" if lost.n == 2 else "Every system loses"
        span = " to ".join(
            dict.fromkeys((POINTS.format_value_in_text(drops[0]), POINTS.format_value_in_text(drops[-1])))
        )
        return (f"{every} points {when}: {span}",)
    more = f"; {numbers.format_small_count_in_words(gained.n)} gain{'s' if gained.n == 1 else ''}" if gained.n else ""
    if not fall.n:
        return (f"No score falls {when}{more}",)
    subject = (
        f"All {numbers.format_small_count_in_words(fall.n)} scores"
        if fall.n == fall.of
        else f"{fall.n} of {fall.of} scores"
    )
    sure = f"the loss is certain for {numbers.format_small_count_in_words(lost.n) if lost.n else 'none'}"
    return (f"{subject} fall{'s' if fall.n == 1 else ''} {when}; {sure}{more}",)


def _format_heading_of_score_change(claim: Claim, board: SystemBoard, end: str = "") -> Sentence:
    """Write the heading for a single change: `NAME loses 4.1 points`."""
    drop, who = claim.value or 0.0, board.name_system_in_sentence(claim.subject)
    if claim.relation == "open":
        return (who, f" {VERBS['open']} {numbers.format_change(100 * drop, 1)} points{end}")
    return (who, f" {VERBS[claim.relation]} {POINTS.format_value_in_text(abs(drop))} points{end}")


def _describe_drops_of_leading_systems(changes: Sequence[Claim], board: SystemBoard) -> Sentence:
    """The first systems of the board with their drops and intervals; how far the others go."""
    shown, rest = changes[:MOST_NAMES], changes[MOST_NAMES:]
    parts: list[Part] = []
    for i, claim in enumerate(shown):
        parts += [
            "; " if i else "",
            *_format_heading_of_score_change(claim, board),
            f" ({_format_change_interval(claim, first=i == 0)})",
        ]
    if rest:
        drops = sorted(claim.value or 0.0 for claim in rest)
        ends = [numbers.format_change(100 * drops[0], 1), numbers.format_change(100 * drops[-1], 1)]
        parts.append(f"; {numbers.format_small_count_in_words(len(rest))} more: {' to '.join(dict.fromkeys(ends))}")
    return (*parts, ".")


def _format_change_interval(claim: Claim, *, first: bool) -> str:
    if claim.low is None or claim.high is None:
        return "no interval"
    ends = (-claim.high, -claim.low) if claim.relation == "falls" else (claim.low, claim.high)
    return ("95% interval " if first else "") + POINTS.format_interval_in_text(*ends)


def _state_possible_leaders(record: RunRecord, board: SystemBoard) -> tuple[Claim, ...]:
    """Who may be first by the leading score, of two systems or more that are ranked together."""
    scope = record.find_task_comparisons(board.lead)
    if len(scope.systems) < 2:
        return ()
    first = list_possible_leaders_above_reference(board, scope.first)
    return make_leader_claims(board.lead, first, scope.systems, below=len(scope.first) - len(first))


def _say_possible_leaders(record: RunRecord, board: SystemBoard, claims: Sequence[Claim]) -> list[Sentence]:
    if not claims:
        return []
    where = "among those ranked together, " if board.apart else ""
    texts = TEXTS[find_only_control_source(record)][1]
    if len(claims) > MOST_NAMES:
        return [(f"{numbers.format_small_count_in_words(len(claims)).capitalize()} systems may be first on {texts}.",)]
    names: list[Part] = [board.name_system_in_sentence(claim.subject) for claim in claims]
    only = "only " if len(claims) == 1 else ""
    return [
        (
            f"On {texts}, ",
            where,
            only,
            *join_names_with_and(names, "or"),
            f" may be first{describe_leaders_beating_baselines(claims[0])}.",
        )
    ]


def _state_order_changes(record: RunRecord, board: SystemBoard) -> tuple[Claim, ...]:
    """How many systems have another place than on the original texts, and Kendall's tau of both orders."""
    held = _find_rank_stability_record(record, board)
    if held.get("tau_original") is None:
        return ()
    moved = sum(a != b for a, b in zip(held["original_rank"], held["rank"], strict=True))
    return make_count_claim("moved", moved, len(held["rank"])), make_value_claim("", "tau", held["tau_original"])


def _find_rank_stability_record(record: RunRecord, board: SystemBoard) -> Mapping[str, Any]:
    """Places on original and paraphrased texts by the leading score; empty where they are not compared."""
    stability: Mapping[str, Any] = record.compared.get("rank_stability", {})
    return dict(stability.get(record.find_task_comparisons(board.lead).name, {}))


def _say_order_changes(claims: Sequence[Claim]) -> list[Sentence]:
    """Whether the order of the systems is that on the original texts."""
    if not claims:
        return []
    moved, held = claims
    tau = numbers.format_score(held.value or 0.0, 2)
    if not moved.n:
        return [(f"Their order is the same as on the original texts (Kendall’s τ {tau}).",)]
    ranks = f"For {moved.n} of {moved.of} systems, the rank differs from that on the original texts"
    return [(f"{ranks} (Kendall’s τ {tau}).",)]


def _state_largest_loss(losses: ParaphraseLosses, board: SystemBoard) -> tuple[Claim, ...]:
    """The largest drop of a system on one dataset, where there are two or more."""
    cells = [
        losses.find_dataset_loss(row, task, dataset)
        for row in (*board.ranked, *board.apart, *board.unranked)
        for task in board.tasks
        for dataset in losses.record.datasets(task.name)
    ]
    lost = [cell for cell in cells if cell.drop is not None and cell.drop < 0]
    if len(lost) < 2:
        return ()
    most = min(lost, key=lambda loss: loss.drop or 0.0)
    others = tuple(dict.fromkeys(cell.row.system.name for cell in lost if cell.row is not most.row))
    task = most.task.short if most.task else ""
    return (Claim(most.row.system.name, "least", DELTA, others, most.drop, kind=f"{most.dataset} ({task})"),)


def _say_largest_loss(claims: Sequence[Claim], board: SystemBoard) -> list[Sentence]:
    return [
        (
            "The largest loss on a single dataset, "
            f"{POINTS.format_value_in_text(-(claim.value or 0.0))} points, is for ",
            board.name_system_in_sentence(claim.subject),
            f" on {claim.kind}.",
        )
        for claim in claims
    ]


def _list_datasets_with_drop(losses: ParaphraseLosses, board: SystemBoard) -> list[str]:
    """The datasets on which a ranked system has a drop."""
    ranked = [row for row in board.rows if row.system.ranked]
    return [
        dataset
        for task in board.tasks
        for dataset in losses.record.datasets(task.name)
        if any(losses.find_dataset_loss(row, task, dataset).drop is not None for row in ranked)
    ]


def _make_verdict_without_leading_drop(losses: ParaphraseLosses, board: SystemBoard) -> VerdictText:
    """The verdict where no system has a drop at the leading level: what there is, if anything."""
    ranked = [row for row in board.rows if row.system.ranked]
    tasks = [task for task in board.tasks if any(losses.find_task_loss(row, task).drop is not None for row in ranked)]
    if not tasks and (some := _list_datasets_with_drop(losses, board)):
        return VerdictText(
            ("No system has a score on every dataset of a task, so no task has a drop",),
            ((f"Drops are available for {', '.join(some)}.",),),
        )
    if not tasks:
        return VerdictText(("PTEB: no system has a score on paraphrased texts yet",), ())
    where = ", ".join(task.short for task in tasks)
    return VerdictText(
        ("No system has a score on every task, so there is no overall drop",), ((f"Drops are available for {where}.",),)
    )


def paraphrase_drop_table(record: RunRecord, board: SystemBoard, wide: bool) -> Table:
    """Every system's scores in points, best on paraphrases first; for a terminal."""
    losses = ParaphraseLosses(record, board)
    tasks = [task for task in board.tasks if task.name != board.lead]
    whole = any(losses.leading(row).format_original_score_of_all_items for row in board.rows)
    titles = ["Orig.", "PTEB", "Change ± sd", "95% CI", *(["Orig., all items"] if whole else [])]
    rows: list[list[Said | TableCell]] = []
    for row in board.rows:
        total = losses.leading(row)
        cells = _loss_table_cells(total)
        cells += [total.format_original_score_of_all_items or cells[0]] if whole else []
        cells += [_drop_cell(losses.find_task_loss(row, task)) for task in tasks]
        apart = APART if row in board.apart else ""
        rows.append([f"{row.rank or numbers.NONE}{apart}", row.system.name if wide else row.label, *cells])
    heads: list[str | Column] = [
        "Rank",
        "System",
        *make_number_columns(*titles, *(f"Δ {task.short}" for task in tasks)),
    ]
    return Table.of("drops", heads, rows, at=1)


def _loss_table_cells(loss: ParaphraseLoss) -> list[Said | TableCell]:
    drop = " ".join(part for part in (loss.format_drop_in_points, loss.format_drop_spread_over_runs) if part)
    before, after = format_value_or_state(loss.before), format_value_or_state(loss.after)
    return [before, after, drop or numbers.NONE, loss.drop_interval or numbers.NONE]


def _drop_cell(loss: ParaphraseLoss) -> Said | TableCell:
    return loss.format_drop_in_points if loss.drop is not None else format_value_or_state(loss.after)


def make_table_of_paraphraser_study(record: RunRecord, board: SystemBoard) -> Iterator[Table]:
    """The table of a judge run, of a choice of paraphrasers or of a human check: a value with its interval first."""
    from embassay.report.pteb.models import judge_scores_table, paraphraser_candidates_table

    if record.kind == "validation":
        yield _ratings_by_language_table(record)
    elif record.rows and record.kind in ("judge", "paraphrasers"):
        table = (judge_scores_table if record.kind == "judge" else paraphraser_candidates_table)(record, board)
        first, *others = (convert_sentence_to_text(column.title) for column in table.heads)
        yield replace(table, columns=make_number_columns(f"{first}, 95%", *others))


def _ratings_by_language_table(record: RunRecord) -> Table:
    from embassay.report.pteb.models import COLUMNS, ratings_by_language_table

    heads: list[str | Column] = [
        "Language",
        *make_number_columns("Mean rating, 95%"),
        "Verdict",
        *make_number_columns(*COLUMNS[1:], "Ratings"),
    ]
    rows: list[list[Said | TableCell]] = []
    for line in ratings_by_language_table(record).lines:
        _, mean, *others, verdict = line.entries
        word = convert_sentence_to_text(verdict.text[:1]).lstrip("✓✕ ")
        rows.append(
            [
                convert_sentence_to_text(line.label),
                mean,
                word,
                *(convert_sentence_to_text(entry.text) for entry in others),
            ]
        )
    return Table.of("languages", heads, rows)
