"""How far each query of a run has come, as its folders say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from embassay.protocols.rag.golden.layout import STAGES, QueryFolder
from embassay.protocols.rag.golden.stages import Asked, read_manifest


@dataclass(frozen=True)
class State:
    """A query: `status` is done, failed (in `stage`, for a `reason`) or not run; of the latter `stage` is the last that
    is done, empty for none. `counts` are those of all its stages that are done."""

    id: str
    text: str
    folder: QueryFolder
    status: str
    stage: str = ""
    reason: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)

    def is_through(self, stage: str) -> bool:
        """Whether this stage is done."""
        return (
            self.status == "done" or (self.status == "not run" and self.stage >= stage) or self.stage > stage
        )


States = Sequence[State]


def states_of(queries: Sequence[Asked], failed: Mapping[str, tuple[str, str]]) -> tuple[State, ...]:
    """The states of the queries, of which some have `failed` (id -> stage and reason)."""
    return tuple(_state(asked, failed.get(asked.id)) for asked in queries)


def _state(asked: Asked, failure: tuple[str, str] | None) -> State:
    done = []
    for stage in STAGES:
        if not asked.folder.success(stage).exists():
            break
        done.append(stage)
    counts: dict[str, int] = {}
    for stage in done:
        counts |= (read_manifest(asked.folder, stage) or {}).get("counts", {})
    if failure is not None:
        return State(asked.id, asked.text, asked.folder, "failed", *failure, counts)
    status = "done" if len(done) == len(STAGES) else "not run"
    return State(asked.id, asked.text, asked.folder, status, done[-1] if done else "", "", counts)
