"""What a SAGE run was asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from semblance.protocols.sage.options import SageOptions

VERSION = 1
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class DatasetRequest:
    """A dataset as the user named it, and how to read it."""

    source: str
    mapping: tuple[tuple[str, str], ...] = ()
    split: str | None = None
    grades: str | None = None


@dataclass(frozen=True)
class Request:
    """The arguments of a run; two runs with equal requests on equal data give equal bytes."""

    systems: tuple[str, ...]
    tasks: tuple[str, ...] = ()
    """Empty: every task that the datasets have columns for."""
    datasets: tuple[str, ...] = ("sample",)
    mapping: Mapping[str, str] = field(default_factory=dict)
    split: str | None = None
    grades: str | None = None
    limit: int | None = None
    seed: int = 1337
    tokenizer: str = "cl100k"
    options: SageOptions = field(default_factory=SageOptions)

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        return {**asdict(self), "systems": list(self.systems), "tasks": list(self.tasks),
                "datasets": list(self.datasets), "mapping": dict(self.mapping)}  # fmt: skip

    def dataset(self, source: str) -> DatasetRequest:
        """How to read one of the datasets.

        Beside files, a catalogue dataset or a description keeps the columns it knows; alone it gets the mapping,
        and says that it takes none.
        """
        named = not Path(source).exists() or Path(source).suffix in (".yaml", ".yml")
        mapping = {} if named and len(self.datasets) > 1 else self.mapping
        return DatasetRequest(source, tuple(sorted(mapping.items())), self.split, self.grades)
