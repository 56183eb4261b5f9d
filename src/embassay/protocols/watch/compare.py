"""`embassay watch compare`: whether two systems answer alike, one model behind two servers say, and where not."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.watch.check import list_item_places_of_test_groups, summarise_changes_by_group
from embassay.protocols.watch.distances import (
    FLOOR,
    compute_cosine_distances,
    compute_distances_relative_to_reference,
    make_mask_of_missing_answers,
    measure_answer_form,
)
from embassay.protocols.watch.fingerprint import DEPTH, FingerprintItem
from embassay.protocols.watch.history import TextGroupChange
from embassay.protocols.watch.impact import estimate_share
from embassay.protocols.watch.kinds import FEW, AnswerChangeKind, AnswersNowAndThen, name_vector_changes
from embassay.protocols.watch.options import SystemCompareRequest
from embassay.protocols.watch.own import read_own_texts
from embassay.protocols.watch.recording import ask_and_measure_repeat_distances, find_billed_dollars, list_items_to_ask
from embassay.protocols.watch.respondents import Answers, open_watched_system_by_spec
from embassay.stats import Estimate
from embassay.stats.repeats import (
    are_distances_above_repeats,
    compute_p_of_total_noise_exceedances,
    find_outliers_and_smallest_p,
)
from embassay.systems.cosine import scale_rows_to_unit_length
from embassay.systems.remote import Ledger

CLOSE = 1e-3
"""1 - cosine, in the median of texts, up to which two servers are close: they round in other ways."""
CLOSE_LISTS = 0.95
"""The share of a list that close servers have in common, in the mean."""
ALPHA = 0.05
Likeness = Literal["equal", "close", "different"]


@dataclass(frozen=True)
class SystemAnswerSimilarity:
    """How two systems answer alike: `beyond` of `n` items differ by more than either varies, `p` that so many do by
    chance; `distance` is the median, `overlap` the mean share of the first ten neighbours of a text that both find."""

    first: str
    second: str
    verdict: Likeness
    n: int
    lost: int
    beyond: int
    p: float
    distance: float
    noise: tuple[float, float]
    overlap: float
    changed: Estimate
    changes: tuple[AnswerChangeKind, ...]
    groups: tuple[TextGroupChange, ...]
    usd: float | None

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


def compare_systems(
    request: SystemCompareRequest, *, ledger: Ledger | None = None, listener: SilentListener | None = None
) -> SystemAnswerSimilarity:
    """Ask both for the same texts several times. UsageError for two systems of different kinds."""
    ledger = ledger or Ledger()
    own, sides = read_own_texts(request.own), []
    with tempfile.TemporaryDirectory() as folder:
        respondents = [
            open_watched_system_by_spec(
                None, name, ledger=ledger, seed=request.own.seed, folder=Path(folder), tokenizer=request.tokenizer
            )
            for name in request.systems
        ]
        first, second = respondents
        if first.kind != second.kind:
            raise UsageError(
                f"{first.name} returns {first.kind}, but {second.name} returns {second.kind}.",
                mend="Compare two encoders, or two systems without vectors.",
            )
        items = list_items_to_ask(first.kind, own, request.own)
        for respondent in respondents:
            respondent.listener = listener or SilentListener()
            asked = respondent.count(items) * (request.repeats + 1)
            respondent.listener.stage(f"asking {respondent.name}", asked, respondent.unit)
            replies, noise = ask_and_measure_repeat_distances(respondent, items, request.repeats, request.own.seed)
            sides.append((replies.values, noise))
    (a, noise_a), (b, noise_b) = sides
    told = ~(make_mask_of_missing_answers(a) | make_mask_of_missing_answers(b))
    kept = [item for item, is_told in zip(items, told, strict=True) if is_told]
    outcome = compare_answers_of_two_systems(
        kept, a[told], b[told], noise_a[told], noise_b[told], is_vector=first.kind == "vectors"
    )
    names = {"first": first.name, "second": second.name, "lost": int((~told).sum()), "usd": find_billed_dollars(ledger)}
    return SystemAnswerSimilarity(**{**outcome, **names})


def compare_answers_of_two_systems(
    items: Sequence[FingerprintItem], a: Answers, b: Answers, noise_a: NDArray[np.float64],
    noise_b: NDArray[np.float64], *, is_vector: bool = True
) -> dict[str, Any]:  # fmt: skip
    """All of a Conformance that answers (n, width) and their repeats (n, repeats) tell."""
    same_width = a.shape[1] == b.shape[1]
    distances = compute_distances_relative_to_reference(b, a) if same_width else np.full(len(a), np.inf)
    # The noisier of the two sets the measure for both.
    repeats = np.maximum(noise_a, noise_b)
    beyond = are_distances_above_repeats(distances, repeats, FLOOR)
    outlying, far_p = find_outliers_and_smallest_p(distances, repeats, FLOOR)
    p = min(1.0, 3 * min(far_p, *_compute_p_values_overall_and_by_group(items, beyond, noise_a.shape[1])))
    is_few = outlying.any() and beyond.mean() < FEW
    overlap, changed = _measure_neighbour_overlap(a, b) if is_vector else (1.0 - float(beyond.mean()), 0)
    noise = float(np.median(noise_a)), float(np.median(noise_b))
    shown = compute_cosine_distances(b, a) if same_width and is_vector else distances
    told = summarise_changes_by_group(items, shown, beyond)
    is_equal = p > ALPHA and not np.isinf(distances).any()
    is_close = float(np.median(shown)) <= CLOSE and overlap >= CLOSE_LISTS
    changes: tuple[AnswerChangeKind, ...] = ()
    # What is beyond every repeat of either side is no bad request of one time.
    if is_vector and not is_equal:
        changed_items = outlying if is_few else beyond
        contrasts = AnswersNowAndThen(items, b, a, changed_items, max(noise), recurring=True)
        changes = name_vector_changes(contrasts, measure_answer_form(a), measure_answer_form(b))
    median = float(np.median(shown))
    return {
        "verdict": "equal" if is_equal else "close" if is_close else "different", "n": len(items),
        "beyond": int(beyond.sum()), "p": p, "distance": median if np.isfinite(median) else -1.0, "noise": noise,
        "overlap": overlap, "changed": estimate_share(changed, len(a)),
        "changes": changes, "groups": tuple(told)
    }  # fmt: skip


def _compute_p_values_overall_and_by_group(
    items: Sequence[FingerprintItem], beyond: NDArray[np.bool_], repeats: int
) -> tuple[float, float]:
    """The chance that so many of all items, and of any group of them, lie beyond their repeats."""
    groups = list_item_places_of_test_groups(items)
    by_group = [
        compute_p_of_total_noise_exceedances(int(beyond[members].sum()), len(members), repeats, 1) for members in groups
    ]
    return compute_p_of_total_noise_exceedances(int(beyond.sum()), len(items), repeats, 1), min(
        [1.0, *(p * len(groups) for p in by_group)]
    )


def _measure_neighbour_overlap(a: Answers, b: Answers) -> tuple[float, int]:
    """The mean share of the first ten neighbours that both sides find, and how many texts have other ones."""
    depth = min(DEPTH, len(a) - 1)
    same = np.array(
        [
            len(set(first) & set(second))
            for first, second in zip(
                _list_neighbours_of_each_vector(a, depth), _list_neighbours_of_each_vector(b, depth), strict=True
            )
        ]
    )
    return float(same.mean() / depth), int((same < depth).sum())


def _list_neighbours_of_each_vector(vectors: Answers, depth: int) -> list[list[int]]:
    units = scale_rows_to_unit_length(vectors).astype(np.float64)
    scores = units @ units.T
    # No text is its own neighbour.
    np.fill_diagonal(scores, -np.inf)
    order: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :depth].tolist()
    return order
