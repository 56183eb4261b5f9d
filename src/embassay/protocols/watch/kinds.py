"""What kind of change it is, told from the pattern of what changed: which texts, which roles, how far, into what.

Every recogniser looks for one pattern and none guesses: what fits none is a change of a kind unknown. Thresholds were
set on planted changes of all-MiniLM-L6-v2; docs/watch.md has the table of what is taken for what.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from embassay.protocols.watch.distances import (
    FLOOR,
    Answers,
    AnswerVectorFormat,
    compute_cosine_distances,
    compute_cosines,
    compute_distances_relative_to_reference,
    scale_to_unit_length,
)
from embassay.protocols.watch.fingerprint import FingerprintItem, SystemAnswerFingerprint
from embassay.stats.repeats import FAR
from embassay.systems.cosine import VectorTransformOptions, scale_rows_to_unit_length

ChangeKind = Literal[
    "dimensions", "normalisation", "float16", "bfloat16", "int8", "binary", "cut length", "prefix or prompt",
    "pooling", "revision", "another model", "some requests", "some texts", "tokenizer or cleaning", "unknown"
]  # fmt: skip
EXPLAINED = 0.25
"""A simple step explains a change where its result lies so much nearer, in distance, than the recorded answers."""
ALONE = 0.2
"""Centred cosine below which answers share nothing with the recorded ones but chance."""
AKIN = 0.6
"""Centred cosine from which on answers are of the same coordinates."""
COMMON = 0.45
"""Share of the change that is the same for all texts, from which on it is taken for pooling."""
SHORTER = -0.45
"""Rank correlation of a text's length and its change, below which short texts change most: something was put before all
texts, or no longer is."""
MOST = 0.8
"""Share of the texts of a sort, and of what has changed, from which on the change is of that sort."""
FEW = 0.5
"""Share of changed texts below which only some requests, or some groups of texts, have changed."""
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class AnswerChangeKind:
    """One kind of change and what it was told from, in words."""

    kind: ChangeKind
    evidence: str


@dataclass(frozen=True)
class AnswersNowAndThen:
    """Answers now and then: of the same `items`, lost ones left out; `moved` are those beyond the noise."""

    items: Sequence[FingerprintItem]
    now: Answers
    then: Answers
    moved: Bools
    noise: float
    """The median distance of repeats."""
    recurring: bool | None = None
    """Whether the same texts, and no others, are beyond the noise each time; None where nobody looked."""

    @property
    def text_lengths(self) -> NDArray[np.int64]:
        """Characters of each text."""
        return np.array([len(item.text) for item in self.items])


def make_answers_now_and_then(
    fingerprint: SystemAnswerFingerprint, rows: Sequence[int], now: Answers, moved: Bools, recurring: bool | None = None
) -> AnswersNowAndThen:
    """What was asked in `rows` (n,) of a fingerprint, whose answers `now` (n, width) are none of them lost."""
    noise = fingerprint.noise[list(rows)]
    return AnswersNowAndThen(
        [fingerprint.items[row] for row in rows], now, fingerprint.values[list(rows)], moved,
        float(np.median(noise)) if noise.size else 0.0, recurring
    )  # fmt: skip


def name_vector_changes(
    seen: AnswersNowAndThen, before: AnswerVectorFormat, after: AnswerVectorFormat
) -> tuple[AnswerChangeKind, ...]:
    """Name what has changed in vectors, the surest first; at least one change."""
    if before.width != after.width:
        return (_name_width_change(seen),)
    changes = [*_list_answer_shape_changes(seen, before, after)]
    if changes and _is_explained_by_one_final_step(seen):
        return tuple(changes)
    rest = next((told for look in LOOKS if (told := look(seen)) is not None), None)
    return (*changes, rest or AnswerChangeKind("unknown", "no known pattern fits"))


def _name_width_change(seen: AnswersNowAndThen) -> AnswerChangeKind:
    """Name a change of width: fewer dimensions of the same vectors, or other vectors."""
    width, old = seen.now.shape[1], seen.then.shape[1]
    said = f"{width} dimensions instead of {old}"
    if width < old:
        cosine = float(np.median(compute_cosines(seen.now, seen.then[:, :width])))
        if cosine > 1 - 10 * max(seen.noise, 1e-4):
            return AnswerChangeKind(
                "dimensions", f"{said}: the first {width} of the recorded ones (cosine {cosine:.4f})"
            )
    return AnswerChangeKind("another model", f"{said}, and not a subset of the recorded ones")


def _list_answer_shape_changes(
    seen: AnswersNowAndThen, before: AnswerVectorFormat, after: AnswerVectorFormat
) -> Iterator[AnswerChangeKind]:
    if "is_unit" in before.list_answer_shape_differences(after):
        lengths = np.sqrt(np.einsum("nd,nd->n", seen.now.astype(np.float64), seen.now.astype(np.float64)))
        low, high = np.percentile(lengths[lengths > 0], (5, 95))
        said = "have length 1 now" if after.has_unit_length else f"have lengths of {low:.3g} to {high:.3g} instead of 1"
        yield AnswerChangeKind("normalisation", f"vectors {said}")
    if "lattice" in before.list_answer_shape_differences(after) and after.lattice != "float32":
        yield AnswerChangeKind(after.lattice, f"all values are {after.lattice} instead of {before.lattice}")


STEPS: tuple[Callable[[Answers], Answers], ...] = (
    scale_rows_to_unit_length,
    VectorTransformOptions(quantize="float16"),
    VectorTransformOptions(quantize="int8"),
    VectorTransformOptions(quantize="binary"),
)
"""What a server may do to a vector at the end."""


def _is_explained_by_one_final_step(seen: AnswersNowAndThen) -> bool:
    """Whether one step at the end, of the recorded answers or of the new ones, brings both together."""
    units = scale_rows_to_unit_length(seen.now)
    steps = (scale_rows_to_unit_length(step(seen.then)) for step in STEPS)
    nearest = min(
        _compute_98th_percentile_of_distances(compute_distances_relative_to_reference(units, step)) for step in steps
    )
    # What rounding moves is so little that no other change hides behind it.
    return nearest <= max(
        EXPLAINED
        * _compute_98th_percentile_of_distances(
            compute_distances_relative_to_reference(units, scale_rows_to_unit_length(seen.then))
        ),
        3 * seen.noise,
        1e-3,
    )


def _compute_98th_percentile_of_distances(distances: NDArray[np.float64]) -> float:
    """Find the furthest distance, but for one text in fifty."""
    return float(np.percentile(distances, 98))


def _name_vector_length_change(seen: AnswersNowAndThen) -> AnswerChangeKind | None:
    """Vectors point where they did."""
    turned = compute_cosine_distances(seen.now, seen.then)
    longer = float(np.median(compute_distances_relative_to_reference(seen.now, seen.then))) > 3 * float(
        np.median(turned)
    )
    if not longer or _compute_98th_percentile_of_distances(turned) > max(3 * seen.noise, FLOOR):
        return None
    return AnswerChangeKind("normalisation", "vectors have different lengths but the same directions")


def _find_truncation_change_kind(seen: AnswersNowAndThen) -> AnswerChangeKind | None:
    """Name the length from which on texts are cut: nearly all of these have changed, and no others."""
    order = np.argsort(seen.text_lengths, kind="stable")
    moved = seen.moved[order]
    if not moved.any() or moved.all():
        return None
    # The place that parts unmoved short texts from moved long ones best.
    words = np.array([seen.items[row].words for row in order])
    lengths = seen.text_lengths[order]
    shares = [(moved[place:].mean() - moved[:place].mean(), place) for place in range(3, len(moved) - 2)]
    gap, place = max(shares)
    if gap < 0.8 or not _have_cut_texts_become_equal(seen, lengths[place]):
        return None
    return AnswerChangeKind(
        "cut length", f"texts of about {words[place]:,} words or more have changed, shorter texts have not"
    )


def _have_cut_texts_become_equal(seen: AnswersNowAndThen, length: int) -> bool:
    """Whether long texts that differ only in their end have become one, or are not there to tell."""
    pairs: dict[str, list[int]] = {}
    for row, item in enumerate(seen.items):
        if item.group == "long" and len(item.text) >= length and seen.moved[row]:
            pairs.setdefault(item.pair, []).append(row)
    both = [rows for rows in pairs.values() if len(rows) == 2]
    alike = [
        compute_distances_relative_to_reference(seen.now[[a]], seen.now[[b]])[0] <= 4 * seen.noise + 1e-6
        for a, b in both
    ]
    return not alike or any(alike)


def _detect_change_in_few_requests(seen: AnswersNowAndThen) -> AnswerChangeKind | None:
    """Name odd requests: a few texts are far off, and the others have not changed at all."""
    share = float(seen.moved.mean())
    if not 0 < share < FEW:
        return None
    turned = compute_cosine_distances(seen.now, seen.then)
    near = float(np.median(turned[~seen.moved]))
    # A change of all texts that the noise half hides moves a few beyond it too, and none of them far.
    if np.median(turned[seen.moved]) <= FAR * max(near, seen.noise, FLOOR):
        return None
    if seen.recurring:
        return _describe_repeatedly_changed_texts(seen)
    far = 1 - np.median(compute_cosines(seen.now[seen.moved], seen.then[seen.moved]))
    return AnswerChangeKind(
        "some requests",
        f"{int(seen.moved.sum())} of {len(seen.moved)} texts have changed (1 - cosine {far:.2f}), "
        f"{'different ones each time' if seen.recurring is False else 'the others have not'}: probably a "
        "fallback model, or one of several servers",
    )


def _describe_repeatedly_changed_texts(seen: AnswersNowAndThen) -> AnswerChangeKind:
    """Name the texts that changed each time by what they have in common, if anything."""
    count = f"the same {int(seen.moved.sum())} of {len(seen.moved)} texts have changed each time"
    sorts = [_describe_sorts_of_changed_texts(seen, name, [*map(of, seen.items)]) for name, of in SORTS]
    told = [said for said in sorts if said]
    if not told:
        return AnswerChangeKind("some texts", f"{count}, which have nothing obvious in common")
    return AnswerChangeKind("tokenizer or cleaning", f"{count}: {'; '.join(told)}")


def _find_script(item: FingerprintItem) -> str:
    """Find the script of most of its letters, in a word of Unicode's names."""
    letters = [unicodedata.name(sign, "").split(" ")[0].lower() for sign in item.text if sign.isalpha()]
    return max(sorted(set(letters)), key=letters.count) if letters else ""


SORTS: tuple[tuple[str, Callable[[FingerprintItem], str]], ...] = (
    ("texts in the languages", lambda item: item.lang if item.lang != "en" else ""),
    ("letters", _find_script),
    ("texts that probe", lambda item: item.group),
)
"""What texts may have in common: the words for it, and the sort of a text, empty for none."""


def _describe_sorts_of_changed_texts(seen: AnswersNowAndThen, name: str, sorts: Sequence[str]) -> str:
    """Find the sorts of text that have changed, nearly all of each, if little else has; else nothing."""
    of = np.array(sorts)
    whole = [sort for sort in sorted(set(sorts) - {""}) if seen.moved[of == sort].mean() >= MOST]
    inside = np.isin(of, whole)
    if not whole or seen.moved[~inside].sum() > (1 - MOST) * seen.moved.sum():
        return ""
    return f"{name} {', '.join(whole)} ({int(seen.moved[inside].sum())} of {int(inside.sum())})"


def _find_change_kind_of_one_role(seen: AnswersNowAndThen) -> AnswerChangeKind | None:
    """Name a change of one role: only questions have changed, or only documents."""
    queries = np.array([item.role == "query" for item in seen.items])
    if not queries.any() or queries.all():
        return None
    shares = {"query": seen.moved[queries].mean(), "document": seen.moved[~queries].mean()}
    role, other = sorted(shares, key=lambda name: -shares[name])
    if shares[role] < 1 - ALONE or shares[other] > ALONE:
        return None
    lost = _is_answered_as_other_role(seen, role, other)
    said = f"only texts with the role {role} have changed"
    return AnswerChangeKind("prefix or prompt", said + (f": they are now encoded as a {other}" if lost else ""))


def _is_answered_as_other_role(seen: AnswersNowAndThen, role: str, other: str) -> bool:
    """Whether texts of one role are now what they were in the other."""
    before = {item.id: row for row, item in enumerate(seen.items) if item.role == other}
    pairs = [
        (row, before[item.id])
        for row, item in enumerate(seen.items)
        if item.role == role and item.id in before and item.text.strip()
    ]
    if not pairs:
        return False
    now, then = (list(side) for side in zip(*pairs, strict=True))
    as_other = np.median(compute_distances_relative_to_reference(seen.now[now], seen.then[then]))
    return bool(
        as_other <= EXPLAINED * np.median(compute_distances_relative_to_reference(seen.now[now], seen.then[now]))
    )


def _find_other_model_change_kind(seen: AnswersNowAndThen) -> AnswerChangeKind | None:
    akin = _compute_median_centred_answer_cosine(seen)
    if abs(akin) >= ALONE:
        return None
    return AnswerChangeKind(
        "another model", f"vectors have nothing in common with the recorded ones (centred cosine {akin:.2f})"
    )


def _detect_prefix_change_kind(seen: AnswersNowAndThen) -> AnswerChangeKind | None:
    """Name a change of prefix: short texts have changed more than long ones."""
    from scipy.stats import spearmanr

    rows = _list_rows_with_text_and_answers(seen)
    moved = 1 - compute_cosines(seen.now[rows], seen.then[rows])
    if len(rows) < 10 or np.ptp(moved) == 0:
        return None
    rank = float(spearmanr(seen.text_lengths[rows], moved).statistic)
    if rank > SHORTER:
        return None
    return AnswerChangeKind(
        "prefix or prompt",
        f"short texts have changed more than long ones (rank correlation {rank:.2f}): a prefix was "
        "added to all texts or removed",
    )


def _find_pooling_change_kind(seen: AnswersNowAndThen) -> AnswerChangeKind | None:
    """Name a change of pooling: in the same coordinates most of the change is one step of all texts."""
    rows = _list_rows_with_text_and_answers(seen)
    step = scale_to_unit_length(seen.now[rows]) - scale_to_unit_length(seen.then[rows])
    whole = float(np.einsum("nd,nd->n", step, step).mean())
    # By squared lengths: that of the mean step as a share of the mean of all.
    common = float((step.mean(axis=0) ** 2).sum()) / whole if whole else 0.0
    if common < COMMON or _compute_median_centred_answer_cosine(seen) < ALONE:
        return None
    return AnswerChangeKind("pooling", f"{common:.0%} of the change is the same for all texts, in the same coordinates")


def _detect_model_revision_change(seen: AnswersNowAndThen) -> AnswerChangeKind | None:
    akin = _compute_median_centred_answer_cosine(seen)
    if akin < AKIN:
        return None
    return AnswerChangeKind(
        "revision",
        f"all texts have changed a little, in the same coordinates (centred cosine {akin:.2f}): another "
        "revision or precision of the weights",
    )


LOOKS: tuple[Callable[[AnswersNowAndThen], AnswerChangeKind | None], ...] = (
    _name_vector_length_change,
    _find_change_kind_of_one_role,
    _find_truncation_change_kind,
    _detect_change_in_few_requests,
    _find_other_model_change_kind,
    _detect_prefix_change_kind,
    _find_pooling_change_kind,
    _detect_model_revision_change,
)
"""Recognisers of what changed inside a model, the most particular first."""


def _list_rows_with_text_and_answers(seen: AnswersNowAndThen) -> list[int]:
    """Rows of texts that say something and were answered."""
    return [
        row for row, item in enumerate(seen.items)
        if item.text.strip() and seen.now[row].any() and seen.then[row].any()
    ]  # fmt: skip


def _compute_median_centred_answer_cosine(seen: AnswersNowAndThen) -> float:
    """The median cosine of answers now and then, the mean of either taken away."""
    rows = _list_rows_with_text_and_answers(seen)
    now, then = (scale_to_unit_length(side[rows]) for side in (seen.now, seen.then))
    # Without the means, a step that all texts share leaves the cosine at 1.
    centred = (side - side.mean(axis=0) for side in (now, then))
    return float(np.median(np.einsum("nd,nd->n", *(scale_to_unit_length(side.astype(np.float32)) for side in centred))))
