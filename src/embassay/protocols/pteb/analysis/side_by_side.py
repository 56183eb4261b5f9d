"""Figure 5: a text and its paraphrases of all runs, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from embassay.data.sampling import draw
from embassay.measures import edit_distances
from embassay.protocols.pteb.analysis.words import words
from embassay.protocols.pteb.paraphrasing.records import Outcome, Paraphrase

SEED, COUNT = 1337, 6
WORDS = (4, 40)


@dataclass(frozen=True)
class Wording:
    """The text in one run: `wording` is empty where the `outcome` is not usable, and then there is no distance."""

    seed: int
    wording: str
    outcome: Outcome
    edit_distance: float | None


@dataclass(frozen=True)
class SideBySide:
    """A text and what became of it in every run, in the order of the runs."""

    text: str
    lang: str
    wordings: tuple[Wording, ...]

    @property
    def distinct(self) -> int:
        """How many different wordings the runs gave."""
        return len({one.wording for one in self.wordings if one.wording})


def side_by_side(
    runs: Mapping[int, Iterable[Paraphrase]], *, count: int = COUNT, seed: int = SEED
) -> tuple[SideBySide, ...]:
    """`count` texts drawn with `seed` from those that every run asked for (seed of the run -> its paraphrases).

    Texts of 4 to 40 words come before others, so that they can be read beside each other; a text that failed in a run
    may be drawn, and shows it. Of several places of one text the first counts. In the order of the data.
    """
    tables = {run: _by_text(paraphrases) for run, paraphrases in runs.items()}
    first, *others = tables.values() or [{}]
    shared = [key for key in first if key[0].strip() and all(key in table for table in others)]
    drawn = _drawn(shared, count, seed)
    return tuple(SideBySide(*key, _wordings(key, tables)) for key in shared if key in drawn)


def _by_text(paraphrases: Iterable[Paraphrase]) -> dict[tuple[str, str], Paraphrase]:
    table: dict[tuple[str, str], Paraphrase] = {}
    for one in paraphrases:
        table.setdefault((one.text, one.lang), one)
    return table


def _drawn(texts: Sequence[tuple[str, str]], count: int, seed: int) -> set[tuple[str, str]]:
    low, high = WORDS
    readable = [key for key in texts if low <= words(key[0]) <= high]
    others = [key for key in texts if not low <= words(key[0]) <= high]
    chosen = [readable[place] for place in draw(["\n".join(key) for key in readable], count, seed)]
    if left := count - len(chosen):
        chosen += [others[place] for place in draw(["\n".join(key) for key in others], left, seed)]
    return set(chosen)


def _wordings(
    key: tuple[str, str], tables: Mapping[int, Mapping[tuple[str, str], Paraphrase]]
) -> tuple[Wording, ...]:
    each = [(run, table[key]) for run, table in tables.items()]
    distances = edit_distances([key[0]] * len(each), [one.wording for _, one in each]).tolist()
    return tuple(
        Wording(run, one.wording, one.outcome, distance if one.usable else None)
        for (run, one), distance in zip(each, distances, strict=True)
    )
