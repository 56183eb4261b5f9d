"""`embassay watch check`: is it still what was recorded, what has changed if not, and does it matter."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.watch.distances import (
    FLOOR,
    compute_cosine_distances,
    compute_distances_relative_to_reference,
    make_mask_of_missing_answers,
    measure_answer_form,
)
from embassay.protocols.watch.fingerprint import FingerprintItem, SystemAnswerFingerprint
from embassay.protocols.watch.history import FingerprintCheck, TextGroupChange, Verdict, read_watch_checks
from embassay.protocols.watch.impact import (
    measure_all_threshold_impacts,
    measure_answer_score_change,
    measure_golden_effect,
    measure_list_impact,
)
from embassay.protocols.watch.kinds import FEW, MOST, AnswerChangeKind, make_answers_now_and_then, name_vector_changes
from embassay.protocols.watch.options import FingerprintCheckRequest
from embassay.protocols.watch.recording import find_billed_dollars, format_current_time
from embassay.protocols.watch.respondents import (
    AnswersAndFailuresByItem,
    WatchRespondent,
    measure_longest_request_bytes,
    open_watched_system_by_spec,
)
from embassay.randomness import make_seeded_generator
from embassay.stats.repeats import (
    are_distances_above_repeats,
    compute_p_of_total_noise_exceedances,
    find_outliers_and_smallest_p,
)
from embassay.systems.remote import Ledger

WINDOWS = {1: 1 / 3, 7: 1 / 9, 30: 1 / 9}
"""How many looks are taken together, and the part of a look's level that each of these tests gets."""
BY_GROUP = 1 / 9
"""The part that each window gets for texts of one group alone, shared out among the groups."""
OUTLIERS = 1 / 9
"""The part for single answers that are far off."""
SMALLEST = 4
"""Items of a group below which it is not tested by itself."""
STAGES = (12, 40)
"""After so many items `--until-sure` looks whether the verdict stands; then all are asked for."""
LOST = 0.1
"""The share of lost items above which nothing is compared."""
AGAIN = 40
"""Items that are asked twice more to tell a change from more noise."""
MORE = 1.5
"""How many times the recorded noise is more noise."""
STEADY = 0.2
"""A shift below this share of the new noise is none: answers are noisier, around what they were."""
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AnswerChangeTestResults:
    """What the tests say of the items that were asked: `moved` (n,) are beyond their repeats, `outlying` far off; `p`
    is the smallest p-value over its share of the level; `forms` are facts of form that differ. What people see are
    the `shown` distances: of vectors 1 - cosine, as the tests also count lengths."""

    rows: tuple[int, ...]
    values: NDArray[np.float32]
    distances: Floats
    shown: Floats
    moved: Bools
    outlying: Bools
    p: float
    forms: tuple[str, ...]
    lost: int

    @property
    def changed(self) -> Bools:
        """What has changed, (n,): where most answers are as they were, those that are far off alone."""
        few = self.outlying.any() and self.moved.mean() < FEW
        return self.outlying if few else self.moved

    @property
    def is_general_change(self) -> bool:
        """Whether it may be of all answers alike: no other form, and not a few of them far off."""
        return not self.forms and (not self.outlying.any() or bool(self.outlying.mean() >= FEW))

    def has_detected_change(self, level: float) -> bool:
        """Whether something has changed."""
        return bool(self.forms) or self.p <= level


def check_fingerprint(
    fingerprint: SystemAnswerFingerprint,
    request: FingerprintCheckRequest,
    *,
    history: Path,
    ledger: Ledger | None = None,
    listener: SilentListener | None = None,
) -> FingerprintCheck:
    """Ask the system afresh and say whether it still answers as recorded. `history` is the file of
    earlier checks, which is only read.

    While nothing changes, the chance that any of `request.looks` checks says otherwise is at most `request.alpha`: each
    look is tested at alpha / looks, which holds however looks depend on one another. Needs noise that is independent
    between items. UsageError for a system of another kind, ModelError where it fails, BudgetExceeded at the limit.
    """
    ledger = ledger or Ledger()
    earlier = [check for check in read_watch_checks(history) if check.fingerprint == fingerprint.digest]
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        respondent = open_watched_system_by_spec(
            fingerprint.kind, request.system or fingerprint.system, ledger=ledger, seed=fingerprint.seed,
            folder=Path(folder), tokenizer=fingerprint.tokenizer,
            longest=measure_longest_request_bytes(fingerprint.items)
        )  # fmt: skip
        respondent.listener = listener or SilentListener()
        check = check_fingerprint_of_open_respondent(fingerprint, respondent, request, earlier)
    return replace(check, seconds=time.perf_counter() - begun, usd=find_billed_dollars(ledger))


def check_fingerprint_of_open_respondent(
    fingerprint: SystemAnswerFingerprint,
    respondent: WatchRespondent,
    request: FingerprintCheckRequest,
    earlier: Sequence[FingerprintCheck] = (),
) -> FingerprintCheck:
    """`check_fingerprint` of something that is open already, after the `earlier` checks of the same fingerprint."""
    level = request.alpha / request.looks
    evidence = _ask_stages_until_change_is_decided(
        fingerprint, respondent, earlier, level, until_sure=request.until_sure
    )
    check = _make_fingerprint_check(fingerprint, respondent, evidence, level, len(earlier) + 1)
    return _add_change_effects(check, fingerprint, respondent, evidence, request)


def plan_item_rows_of_check_stages(
    fingerprint: SystemAnswerFingerprint, until_sure: bool
) -> tuple[tuple[int, ...], ...]:
    """The items of each stage, by their rows: every group early, so that a few items stand for all."""
    rows = range(len(fingerprint.items))
    if not until_sure:
        return (tuple(rows),)
    seen: dict[str, int] = {}
    turn = []
    for row in rows:
        item = fingerprint.items[row]
        key = f"{item.group} {item.role}"
        seen[key] = seen.get(key, 0) + 1
        turn.append((seen[key], row))
    order = [row for _, row in sorted(turn)]
    ends = [0, *(stage for stage in STAGES if stage < len(order)), len(order)]
    return tuple(tuple(order[start:end]) for start, end in pairwise(ends))


def _ask_stages_until_change_is_decided(
    fingerprint: SystemAnswerFingerprint,
    respondent: WatchRespondent,
    earlier: Sequence[FingerprintCheck],
    level: float,
    *,
    until_sure: bool,
) -> AnswerChangeTestResults:
    """Ask stage by stage, until the verdict stands."""
    stages = plan_item_rows_of_check_stages(fingerprint, until_sure)
    asked: list[int] = []
    replies: list[AnswersAndFailuresByItem] = []
    for number, stage in enumerate(stages):
        # Another order each night, so that what shares a request is not always the same.
        rng = make_seeded_generator(fingerprint.seed, "watch", "check", str(len(earlier)), str(number))
        items = [fingerprint.items[row] for row in stage]
        _announce_asking(respondent, items, "")
        replies.append(respondent.ask(items, rng))
        asked += stage
        values = np.concatenate([reply.values for reply in replies])
        evidence = run_answer_tests(fingerprint, asked, values, earlier)
        # Each stage is a look of its own, and has its part of the level.
        evidence = replace(evidence, p=min(1.0, evidence.p * len(stages)))
        if evidence.has_detected_change(level) or _has_unchanged_exact_answers(fingerprint, evidence, number):
            break
    return evidence


def _announce_asking(respondent: WatchRespondent, items: Sequence[FingerprintItem], again: str) -> None:
    respondent.listener.stage(f"asking {respondent.name}{again}", respondent.count(items), respondent.unit)


def _has_unchanged_exact_answers(
    fingerprint: SystemAnswerFingerprint, evidence: AnswerChangeTestResults, stage: int
) -> bool:
    """Whether a system that never varied has given the same answers to the last digit, some of each sort."""
    return (
        stage >= 1
        and not fingerprint.has_varied_answers
        and not evidence.lost
        and bool((evidence.distances <= FLOOR).all())
    )


def run_answer_tests(
    fingerprint: SystemAnswerFingerprint,
    asked: Sequence[int],
    values: NDArray[np.float32],
    earlier: Sequence[FingerprintCheck] = (),
) -> AnswerChangeTestResults:
    """All tests of answers (n, width) to the items `asked` (n,). Lost ones, now or when recorded, are left out."""
    told = ~(make_mask_of_missing_answers(values) | make_mask_of_missing_answers(fingerprint.values[list(asked)]))
    rows = tuple(row for row, is_told in zip(asked, told, strict=True) if is_told)
    values, noise = values[told], fingerprint.noise[list(rows)]
    then = fingerprint.values[list(rows)]
    lost = len(asked) - len(rows)
    forms = (
        measure_answer_form(then).list_answer_shape_differences(measure_answer_form(values))
        if fingerprint.kind == "vectors" and len(rows)
        else ()
    )
    # Of vectors of two widths no distance is known, and none is needed.
    if values.shape[1] != fingerprint.width:
        every = np.ones(len(rows), dtype=bool)
        far_off = np.full(len(rows), np.inf)
        return AnswerChangeTestResults(rows, values, far_off, far_off, every, ~every, 0.0, ("width",), lost)
    distances = compute_distances_relative_to_reference(values, then)
    moved = are_distances_above_repeats(distances, noise, FLOOR)
    outlying, far = find_outliers_and_smallest_p(distances, noise, FLOOR)
    p = min(far / OUTLIERS, *_compute_p_values_of_check_windows(fingerprint, rows, moved, earlier))
    shown = compute_cosine_distances(values, then) if fingerprint.kind == "vectors" else distances
    return AnswerChangeTestResults(rows, values, distances, shown, moved, outlying, min(1.0, p), forms, lost)


def _compute_p_values_of_check_windows(
    fingerprint: SystemAnswerFingerprint, rows: Sequence[int], moved: Bools, earlier: Sequence[FingerprintCheck]
) -> list[float]:
    """The p-value of each window, over all items and over those of each group, over its part of the level; of those
    windows for which there are checks of the same items."""
    marks = [dict(zip(rows, moved.tolist(), strict=True))]
    # Newest first, back to the first look that asked for other items, as --until-sure does.
    for check in reversed(earlier[-max(WINDOWS) :]):
        told = {row: mark == "1" for row, mark in enumerate(check.mask) if mark != "-"}
        if told.keys() != marks[0].keys():
            break
        marks.append(told)
    groups = [
        [rows[place] for place in members]
        for members in list_item_places_of_test_groups([fingerprint.items[row] for row in rows])
    ]
    ps = []
    for looks, part in WINDOWS.items():
        if len(marks) < looks:
            break
        totals = {row: sum(told[row] for told in marks[:looks]) for row in rows}
        ps.append(
            compute_p_of_total_noise_exceedances(sum(totals.values()), len(rows), fingerprint.repeat_count, looks)
            / part
        )
        for members in groups:
            total = sum(totals[row] for row in members)
            p = compute_p_of_total_noise_exceedances(total, len(members), fingerprint.repeat_count, looks)
            ps.append(p * len(groups) / BY_GROUP)
    return ps


def list_item_places_of_test_groups(items: Sequence[FingerprintItem]) -> list[list[int]]:
    """The places of each group of items, and of questions, that are enough to be tested by themselves."""
    groups: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        groups.setdefault(item.group, []).append(place)
        if item.role == "query":
            groups.setdefault("role query", []).append(place)
    return [members for members in groups.values() if SMALLEST <= len(members) < len(items)]


def _make_fingerprint_check(
    fingerprint: SystemAnswerFingerprint,
    respondent: WatchRespondent,
    evidence: AnswerChangeTestResults,
    level: float,
    look: int,
) -> FingerprintCheck:
    verdict, reason, changes = _decide_answer_change_verdict(fingerprint, respondent, evidence, level)
    mask = ["-"] * len(fingerprint.items)
    for row, moved in zip(evidence.rows, evidence.moved, strict=True):
        mask[row] = "1" if moved else "0"
    noise = fingerprint.noise[list(evidence.rows)]
    items = [fingerprint.items[row] for row in evidence.rows]
    return FingerprintCheck(
        fingerprint.digest, format_current_time(), look, respondent.name, respondent.identity, verdict, reason,
        evidence.p, level,
        len(evidence.rows) + evidence.lost, evidence.lost, int(evidence.moved.sum()),
        _compute_finite_median(evidence.shown), float(np.median(noise)) if noise.size else 0.0, changes,
        tuple(summarise_changes_by_group(items, evidence.shown, evidence.moved)), "".join(mask), 0.0, None
    )  # fmt: skip


def _decide_answer_change_verdict(
    fingerprint: SystemAnswerFingerprint, respondent: WatchRespondent, evidence: AnswerChangeTestResults, level: float
) -> tuple[Verdict, str, tuple[AnswerChangeKind, ...]]:
    n = len(evidence.rows)
    if evidence.lost > LOST * (n + evidence.lost):
        return "not comparable", f"{evidence.lost} of {n + evidence.lost} items have no answer", ()
    if not evidence.has_detected_change(level):
        return "same", "no test finds a difference", ()
    if evidence.is_general_change and _is_repeat_noise_as_large_as_change(fingerprint, respondent, evidence):
        return "noisier", "answers vary more than before, around the recorded ones", ()
    reason = f"{int(evidence.moved.sum())} of {n} answers differ more from the recorded ones than any repeat did"
    if fingerprint.kind != "vectors":
        return "changed", reason, ()
    recurring = _is_change_same_when_asked_again(fingerprint, respondent, evidence)
    seen = make_answers_now_and_then(fingerprint, evidence.rows, evidence.values, evidence.changed, recurring)
    changes = name_vector_changes(seen, measure_answer_form(seen.then), measure_answer_form(seen.now))
    return "changed", reason, changes


def _is_repeat_noise_as_large_as_change(
    fingerprint: SystemAnswerFingerprint, respondent: WatchRespondent, evidence: AnswerChangeTestResults
) -> bool:
    """Ask twice more: whether new answers differ from one another as much as from the recorded ones."""
    rng = make_seeded_generator(fingerprint.seed, "watch", "again")
    places = np.sort(rng.permutation(len(evidence.rows))[:AGAIN])
    items = [fingerprint.items[evidence.rows[place]] for place in places]
    then = fingerprint.values[[evidence.rows[place] for place in places]].astype(np.float64)
    _announce_asking(respondent, [*items, *items], " twice more")
    first, second = (respondent.ask(items, rng).values.astype(np.float64) - then for _ in range(2))
    told = ~(make_mask_of_missing_answers(first) | make_mask_of_missing_answers(second))
    scale = np.maximum(np.einsum("nd,nd->n", then, then), FLOOR)[told]
    own = np.einsum("nd,nd->n", first[told] - second[told], first[told] - second[told]) / (2 * scale)
    shared = np.einsum("nd,nd->n", first[told], second[told]) / scale
    # What both have in common also holds the recorded answer's own noise, which is half of a repeat's distance.
    repeats = fingerprint.noise[[evidence.rows[place] for place in places]][told].mean(axis=1)
    shift = shared - repeats
    is_more = np.median(own) > max(FLOOR, MORE * float(np.median(repeats)))
    return bool(is_more and np.median(shift) < STEADY * np.median(own))


def _is_change_same_when_asked_again(
    fingerprint: SystemAnswerFingerprint, respondent: WatchRespondent, evidence: AnswerChangeTestResults
) -> bool | None:
    """Where a few texts have changed, ask for these and as many others once more: whether the same ones are off."""
    changed = evidence.changed
    if not 0 < changed.mean() < FEW or evidence.values.shape[1] != fingerprint.width:
        return None
    rng = make_seeded_generator(fingerprint.seed, "watch", "same texts")
    off, others = np.flatnonzero(changed), rng.permutation(np.flatnonzero(~changed))
    places = np.concatenate([off, others[: len(off)]])
    rows = [evidence.rows[place] for place in places]
    items = [fingerprint.items[row] for row in rows]
    _announce_asking(respondent, items, " once more")
    values = respondent.ask(items, rng).values
    again = run_answer_tests(fingerprint, rows, values)
    is_off = np.isin(again.rows, [evidence.rows[place] for place in off])
    # Under noise an answer is now and then beyond its repeats, and hardly ever far off.
    off_again = again.outlying if evidence.outlying.any() else again.moved
    return bool(off_again[is_off].mean() >= MOST and off_again[~is_off].mean() <= 1 - MOST)


def summarise_changes_by_group(
    items: Sequence[FingerprintItem], distances: Floats, moved: Bools
) -> list[TextGroupChange]:
    """How many items (n,) of each group, role and language have moved, and the median of their distances."""
    by_group: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        names = [item.group, f"role {item.role}", *([f"language {item.lang}"] if item.lang else [])]
        for name in names:
            by_group.setdefault(name, []).append(place)
    return [
        TextGroupChange(name, len(places), int(moved[places].sum()), _compute_finite_median(distances[places]))
        for name, places in by_group.items()
    ]


def _compute_finite_median(values: Floats) -> float:
    """Below 0 where there is none: another width has no distance."""
    told = values[np.isfinite(values)]
    return float(np.median(told)) if len(told) else -1.0


def _add_change_effects(
    check: FingerprintCheck,
    fingerprint: SystemAnswerFingerprint,
    respondent: WatchRespondent,
    evidence: AnswerChangeTestResults,
    request: FingerprintCheckRequest,
) -> FingerprintCheck:
    """What the change does to lists, thresholds and an index, where there is one or all is to be told."""
    is_wanted = check.verdict in ("changed", "noisier")
    if not len(evidence.rows):
        return check
    if fingerprint.kind != "vectors":
        if not is_wanted:
            return check
        answered = fingerprint, evidence.rows, evidence.values
        return replace(check, panel=measure_answer_score_change(*answered), golden=measure_golden_effect(*answered))
    documents = [place for place, row in enumerate(evidence.rows) if fingerprint.items[row].role == "document"]
    rows = [evidence.rows[place] for place in documents]
    then, now = fingerprint.values[rows], evidence.values[documents]
    told = measure_all_threshold_impacts(request.calibrations, fingerprint.system, then, now)
    check = replace(check, thresholds=told)
    lists = fingerprint.lists
    if lists is not None and (request.lists == "always" or (is_wanted and request.lists == "changed")):
        place_of = {row: place for place, row in enumerate(evidence.rows)}
        missing = [row for row in lists.questions if row not in place_of]
        more = dict(zip(missing, _ask_remaining_items(fingerprint, respondent, missing), strict=True))
        questions = np.stack(
            [evidence.values[place_of[row]] if row in place_of else more[row] for row in lists.questions]
        )
        check = replace(check, impact=measure_list_impact(fingerprint, lists, questions, respondent))
    return replace(check, part=_describe_passages_to_renew(check, fingerprint, evidence) if is_wanted else "")


def _ask_remaining_items(
    fingerprint: SystemAnswerFingerprint, respondent: WatchRespondent, rows: Sequence[int]
) -> NDArray[np.float32]:
    """Answers to items that were not asked, as `--until-sure` leaves some out."""
    if not rows:
        return np.empty((0, fingerprint.width), dtype=np.float32)
    rng = make_seeded_generator(fingerprint.seed, "watch", "questions")
    return respondent.ask([fingerprint.items[row] for row in rows], rng).values


def _describe_passages_to_renew(
    check: FingerprintCheck, fingerprint: SystemAnswerFingerprint, evidence: AnswerChangeTestResults
) -> str:
    """Which passages of an index no longer are what the system would make of them."""
    kinds = {change.kind for change in check.changes}
    moved = evidence.changed
    documents = np.array([fingerprint.items[row].role == "document" for row in evidence.rows])
    if check.verdict == "noisier":
        return "nothing, because answers only vary around the recorded ones"
    if "some requests" in kinds:
        return 'everything encoded since the last check with the verdict "same", as bad answers can be anywhere'
    if check.impact is not None and check.impact.states[0].are_lists_unchanged:
        return "nothing for now, because your lists do not change with the old passages"
    if not moved[documents].any():
        return "nothing, because only questions are encoded differently"
    if "cut length" in kinds:
        words = min(
            fingerprint.items[row].words for row, is_moved in zip(evidence.rows, moved, strict=True) if is_moved
        )
        share = _compute_share_of_texts_with_more_words(fingerprint, words)
        told = "" if share is None else f", {share:.0%} of the passages"
        return f"passages of about {words:,} words or more{told}"
    if (share := float(moved[documents].mean())) < FEW:
        return f"passages like the changed ones ({share:.0%} of the passages checked)"
    return "everything, because every passage would be encoded differently"


def _compute_share_of_texts_with_more_words(fingerprint: SystemAnswerFingerprint, words: int) -> float | None:
    """The share of the corpus with at least so many words."""
    if fingerprint.corpus is None:
        return None
    return float(np.mean([length >= words for length in fingerprint.corpus.words]))
