"""Paraphrasers that need nobody, to compare others with: the text itself, and its words in another order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from embassay.protocols.pteb.paraphrasing.records import Asked, Outcome, Paraphrase, Paraphraser
from embassay.randomness import generator


class _Control:
    """What both are: free, with any number of runs."""

    name: str
    identity: str
    remote = False

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:  # noqa: ARG002 - the contract's
        """first, first + 1 ..."""
        return tuple(range(first, first + runs))

    def about(self) -> Mapping[str, Any]:
        """Nothing."""
        return {}


class Copied(_Control):
    """Returns every text: no drop but what comes from elsewhere."""

    name = identity = "copied"

    def write(
        self,
        asked: Sequence[Asked],
        *,
        seed: int,
        run: int,  # noqa: ARG002 - the contract's
        dataset: str = "",  # noqa: ARG002
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, Paraphrase]]:
        """The texts."""
        for position, one in enumerate(asked):
            yield position, _worded(one, one.text, seed)
        hear(len(asked))


class Permuted(_Control):
    """Permutes the words of every text: all of them, or only until the text is as far from its wording, in word edit
    distance, as the wording that `like` has for it. What a model loses here is not for want of other words."""

    def __init__(self, name: str, like: Paraphraser | None = None) -> None:
        self.name, self._like = name, like
        self.identity = "permuted" + (f":{like.identity}" if like is not None else "")

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:
        """Those of `like`, else first, first + 1 ..."""
        if self._like is not None:
            return self._like.seeds(runs, first, dataset=dataset)
        return super().seeds(runs, first)

    def write(
        self,
        asked: Sequence[Asked],
        *,
        seed: int,
        run: int,
        dataset: str = "",
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, Paraphrase]]:
        """The texts with their words permuted; `missing` where `like` has no wording."""
        like = (
            dict(self._like.write(asked, seed=seed, run=run, dataset=dataset))
            if self._like is not None
            else {}
        )
        for position, one in enumerate(asked):
            model = like.get(position)
            if model is not None and not model.usable:
                reason = f"{self._like.name if self._like else ''} has none: {model.outcome}"
                yield (
                    position,
                    Paraphrase(one.text, one.lang, one.place, "", "missing", reason, 0, seed),
                )
                continue
            rng = generator(seed, "permuted", one.place, one.text)
            yield position, _worded(one, _permuted(one.text, rng, model.wording if model else None), seed)
        hear(len(asked))


def _worded(asked: Asked, wording: str, seed: int) -> Paraphrase:
    blank = not asked.text.strip()
    same = wording.strip() == asked.text.strip()
    outcome: Outcome = "copied" if same and not blank else "ok"
    return Paraphrase(asked.text, asked.lang, asked.place, wording, outcome, attempts=0, seed=seed)


def _permuted(text: str, rng: np.random.Generator, like: str | None) -> str:
    """The words of `text` in another order; as far from it as `like` is, where there is one."""
    words = text.split()
    if len(words) < 2:
        return text
    if like is None:
        return " ".join(words[i] for i in rng.permutation(len(words)))
    from embassay.measures.correlation import edit_distance

    wanted = edit_distance(text, like)
    moved = rng.permutation(len(words))
    # Turning the places of ever more words moves them all: the distance grows with their number.
    low, high = 0, len(words)
    while low < high:
        middle = (low + high) // 2
        if edit_distance(text, " ".join(_turned(words, moved[:middle]))) < wanted:
            low = middle + 1
        else:
            high = middle
    near = [" ".join(_turned(words, moved[:count])) for count in {max(0, low - 1), low}]
    best = min(near, key=lambda one: abs(edit_distance(text, one) - wanted))
    return text if best.split() == words else best


def _turned(words: list[str], places: np.ndarray[Any, np.dtype[np.int64]]) -> list[str]:
    """The words with those at these places passed on by one: each to the next place, the last to the first."""
    turned = list(words)
    for here, there in zip(places, np.roll(places, -1), strict=True):
        turned[there] = words[here]
    return turned
