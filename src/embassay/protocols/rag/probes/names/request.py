"""What a name probe was asked to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

from embassay.errors import UsageError
from embassay.protocols.rag.probes.names.bundles import Lang
from embassay.protocols.rag.probes.names.conditions import CONDITIONS

VERSION = 2
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
