"""What a golden run has brought so far, read back from its artefacts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from embassay.protocols.rag.golden.options import GoldenOptions
from embassay.protocols.rag.golden.stages import read_rows
from embassay.protocols.rag.golden.state import State, States
from embassay.protocols.rag.golden.steps.rewrite import read_rewrite
from embassay.protocols.rag.ranking import Call, Candidate

if TYPE_CHECKING:
    from embassay.protocols.rag.ranking.report import Judged

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Gathered:
    """A query as far as it has come: `rows` are its graded passages (S4) with what S6 says of those it ordered, `calls`
    the answers that S6 is made from, `tokens` of all its candidates (S3)."""

    state: State
    rewrite: str = ""
    rows: Sequence[Row] = ()
    kept: int = 0
    cut_stage: int = 0
    calls: Sequence[Row] = ()
    stopped: str = ""
    claims: Mapping[str, float] = field(default_factory=dict)
    doubts: Sequence[str] = ()
    tokens: Sequence[int] = ()

    @property
    def is_done(self) -> bool:
        """Whether it belongs to the golden set."""
        return self.state.status == "done"

    @property
    def grades(self) -> list[int]:
        """Those of all passages that have one."""
        return [row["grade"] for row in self.rows if row["grade"] is not None]

    @property
    def ordered(self) -> list[Row]:
        """The passages that S6 ordered, best first."""
        return sorted(
            (row for row in self.rows if "final_rank" in row), key=lambda row: int(row["final_rank"])
        )

    def judged(self) -> Judged:
        """Candidates and answers as the reports of rankings take them."""
        from embassay.protocols.rag.ranking.report import Judged

        rows = sorted(self.ordered, key=lambda row: int(row["rank_rrf"]))
        place = {row["doc_id"]: position for position, row in enumerate(rows)}
        candidates = tuple(Candidate(row["doc_id"], row["grade"], row["rank_rrf"]) for row in rows)
        calls = tuple(
            Call(tuple(place[key] for key in call["shown"]), tuple(place[key] for key in call["order"]))
            for call in self.calls
        )
        return Judged(candidates, calls)


def gather(states: States, options: GoldenOptions) -> list[Gathered]:
    """All queries, in the order of the run."""
    return [_gathered(state, options) for state in states]


def _gathered(state: State, options: GoldenOptions) -> Gathered:
    folder, through = state.folder, state.is_through
    rewrite = read_rewrite_of(state) if through("S1") else ""
    if not through("S4"):
        merged = read_rows(folder.merged) if through("S3") else []
        return Gathered(state, rewrite, tokens=[row["tokens"] for row in merged])
    scored = read_rows(folder.scores)
    tokens = [row["tokens"] for row in scored]
    if not through("S6"):
        return Gathered(state, rewrite, scored, tokens=tokens)
    order = {row["doc_id"]: row for row in read_rows(folder.order)}
    rows = [{**row, **order.get(row["doc_id"], {})} for row in scored]
    said = json.loads(folder.checkpoint.read_text("utf-8"))
    pruned = read_rows(folder.pruned(options.minimum))
    return Gathered(
        state, rewrite, rows, len(pruned), pruned[0]["cut_stage"] if pruned else 0, list(_calls(state)),
        said["stopped"], said["claims"], said.get("doubts", ()), tokens,
    )  # fmt: skip


def read_rewrite_of(state: State) -> str:
    """The rewriting of a query."""
    from embassay.protocols.rag.golden.stages import Asked

    return str(read_rewrite(Asked(state.id, state.text, state.folder))["text_rewrite"])


def _calls(state: State) -> Iterator[Row]:
    """The answers in the log; its first line says what they belong to."""
    return (row for row in read_rows(state.folder.calls)[1:] if "order" in row)
