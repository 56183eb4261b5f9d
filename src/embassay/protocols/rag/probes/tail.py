"""The tail of an index: its recall against exact search question by question, which a mean hides.

An approximate index may find nearly all for most questions and nearly nothing for some: those near no centre, or under
a filter that few passages pass. So the 5th percentile and the least stand beside the mean, by group of questions (such
as the selectivity of their filter), and the worst questions are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.data.judged_runs import rank_passages_by_question, read_run_entries
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.request import DATA, RunRequest, option, redeclare_option
from embassay.protocols.kernel.tables import ColumnTable, number_column, text, whole_number_column
from embassay.stats import bootstrap_ci, wilson

WORST = 5
"""Questions that are named."""
EVERY = "all"


@dataclass(frozen=True)
class RecallTailRequest:
    """Runs of indexes, the run of exact search over the same passages and filters, and how deep both are compared."""

    runs: tuple[str, ...] = option(
        MISSING, "An index's results, as FILE or NAME=FILE.", name="--run", value="FILE", group=DATA
    )
    exact: str = option(MISSING, "Exact search results for the same questions.", value="FILE", group=DATA)
    cutoff: int = option(10, "Passages compared per list.", name="-k", least=1)
    floor: float = option(0.5, "Recall below which a question counts as bad.")
    queries: str = option(
        "", "The questions with their tags, such as a filter's selectivity, to report by tag.",
        value="FILE", group=DATA
    )  # fmt: skip
    mapping: Mapping[str, str] = redeclare_option(RunRequest, "mapping")
    seed: int = redeclare_option(RunRequest, "seed")

    def __post_init__(self) -> None:
        if self.cutoff < 1 or not 0 < self.floor <= 1:
            raise UsageError(
                f"-k is {self.cutoff} and --floor {self.floor:g}.",
                mend="Use 1 or more for -k, and a share above 0 and at most 1 for --floor.",
            )


@dataclass(frozen=True)
class GroupRecallTail:
    """Recall of an `index` in a `group` of `n` questions: the `mean` with its 95% interval, the 5th percentile `p5`,
    the `least`, and how many questions are `bad` (below the floor), with the share's interval. `worst` are those of
    least recall. `missing` have no list of the index: their recall is 0."""

    index: str
    group: str
    n: int
    mean: float
    low: float | None
    high: float | None
    p5: float
    least: float
    bad: int
    bad_low: float
    bad_high: float
    missing: int
    worst: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class RecallTailsOfAllIndexes:
    """All indexes in all groups, and what is to be known of the files."""

    cutoff: int
    floor: float
    tails: tuple[GroupRecallTail, ...]
    notes: tuple[str, ...] = field(default=())

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    def describe_index_tails(self) -> Iterator[str]:
        """A sentence for each index: whether its mean hides questions, and which."""
        for tail in self.tails:
            if tail.group != EVERY:
                continue
            head = f"{tail.index}: mean recall@{self.cutoff} {tail.mean:.3f}, 5th percentile {tail.p5:.3f}"
            if not tail.bad:
                yield f"{head}, minimum {tail.least:.3f}: no question is below {self.floor:g}."
                continue
            named = ", ".join(f"{query} ({value:.2f})" for query, value in tail.worst)
            yield (
                f"{head}, minimum {tail.least:.3f}: {tail.bad:,} of {tail.n:,} questions are below {self.floor:g}; "
                f"the worst are {named}."
            )

    def table(self) -> ColumnTable:
        """A line for each index and group."""
        return ColumnTable.of(
            "index_tail", "Recall against exact search, by question", self.tails, text("index"), text("group"),
            number_column("mean", "mean", 3), number_column("low", "low", 3),
            number_column("high", "high", 3), number_column("p5", "p5", 3),
            number_column("least", "least", 3), whole_number_column("below the floor", "bad"),
            whole_number_column("questions", "n"),
            note="Share of exact search's first passages that the index found, per question: the mean with its 95% "
                "interval, the 5th percentile and the minimum."
        )  # fmt: skip


def compare_index_recall_tails(request: RecallTailRequest) -> RecallTailsOfAllIndexes:
    """Read and compare the files. DataError where a run has no question of the exact one, UsageError for runs of one
    name."""
    from embassay.protocols.rag.scoring.inputs import make_run_names_distinct, parse_named_path, read_question_tags

    named = make_run_names_distinct([parse_named_path(given) for given in request.runs])
    exact_path = Path(request.exact).expanduser()
    exact = rank_passages_by_question(read_run_entries(exact_path, request.mapping))
    tags = read_question_tags(request.queries) if request.queries else {}
    tails: list[GroupRecallTail] = []
    notes: list[str] = []
    for name, path in named:
        lists = rank_passages_by_question(read_run_entries(path, request.mapping))
        if not lists.keys() & exact.keys():
            raise DataError(
                "the run has no question in common with the exact search", path=path,
                expected=f"questions such as {next(iter(exact))!r}", found=", ".join(list(lists)[:3]),
                mend="Use the same questions for both."
            )  # fmt: skip
        recall = compute_recall_of_exact_lists(lists, exact, request.cutoff)
        missing = {key for key in exact if key not in lists}
        if extra := len(lists.keys() - exact.keys()):
            notes.append(f"{name}: {extra:,} questions have no exact results and do not count")
        if missing:
            notes.append(f"{name}: {len(missing):,} questions have no list, so their recall is 0")
        tails += _measure_recall_tails_by_group(name, recall, missing, tags, request)
    short = sum(len(docs) < request.cutoff for docs in exact.values())
    if short:
        notes.append(
            f"exact search found fewer than {request.cutoff} passages for {short:,} questions; all of them count"
        )
    return RecallTailsOfAllIndexes(request.cutoff, request.floor, tuple(tails), tuple(notes))


def compute_recall_of_exact_lists(
    lists: Mapping[str, Sequence[tuple[str, float]]], exact: Mapping[str, Sequence[tuple[str, float]]], k: int
) -> dict[str, float]:
    """Question -> share of the first k of exact search among the first k found; 0 without a list.

    Of passages that tie at place k of exact search any counts, as far as its list shows them.

    >>> compute_recall_of_exact_lists({"q": [("b", 2.0)]}, {"q": [("a", 2.0), ("b", 2.0)]}, 1)
    {'q': 1.0}
    """
    recall = {}
    for query, hits in exact.items():
        last = hits[min(k, len(hits)) - 1][1]
        wanted = {doc for doc, score in hits if score >= last}
        there = {doc for doc, _ in lists.get(query, ())[:k]}
        recall[query] = min(1.0, len(wanted & there) / min(k, len(hits)))
    return recall


def _measure_recall_tails_by_group(
    name: str,
    recall: Mapping[str, float],
    missing: set[str],
    tags: Mapping[str, Sequence[str]],
    request: RecallTailRequest,
) -> Iterator[GroupRecallTail]:
    groups: dict[str, list[str]] = {EVERY: list(recall)}
    for query in recall:
        for tag in tags.get(query, ()):
            groups.setdefault(tag, []).append(query)
    for group, queries in groups.items():
        values = np.array([recall[query] for query in queries])
        yield _measure_lowest_query_recalls(
            name, group, queries, values, sum(query in missing for query in queries), request
        )


def _measure_lowest_query_recalls(
    name: str, group: str, queries: Sequence[str], values: NDArray[np.float64], missing: int, request: RecallTailRequest
) -> GroupRecallTail:
    ends = bootstrap_ci(values, seed=request.seed)
    bad = int((values < request.floor).sum())
    share = wilson(bad / len(values), len(values))
    order = sorted(range(len(values)), key=lambda row: (values[row], queries[row]))[:WORST]
    worst = tuple((queries[row], float(values[row])) for row in order if values[row] < 1)
    # Of few questions the 5th percentile is the least: no value is made up between two.
    p5 = float(np.quantile(values, 0.05, method="lower"))
    return GroupRecallTail(
        name, group, len(values), float(values.mean()), ends.low, ends.high, p5, float(values.min()), bad, *share.ends,
        missing, worst
    )  # fmt: skip
