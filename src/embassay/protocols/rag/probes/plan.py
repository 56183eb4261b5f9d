"""What planning both probes shares: its systems, the keys of its cells, and what a cell will hold in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.contracts import Similarity, Tokenizer
from embassay.protocols.kernel import plan as planning
from embassay.protocols.kernel.forecast import (
    TaskWorkloadForForecast,
    count_vector_dimensions,
    estimate_bytes_of_cached_vectors,
    estimate_reading_bytes,
    estimate_token_bytes_of_texts,
    sum_memory_footprint,
)
from embassay.protocols.kernel.plan import PlannedSystem, plan_systems
from embassay.protocols.rag.rewriters import QuestionRewriter, build_rewriter_record
from embassay.runs.folder import RunCell, digest_json
from embassay.runs.forecast import Hear
from embassay.runs.memory import WorkMemoryEstimate
from embassay.systems.remote import Ledger

NAMES_VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""
NOISE_VERSION = 2
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True, kw_only=True)
class ProbePlan(planning.Plan):
    """Everything a probe will do, in its order. `efforts` are what each dataset takes, for forecasts; `rewriters` those
    that noisy questions are given to."""

    task: str
    efforts: tuple[Callable[[], TaskWorkloadForForecast], ...]
    rewriters: tuple[QuestionRewriter, ...] = ()

    @property
    def probe_manifest_settings(self) -> dict[str, Any]:
        """What only a probe's manifest has: which probe it is, and what is said of its rewriters."""
        return {"kind": self.task, "rewriters": [dict(build_rewriter_record(rewriter)) for rewriter in self.rewriters]}


def plan_probe_systems(request: Any, tokenizer: Tokenizer, ledger: Ledger | None) -> tuple[PlannedSystem, ...]:
    """The systems that were named: a probe has no reference rows of its own."""
    systems = plan_systems(request.systems, tokenizer, request.seed, ledger)
    return tuple(system for system in systems if system.kind != "reference" or system.spec in request.systems)


def make_cell_key(
    task: str,
    version: int,
    system: PlannedSystem,
    fingerprint: str,
    tokenizer: Tokenizer,
    request: Any,
    rewriters: Mapping[str, str] | None = None,
    *,
    in_groups: bool = False,
) -> str:
    """A digest of all that the values depend on: of the arguments those that shape texts or statistics. `in_groups`:
    queries that are about the same are drawn together."""
    apart = ("systems", "datasets", "langs", "people", "topics", "mapping", "split")
    plain = {name: value for name, value in request.as_dict().items() if name not in apart}
    return digest_json(
        {
            "protocol": "rag",
            "task": task,
            "version": version,
            "system": [system.name, system.identity],
            "dataset": fingerprint,
            "tokenizer": tokenizer.identity,
            "rewriters": dict(rewriters or {}),
            "arguments": plain,
            **({"drawn": "groups"} if in_groups else {}),
        }
    )


def make_probe_cell(task: str, dataset: str, system: PlannedSystem, key: str, units: int, job: Any) -> RunCell:
    """A cell; a system without vectors sees no texts that progress could count."""
    texts = units if system.kind == "embedding" else 0
    return RunCell(task, dataset, system.name, key, texts, job, remote=system.remote is not None)


def estimate_dataset_effort(
    task: str, dataset: str, items: int, texts: Sequence[str], rehearse: Callable[[Hear], bool], pairs: int
) -> TaskWorkloadForForecast:
    """What a dataset takes: `texts` stand for those that are asked for where these cannot be counted, `pairs` are what
    a system without vectors compares."""
    tokens = sum(len(text) for text in texts) // 4
    return TaskWorkloadForForecast(task, dataset, items, pairs, tokens, rehearse, texts)


_PER_PLACE = 4_000
"""Bytes of a wording's values, its ten passages and their ids, twice: its own and those of the clean question."""
_DRAWS = 3 * 8
"""Bytes of a query in a draw that all statistics of a cell share."""
_MOST_DRAWN = 5_000_000


@dataclass(frozen=True)
class ProbeComparisonCounts:
    """Of a probe: `pairs` that are compared, `places` where a wording stands, `queries`, and `resamples` of them."""

    pairs: int
    places: int
    queries: int
    resamples: int


def estimate_probe_system_memory(
    system: Similarity, asked: Sequence[str], stored: Sequence[str], sizes: ProbeComparisonCounts, mend: str
) -> WorkMemoryEstimate:
    """The estimate for one system that gets the texts `asked` as queries and those `stored` as passages."""
    dim = count_vector_dimensions(system)
    parts = {
        "texts": estimate_reading_bytes(stored),
        "values": _PER_PLACE * sizes.places,
        "replicates": _DRAWS * min(sizes.queries * sizes.resamples, _MOST_DRAWN),
    }
    if dim:
        parts["vectors"] = estimate_bytes_of_cached_vectors(len(asked) + len(stored), dim)
    else:
        tokens = estimate_token_bytes_of_texts(asked, sizes.pairs) + estimate_token_bytes_of_texts(stored, sizes.pairs)
        parts["tokens"] = max(estimate_token_bytes_of_texts(asked) + estimate_token_bytes_of_texts(stored), tokens)
    return sum_memory_footprint(parts, mend)
