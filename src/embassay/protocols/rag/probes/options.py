"""What the probes are asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from embassay.errors import UsageError
from embassay.protocols.kernel.request import (
    DATA,
    MOST_RESAMPLES,
    STATISTICS,
    SYSTEMS,
    DatasetRequest,
    Options,
    RunRequest,
    convert_tuples_to_lists,
    option,
    parse_column_map_to_pairs,
    redeclare_option,
)
from embassay.protocols.live import TaskRequestWithRetrievers

Lang = Literal["en", "fr"]
"""A language that the probes have texts in."""
LANGS: tuple[Lang, ...] = get_args(Lang)
BASE = "base"
OF_DATASETS = ("datasets", "mapping", "split", "grades")


def _map_names_to_bundle_conditions() -> Mapping[str, Any]:
    from embassay.protocols.rag.probes.bundles import CONDITIONS  # reads tables

    return CONDITIONS


@dataclass(frozen=True)
class NamesRequest:
    """The arguments of a name probe; two runs with equal requests give equal bytes.

    `langs` are the languages of the texts, `conditions` the ablations (empty: all ten; the base is always there),
    `people` and `topics` files of the user's own. `limit` is the most queries, whatever `queries` says. `datasets` are
    retrieval data that are signed by the authors, to measure the recall that damaged names cost there.
    """

    systems: tuple[str, ...] = redeclare_option(RunRequest, "systems")
    langs: tuple[Lang, ...] = option(
        LANGS, "Language. Default: both, or the languages of the data.", name="--lang", group=DATA
    )
    conditions: tuple[str, ...] = option(
        (), "An ablation, such as gibberish_name. Default: all ten.", name="--condition"
    )
    people: str | None = option(
        None, "Your authors: a table with columns `given` and `family`.", value="PATH", group=DATA
    )
    topics: str | None = option(
        None, "Your topics: a table with a column `topic`, or a .txt file.", value="PATH", group=DATA
    )
    queries: int = option(100, "Queries per language, made from authors and topics.", least=1, group=DATA)
    runs: int = option(
        15, "Random draws of impostors and phrasings, or of small talk.", least=1, most=10_000, group=STATISTICS
    )
    limit: int | None = redeclare_option(RunRequest, "limit", help="Maximum queries.")
    seed: int = redeclare_option(RunRequest, "seed")
    tokenizer: str = redeclare_option(RunRequest, "tokenizer")
    resamples: int = option(10_000, "Bootstrap resamples per interval.", least=1, most=MOST_RESAMPLES, group=STATISTICS)
    datasets: tuple[str, ...] = redeclare_option(
        RunRequest, "datasets", default=(),
        help="Retrieval data to add author names to; measures the recall lost when names are damaged."
    )  # fmt: skip
    mapping: tuple[tuple[str, str], ...] = redeclare_option(
        RunRequest, "mapping", default=(), read=parse_column_map_to_pairs
    )
    split: str | None = redeclare_option(RunRequest, "split")
    grades: str | None = redeclare_option(RunRequest, "grades")

    def __post_init__(self) -> None:
        for lang in self.langs:
            if lang not in LANGS:
                raise UsageError(f"There are no probe texts in {lang!r}.", mend=f"Use {' or '.join(LANGS)}.")
        for condition in self.conditions:
            if condition not in _map_names_to_bundle_conditions():
                from difflib import get_close_matches

                near = get_close_matches(condition, _map_names_to_bundle_conditions(), n=1)
                options = (
                    f"Did you mean {near[0]!r}?"
                    if near
                    else f"Available: {', '.join(_map_names_to_bundle_conditions())}."
                )
                raise UsageError(f"There is no condition {condition!r}.", mend=options)
        _check_counts_positive(self)

    @property
    def wanted_conditions(self) -> tuple[str, ...]:
        """The conditions, the base first, in the order of the tables."""
        wanted = {BASE, *(self.conditions or _map_names_to_bundle_conditions())}
        return tuple(name for name in _map_names_to_bundle_conditions() if name in wanted)

    @property
    def size(self) -> int:
        """The size of the probe: how many queries are made."""
        return min(self.queries, self.limit or self.queries)

    @property
    def files(self) -> dict[str, Path | None]:
        """The user's lists, as `material` takes them."""
        return _map_author_and_topic_files(self.people, self.topics)

    def of_collections(self) -> NoiseRequest:
        """The request by which the questions of the datasets are read."""
        langs = self.langs if len(self.langs) == 1 else ()
        return NoiseRequest(
            (), self.datasets, langs, reference="passage", mapping=self.mapping, split=self.split,
            grades=self.grades, limit=self.limit, seed=self.seed
        )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume; those of datasets only where there are any."""
        plain = {**asdict(self), "mapping": dict(self.mapping)}
        if not self.datasets:
            plain = {name: value for name, value in plain.items() if name not in OF_DATASETS}
        return convert_tuples_to_lists(plain)


def _check_counts_positive(request: NamesRequest | NoiseRequest) -> None:
    for name in ("queries", "runs", "resamples"):
        if getattr(request, name) < 1:
            raise UsageError(f"{name} is {getattr(request, name)}.", mend="Use a positive whole number.")


def _map_author_and_topic_files(people: str | None, topics: str | None) -> dict[str, Path | None]:
    return {"people": Path(people) if people else None, "topics": Path(topics) if topics else None}


BUNDLED = "bundled"
Reference = Literal["auto", "need", "passage"]


@dataclass(frozen=True)
class NoiseRequest:
    """The arguments of a noise probe; two runs with equal requests give equal bytes.

    `datasets` are `bundled` (queries made of authors and topics, in each of `langs`) or retrieval datasets; `langs`
    empty: the languages of the data. `reference` is what a noisy query is compared with: `need`, the plain statement
    of what is asked for, which only the bundled queries have; `passage`, the best passage of a query; `auto`, the need
    where there is one. `runs` are draws of small talk. `limit` is the most queries of a dataset.
    """

    systems: tuple[str, ...] = redeclare_option(RunRequest, "systems")
    datasets: tuple[str, ...] = redeclare_option(
        RunRequest, "datasets", default=(BUNDLED,), help="bundled (default), a catalogue name or a path."
    )
    langs: tuple[Lang, ...] = redeclare_option(NamesRequest, "langs", default=())
    rewriters: tuple[str, ...] = option(
        ("rules",), "Rewriter for noisy questions: rules (default), identity or llm:MODEL.",
        name="--rewriter", group=SYSTEMS
    )  # fmt: skip
    reference: Reference = option("auto", "Compare with the original question, or with the best passage.")
    mapping: tuple[tuple[str, str], ...] = redeclare_option(
        RunRequest, "mapping", default=(), read=parse_column_map_to_pairs
    )
    split: str | None = redeclare_option(RunRequest, "split")
    grades: str | None = redeclare_option(RunRequest, "grades")
    people: str | None = redeclare_option(NamesRequest, "people")
    topics: str | None = redeclare_option(NamesRequest, "topics")
    queries: int = redeclare_option(NamesRequest, "queries")
    runs: int = redeclare_option(NamesRequest, "runs", default=3)
    limit: int | None = redeclare_option(NamesRequest, "limit")
    seed: int = redeclare_option(RunRequest, "seed")
    tokenizer: str = redeclare_option(RunRequest, "tokenizer")
    resamples: int = redeclare_option(NamesRequest, "resamples")

    def __post_init__(self) -> None:
        for lang in self.langs:
            if lang not in LANGS:
                raise UsageError(f"There is no small talk in {lang!r}.", mend=f"Use {' or '.join(LANGS)}.")
        if self.reference not in get_args(Reference):
            raise UsageError(
                f"The reference cannot be {self.reference!r}.", mend=f"Use {', '.join(get_args(Reference))}."
            )
        _check_counts_positive(self)

    @property
    def files(self) -> dict[str, Path | None]:
        """The user's lists of authors and topics, as `material` takes them."""
        return _map_author_and_topic_files(self.people, self.topics)

    def dataset(self, source: str) -> DatasetRequest:
        """The request to read one of the datasets."""
        return DatasetRequest(source, tuple(sorted(self.mapping)), self.split, self.grades)

    def of_texts(self) -> NoiseRequest:
        """The same request without what makes no difference to the questions."""
        return replace(self, systems=(), rewriters=())

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = {**asdict(self), "mapping": dict(self.mapping)}
        return convert_tuples_to_lists(plain)


@dataclass(frozen=True)
class VersionsOptions(Options):
    """The options of a probe of versions: how twins are made and lists looked at."""

    questions: int = option(100, "Questions whose passage gets an old version and copies.", least=1, group=DATA)
    copies: int = option(3, "Copies of each passage.", least=1, most=50, group=DATA)
    cutoff: int = option(10, "Passages considered per list.", name="-k", least=1, most=1_000)
    near: float = option(0.8, "Jaccard index from which passages count as near-duplicates.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("questions", "copies", "cutoff"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}.", mend="Use a positive whole number.")
        if not 0.3 <= self.near <= 1:
            raise UsageError(f"near is {self.near:g}.", mend="Use a number from 0.3 to 1.")


@dataclass(frozen=True)
class DocumentVersionsProbeRequest(TaskRequestWithRetrievers):
    """The arguments of a probe of versions."""

    options: VersionsOptions = field(default_factory=VersionsOptions)
