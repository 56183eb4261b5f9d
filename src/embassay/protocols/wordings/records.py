"""What is asked of a paraphraser, how it draws, and what comes of it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from embassay.errors import UsageError
from embassay.protocols.kernel.request import STATISTICS, SYSTEMS, option
from embassay.records import ResultRow

if TYPE_CHECKING:
    from embassay.contracts import SamplingSettings


ENGLISH, OTHER, BOTH = "English", "other languages", "English and another"
_OF_ENGLISH = {"en", "eng"}
_UNSTATED = {"", "und", "mul"}


def classify_language_as_english_or_other(lang: str) -> str | None:
    """English, other languages, or a pair of the two (`ara-eng`); None where the language is not known.

    >>> (classify_language_as_english_or_other("en-US"), classify_language_as_english_or_other("pt-BR"),
    ...     classify_language_as_english_or_other("ara-eng"),
    ... classify_language_as_english_or_other("mul"))
    ('English', 'other languages', 'English and another', None)
    """
    if lang in _UNSTATED:
        return None
    first, *more = re.split(r"[-_]", lang)
    # A region is written in capitals and a script with one: neither is a second language.
    langs = {first.lower(), *(part for part in more if part.islower() and len(part) < 4)}
    if langs <= _OF_ENGLISH:
        return ENGLISH
    return BOTH if langs & _OF_ENGLISH else OTHER


Outcome = Literal[
    "ok", "copied", "empty", "too long", "wrong language", "thinking", "refused", "answered", "slot lost", "failed",
    "missing", "prompt too long", "invalid JSON", "invalid text", "cut", "wrong length"
]  # fmt: skip
"""`ok` and `copied` (equal to the text but for case, spaces and punctuation) are usable. `refused` by the model or its
server, `failed` for a call without an answer, `missing` from a stored or recorded set; the others are answers that the
gate rejected every time, `answered` and `slot lost` only where `meaning` is looked at. The last five are HTEB's."""

USABLE: frozenset[Outcome] = frozenset({"ok", "copied"})
REJECTED: tuple[Outcome, ...] = ("empty", "too long", "wrong language", "thinking", "refused")
"""What an answer can be rejected for."""
OF_MEANING: tuple[Outcome, ...] = ("answered", "slot lost")
"""And besides, where `meaning` is looked at: rows of these are written where there are any."""


@dataclass(frozen=True)
class TextToParaphrase:
    """A text to be paraphrased. `lang` is its language (`und`: not known). `place` is empty where equal texts
    share their wording; else it tells occurrences of one text apart, and gives each a seed of its own [A3].

    `multilingual` says that the dataset is not English only: then the prompt's addition is sent for English texts too.
    """

    text: str
    lang: str
    place: str = ""
    multilingual: bool = False


@dataclass(frozen=True)
class ParaphraseOutcome:
    """What came of one text in one run. `wording` is empty unless the outcome is usable.

    `attempts` counts the answers that were drawn, the last with `seed`; `seconds` is how long the server took for the
    answers together, as first measured (0 where nothing was asked). `rejected` are the outcomes of the answers that
    were rejected, the last one included, in their order and separated by `;`.
    """

    text: str
    lang: str
    place: str
    wording: str
    outcome: Outcome
    reason: str = ""
    attempts: int = 1
    seed: int = 0
    seconds: float = 0.0
    rejected: str = ""

    @property
    def usable(self) -> bool:
        """Whether `wording` may stand for the text."""
        return self.outcome in USABLE


class Paraphraser(Protocol):
    """Paraphrases texts: a language model, or a set written beforehand."""

    @property
    def name(self) -> str:
        """The canonical spec string, as in result files: `openai:gpt-5-mini`, `recorded`, `stored:FOLDER`."""
        ...

    @property
    def identity(self) -> str:
        """Everything its wordings depend on: model, prompt, sampling, or the digest of the set."""
        ...

    @property
    def remote(self) -> bool:
        """Whether the paraphraser is remote: it asks a server that may want money."""
        ...

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:
        """The seeds of `runs` runs on a dataset: first, first + 1 ... for one that draws; those it was written with for
        a stored set. UsageError when a set has fewer."""
        ...

    def about(self) -> Mapping[str, Any]:
        """What a manifest says of it: `model` as the server names it, `sampling`, `licence` ..., as far as it is known;
        complete after the last `write`."""
        ...

    def write(
        self,
        asked: Sequence[TextToParaphrase],
        *,
        seed: int,
        run: int,
        dataset: str = "",
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, ParaphraseOutcome]]:
        """One run on a dataset, number `run` from 0: each text by its position, as soon as it is there, in any order;
        every position once. `dataset` tells a set which of its wordings are meant; without it, all of them are.
        `hear` gets the number of texts that are done so far, now and then. What cannot be worded comes as a
        Paraphrase with its outcome; ModelError for a model that cannot be had, BudgetExceeded when the money ends,
        both after what was in flight has been yielded (and kept in the answer cache)."""
        ...


SEED_STEP = 1_000_003
"""Added to the seed for every further attempt: the same seed would bring the same answer again."""


@dataclass(frozen=True)
class ParaphraseSamplingAndRetryOptions:
    """Sampling as the paper's (spec/pteb 4), how often an answer that cannot be used is drawn anew, and whether an
    answer may have 5 times the characters of its text at most (`strict_length`), or 40 where that is more."""

    temperature: float = option(0.8, "The paraphraser's sampling temperature.", group=SYSTEMS)
    top_p: float = option(0.9, "The paraphraser's nucleus sampling threshold (top-p).", group=SYSTEMS)
    retries: int = option(5, "Retries after an unusable answer.", group=SYSTEMS)
    strict_length: bool = option(
        False, "Reject paraphrases over 5 times as long as their texts, even short ones.", group=SYSTEMS
    )
    meaning: bool = option(
        False, "Reject replies that answer the text, or that drop or add a number or name (English)."
    )

    def __post_init__(self) -> None:
        if self.temperature < 0 or not 0 < self.top_p <= 1 or self.retries < 0:
            raise UsageError(
                f"Cannot sample with temperature {self.temperature}, top_p {self.top_p} and {self.retries} retries.",
                mend="Use temperature 0 or more, top_p above 0 and at most 1, retries 0 or more.",
            )

    def make_answer_sampling(self, seed: int, attempt: int) -> SamplingSettings:
        """How attempt number `attempt`, from 0, of a run with this seed is drawn."""
        from embassay.contracts import SamplingSettings

        return SamplingSettings(self.temperature, self.top_p, seed + SEED_STEP * attempt)

    def as_dict(self) -> dict[str, Any]:
        """As saved in manifests; `meaning` where it is looked at."""
        return {key: value for key, value in asdict(self).items() if value or key != "meaning"}


OnFailure = Literal["leave out", "original"]
"""What becomes of a text that has no usable wording."""


def parse_last_seeds(entries: Sequence[str] | None) -> tuple[tuple[str, int], ...]:
    """Parse `DATASET=SEED` entries as pairs of a dataset and its last seed. UsageError for others.

    >>> parse_last_seeds(["biosses=1443"])
    (('biosses', 1443),)
    """
    seeds = []
    for entry in entries or ():
        name, _, number = entry.rpartition("=")
        if not name or not number.isdecimal():
            raise UsageError(f"--last-seed is {entry!r}.", mend="Write DATASET=SEED, for example biosses=1443.")
        seeds.append((name, int(number)))
    return tuple(seeds)


@dataclass(frozen=True)
class RewordingRepeatOptions:
    """How often texts are worded anew: arguments that requests of several protocols have."""

    runs: int = option(6, "Number of runs, each with fresh paraphrases.", least=1, most=10_000, group=STATISTICS)
    until_ci: float | None = option(
        None, "Add runs until every change is known to within this many points (95%, over runs).",
        value="POINTS", group=STATISTICS
    )  # fmt: skip
    max_runs: int = option(20, "Maximum runs with --until-ci.", least=1, most=10_000, group=STATISTICS)
    baseline: str = option(
        "", "The system to compare the others with. Default: the first embedding model.", group=SYSTEMS
    )
    last_seeds: tuple[tuple[str, int], ...] = option(
        (), "A different seed for a dataset's last run.",
        name="--last-seed", value="DATASET=SEED", group=STATISTICS, read=parse_last_seeds
    )  # fmt: skip


def check_run_counts(runs: int, until_ci: float | None, max_runs: int) -> None:
    """UsageError for runs that cannot be made, or that give no interval where one is to be narrowed."""
    if runs < 1:
        raise UsageError(f"{runs} runs are not possible.", mend="Use 1 or more.")
    if until_ci is not None and until_ci <= 0:
        raise UsageError(f"--until-ci is {until_ci}.", mend="Use a number of points above 0, for example 0.5.")
    if until_ci is not None and not 2 <= runs <= max_runs:
        raise UsageError(
            f"--until-ci needs at least two runs and at most --max-runs {max_runs}, but --runs is {runs}.",
            mend="Change --runs or --max-runs.",
        )


NOTHING_USABLE = "no text has a usable paraphrase"
NOTHING_ASKED = "no language model was asked"


@dataclass(frozen=True)
class WordingQuality:
    """Counts and means over the distinct texts of a dataset that are not blank.

    `outcomes` count texts by what came of them in the end; `rejected` counts answers by why they were rejected, also
    where a later one was used; `retries` are answers beyond the first. `duplicates` are texts whose wording another
    text has too. `edit_distance` (words, 0 to 1) and `length_ratio` (characters, 1 for equal length) are means over
    usable wordings, `seconds` over texts that a model was asked for; None where there are none.
    """

    texts: int
    outcomes: Mapping[str, int]
    rejected: Mapping[str, int]
    retries: int
    duplicates: int
    edit_distance: float | None
    length_ratio: float | None
    seconds: float | None
    usable: int = field(default=0)
    asked: int = field(default=0)

    @property
    def copied_text_count(self) -> int:
        """Texts that came back as they were."""
        return self.outcomes.get("copied", 0)

    @property
    def failed(self) -> int:
        """The number of texts without a usable wording."""
        return self.texts - self.usable

    @property
    def lost(self) -> float:
        """The share of texts without a usable wording; 0 where there are no texts."""
        return self.failed / self.texts if self.texts else 0.0


def measure_wording_quality(rows: Iterable[ParaphraseOutcome]) -> WordingQuality:
    """The quality of the wordings of one run on one dataset."""
    rows = [row for row in rows if row.text.strip()]
    usable = [row for row in rows if row.usable]
    drawn = [row for row in rows if row.seconds > 0]
    rejected = Counter(outcome for row in rows for outcome in row.rejected.split(";") if outcome)
    return WordingQuality(
        texts=len(rows),
        outcomes=dict(Counter(row.outcome for row in rows)),
        rejected=dict(rejected),
        retries=sum(max(0, row.attempts - 1) for row in rows),
        duplicates=_count_texts_sharing_wording(usable),
        edit_distance=_average_or_none(_compute_paraphrase_edit_distances(usable)),
        length_ratio=_average_or_none([len(row.wording) / len(row.text) for row in usable]),
        seconds=_average_or_none([row.seconds for row in drawn]),
        usable=len(usable),
        asked=len(drawn),
    )


def make_wording_quality_rows(
    rows: Sequence[ParaphraseOutcome], *, dataset: str, system: str, variant: str, seed: int, protocol: str = "pteb"
) -> list[ResultRow]:
    """The quality as result rows of the task `paraphrases`: of all texts and, where there are several, of each language
    (`subset`, without outcomes that no text of it had).

    Shares of the texts: `copied`, `failed`, `duplicates`, `failed:OUTCOME`. Per text: `retries`, `rejected:OUTCOME`
    (rejected answers, also where a later one was used). Means: `edit_distance`, `length_ratio`, `seconds`.
    """
    langs = list(dict.fromkeys(row.lang for row in rows))
    parts = [("", langs[0] if len(langs) == 1 else "mul", list(rows))]
    if len(langs) > 1:
        parts += [(lang, lang, [row for row in rows if row.lang == lang]) for lang in langs]
    return [
        ResultRow(
            protocol, "paraphrases", dataset, subset, lang, variant, system, measure, value, n,
            seed=seed, reason=reason if value is None else "",
        )
        for subset, lang, part in parts
        for measure, value, n, reason in _iterate_quality_measure_values(measure_wording_quality(part))
        if value or not subset or ":" not in measure
    ]  # fmt: skip


def _iterate_quality_measure_values(quality: WordingQuality) -> Iterable[tuple[str, float | None, int, str]]:
    """(measure, value, n, why there is no value)."""
    yield "edit_distance", quality.edit_distance, quality.usable, NOTHING_USABLE
    yield "length_ratio", quality.length_ratio, quality.usable, NOTHING_USABLE
    yield "seconds", quality.seconds, quality.asked, NOTHING_ASKED
    counts = {"copied": quality.copied_text_count, "failed": quality.failed, "duplicates": quality.duplicates}
    counts["retries"] = quality.retries
    counts |= {f"rejected:{outcome}": quality.rejected.get(outcome, 0) for outcome in REJECTED}
    counts |= {f"failed:{outcome}": quality.outcomes.get(outcome, 0) for outcome in (*REJECTED, "failed", "missing")}
    counts |= {f"rejected:{outcome}": n for outcome in OF_MEANING if (n := quality.rejected.get(outcome, 0))}
    counts |= {f"failed:{outcome}": n for outcome in OF_MEANING if (n := quality.outcomes.get(outcome, 0))}
    for measure, count in counts.items():
        yield measure, count / quality.texts if quality.texts else None, quality.texts, "there are no texts"


def _compute_paraphrase_edit_distances(usable: Sequence[ParaphraseOutcome]) -> list[float]:
    from embassay.measures import edit_distances

    return list(edit_distances([row.text for row in usable], [row.wording for row in usable]).tolist())


def _count_texts_sharing_wording(usable: Sequence[ParaphraseOutcome]) -> int:
    """How many different texts share their wording with another one of their language."""
    texts: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in usable:
        texts[row.lang, row.wording].add(row.text)
    return sum(len(some) for some in texts.values() if len(some) > 1)


def _average_or_none(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
