"""The linear algebra of small positive definite matrices, written out. Compiled.

No library may choose another order of summation on another machine, and numba takes seconds to bind one. Of a matrix
only the upper half is read; its factor is the upper triangular U with U'U = matrix.
"""

from __future__ import annotations

import numpy as np

from embassay.compiled import compiled
from embassay.protocols.rag.ranking.bayes.likelihood import Floats


@compiled
def cholesky(matrix: Floats) -> None:
    """Overwrite the upper half of a positive definite matrix (d, d) by its factor U; the lower half is left."""
    d = len(matrix)
    for j in range(d):
        root = np.sqrt(matrix[j, j])
        for i in range(j, d):
            matrix[j, i] /= root
        for i in range(j + 1, d):
            times = matrix[j, i]
            if times != 0.0:
                for k in range(i, d):
                    matrix[i, k] -= times * matrix[j, k]


@compiled
def solve(factor: Floats, side: Floats, solved: Floats) -> None:
    """Write the x (d,) with U'U x = `side` (d,)."""
    d = len(side)
    for i in range(d):
        solved[i] = side[i]
    for i in range(d):
        solved[i] /= factor[i, i]
        for j in range(i + 1, d):
            solved[j] -= solved[i] * factor[i, j]
    for i in range(d - 1, -1, -1):
        for j in range(i + 1, d):
            solved[i] -= factor[i, j] * solved[j]
        solved[i] /= factor[i, i]


@compiled
def solve_upper(factor: Floats, sides: Floats) -> Floats:
    """The X with U X = `sides` (d, columns). Standard normal columns become draws of N(0, 1 / U'U)."""
    d, columns = sides.shape
    solved = np.empty((d, columns))
    for i in range(d - 1, -1, -1):
        for column in range(columns):
            solved[i, column] = sides[i, column]
        for j in range(i + 1, d):
            times = factor[i, j]
            for column in range(columns):
                solved[i, column] -= times * solved[j, column]
        for column in range(columns):
            solved[i, column] /= factor[i, i]
    return solved
