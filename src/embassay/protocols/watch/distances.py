"""How far answers lie from recorded ones, and which facts about their form a noise cannot change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.systems.cosine import compute_row_lengths

Floats = NDArray[np.float64]
Answers = NDArray[np.float32]
Lattice = Literal["float32", "float16", "bfloat16", "int8", "binary"]

FLOOR = 1e-12
"""Distances that are rounding: float32 on another processor differs by less."""
UNIT = 1e-3
"""How near to 1 the length of a normalised vector is, also one of rounded values."""
MOST, RARELY = 0.9, 0.5
"""The share of answers from which on a fact of form holds, and below which it does not."""


def compute_distances_relative_to_reference(
    answers: NDArray[np.floating[Any]], reference: NDArray[np.floating[Any]]
) -> Floats:
    """Half the squared distance of each answer (n, width) from its reference, in units of the reference's squared
    length: 1 - cosine for two unit vectors. (n,); of a zero reference, absolute. NaN where one is lost."""
    a, b = answers.astype(np.float64), reference.astype(np.float64)
    scale = np.einsum("nd,nd->n", b, b)
    square = np.einsum("nd,nd->n", a - b, a - b)
    return np.asarray(square / (2 * np.where(scale > 0, scale, 1.0)))


def scale_to_unit_length(answers: Answers) -> Floats:
    """Each answer at length 1, (n, width), in double precision; a zero one stays zero."""
    wide = answers.astype(np.float64)
    lengths = np.sqrt(np.einsum("nd,nd->n", wide, wide))
    return np.asarray(wide / np.where(lengths > 0, lengths, 1.0)[:, None])


def make_mask_of_missing_answers(answers: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    """Find which answers (n, width) are lost, (n,)."""
    return np.asarray(np.isnan(answers).any(axis=1))


def compute_cosine_distances(answers: Answers, reference: Answers) -> Floats:
    """1 - cosine of each answer and its reference, (n,), also where float32 would round it to 0."""
    return compute_distances_relative_to_reference(scale_to_unit_length(answers), scale_to_unit_length(reference))


def compute_cosines(answers: Answers, reference: Answers) -> Floats:
    """The cosine of each answer and its reference, (n,)."""
    return np.asarray(np.einsum("nd,nd->n", scale_to_unit_length(answers), scale_to_unit_length(reference)))


@dataclass(frozen=True)
class AnswerVectorFormat:
    """What answers look like, whatever they say: their width, the share of them that have length 1, and the coarsest
    set of values that nearly all lie in."""

    width: int
    unit_share: float
    lattice: Lattice

    @property
    def has_unit_length(self) -> bool:
        """Whether nearly all have length 1."""
        return self.unit_share >= MOST

    def list_answer_shape_differences(self, other: AnswerVectorFormat) -> tuple[str, ...]:
        """The facts in which two forms differ; lengths only where they are 1 in one and rarely in the other."""
        shares = sorted((self.unit_share, other.unit_share))
        facts = {
            "width": self.width != other.width,
            "is_unit": shares[1] >= MOST and shares[0] < RARELY,
            "lattice": self.lattice != other.lattice,
        }
        return tuple(name for name, differs in facts.items() if differs)


def measure_answer_form(answers: Answers) -> AnswerVectorFormat:
    """The form of answers (n, width), lost and zero ones left out."""
    told = answers[~make_mask_of_missing_answers(answers)]
    told = told[told.any(axis=1)]
    if not len(told):
        return AnswerVectorFormat(answers.shape[1], 0.0, "float32")
    share = float((np.abs(compute_row_lengths(told) - 1) < UNIT).mean())
    return AnswerVectorFormat(answers.shape[1], share, _detect_quantisation_of_vectors(told))


def _detect_quantisation_of_vectors(rows: Answers) -> Lattice:
    """Find the coarsest lattice on which nearly all rows lie."""
    magnitudes = np.abs(rows)
    if _holds_for_most_rows((magnitudes == magnitudes[:, :1]).all(axis=1)):
        return "binary"
    steps = rows.astype(np.float64) / magnitudes.max(axis=1, keepdims=True) * 127
    if _holds_for_most_rows(np.abs(steps - np.rint(steps)).max(axis=1) < 1e-3):
        return "int8"
    # float32 with the lower half of its bits zero, which is how bfloat16 is widened.
    if _holds_for_most_rows((np.ascontiguousarray(rows).view(np.uint32) & 0xFFFF == 0).all(axis=1)):
        return "bfloat16"
    if _holds_for_most_rows((rows.astype(np.float16).astype(np.float32) == rows).all(axis=1)):
        return "float16"
    return "float32"


def _holds_for_most_rows(rows: NDArray[np.bool_]) -> bool:
    return bool(rows.mean() >= MOST)
