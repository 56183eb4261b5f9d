"""Where a probability stops holding: kinds of pairs, and copies that are damaged or negated.

Kinds are by length, negation and words in common, and by what the rows of a file say of themselves: language, domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.data import Dataset
from embassay.errors import UsageError
from embassay.protocols.calibration.probability import SamenessProbabilityCurve
from embassay.protocols.kernel.estimates import Estimate, bootstrap_column_statistics, estimate
from embassay.protocols.tasks.task import measure_pair_similarity
from embassay.records import LabelledTextPairs, LoadedDataset, Score, ScoredTextPairs
from embassay.text import PERTURBATIONS, perturb_all

DAMAGED = {
    "capitalize": "copies in capitals", "delete10": "copies with letters lost",
    "numerize": "copies with digits for letters", "negate": "negated copies"
}  # fmt: skip
"""How the second text is edited, and what those pairs are called; all but the last keep its meaning."""
EDITED = 200
"""Pairs whose second text is edited, at most."""
COLUMNS = ("lang", "domain", "genre", "source")
"""What rows may say of themselves that pairs are told apart by."""
WEIGHTS = frozenset(["weight", "weights", "sample_weight"])
"""Columns that would have some pairs count for more."""
MOST_KINDS, FEWEST = 12, 10
"""A column of more values is no column of kinds; values of fewer pairs are not looked at."""
TOGETHER = 1_000
"""Pairs of a kind from which on it is resampled with all pairs."""
NEGATION = frozenset(["no", "not", "never", "none", "nobody", "nothing", "neither", "nor", "cannot", "without", "n't"])
MARKS = '.,;:!?"()'

Mask = NDArray[np.bool_]
Values = NDArray[np.float64]


@dataclass(frozen=True)
class PairsWithSliceColumns:
    """Pairs with labels or grades, and what their rows say of themselves: column -> its value of each pair, empty
    where a row has none."""

    pairs: LabelledTextPairs | ScoredTextPairs
    kinds: Mapping[str, tuple[str, ...]]

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the pairs."""
        return self.pairs.ids

    @property
    def first(self) -> tuple[str, ...]:
        """The first texts of the pairs."""
        return self.pairs.first

    @property
    def second(self) -> tuple[str, ...]:
        """The second texts of the pairs."""
        return self.pairs.second

    @property
    def is_graded(self) -> bool:
        """Whether pairs have grades, of which a cut makes labels."""
        return isinstance(self.pairs, ScoredTextPairs)


def make_pairs_loader(
    shapes: tuple[str, ...],
) -> Callable[[Dataset, int | None, int], LoadedDataset[PairsWithSliceColumns]]:
    """Make a loader of the first of the shapes that a dataset has."""

    def load_pairs_with_slice_columns(
        dataset: Dataset, limit: int | None, seed: int
    ) -> LoadedDataset[PairsWithSliceColumns]:
        shape = next((each for each in shapes if not dataset.missing(each)), shapes[0])
        loaded: LoadedDataset[Any] = dataset.load(shape, limit=limit, seed=seed)
        data = PairsWithSliceColumns(loaded.data, _read_slice_columns_by_pair(dataset, shape, loaded.data.ids))
        warnings = (*loaded.warnings, *_list_unused_weight_warnings(dataset.parts[shape].columns()))
        return LoadedDataset(
            data, loaded.dataset, loaded.lang, loaded.fingerprint, loaded.skipped, warnings
        )  # fmt: skip

    return load_pairs_with_slice_columns


def _list_unused_weight_warnings(columns: Sequence[str]) -> Iterator[str]:
    """Warn that weights are not used, as exact bounds count pairs and hold for no others."""
    for name in columns:
        if name.lower() in WEIGHTS:
            yield (f"the column {name} is ignored: guarantees count pairs and apply to pairs drawn like these")


def _read_slice_columns_by_pair(dataset: Dataset, shape: str, ids: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    source = dataset.parts[shape]
    columns = [name for name in COLUMNS if name in source.columns()]
    if not columns:
        return {}
    has_ids = "id" in source.columns()
    by_id: dict[str, tuple[str, ...]] = {}
    for number, row in enumerate(source.rows((*columns, *(("id",) if has_ids else ()))), 1):
        key = str(row.cells.get("id")) if has_ids else str(number)
        by_id[key] = tuple(_format_kind_cell_as_text(row.cells.get(name)) for name in columns)
    table = [by_id.get(key, ("",) * len(columns)) for key in ids]
    return {name: tuple(row[place] for row in table) for place, name in enumerate(columns)}


def _format_kind_cell_as_text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else "" if value is None else str(value)


def mark_pairs_of_same_meaning(data: PairsWithSliceColumns, same_from: float | None) -> Mask:
    """Whether each pair means the same, (n,). UsageError for grades where none is named."""
    pairs = data.pairs
    if isinstance(pairs, LabelledTextPairs):
        return np.asarray(pairs.labels == 1)
    if same_from is None and len(set(pairs.scores.tolist())) > 2:
        low, high = float(pairs.scores.min()), float(pairs.scores.max())
        near = f"{low + 0.8 * (high - low):.3g}"
        raise UsageError(
            f"The pairs have grades from {low:g} to {high:g}, not labels.",
            mend=f"Set the lowest grade of texts that mean the same, for example --same-from {near}.",
        )
    return np.asarray(pairs.scores >= (pairs.scores.max() if same_from is None else same_from))


def measure_probability_gaps(
    system: Similarity,
    data: PairsWithSliceColumns,
    held: Values,
    same: Mask,
    kept: NDArray[np.int64],
    curve: SamenessProbabilityCurve,
    context: Any,
) -> Iterator[Score]:
    """What came true minus what was foretold, by kind of pair and of edited copies: 0 where the probability holds."""
    off = same[kept] - held[kept]
    kinds = {name: mask for name, mask in list_pair_kinds_with_masks(data, kept) if mask.sum() >= 2}
    # What has many pairs is resampled with all, in one pass; of few a resample of all may have none.
    large = {name: mask for name, mask in kinds.items() if mask.sum() >= TOGETHER}
    estimated = _average_calibration_errors_by_kind(off, large, context)
    for name, mask in kinds.items():
        gap = estimated[name] if name in large else _estimate_mean_calibration_gap(off[mask], context, f"slice {name}")
        yield gap.score("gap", subset=name)
    if context.options.edits:
        yield from _score_damaged_and_negated_pairs(system, data, same, kept, curve, context)


def _average_calibration_errors_by_kind(off: Values, kinds: Mapping[str, Mask], context: Any) -> dict[str, Estimate]:
    """The mean of what is off (n,) over the rows of each mask (n,)."""
    if not kinds:
        return {}
    columns = np.column_stack([column for mask in kinds.values() for column in (off * mask, mask.astype(float))])
    # Bound as a default: a lambda would see the last `at` only.
    of = {name: lambda means, at=2 * at: means[..., at] / means[..., at + 1] for at, name in enumerate(kinds)}
    estimated = bootstrap_column_statistics(columns, of, context, "slices", "bootstrap over pairs")
    return {name: replace(estimated[name], n=int(mask.sum())) for name, mask in kinds.items()}


def _estimate_mean_calibration_gap(values: Values, context: Any, stream: str) -> Estimate:
    return estimate(values[:, None], lambda means: means[..., 0], context, stream, "bootstrap over pairs")


def list_pair_kinds_with_masks(data: PairsWithSliceColumns, kept: NDArray[np.int64]) -> Iterator[tuple[str, Mask]]:
    """The kinds of pairs that are looked at by themselves, and which of the kept rows each has."""
    lengths = np.array([len(data.first[row]) + len(data.second[row]) for row in kept])
    low, high = np.quantile(lengths, [1 / 3, 2 / 3])
    yield "short pairs", lengths <= low
    yield "medium pairs", (lengths > low) & (lengths <= high)
    yield "long pairs", lengths > high
    words = [(_split_into_word_set(data.first[row]), _split_into_word_set(data.second[row])) for row in kept]
    denied = np.array([NEGATION.isdisjoint(first) != NEGATION.isdisjoint(second) for first, second in words])
    yield "pairs with one negation", denied
    yield "pairs with none or two", ~denied
    common = np.array([len(first & second) / len(first | second) for first, second in words])
    few, many = np.quantile(common, [1 / 3, 2 / 3])
    # Where both terciles are one value there is nothing to tell apart.
    if few < many:
        yield "pairs in other words", common <= few
        yield "pairs in much the same words", common > many
    for column, values in data.kinds.items():
        of_row = np.array([values[row] for row in kept])
        counts = Counter(kind for kind in of_row.tolist() if kind)
        if 1 < len(counts) <= MOST_KINDS:
            yield from ((f"{column} {count}", of_row == count) for count in counts if counts[count] >= FEWEST)


def _split_into_word_set(text: str) -> set[str]:
    # The clitic becomes a word, so that "isn't" is a negation.
    plain = text.lower().replace("’", "'").replace("n't", " n't")
    return {word.strip(MARKS) for word in plain.split()}


def _score_damaged_and_negated_pairs(
    system: Similarity,
    data: PairsWithSliceColumns,
    same: Mask,
    kept: NDArray[np.int64],
    curve: SamenessProbabilityCurve,
    context: Any,
) -> Iterator[Score]:
    """Of copies whose second text is damaged, which leaves its meaning, or negated, which of a pair that was the same
    leaves none."""
    # Drawn once for all edits: what they do is compared on the same pairs.
    rows = np.sort(context.stream("edited").permutation(kept)[:EDITED])
    for name, called in DAMAGED.items():
        chosen = rows[same[rows]] if name == "negate" else rows
        truth = np.zeros(len(chosen)) if name == "negate" else same[chosen].astype(float)
        first, second = ([column[row] for row in chosen] for column in (data.first, data.second))
        edit = PERTURBATIONS.build(name, tokenizer=context.tokenizer, needle_text="")
        edited = perturb_all(edit, second, [data.ids[row] for row in chosen], context.seed)
        changed = np.array([a != b for a, b in zip(second, edited, strict=True)], dtype=bool)
        similar = measure_pair_similarity(system, first, edited)
        # A pair that an edit left as it was shows nothing of the edit.
        off = np.where(changed & ~np.isnan(similar), truth - curve.at(similar), np.nan)
        yield _estimate_mean_calibration_gap(off, context, f"edit {name}").score("gap", subset=called)
