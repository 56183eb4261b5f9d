"""What a noise probe was asked to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from embassay.errors import UsageError
from embassay.protocols.rag.probes.noise.levels import Lang
from embassay.protocols.request import DatasetRequest

VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""
LANGS: tuple[Lang, ...] = get_args(Lang)
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
