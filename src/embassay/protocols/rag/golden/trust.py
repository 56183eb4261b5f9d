"""Whether the judge can be read, and its grades say anything: beside the search, a repeat, and a person's grades; and
which passages speak to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embassay.errors import ModelError
from embassay.protocols.kernel.estimates import UNVARIED
from embassay.protocols.kernel.tables import format_noun_count
from embassay.protocols.rag.golden.summary import GoldenRunRecord
from embassay.randomness import make_seeded_generator
from embassay.stats import Estimate
from embassay.stats.resampling import percentile_interval, resample_means

if TYPE_CHECKING:
    from embassay.protocols.rag.golden.conclusions import QueryProgress

FIRST = (4, 12)
"""Passages that are graded before all others are asked for, so that a judge that cannot grade is not paid for thousands
of attempts: it has to grade one of the first, and half of these together."""
CHANCE = 0.5
"""The share of pairs that grades given at random put in the order of the search."""
LITTLE = 0.2
"""A kappa below is slight agreement at most (Landis and Koch 1977)."""
GOOD = 4
"""The lowest grade of a useful passage."""
ENOUGH = 10
"""Passages below which two grades of each say nothing."""
MOST = 50.0
"""Percent of the median pool from which on grades 4 and 5 tell no passages apart."""
RESAMPLES = 2_000
ADDRESSES = re.compile(
    r"\{\s*\"?grade\"?\s*:"
    r"|\b(ignore|disregard|forget)\b[^.?!]{0,40}\b(instructions?|rules|prompt|above|previous)\b"
    r"|\b(grade|rate|score) (this|the) (passage|text|document)\b"
    r"|\b(its|this passage's|the passage's) (grade|rating|relevance) (is|must be|should be)\b"
    r"|\bthis (passage|text|document) (fully |completely |clearly )?(answers|is (highly )?relevant to) (the|this|your) "
    r"(question|query)\b",
    re.IGNORECASE,
)
"""What a passage says that is written for a judge, in English."""
NAMED = 3
"""Passages that a note names."""


def check_judge_grades_first_passages(judge: str, asked: int, reasons: Sequence[str]) -> None:
    """ModelError where a judge graded none of the first passages, or less than half of a few more; `reasons` say why
    those are ungraded that are."""
    graded = asked - len(reasons)
    if graded and (asked == FIRST[0] or 2 * graded >= asked):
        return
    raise ModelError(
        f"{judge} graded {graded or 'none'} of the first {asked} passages: {reasons[0].rstrip('.')}.",
        mend=(
            "Make the server enforce the format (append ?answers=schema to --judge), or use a model "
            "that follows the prompt."
        ),
    )


def describe_passages_addressing_judge(queries: Sequence[QueryProgress]) -> Iterator[str]:
    """Passages of grade 4 or 5 that speak to a judge: a model may have obeyed them. Of a model with 1.5B parameters,
    instructions raised all useless passages to 5, with our prompt's defence and without."""
    rows = (row for query in queries if query.is_in_golden_set for row in query.rows)
    obeyed = [row["doc_id"] for row in rows if (row["grade"] or 0) >= GOOD and ADDRESSES.search(row["text"])]
    if not obeyed:
        return
    passages = dict.fromkeys(obeyed)
    names = ", ".join([*passages][:NAMED]) + (", ..." if len(passages) > NAMED else "")
    yield (
        f"{format_noun_count(len(passages), 'passage')} of grade 4 or 5 "
        f"mention{'s' if len(passages) == 1 else ''} grades or give{'s' if len(passages) == 1 else ''} instructions "
        f"({names}), and the judge may have obeyed. Read them before you trust their grades."
    )


def measure_grade_agreement_with_fused_rank(queries: Sequence[QueryProgress], *, seed: int = 1337) -> Estimate:
    """Of two passages of a question with different grades, how often the higher grade has the better place in the
    fused lists, over all such pairs: 0.5 at random. Its interval is over questions; a tie of places counts half."""
    counted = [
        _count_agreeing_and_all_pairs([(row["grade"], row["rank_rrf"]) for row in query.rows])
        for query in queries
        if query.is_in_golden_set
    ]
    counts = np.array([row for row in counted if row[1]], dtype=np.float64)
    if not len(counts):
        return Estimate(None, reason="no question has passages of different grades")
    return estimate_share_of_pairs(counts, make_seeded_generator(seed, "golden", "rank agreement"))


def estimate_share_of_pairs(counts: NDArray[np.float64], rng: np.random.Generator) -> Estimate:
    """Of questions with so many of so many pairs (n, 2) the share of all pairs, with its interval over questions."""
    value, n = float(counts[:, 0].sum() / counts[:, 1].sum()), int(counts[:, 1].sum())
    if len(counts) < 2:
        return Estimate(value, n=n)
    means = resample_means(counts, n_resamples=RESAMPLES, rng=rng)
    low, high = percentile_interval(means[:, 0] / means[:, 1])
    if np.isnan(low):
        return Estimate(value, n=n, reason=UNVARIED)
    return Estimate(value, low, high, n, "bootstrap over questions")


def _count_agreeing_and_all_pairs(passages: Sequence[tuple[int | None, int]]) -> tuple[float, int]:
    """Pairs that grade and place put the same way, and all pairs of different grades."""
    graded = [(grade, place) for grade, place in passages if grade is not None]
    alike, pairs = 0.0, 0
    for first, second in combinations(graded, 2):
        if first[0] == second[0]:
            continue
        # Sorted by grade, the lower one first.
        worse, better = sorted((first, second))
        alike += 0.5 if better[1] == worse[1] else float(better[1] < worse[1])
        pairs += 1
    return alike, pairs


def list_judge_warnings(golden: GoldenRunRecord) -> tuple[str, ...]:
    """Why the grades of a run may be worth nothing, the surest reason first; none where nothing says so."""
    return (
        *_list_warnings_judge_unlike_people(golden),
        *_list_warnings_judge_unlike_itself(golden),
        *_list_warnings_grades_unlike_search(golden),
        *_list_notes_on_generous_grades(golden),
    )


def is_judge_possibly_random(golden: GoldenRunRecord) -> bool:
    """Whether a person's grades, a repeat or the search leave open that the judge grades at random."""
    signs = (
        _list_warnings_judge_unlike_people,
        _list_warnings_judge_unlike_itself,
        _list_warnings_grades_unlike_search,
    )
    return any(True for warnings_of in signs for _ in warnings_of(golden))


def _list_warnings_judge_unlike_people(golden: GoldenRunRecord) -> Iterator[str]:
    for check in golden.human:
        kappa = check.kappa
        if check.graded >= ENOUGH and kappa.value is not None and _is_kappa_at_chance(kappa):
            measured = (
                f"kappa {kappa.value:.2f}{_format_interval_in_parentheses(kappa)} "
                f"over {check.graded} passages of {check.file}"
            )
            if kappa.value < LITTLE:
                yield (
                    f"THE JUDGE AGREES WITH A PERSON NO BETTER THAN CHANCE: {measured}. Do not use these grades; "
                    "use another judge."
                )
            else:
                yield f"The judge may agree with people no better than chance: {measured}. Check more passages."


def _list_warnings_judge_unlike_itself(golden: GoldenRunRecord) -> Iterator[str]:
    kappa = golden.repeated.kappa if golden.repeated is not None else None
    if kappa is not None and kappa.value is not None and kappa.n >= ENOUGH and _is_kappa_at_chance(kappa):
        twice = f"kappa {kappa.value:.2f}{_format_interval_in_parentheses(kappa)} over {kappa.n} passages graded twice"
        if kappa.value < LITTLE:
            yield (f"The judge barely agrees with itself: {twice}. Its grades are close to random; use another judge.")
        else:
            yield f"The judge may barely agree with itself: {twice}. Have more passages graded twice (--repeat)."


def _list_warnings_grades_unlike_search(golden: GoldenRunRecord) -> Iterator[str]:
    share = golden.rank_agreement
    if share is None or share.value is None:
        return
    if share.value <= CHANCE or (share.low is not None and share.low <= CHANCE):
        yield (
            "The grades do not agree with the search, which ranked the passage with the better grade higher in "
            f"{100 * share.value:.0f}% of pairs{_format_interval_in_parentheses(share, 100)} "
            "(by chance: 50%). Either the "
            "judge or the search may be random: grade some passages yourself (`embassay rag check sample`)."
        )


def _list_notes_on_generous_grades(golden: GoldenRunRecord) -> Iterator[str]:
    share = golden.labels.get("grade4plus5_pool_prevalence_median_percent")
    if share is not None and share > MOST:
        yield (
            f"In the median pool, the judge gives grade 4 or 5 to {share:.0f}% of the passages. Such grades barely "
            "distinguish passages, and measures that count them are near their maximum for any system."
        )


def _is_kappa_at_chance(kappa: Estimate) -> bool:
    value = kappa.value or 0.0
    return value < LITTLE or (kappa.low is not None and kappa.low <= 0)


def _format_interval_in_parentheses(figure: Estimate, scale: int = 1) -> str:
    if figure.low is None:
        return ""
    (low, high), digits = figure.ends, 0 if scale > 1 else 2
    return f" ({scale * low:.{digits}f}–{scale * high:.{digits}f})"
