"""What an answering of questions from the passages of runs is asked with."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.kernel.request import DATA, SYSTEMS, Request, as_lists, column_pairs, like, option
from embassay.protocols.rag.scoring.options import ScoreRequest


@dataclass(frozen=True)
class AnswerRequest:
    """What is to be answered: the questions of a retrieval set, from the first `k` passages of each run (`NAME=FILE`).

    `references` is a file of answers that people wrote (`query_id`, `answer`), None for the useful passages of the set.
    `distractors` are so many passages that are of no use and share the question's words, put before the run's own in
    the place of its last, in a second answer to each question.
    """

    dataset: str = option(
        MISSING, "A retrieval set with its judgements.", name="--dataset -d", value="DATA", group=DATA
    )
    runs: tuple[str, ...] = like(ScoreRequest, "runs", default=MISSING)
    generator: str = option(MISSING, "The chat model that answers.", name="--generator -g", group=SYSTEMS)
    judge: str = option(MISSING, "The chat model that grades the answers.", name="--judge -j", group=SYSTEMS)
    k: int = option(10, "Passages per prompt.", name="-k", least=1)
    references: str | None = option(
        None, "People's answers: `query_id`, `answer`. Default: the passages of grade 4 and 5.",
        value="FILE", group=DATA
    )  # fmt: skip
    distractors: int = option(
        0, "Useless passages to put first, for a second answer to each question.", least=0
    )
    timed: int = option(
        0, "Questions first asked alone, to time the first token and tokens per second.", least=0
    )
    grades: str | None = like(
        ScoreRequest, "grades", help="Grade map: identity, binary, trec3, cranfield, or value=grade,..."
    )
    mapping: tuple[tuple[str, str], ...] = like(Request, "mapping", default=(), read=column_pairs)
    split: str | None = like(Request, "split")
    limit: int | None = like(Request, "limit")
    seed: int = like(Request, "seed")
    resamples: int = 10_000
    tokenizer: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.distractors < self.k or self.resamples < 1:
            raise UsageError(
                f"{self.distractors} distractors do not fit among {self.k} passages.",
                mend="Plant fewer than k, or none (0).",
            )

    @property
    def systems(self) -> tuple[str, ...]:
        """The runs, as what is compared."""
        return self.runs

    @property
    def datasets(self) -> tuple[str, ...]:
        """The one dataset."""
        return (self.dataset,)

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        return as_lists({**asdict(self), "mapping": dict(self.mapping)})
