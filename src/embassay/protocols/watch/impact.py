"""Does a change matter: to own lists, to nDCG, to an index that is half made anew, to calibrated thresholds; and, of a
reranker or a judge, to first passages and the labels of a golden set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError
from embassay.measures.judgements import RELEVANT
from embassay.protocols.watch.distances import scale_to_unit_length
from embassay.protocols.watch.fingerprint import DEPTH, OwnTopLists, SystemAnswerFingerprint
from embassay.protocols.watch.respondents import Answers, VectorRespondent, WatchRespondent
from embassay.randomness import make_seeded_generator
from embassay.stats import Estimate, t_quantile

Floats = NDArray[np.float64]
KEPT, HALF, ANEW = "index kept", "half anew", "all anew"
"""States of an index: old passages with new questions; half of its passages made anew; all of them."""
GRADES = 4.0
"""How far a grade can move."""
TURNED = 0.01
"""Share of decisions at a threshold that may turn before it no longer holds."""


@dataclass(frozen=True)
class IndexStateListImpact:
    """What searching costs with an index in this state: the share of lists with other passages, how much of a list is
    still the same (0 to 1), and the change of nDCG@10 where there are judgements."""

    name: str
    changed: Estimate
    overlap: float
    ndcg: Estimate | None

    @property
    def are_lists_unchanged(self) -> bool:
        """Whether not one list changes, of an index as it is."""
        return self.name == KEPT and self.changed.point * self.changed.n < 0.5


@dataclass(frozen=True)
class ThresholdImpact:
    """A threshold of a calibration: the shares of pairs of recorded texts that it accepted and accepts now, the share
    of decisions that turned, and the threshold that accepts as many as before."""

    file: str
    measure: str
    threshold: float
    accepted_before: float
    accepted_now: float
    turned: Estimate
    equivalent: float
    holds: bool


@dataclass(frozen=True)
class RankedListImpact:
    """What a change does to own lists: `states` are the index as it is (old passages, new questions), half of it made
    anew, and all of it."""

    states: tuple[IndexStateListImpact, ...]
    questions: int
    passages: int
    ndcg_before: float | None


@dataclass(frozen=True)
class _QuestionSimilarities:
    """Similarities of questions (q) to the pool (p) and to others (o)."""

    pool: Floats
    others: Floats


def measure_list_impact(
    fingerprint: SystemAnswerFingerprint, lists: OwnTopLists, questions: Answers, respondent: WatchRespondent
) -> RankedListImpact:
    """Ask for the pool and the others again, and rank anew. `questions` are the questions' new vectors (q, dim), of the
    recorded width or another."""
    assert isinstance(respondent, VectorRespondent)
    texts = [*lists.pool, *lists.others]
    respondent.listener.stage("encoding the passages of your lists", len(texts), "passages")
    rng = make_seeded_generator(fingerprint.seed, "watch", "lists")
    told = respondent.encode(texts, ["document"] * len(texts), rng).values
    return compute_top_list_change_from_vectors(
        fingerprint, lists, questions, told[: len(lists.pool)], told[len(lists.pool) :]
    )


def compute_top_list_change_from_vectors(
    fingerprint: SystemAnswerFingerprint, lists: OwnTopLists, questions: Answers, pool: Answers, others: Answers
) -> RankedListImpact:
    """The same from vectors: new ones of questions (q, dim), of the pool (p, dim) and of others (o, dim). What is lost
    ranks last."""
    asked = fingerprint.values[list(lists.questions)]
    before = _compute_question_passage_similarities(
        asked, *(part.unpack_array() for part in (lists.pool_vectors, lists.other_vectors))
    )
    anew = _compute_question_passage_similarities(questions, pool, others)
    labels = _group_labels_by_question(lists)
    old = lists.lists.unpack_array()
    first = _compute_ndcg_at_expected_ranks(labels, before.pool, np.zeros_like(before.pool), lists)
    states = []
    if questions.shape[1] == fingerprint.width:
        kept = _compute_question_passage_similarities(
            questions, *(part.unpack_array() for part in (lists.pool_vectors, lists.other_vectors))
        )
        rng = make_seeded_generator(fingerprint.seed, "watch", "half")
        # A permutation modulo 2 picks exactly half, at random.
        half = _QuestionSimilarities(
            np.where(rng.permutation(len(lists.pool)) % 2, anew.pool, kept.pool),
            np.where(rng.permutation(len(lists.others)) % 2, anew.others, kept.others),
        )
        states = [
            _estimate_list_changes_by_index_state(KEPT, before, kept, lists, old, first),
            _estimate_list_changes_by_index_state(HALF, before, half, lists, old, first, (kept, anew)),
        ]
    states.append(_estimate_list_changes_by_index_state(ANEW, before, anew, lists, old, first))
    labelled = first[~np.isnan(first)]
    mean = float(labelled.mean()) if len(labelled) else None
    return RankedListImpact(tuple(states), len(lists.questions), len(lists.pool) + lists.outside, mean)


def _compute_question_passage_similarities(questions: Answers, pool: Answers, others: Answers) -> _QuestionSimilarities:
    asked = scale_to_unit_length(np.nan_to_num(questions))
    scores = (asked @ scale_to_unit_length(np.nan_to_num(part)).T for part in (pool, others))
    lost = (np.isnan(part).any(axis=1) for part in (pool, others))
    # Below every cosine, so that what is lost ranks last.
    return _QuestionSimilarities(*(np.where(gone, -2.0, score) for score, gone in zip(scores, lost, strict=True)))


def _estimate_list_changes_by_index_state(
    name: str,
    before: _QuestionSimilarities,
    now: _QuestionSimilarities,
    lists: OwnTopLists,
    old: NDArray[np.int32],
    first: Floats,
    outside: Sequence[_QuestionSimilarities] = (),
) -> IndexStateListImpact:
    """Lists of the pool now, and the chance that passages outside of it push in, who are in equal parts as those of
    `outside` (by default as now)."""
    parts = outside or (now,)

    def average_outsiders_above_scores(scores: Floats) -> Floats:
        return np.asarray(
            np.mean(
                [_estimate_passages_above_outside_pool(before, part, scores, lists.outside) for part in parts], axis=0
            )
        )

    depth = int((old[0] >= 0).sum())
    # Those that were drawn are passages like others, and may be in a list themselves.
    scores = np.hstack([now.pool, now.others])
    top = np.argsort(-scores, axis=1, kind="stable")[:, :depth]
    same = np.array([len(set(a) & set(b)) for a, b in zip(top.tolist(), old[:, :depth].tolist(), strict=True)])
    last = np.take_along_axis(scores, top[:, -1:], axis=1)
    pushing = average_outsiders_above_scores(last)[:, 0]
    is_kept = (same == depth) * np.exp(-pushing)
    changed = float((1 - is_kept).sum())
    overlap = float((np.maximum(same - pushing, 0) / depth).mean())
    after = _compute_ndcg_at_expected_ranks(
        _group_labels_by_question(lists), scores, average_outsiders_above_scores(now.pool), lists
    )
    return IndexStateListImpact(
        name, estimate_share(changed, len(old)), overlap, _estimate_change_of_judged_questions(after - first)
    )


def _estimate_passages_above_outside_pool(
    before: _QuestionSimilarities, now: _QuestionSimilarities, scores: Floats, outside: int
) -> Floats:
    """How many passages outside of the pool are expected to be more similar than each of the scores (q, s).

    Those that were drawn say how similarities there have changed, question by question: a straight line through what
    they were, and around it a normal spread.
    """
    from scipy.special import ndtr

    if not outside or not now.others.shape[1]:
        return np.zeros_like(scores)
    was, is_now = (side - side.mean(axis=1, keepdims=True) for side in (before.others, now.others))
    # Where all similarities are alike there is no line: the slope is 0, not NaN.
    slope = (was * is_now).sum(axis=1) / np.maximum((was**2).sum(axis=1), 1e-12)
    line = slope[:, None] * was
    spread = np.maximum((is_now - line).std(axis=1), 1e-9)
    line += now.others.mean(axis=1, keepdims=True)
    chances = [
        ndtr((line[row][None, :] - scores[row][:, None]) / spread[row]).mean(axis=1) for row in range(len(scores))
    ]
    return np.asarray(outside * np.stack(chances))


def _group_labels_by_question(lists: OwnTopLists) -> dict[int, list[tuple[int, float]]]:
    labels: dict[int, list[tuple[int, float]]] = {}
    for question, place, gain in lists.relevant:
        labels.setdefault(question, []).append((place, gain))
    return labels


def _compute_ndcg_at_expected_ranks(
    labels: dict[int, list[tuple[int, float]]], scores: Floats, above: Floats, lists: OwnTopLists
) -> Floats:
    """Expected nDCG@10 of each question (q,) by scores (q, s), the pool's first, with `above` (q, p) expected passages
    more before each of the pool; NaN without judgements. Gains are linear."""
    values = np.full(len(scores), np.nan)
    discounts = 1 / np.log2(np.arange(DEPTH) + 2)
    for question, gains in enumerate(lists.best_gains):
        if not gains:
            continue
        order = np.argsort(-scores[question], kind="stable")
        # The inverse permutation: from a passage to its rank.
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        reached = sum(
            gain * _compute_expected_discount(int(rank[place]), float(above[question, place]), discounts)
            for place, gain in labels.get(question, ())
        )
        values[question] = reached / float(np.dot(gains, discounts[: len(gains)]))
    return values


def _compute_expected_discount(rank: int, pushing: float, discounts: Floats) -> float:
    """The mean discount at a rank, from 0, behind a Poisson number of further passages."""
    # The Poisson chance of no further passage; each next term follows from the one before.
    chance = math.exp(-pushing)
    total = 0.0
    for more in range(DEPTH - rank):
        total += chance * float(discounts[rank + more])
        chance *= pushing / (more + 1)
    return total


def _estimate_change_of_judged_questions(changes: Floats) -> Estimate | None:
    """Estimate the mean change of the questions that have judgements; NaN is one without."""
    told = changes[~np.isnan(changes)]
    return estimate_mean_change(told) if len(told) else None


def estimate_mean_change(changes: Floats) -> Estimate:
    """The mean of changes (q,) between -1 and 1, with its 95% interval by Student's t over questions."""
    n, mean = len(changes), float(changes.mean())
    if n < 2:
        return Estimate(mean, -1.0, 1.0, n, "the whole range")
    # As if one question more had changed by a tenth: among few questions none may change, and some others do.
    spread = math.sqrt((changes.var(ddof=1) * (n - 1) + 0.01) / n)
    half = t_quantile(0.975, n - 1) * spread / math.sqrt(n)
    return Estimate(mean, mean - half, mean + half, n, "Student's t over questions")


def estimate_share(hits: float, n: int) -> Estimate:
    """A share of `n` with its exact 95% interval; `hits` may be an expected number."""
    # scipy.stats takes half a second to import, and every report reads this module.
    from embassay.stats.calibration import compute_clopper_pearson

    low, high = compute_clopper_pearson(min(hits, n), n, 0.95)
    return Estimate(hits / n, low, high, n, "Clopper and Pearson")


def measure_all_threshold_impacts(
    files: Sequence[str], system: str, then: Answers, now: Answers
) -> tuple[ThresholdImpact, ...]:
    """What the thresholds of calibrations of the `system` do to pairs of the texts (n) whose vectors were `then` and
    are `now`; widths may differ. DataError for a file that is no calibration, or that of another system."""
    from embassay.protocols.calibration.probability import calibration

    upper = np.triu_indices(len(then), 1)
    before, after = ((units := scale_to_unit_length(side)) @ units.T for side in (then, now))
    states = []
    for file in files:
        calibrated = calibration(file)
        if calibrated.system != system:
            raise DataError(
                "this calibration is for another system", path=Path(file), expected=system,
                found=calibrated.system, mend="Give the file that `embassay calibrate` wrote for the watched system."
            )  # fmt: skip
        for bar in calibrated.curve.thresholds:
            if bar.value is not None:
                states.append(
                    _measure_threshold_impact(file, bar.measure, bar.value, before[upper], after[upper], len(then))
                )
    return tuple(states)


def _measure_threshold_impact(
    file: str, measure: str, threshold: float, before: Floats, after: Floats, texts: int
) -> ThresholdImpact:
    accepted, accepts = before >= threshold, after >= threshold
    share = float((accepted != accepts).mean())
    equivalent = float(np.quantile(after, 1 - accepted.mean()))
    return ThresholdImpact(
        file, measure, threshold, float(accepted.mean()), float(accepts.mean()),
        # Pairs share texts, so there are no more independent ones than texts.
        estimate_share(share * texts, texts), equivalent, share <= TURNED
    )  # fmt: skip


@dataclass(frozen=True)
class ScoreOrGradeChange:
    """What has become of `values` scores or grades: their root mean squared difference from the recorded ones, `error`,
    beside that of the repeats, `noise`; and `first`, the share of items whose best passage is another one.

    Of a judge also the share of grades that crossed the line of relevance (`turned`: labels of a golden set that would
    be others), and the mean change of a grade (`shift`); None for other systems.
    """

    values: int
    error: float
    noise: float
    first: Estimate
    turned: Estimate | None = None
    shift: Estimate | None = None
    kappa: Estimate | None = None
    """Of a judge's grades then and now, quadratic weights; None where all are one and the same."""


def measure_answer_score_change(
    fingerprint: SystemAnswerFingerprint, rows: Sequence[int], now: Answers
) -> ScoreOrGradeChange:
    """Of answers (n, width) to the items in `rows` (n,), which have as many others at most."""
    then = fingerprint.values[list(rows)].astype(np.float64)
    counts = np.array([len(fingerprint.items[row].others) for row in rows])
    inside = np.arange(then.shape[1]) < counts[:, None]
    values = int(counts.sum())
    change = np.where(inside, now - then, 0.0)
    length = np.einsum("nd,nd->n", then, then)
    # A distance is half the squared difference over the squared length of what was recorded.
    squares = 2 * fingerprint.noise[list(rows)].mean(axis=1) * np.where(length > 0, length, 1.0)
    best_now, best_then = (np.where(inside, side, -np.inf).argmax(axis=1) for side in (now, then))
    first = estimate_share(int((best_now != best_then).sum()), len(counts))
    effect = ScoreOrGradeChange(
        values, math.sqrt(float((change**2).sum()) / values), math.sqrt(float(squares.sum()) / values), first
    )
    if fingerprint.kind != "judge":
        return effect
    crossed = int((((now >= RELEVANT) != (then >= RELEVANT)) & inside).sum())
    means = change.sum(axis=1) / counts
    return replace(
        effect, turned=estimate_share(crossed, values), shift=_estimate_mean_over_questions(means, values),
        kappa=_estimate_grade_kappa(then, now, inside, fingerprint.seed)
    )  # fmt: skip


def _estimate_grade_kappa(then: Floats, now: Answers, inside: NDArray[np.bool_], seed: int) -> Estimate | None:
    """Weighted kappa of grades (n, width) by the same judge, its interval over questions."""
    from embassay.protocols.rag.golden.checks import count_grade_transitions, estimate_grade_agreement

    tables = [
        count_grade_transitions([*zip(first[told].astype(int), second[told].astype(int), strict=True)])
        for first, second, told in zip(then, now, inside, strict=True)
    ]
    kappa = estimate_grade_agreement(np.array(tables), seed=seed)["kappa"]
    if kappa.value is None:
        return None
    low, high = (-1.0, 1.0) if kappa.low is None else kappa.ends
    return Estimate(kappa.value, low, high, kappa.n, "bootstrap over questions")


def _estimate_mean_over_questions(means: np.ndarray, n: int) -> Estimate:
    """The mean over questions by Student's t."""
    mean = float(means.mean())
    if len(means) < 2:
        return Estimate(mean, -GRADES, GRADES, n, "the whole range")
    half = t_quantile(0.975, len(means) - 1) * float(means.std(ddof=1)) / math.sqrt(len(means))
    return Estimate(mean, mean - half, mean + half, n, "Student's t over questions")


@dataclass(frozen=True)
class JudgeChangeOnGoldenLabels:
    """What has become of the labels of a golden set, of the questions and passages that were asked for again.

    A label is whether a passage is relevant: a grade of 4 or 5. Of a question's labels, in the mean over questions, the
    share that the judge gave otherwise when it was recorded, `then`, and the share that it gives otherwise `now`; their
    difference, `change`; and the `relevant` share now less that in the golden set.
    """

    name: str
    questions: int
    of_questions: int
    passages: int
    of_passages: int
    then: Estimate
    now: Estimate
    change: Estimate
    relevant: Estimate

    @property
    def has_no_excess_label_changes(self) -> bool:
        """Whether no more labels are others than when the judge was recorded, as far as this sample can say."""
        return self.change.ends[0] <= 0


def measure_golden_effect(
    fingerprint: SystemAnswerFingerprint, rows: Sequence[int], now: Answers
) -> JudgeChangeOnGoldenLabels | None:
    """Measure the change of the golden labels of the items in `rows` (n,); None where none has one."""
    golden = fingerprint.golden
    if golden is None:
        return None
    place_of = {row: place for place, row in enumerate(rows)}
    told = [place for place, row in enumerate(golden.rows) if row in place_of]
    if not told:
        return None
    items = [golden.rows[place] for place in told]
    grades = golden.grades.unpack_array()[told]
    is_graded = grades > 0
    first, last = (fingerprint.values[items], now[[place_of[row] for row in items]])
    label, was, is_now = (side >= RELEVANT for side in (grades, first, last))
    then_off, now_off = (_average_counted_values(side != label, is_graded) for side in (was, is_now))
    relevant = _average_counted_values(is_now.astype(float) - label, is_graded)
    return JudgeChangeOnGoldenLabels(
        golden.name, len(told), golden.questions, int(is_graded.sum()), golden.passages,
        _estimate_mean_share(then_off), _estimate_mean_share(now_off), estimate_mean_change(now_off - then_off),
        estimate_mean_change(relevant)
    )  # fmt: skip


def _average_counted_values(
    values: NDArray[np.float64] | NDArray[np.bool_], counted: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The mean of each row (q, width) over what counts."""
    return np.asarray(np.where(counted, values, 0).sum(axis=1) / counted.sum(axis=1), dtype=np.float64)


def _estimate_mean_share(values: NDArray[np.float64]) -> Estimate:
    """Estimate the mean of shares, with an interval that stays within 0 and 1."""
    mean = estimate_mean_change(values)
    low, high = mean.ends
    return replace(mean, low=max(0.0, low), high=min(1.0, high))
