"""What a sweep is asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from embassay.protocols.rag.sweep.stacks import NONE, Rules
from embassay.registry import Registry

SEED = 1337
MEASURES = ("RA-nWG", "N-Recall4+", "N-Recall5", "Precision4+", "Harm", "nDCG")
CUTOFFS = (10, 30)
RERANK = "+rerank"


@dataclass(frozen=True)
class DatasetEntry:
    """A dataset as the config names it: `source` is what `-d` takes, `grades` a grade map. With `exclude_self` the
    document that has the query's id is left out of its ranking."""

    source: str
    mapping: Mapping[str, str] = field(default_factory=dict)
    split: str | None = None
    grades: str | None = None
    exclude_self: bool = False

    def as_dict(self) -> dict[str, Any]:
        """As the manifest has it; without what is as usual."""
        plain = {**asdict(self), "mapping": dict(self.mapping)}
        return plain if self.exclude_self else {key: plain[key] for key in plain if key != "exclude_self"}


@dataclass(frozen=True)
class Latency:
    """How time is taken: of so many queries, after `warmup` calls that are dropped, in `repeats` sessions; and with so
    many queries in flight at once."""

    queries: int = 20
    warmup: int = 3
    repeats: int = 3
    concurrency: int = 4


@dataclass(frozen=True)
class Prices:
    """US dollars per million tokens by canonical spec string, over those of the table of known models; their `date`,
    empty where the config gives none."""

    date: str = ""
    rerank: Mapping[str, float] = field(default_factory=dict)
    embed: Mapping[str, float] = field(default_factory=dict)
    generator: float | None = None


@dataclass(frozen=True)
class SweepRequest:
    """A sweep: datasets, axes, and how to measure. Spec strings are canonical; `dims` None are all of an encoder's.

    `base` is the folder that relative paths start from. It, the rules and the prices may differ when a run resumes:
    what is measured does not depend on them.
    """

    datasets: tuple[DatasetEntry, ...]
    encoder: tuple[str, ...]
    dims: tuple[int | None, ...] = (None,)
    index: tuple[str, ...] = ("flat",)
    k: tuple[int, ...] = (50,)
    reranker: tuple[str, ...] = (NONE,)
    mode: tuple[str, ...] = ("dense",)
    rewrite: tuple[str, ...] = (NONE,)
    deduplicate: tuple[float, ...] = (0.0,)
    boost: tuple[float, ...] = (0.0,)
    chunk: tuple[str, ...] = (NONE,)
    queries: int = 100
    depth: int = 100
    rrf_c: float = 60.0
    measures: tuple[str, ...] = tuple(f"{name}@{k}" for k in CUTOFFS for name in MEASURES)
    latency: Latency = Latency()
    tokenizer: str = "words"
    seed: int = SEED
    rules: Rules = field(default_factory=Rules)
    prices: Prices = Prices()
    base: Path = Path()

    def as_dict(self) -> dict[str, Any]:
        """The arguments as the manifest has them, and as they are compared on resume."""
        plain = asdict(self)
        plain["datasets"] = [one.as_dict() for one in self.datasets]
        return {key: value for key, value in plain.items() if key not in ("rules", "prices", "base")}

    def path(self, given: str) -> str:
        """A path of the config as it is to be opened.

        >>> SweepRequest((), (), base=Path("configs")).path("./data")
        'configs/data'
        """
        path = Path(given).expanduser()
        return str(path) if path.is_absolute() or self.base == Path() else os.path.normpath(self.base / path)

    def located(self, text: str, registry: Registry[Any]) -> str:
        """A spec string whose target is a relative path (`cross:./folder`), as it is to be opened."""
        spec = registry.parse(text)
        if not spec.target.startswith(("./", "../")):
            return text
        path = self.path(spec.target)
        target = path if path.startswith(("/", "../")) else f"./{path}"
        return registry.format(replace(spec, target=target))
