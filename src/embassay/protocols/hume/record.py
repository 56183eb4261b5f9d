"""The record of a HUME run: people beside models on the same items, pair by pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from embassay.errors import DataError
from embassay.limits import read_bounded_file
from embassay.protocols.hume.study import Family, Who
from embassay.runs.folder import write_file_atomically
from embassay.stats import Estimate, wilson

FILE = "summary.json"
SCHEMA = 1
Trust = Literal["low", "medium", "high"]
Difficulty = Literal["easy", "moderate", "hard"]
SystemKind = Literal["embedding", "classical", "llm"]
By = Literal["all", "family", "lang", "group"]
Reference = Literal["best", "median", "mean"]


class _FrozenRecord(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SystemScore(_FrozenRecord):
    """The score of a model, a metric or a language model on the items of a pair.

    `outside`: strictly outside the interval of people, None where there is none. `difference`: system minus people on
    the same items by paired bootstrap, with two-sided `p`; None for published results, which have no items.
    `against_people`: scored against the annotators' answers instead of gold, as people are for the ceiling; `soft`:
    against one annotator at random, so that their disagreement stays.
    `among_people`: the share of annotators who score below it (ties count half). `failed` items of LLMs count here.
    """

    system: str
    kind: SystemKind
    score: Estimate
    outside: bool | None = None
    percent_of_human: float | None = None
    difference: Estimate | None = None
    p: float | None = None
    among_people: float | None = None
    against_people: Estimate | None = None
    soft: Estimate | None = None
    failed: int = 0
    notes: tuple[str, ...] = ()


class AnnotatorScore(_FrozenRecord):
    """A person's score on a pair, over so many items; `seconds` is the median time an item took."""

    id: str
    kind: Who
    score: float
    items: int
    seconds: float | None = None
    flagged: int = 0


class AnnotatorAgreement(_FrozenRecord):
    """Agreement of people: a coefficient in `value` with its bootstrap interval, the word for it, and the others in
    `extras`, those that have an interval also in `intervals`."""

    coefficient: str
    value: Estimate
    band: str
    annotators: int
    items: int
    annotations: int
    extras: dict[str, float | None] = {}
    intervals: dict[str, Estimate] = {}


class SeparationSampleSize(_FrozenRecord):
    """What would separate the best model from people: so many items in all with these annotators, or annotators in all
    with these items, at 80% power and 5%; None if no number up to the limit suffices. `smallest` is the least
    difference that this pair could have shown."""

    system: str
    items: int | None
    annotators: int | None
    smallest: float | None
    note: str = ""


class DisputedItem(_FrozenRecord):
    """An item that annotators answered differently: its texts (cut), gold and every answer in words, and how far they
    are `apart` from 0 to 1 (see `summary.disputed`)."""

    item: str
    texts: tuple[str, ...]
    gold: str
    answers: dict[str, str]
    apart: float


class DatasetLanguageRecord(_FrozenRecord):
    """A dataset in one language: people, models and language models on its items."""

    task: str
    dataset: str
    lang: str
    family: Family
    measure: str
    group: str = ""
    n: int
    words: float | None = None
    """Words of an item, in the mean; None for published results, which have no items."""
    human: Estimate
    annotators: tuple[AnnotatorScore, ...] = ()
    left_out: tuple[AnnotatorScore, ...] = ()
    """Who answered too few items to count in the human score and the agreement."""
    conventions: dict[str, float | None] = {}
    """Every way to make one human score: `paper`, `pooled`, `mean`, `first`, for reranking those of `human_ap_mode`."""
    agreement: AnnotatorAgreement | None = None
    ceiling: Estimate | None = None
    """One annotator scored against the others (leave one out), mean over annotators: what a system can hope for."""
    models: tuple[SystemScore, ...] = ()
    llms: tuple[SystemScore, ...] = ()
    difficulty: Difficulty | None = None
    trust: Trust | None = None
    superhuman_on_noise: bool = False
    flags: tuple[str, ...] = ()
    """Other marks of a dataset, in words: few items, neutral texts, empty documents, train and test overlap."""
    advice: str = ""
    need: SeparationSampleSize | None = None
    disputed: tuple[DisputedItem, ...] = ()
    """The items on which its annotators disagree most; empty for published results."""

    @property
    def name(self) -> str:
        """As in messages: `STS22 (ara)`."""
        return f"{self.dataset} ({self.lang})"

    @property
    def list_model_and_llm_scores(self) -> tuple[SystemScore, ...]:
        """The scores of the models, and then of the language models."""
        return (*self.models, *self.llms)

    @property
    def agreement_value(self) -> float | None:
        """How well people agree; None where that is not known."""
        return self.agreement.value.value if self.agreement else None

    def find_system_score(self, system: str) -> SystemScore | None:
        """The score of a system; None where it is not among these."""
        return next((score for score in self.list_model_and_llm_scores if score.system == system), None)

    @property
    def simulated(self) -> bool:
        """Whether any annotator is a script that stands in for a person."""
        return any(annotator.kind == "simulated" for annotator in self.annotators)


class SystemMeanAndRank(_FrozenRecord):
    """A system or `Human` among all, by the mean over pairs: None with a reason where it lacks one."""

    system: str
    kind: Literal["embedding", "classical", "llm", "human"]
    mean: Estimate
    rank: int | None
    parameters_millions: float | None = None


class PeopleWinCount(_FrozenRecord):
    """In how many of `pairs` people score strictly above the models' best, median or mean, in a group of pairs."""

    by: By
    group: str
    reference: Reference
    wins: int
    pairs: int

    @property
    def share_won(self) -> float:
        """Share of the pairs won."""
        return self.wins / self.pairs

    @property
    def win_rate_interval(self) -> Estimate | None:
        """The 95% Wilson interval of that share; None without a pair."""
        return wilson(self.share_won, self.pairs) if self.pairs else None


class Summary(_FrozenRecord):
    """The summary of a HUME run, as `summary.json` keeps it."""

    schema_version: int = SCHEMA
    title: str
    source: Literal["study", "published"]
    seed: int
    pairs: tuple[DatasetLanguageRecord, ...]
    places: tuple[SystemMeanAndRank, ...] = ()
    wins: tuple[PeopleWinCount, ...] = ()
    agreement_against_gap: Estimate | None = None
    """Spearman's correlation, over pairs, of people's agreement and best model minus people."""
    agreement_against_gap_p: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def simulated(self) -> bool:
        """Whether any annotator of any pair is simulated."""
        return any(pair.simulated for pair in self.pairs)


class TaskDividedWithLlm(_FrozenRecord):
    """A task that a language model and people answer together, as `hume hybrid` divided it: `counts` of its items by
    why they are whose, the share of the sample that people contradict, and how many wait for people. `scripts` answered
    too, and count as nobody."""

    task: str
    llm: str
    items: int
    counts: dict[str, int]
    contradicted: Estimate
    biased: bool
    open: int
    scripts: tuple[str, ...] = ()

    @property
    def share_of_people(self) -> float:
        """The share of the items that people answer, 0 to 1; nan without items."""
        return (self.items - self.counts.get("agreed", 0)) / self.items if self.items else math.nan


class _LlmSharedTasksFile(_FrozenRecord):
    tasks: tuple[TaskDividedWithLlm, ...]


DIVIDED = "hybrid.json"


def write_tasks_divided_with_llm(folder: Path, tasks: Sequence[TaskDividedWithLlm]) -> None:
    """Write `hybrid.json` of a study or a run; where there is nothing to write, what was there goes."""
    if tasks:
        write_file_atomically(
            folder / DIVIDED, _LlmSharedTasksFile(tasks=tuple(tasks)).model_dump_json(indent=1) + "\n"
        )
    else:
        (folder / DIVIDED).unlink(missing_ok=True)


def read_tasks_divided_with_llm(folder: Path) -> tuple[TaskDividedWithLlm, ...]:
    """What `hybrid.json` of a study or a run holds; empty where there is none. DataError for a damaged one."""
    path = folder / DIVIDED
    if not path.is_file():
        return ()
    try:
        return _LlmSharedTasksFile.model_validate_json(read_bounded_file(path)).tasks
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(
            f"{where} cannot be read", path=path, expected=str(first["msg"]), mend="Run `embassay hume hybrid` again."
        ) from None


def write_summary(folder: Path, summary: Summary) -> Path:
    """Write `summary.json` of a run and return it."""
    write_file_atomically(folder / FILE, summary.model_dump_json(indent=1) + "\n")
    return folder / FILE


def read_summary(folder: Path) -> Summary:
    """The summary of a run's folder. Raises DataError where there is none, or it is of another schema."""
    path = folder / FILE
    if not path.is_file():
        raise DataError("The run has no summary", path=path, mend="Run `embassay hume score` again.")
    try:
        return Summary.model_validate_json(read_bounded_file(path))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise DataError(
            f"{where} cannot be read", path=path, expected=str(first["msg"]), found=repr(first.get("input"))[:80],
            mend="Run `embassay hume score` again."
        ) from None  # fmt: skip
