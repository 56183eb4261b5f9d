"""What an answering of questions from the passages of runs is asked with."""

from __future__ import annotations

from dataclasses import MISSING, asdict, dataclass
from itertools import product, starmap
from typing import Any, Literal, get_args

from embassay.errors import UsageError
from embassay.protocols.kernel.request import (
    DATA,
    SYSTEMS,
    RunRequest,
    convert_tuples_to_lists,
    option,
    parse_column_map_to_pairs,
    redeclare_option,
)
from embassay.protocols.rag.scoring.options import ScoreRequest

Nearness = Literal["near", "middle", "random"]
"""How much distractors share with the question: most words, fewer than those, or what chance brings."""


@dataclass(frozen=True)
class DistractorCountAndNearness:
    """So many distractors of one nearness in the prompt."""

    number: int
    nearness: Nearness

    @property
    def name(self) -> str:
        """How rows of results call it.

        >>> DistractorCountAndNearness(3, "random").name
        '3 random'
        """
        return f"{self.number} {self.nearness}"


@dataclass(frozen=True)
class AnswerRequest:
    """What is to be answered: the questions of a retrieval set, from the first `k` passages of each run (`NAME=FILE`),
    by each `generator`.

    `references` is a file of answers that people wrote (`query_id`, `answer`), None for the useful passages of the set.
    `distractors` are numbers of passages that are of no use, put before the run's own in the place of its last, in a
    further answer to each question; each number is planted of each `nearness`.
    """

    dataset: str = option(
        MISSING, "A retrieval dataset with judgements.", name="--dataset -d", value="DATA", group=DATA
    )
    runs: tuple[str, ...] = redeclare_option(ScoreRequest, "runs", default=MISSING)
    generator: tuple[str, ...] = option(
        MISSING, "A chat model that answers, or extract:SYSTEM, which quotes the most similar sentence instead.",
        name="--generator -g", group=SYSTEMS
    )  # fmt: skip
    judge: str = option(
        MISSING, "The chat model that grades answers, or `extract`: an answer is correct if a reference contains it.",
        name="--judge -j", group=SYSTEMS
    )  # fmt: skip
    k: int = option(10, "Passages per prompt.", name="-k", least=1)
    references: str | None = option(
        None, "Reference answers by people: `query_id`, `answer`. Default: the passages graded 4 or 5.",
        value="FILE", group=DATA
    )  # fmt: skip
    distractors: tuple[int, ...] = option(
        (), "Repeat each question with this many irrelevant passages placed before the others.", least=0
    )
    timed: int = option(
        0, "Questions to ask one at a time first, to measure time to first token and tokens per second.", least=0
    )
    grades: str | None = redeclare_option(
        ScoreRequest, "grades", help="Grade map: identity, binary, trec3, cranfield, or value=grade,..."
    )
    mapping: tuple[tuple[str, str], ...] = redeclare_option(
        RunRequest, "mapping", default=(), read=parse_column_map_to_pairs
    )
    split: str | None = redeclare_option(RunRequest, "split")
    limit: int | None = redeclare_option(RunRequest, "limit")
    seed: int = redeclare_option(RunRequest, "seed")
    resamples: int = 10_000
    tokenizer: str = ""
    nearness: tuple[Nearness, ...] = option(
        ("near",), "Distractors: near (most words shared with the question; default), middle (fewer) or random."
    )

    def __post_init__(self) -> None:
        generator: Any = self.generator
        numbers: Any = self.distractors
        if isinstance(generator, str):
            object.__setattr__(self, "generator", (generator,))
        numbers = (numbers,) if isinstance(numbers, int) else numbers
        object.__setattr__(self, "distractors", tuple(number for number in numbers if number))
        for number in self.distractors:
            if not 0 < number < self.k:
                raise UsageError(f"{number} distractors do not fit into {self.k} passages.", mend="Use fewer than k.")
        for nearness in self.nearness:
            if nearness not in get_args(Nearness):
                raise UsageError(
                    f"Unknown kind of distractor: {nearness!r}.", mend=f"Use {', '.join(get_args(Nearness))}."
                )
        if self.resamples < 1:
            raise UsageError(f"resamples is {self.resamples}.", mend="Use a positive whole number.")

    @property
    def plantings(self) -> tuple[DistractorCountAndNearness, ...]:
        """What is planted: each number of each nearness."""
        pairs = product(dict.fromkeys(sorted(self.distractors)), dict.fromkeys(self.nearness))
        return tuple(starmap(DistractorCountAndNearness, pairs))

    @property
    def plants_once(self) -> bool:
        """Whether there is one planting, of the usual nearness."""
        return [planting.nearness for planting in self.plantings] == ["near"]

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems that are compared: the runs."""
        return self.runs

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets of the request: the one that it names."""
        return (self.dataset,)

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume; what can be several, as itself where it is
        one."""
        plain = {**asdict(self), "mapping": dict(self.mapping)}
        nearness = plain.pop("nearness")
        if len(self.generator) == 1:
            plain["generator"] = self.generator[0]
        if self.plants_once or not self.plantings:
            plain["distractors"] = sum(self.distractors)
        else:
            plain["nearness"] = list(nearness)
        return convert_tuples_to_lists(plain)
