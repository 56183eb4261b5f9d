"""Every wording of the questions: small talk around them at each level, and what rewriters make of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from embassay.protocols.rag.probes.noise.levels import LEVELS, noisy
from embassay.protocols.rag.probes.noise.questions import Questions

Wordings = tuple[tuple[str | None, ...], ...]
"""The text of each question in each run, None where there is none."""
NOISIEST = len(LEVELS) - 1


def level_name(level: int, rewriter: str = "") -> str:
    """How rows of results call a level, and what a rewriter made of it.

    >>> level_name(4), level_name(4, "rules")
    ('level=4', 'level=4:rules')
    """
    return f"level={level}" + (f":{rewriter}" if rewriter else "")


@dataclass(frozen=True)
class Variant:
    """The questions at a level, as asked or rewritten."""

    level: int
    rewriter: str
    texts: Wordings

    @property
    def name(self) -> str:
        return level_name(self.level, self.rewriter)


def small_talk(questions: Questions, runs: int, seed: int) -> list[Variant]:
    """The questions at every level; the small talk of run r is drawn from seed + r."""
    return [
        Variant(
            level,
            "",
            tuple(
                tuple(
                    noisy(text, level, lang=questions.lang, seed=seed + run, key=key)
                    for key, text in zip(questions.ids, questions.texts, strict=True)
                )
                for run in range(runs)
            ),
        )
        for level in range(len(LEVELS))
    ]


def rewritten(variants: Sequence[Variant], rewriter: str, rewritings: Mapping[str, str]) -> list[Variant]:
    """The same after rewriting, by text; a question without a rewriting has none."""
    return [
        Variant(
            one.level, rewriter, tuple(tuple(rewritings.get(text or "") for text in run) for run in one.texts)
        )
        for one in variants
    ]
