"""What planning both probes shares: its systems, the keys of its cells, and what a cell will hold in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from embassay.contracts import Similarity, Tokenizer
from embassay.errors import UsageError
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel.forecast import (
    Work,
    dimensions,
    footprint,
    read_bytes,
    remembered,
    token_bytes,
)
from embassay.protocols.kernel.plan import PlannedSystem, planned_systems
from embassay.protocols.kernel.request import DatasetRequest
from embassay.protocols.rag.probes.bundles import CONDITIONS, Lang
from embassay.protocols.rag.rewriters import Rewriter, about
from embassay.runs.folder import Cell, digest
from embassay.runs.forecast import Hear
from embassay.runs.memory import Footprint
from embassay.systems.remote import Ledger

NAMES_VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""
LANGS: tuple[Lang, ...] = get_args(Lang)
BASE = "base"


@dataclass(frozen=True)
class NamesRequest:
    """The arguments of a name probe; two runs with equal requests give equal bytes.

    `langs` are the languages of the texts, `conditions` the ablations (empty: all ten; the base is always there),
    `people` and `topics` files of the user's own. `limit` is the most queries, whatever `queries` says.
    """

    systems: tuple[str, ...]
    langs: tuple[Lang, ...] = LANGS
    conditions: tuple[str, ...] = ()
    people: str | None = None
    topics: str | None = None
    queries: int = 100
    runs: int = 15
    limit: int | None = None
    seed: int = 1337
    tokenizer: str = "cl100k"
    resamples: int = 10_000
    datasets: tuple[str, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        for lang in self.langs:
            if lang not in LANGS:
                raise UsageError(f"There are no texts in {lang!r}.", mend=f"Use {' or '.join(LANGS)}.")
        for one in self.conditions:
            if one not in CONDITIONS:
                from difflib import get_close_matches

                near = get_close_matches(one, CONDITIONS, n=1)
                known = f"Did you mean {near[0]!r}?" if near else f"Known are {', '.join(CONDITIONS)}."
                raise UsageError(f"There is no condition {one!r}.", mend=known)
        for name in ("queries", "runs", "resamples"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}.", mend="Use a positive whole number.")

    @property
    def asked(self) -> tuple[str, ...]:
        """The conditions, the base first, in the order of the tables."""
        wanted = {BASE, *(self.conditions or CONDITIONS)}
        return tuple(name for name in CONDITIONS if name in wanted)

    @property
    def size(self) -> int:
        """How many queries are made."""
        return min(self.queries, self.limit or self.queries)

    @property
    def files(self) -> dict[str, Path | None]:
        """The user's lists, as `material` takes them."""
        return {
            "people": Path(self.people) if self.people else None,
            "topics": Path(self.topics) if self.topics else None,
        }

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = asdict(self)
        plain.pop("datasets")
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}


NOISE_VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""
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

    systems: tuple[str, ...]
    datasets: tuple[str, ...] = (BUNDLED,)
    langs: tuple[Lang, ...] = ()
    rewriters: tuple[str, ...] = ("rules",)
    reference: Reference = "auto"
    mapping: tuple[tuple[str, str], ...] = ()
    split: str | None = None
    grades: str | None = None
    people: str | None = None
    topics: str | None = None
    queries: int = 100
    runs: int = 3
    limit: int | None = None
    seed: int = 1337
    tokenizer: str = "cl100k"
    resamples: int = 10_000

    def __post_init__(self) -> None:
        for one in self.langs:
            if one not in LANGS:
                raise UsageError(f"There is no small talk in {one!r}.", mend=f"Use {' or '.join(LANGS)}.")
        if self.reference not in get_args(Reference):
            raise UsageError(
                f"The reference cannot be {self.reference!r}.", mend=f"Use {', '.join(get_args(Reference))}."
            )
        for name in ("queries", "runs", "resamples"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}.", mend="Use a positive whole number.")

    @property
    def files(self) -> dict[str, Path | None]:
        """The user's lists of authors and topics, as `material` takes them."""
        return {
            "people": Path(self.people) if self.people else None,
            "topics": Path(self.topics) if self.topics else None,
        }

    def dataset(self, source: str) -> DatasetRequest:
        """How to read one of the datasets."""
        return DatasetRequest(source, tuple(sorted(self.mapping)), self.split, self.grades)

    def of_texts(self) -> NoiseRequest:
        """The same without what makes no difference to the questions."""
        return replace(self, systems=(), rewriters=())

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        plain = {**asdict(self), "mapping": dict(self.mapping)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in plain.items()}


@dataclass(frozen=True, kw_only=True)
class ProbePlan(planning.Plan):
    """Everything a probe will do, in its order. `efforts` are what each dataset takes, for forecasts; `rewriters` those
    that noisy questions are given to."""

    task: str
    efforts: tuple[Callable[[], Work], ...]
    rewriters: tuple[Rewriter, ...] = ()

    @property
    def settings(self) -> dict[str, Any]:
        """What only a probe's manifest has: which probe it is, and what is said of its rewriters."""
        return {"kind": self.task, "rewriters": [dict(about(one)) for one in self.rewriters]}


def systems_of(request: Any, tokenizer: Tokenizer, ledger: Ledger | None) -> tuple[PlannedSystem, ...]:
    """The systems that were named: a probe has no reference rows of its own."""
    found = planned_systems(request.systems, tokenizer, request.seed, ledger)
    return tuple(one for one in found if one.kind != "reference" or one.spec in request.systems)


def cell_key(
    task: str,
    version: int,
    system: PlannedSystem,
    fingerprint: str,
    tokenizer: Tokenizer,
    request: Any,
    rewriters: Mapping[str, str] | None = None,
) -> str:
    """A digest of all that the values depend on: of the arguments those that shape texts or statistics."""
    apart = ("systems", "datasets", "langs", "people", "topics", "mapping", "split")
    plain = {name: value for name, value in request.as_dict().items() if name not in apart}
    return digest(
        {
            "protocol": "rag",
            "task": task,
            "version": version,
            "system": [system.name, system.identity],
            "dataset": fingerprint,
            "tokenizer": tokenizer.identity,
            "rewriters": dict(rewriters or {}),
            "arguments": plain,
        }
    )


def cell_of(task: str, dataset: str, system: PlannedSystem, key: str, units: int, job: Any) -> Cell:
    """A cell; a system without vectors sees no texts that progress could count."""
    seen = units if system.kind == "embedding" else 0
    return Cell(task, dataset, system.name, key, seen, job, remote=system.remote is not None)


def effort_of(
    task: str, dataset: str, items: int, texts: Sequence[str], rehearse: Callable[[Hear], bool], pairs: int
) -> Work:
    """What a dataset takes: `texts` stand for those that are asked for where these cannot be counted, `pairs` are what
    a system without vectors compares."""
    tokens = sum(len(text) for text in texts) // 4
    return Work(task, dataset, items, pairs, tokens, rehearse, texts)


_PER_PLACE = 4_000
"""Bytes of a wording's values, its ten passages and their ids, twice: its own and those of the clean question."""
_DRAWS = 3 * 8
"""Bytes of a query in a draw that all statistics of a cell share."""
_MOST_DRAWN = 5_000_000


@dataclass(frozen=True)
class Sizes:
    """Of a probe: `pairs` that are compared, `places` where a wording stands, `queries`, and `resamples` of them."""

    pairs: int
    places: int
    queries: int
    resamples: int


def memory_needed(
    system: Similarity, asked: Sequence[str], stored: Sequence[str], sizes: Sizes, mend: str
) -> Footprint:
    """The estimate for one system that gets the texts `asked` as queries and those `stored` as passages."""
    dim = dimensions(system)
    parts = {
        "texts": read_bytes(stored),
        "values": _PER_PLACE * sizes.places,
        "replicates": _DRAWS * min(sizes.queries * sizes.resamples, _MOST_DRAWN),
    }
    if dim:
        parts["vectors"] = remembered(len(asked) + len(stored), dim)
    else:
        both = token_bytes(asked, sizes.pairs) + token_bytes(stored, sizes.pairs)
        parts["tokens"] = max(token_bytes(asked) + token_bytes(stored), both)
    return footprint(parts, mend)
