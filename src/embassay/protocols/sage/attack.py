"""The smallest edit that flips an order: how many small errors make a system prefer the wrong pair? (asked for in
SAGE's conclusion; the search is ours)

An order is two pairs of texts of which people say that the first is more alike: two pairs of a dataset, or a document
with its own summary and with another's. A search changes one word after another of the second text of the upper pair,
each in the way that takes most similarity, until the lower pair is the more similar or the budget is spent. Beside it
the same number of changes is drawn at random.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.data import Dataset
from embassay.errors import DataError, UsageError
from embassay.protocols.kernel.estimates import Estimate, Items, Lost, estimate, make_undefined_score
from embassay.protocols.kernel.evaluation import TaskContext
from embassay.protocols.kernel.groups import Labels, describe_bootstrap_units, group_items_sharing_things
from embassay.randomness import draw_random_bytes
from embassay.records import (
    Documents,
    HeadlineComponent,
    LabelledTextPairs,
    LoadedDataset,
    Score,
    ScoredTextPairs,
    TaskOutcome,
)
from embassay.stats import bootstrap_ci
from embassay.text.perturbations import draw_random_order, replace_letters_by_digits

Floats = NDArray[np.float64]
HEADLINE = "withstood"
FLIPPED, BY_CHANCE = "flipped", "flipped by chance"
SHAPES = ("pairs", "labelled_pairs", "summarised")
HIGH, LOW = 0.75, 0.4
"""Shares of the highest score from which on a pair is an upper one, and up to which a lower one."""
RELATIVE, ABSOLUTE = "normalise=minmax", "use bm25?normalise=self"
"""In the identity of a system whose similarities cannot be compared between calls, and what to name instead."""
SHORTLIST = 20
"""So many words are tried again after the first change: those whose change alone took most similarity."""
BLOCK = 50
"""Texts that are attacked together: each has hundreds of drafts."""
DRAWS = 10
"""Random changes of each text, whose mean is what chance does."""


@dataclass(frozen=True)
class PairsMoreSimilarThanOthers:
    """Upper pairs (`first`, `second`) that are more alike than the lower ones beside them, each (n,)."""

    ids: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    lower_first: tuple[str, ...]
    lower_second: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)


def load_pair_similarity_orders(
    dataset: Dataset, limit: int | None, seed: int
) -> LoadedDataset[PairsMoreSimilarThanOthers]:
    """Load a dataset's orders in the first of the `SHAPES` it has; DataError if nothing is ordered."""
    shape = next(shape for shape in SHAPES if not dataset.missing(shape))
    loaded: LoadedDataset[Any] = dataset.load(shape, seed=seed)
    orders = (
        order_pairs_by_rating(loaded.data, seed)
        if shape != "summarised"
        else make_own_summary_similarity_orders(loaded.data)
    )
    if not len(orders):
        raise DataError(
            f"no pair of {loaded.dataset!r} scores clearly higher than another",
            expected=f"scores of at least {HIGH:.0%} and at most {LOW:.0%} of the highest, or labels 1 and 0",
        )
    return replace(loaded, data=_sample_pair_similarity_orders(orders, limit, seed))


def order_pairs_by_rating(data: ScoredTextPairs | LabelledTextPairs, seed: int) -> PairsMoreSimilarThanOthers:
    """Order pairs that people rate high, or say belong together, above others, drawn by the seed."""
    values = np.asarray(data.scores if isinstance(data, ScoredTextPairs) else data.labels, dtype=np.float64)
    # A scale that begins at 1 has its low end there.
    spread = values - values.min() if len(values) else values
    top = spread.max() if len(values) else 0.0
    high = np.flatnonzero((spread >= HIGH * top) & (top > 0))
    low = np.flatnonzero(spread <= LOW * top)
    if not len(high) or not len(low):
        return PairsMoreSimilarThanOthers((), (), (), (), ())
    drawn = [int.from_bytes(draw_random_bytes(8, seed, "lower pair", data.ids[place]), "big") for place in high]
    below = [int(low[number % len(low)]) for number in drawn]
    return PairsMoreSimilarThanOthers(
        tuple(data.ids[place] for place in high),
        tuple(data.first[place] for place in high),
        tuple(data.second[place] for place in high),
        tuple(data.first[place] for place in below),
        tuple(data.second[place] for place in below),
    )


def make_own_summary_similarity_orders(data: Documents) -> PairsMoreSimilarThanOthers:
    """Order each document with its own summary above the same with the next document's."""
    if data.summaries is None or len(data) < 2:
        return PairsMoreSimilarThanOthers((), (), (), (), ())
    summaries = tuple(data.summaries)
    texts = tuple(data.texts)
    return PairsMoreSimilarThanOthers(tuple(data.ids), texts, summaries, texts, (*summaries[1:], summaries[0]))


def _sample_pair_similarity_orders(
    orders: PairsMoreSimilarThanOthers, limit: int | None, seed: int
) -> PairsMoreSimilarThanOthers:
    if limit is None or limit >= len(orders):
        return orders
    keys = [draw_random_bytes(8, seed, "limit", key) for key in orders.ids]
    kept = sorted(sorted(range(len(orders)), key=keys.__getitem__)[:limit])
    columns = (orders.ids, orders.first, orders.second, orders.lower_first, orders.lower_second)
    return PairsMoreSimilarThanOthers(*(tuple(column[place] for place in kept) for column in columns))


def list_small_errors_of_word(word: str) -> tuple[str, ...]:
    """What one small error makes of a word: capitals, digits for letters (as SAGE's edits), its middle letter gone, its
    two middle letters in the other order; each form once, none of them the word itself.

    >>> list_small_errors_of_word("moon"), list_small_errors_of_word("a"), list_small_errors_of_word("7")
    (('MOON', 'm00n', 'mon'), ('A', '4'), ())
    """
    middle = len(word) // 2
    forms = [word.upper(), replace_letters_by_digits(word, _raise_on_random_draw)]
    if len(word) > 3:
        forms.extend(
            (
                word[:middle] + word[middle + 1 :],
                word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :],
            )
        )
    return tuple(form for form in dict.fromkeys(forms) if form != word)


def _raise_on_random_draw(n: int) -> bytes:
    raise AssertionError(f"an edit that draws nothing at random asked for {n} bytes")


Change = tuple[int, str]
"""The place of a word, and its new form."""


@dataclass(frozen=True)
class AttackedTextDraft:
    """A text with some of its words changed, and how similar it still is."""

    words: tuple[str, ...]
    changes: tuple[Change, ...] = ()
    similarity: float = np.inf

    @property
    def text(self) -> str:
        """The text as it stands."""
        written = list(self.words)
        for place, form in self.changes:
            written[place] = form
        return " ".join(written)

    def list_drafts_with_word_changed(self, place: int) -> Iterator[AttackedTextDraft]:
        """Change one more word, in each way; nothing where the word is changed already."""
        if all(place != changed for changed, _ in self.changes):
            for form in list_small_errors_of_word(self.words[place]):
                yield AttackedTextDraft(self.words, (*self.changes, (place, form)))


@dataclass(frozen=True)
class AttackOutcome:
    """What a search came to: the text with the fewest changes found that is less similar than the threshold, or the
    least similar within the budget."""

    text: str
    changes: int
    similarity: float
    flips: bool


def find_smallest_edits(
    system: Similarity,
    first: Sequence[str],
    second: Sequence[str],
    thresholds: Floats,
    *,
    budget: int = 5,
    beam: int = 1,
) -> list[AttackOutcome]:
    """Find for each pair the fewest changed words of `second` that bring it below its threshold.

    A search that keeps the `beam` best drafts of each size, so what it finds is an upper bound of the fewest. Pairs go
    on together, so that a system is called once for each number of changes of so many. UsageError for a budget or a
    beam below 1.

    >>> from embassay.systems import open_system
    >>> from embassay.text import open_tokenizer
    >>> jaccard = open_system("jaccard", tokenizer=open_tokenizer("words"))
    >>> [attack] = find_smallest_edits(jaccard, ["the tide turns"], ["the tide turns"], np.array([0.4]))
    >>> attack.changes, attack.flips
    (2, True)
    """
    if budget < 1 or beam < 1:
        raise UsageError("The budget and the beam must be at least 1.", mend="Use 1 or more for both.")
    attacks: list[AttackOutcome] = []
    for start in range(0, len(second), BLOCK):
        part = slice(start, start + BLOCK)
        searches = [
            WordChangeSearch(text, float(limit)) for text, limit in zip(second[part], thresholds[part], strict=True)
        ]
        for _ in range(budget):
            _change_word_in_unflipped_texts(system, first[part], searches, beam)
        attacks += [search.make_attack_outcome() for search in searches]
    return attacks


def _change_word_in_unflipped_texts(
    system: Similarity, first: Sequence[str], searches: Sequence[WordChangeSearch], beam: int
) -> None:
    """Change one more word of every text that has not flipped."""
    waiting = [place for place, search in enumerate(searches) if not search.is_similarity_below_threshold]
    drafts = [(place, draft) for place in waiting for draft in searches[place].list_next_attack_drafts()]
    if not drafts:
        return
    texts = [draft.text for _, draft in drafts]
    # Rounded, because the last digits differ between machines and would choose other words.
    similar = system.pairs([first[place] for place, _ in drafts], texts).astype(np.float64).round(6)
    scored: dict[int, list[AttackedTextDraft]] = {}
    for (place, draft), value in zip(drafts, similar, strict=True):
        scored.setdefault(place, []).append(replace(draft, similarity=float(value)))
    for place, of_search in scored.items():
        searches[place].keep_least_similar_drafts(of_search, beam)


class WordChangeSearch:
    """The search on one text: its best drafts of the present size, and words worth a change."""

    def __init__(self, text: str, threshold: float) -> None:
        self.threshold = threshold
        start = AttackedTextDraft(tuple(text.split()))
        self.best = [start]
        self.places: Sequence[int] = range(len(start.words))

    @property
    def is_similarity_below_threshold(self) -> bool:
        """Whether the best draft is below the threshold."""
        return self.best[0].similarity < self.threshold

    def list_next_attack_drafts(self) -> Iterator[AttackedTextDraft]:
        """List the best drafts with one more word changed, each text once."""
        seen = set[frozenset[Change]]()
        for draft in self.best:
            for place in self.places:
                for candidate in draft.list_drafts_with_word_changed(place):
                    key = frozenset(candidate.changes)
                    if key not in seen:
                        seen.add(key)
                        yield candidate

    def keep_least_similar_drafts(self, scored: Sequence[AttackedTextDraft], beam: int) -> None:
        """Keep the least similar drafts; after the first change, also the words that took most."""
        ordered = sorted(scored, key=lambda draft: draft.similarity)
        if not self.best[0].changes:
            self.places = list(dict.fromkeys(draft.changes[0][0] for draft in ordered))[:SHORTLIST]
        self.best = ordered[:beam]

    def make_attack_outcome(self) -> AttackOutcome:
        """What it came to."""
        best = self.best[0]
        return AttackOutcome(best.text, len(best.changes), best.similarity, self.is_similarity_below_threshold)


def estimate_random_flip_shares(
    system: Similarity, orders: PairsMoreSimilarThanOthers, thresholds: Floats, budget: int, seed: int
) -> Floats:
    """The share of `DRAWS` random orders of words in which as many changes as the column says, or fewer, flip a pair:
    (n, budget)."""
    flips = np.zeros((len(orders), DRAWS, budget))
    for start in range(0, len(orders), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(orders)))
        flips[rows] = _find_random_draft_flips(
            system, _select_rows_of_pair_orders(orders, rows), thresholds[rows], budget, seed
        )
    # Once flipped within a size, so within every larger one.
    return np.asarray(np.maximum.accumulate(flips, axis=2).mean(axis=1))


def _find_random_draft_flips(
    system: Similarity, orders: PairsMoreSimilarThanOthers, thresholds: Floats, budget: int, seed: int
) -> NDArray[np.bool_]:
    """Find whether each number of changes flips a pair in each draw, (n, draws, budget)."""
    flips = np.zeros((len(orders), DRAWS, budget), dtype=np.bool_)
    firsts, texts, places = [], [], []
    for row, number in product(range(len(orders)), range(DRAWS)):
        key = f"{orders.ids[row]}@{number}"
        for size, text in enumerate(_iterate_randomly_changed_texts(orders.second[row], budget, seed, key)):
            firsts.append(orders.first[row])
            texts.append(text)
            places.append((row, number, size))
    if places:
        similar = system.pairs(firsts, texts).astype(np.float64).round(6)
        stood = np.array(places)
        flips[tuple(stood.T)] = similar < thresholds[stood[:, 0]]
    return flips


def _iterate_randomly_changed_texts(text: str, budget: int, seed: int, key: str) -> Iterator[str]:
    """Draw the text with one, two ... words changed, each draw a part of the next."""
    draft = AttackedTextDraft(tuple(text.split()))
    drawn = _KeyByteStream(seed, key)
    for place in draw_random_order(len(draft.words), drawn):
        forms = list(draft.list_drafts_with_word_changed(place))
        if forms and len(draft.changes) < budget:
            draft = forms[int.from_bytes(drawn(8), "big") % len(forms)]
            yield draft.text


class _KeyByteStream:
    """A stream of the raw bytes of a key, each once."""

    def __init__(self, seed: int, key: str) -> None:
        self.seed, self.key, self.calls = seed, key, 0

    def __call__(self, n: int) -> bytes:
        self.calls += 1
        return draw_random_bytes(n, self.seed, "random change", self.key, str(self.calls))


def evaluate_word_attack(system: Similarity, data: PairsMoreSimilarThanOthers, context: TaskContext) -> TaskOutcome:
    """Attack the orders that a system has right, and count how many changes each withstands."""
    if RELATIVE in system.identity:
        nothing = make_undefined_score(
            HEADLINE, 0, f"{system.name} scales its similarities within each batch; {ABSOLUTE} instead"
        )
        return TaskOutcome((nothing,), {HEADLINE: HeadlineComponent(None, 0, reason=nothing.reason)}, Items().columns)
    upper = system.pairs(data.first, data.second).astype(np.float64).round(6)
    lower = system.pairs(data.lower_first, data.lower_second).astype(np.float64).round(6)
    items, lost = Items(), Lost(system, data.ids, "orders")
    lost.note_items_with_undefined_similarity(upper, data.first, data.second)
    lost.note_items_with_undefined_similarity(lower, data.lower_first, data.lower_second)
    if lost.too_many_lost_reason:
        return lost.make_task_outcome_without_score(HEADLINE, items)
    # A tie is no order, whatever stands first.
    is_right = np.where(np.isnan(upper + lower), np.nan, upper > lower)
    rows = np.flatnonzero(is_right == 1)
    budget = context.options.attack_budget
    flipped, by_chance = np.full((2, len(data), budget), np.nan)
    attacked = _select_rows_of_pair_orders(data, rows)
    attacks = find_smallest_edits(
        system, attacked.first, attacked.second, lower[rows], budget=budget, beam=context.options.attack_beam
    )
    needed = np.array([attack.changes if attack.flips else np.inf for attack in attacks])
    flipped[rows] = needed[:, None] <= np.arange(1, budget + 1)
    by_chance[rows] = estimate_random_flip_shares(system, attacked, lower[rows], budget, context.seed)
    # A text that several orders have makes no further evidence.
    groups = group_items_sharing_things([{*texts} for texts in zip(data.first, data.second, strict=True)])
    withstood, scores = _estimate_attack_headline_and_scores(is_right, flipped, by_chance, groups, context)
    scores.append(_score_median_change_count(needed, context))
    for name, column in {"right": is_right, HEADLINE: 1 - flipped[:, -1]}.items():
        items.add(data.ids, column, name)
    for size in range(budget):
        items.add(data.ids, flipped[:, size], FLIPPED, _name_change_count_variant(size))
        items.add(data.ids, by_chance[:, size], BY_CHANCE, _name_change_count_variant(size))
    return TaskOutcome(
        tuple(scores), {HEADLINE: withstood.component()}, items.columns, lost.skipped,
        counts={"orders": len(data), "attacked": len(rows)}
    )  # fmt: skip


def _select_rows_of_pair_orders(
    data: PairsMoreSimilarThanOthers, rows: NDArray[np.int64]
) -> PairsMoreSimilarThanOthers:
    columns = (data.ids, data.first, data.second, data.lower_first, data.lower_second)
    return PairsMoreSimilarThanOthers(*(tuple(column[row] for row in rows.tolist()) for column in columns))


def _name_change_count_variant(size: int) -> str:
    return f"changes={size + 1}"


def _estimate_attack_headline_and_scores(
    is_right: Floats, flipped: Floats, by_chance: Floats, groups: Labels | None, context: TaskContext
) -> tuple[Estimate, list[Score]]:
    """Estimate the headline and the rows of all shares; `groups` are orders drawn together."""
    over = describe_bootstrap_units("orders", ScoredTextPairs, groups)

    def estimate_column_mean(column: Floats, *, share: bool = True) -> Estimate:
        table = column[:, None]
        return estimate(
            table, lambda means: means[..., 0], context, "orders", over, share=share, groups=groups
        )  # fmt: skip

    withstood = estimate_column_mean(1 - flipped[:, -1])
    scores = [withstood.score(HEADLINE), estimate_column_mean(is_right).score("right")]
    for size in range(flipped.shape[1]):
        searched, chance = (
            estimate_column_mean(flipped[:, size]),
            estimate_column_mean(by_chance[:, size], share=False),
        )
        scores.extend(
            (
                searched.score(FLIPPED, variant=_name_change_count_variant(size), bounds=(0, 1)),
                chance.score(BY_CHANCE, variant=_name_change_count_variant(size), bounds=(0, 1)),
            )
        )
    gain = estimate_column_mean(flipped[:, -1] - by_chance[:, -1], share=False)
    scores.append(gain.score("search minus chance", bounds=(-1, 1)))
    return withstood, scores


def _score_median_change_count(needed: Floats, context: TaskContext) -> Score:
    """The median number of changes of the orders that were flipped."""
    counts = needed[np.isfinite(needed)]
    if not len(counts):
        return make_undefined_score("median changes", 0, "nothing was flipped")
    median = bootstrap_ci(counts, np.median, n_resamples=context.resamples, seed=context.seed)
    return Score("median changes", median.value, len(counts), median.low, median.high, method=median.method)
