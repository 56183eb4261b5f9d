"""S5: the best whole buckets of grades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from embassay.protocols.manifest import moment
from embassay.protocols.rag.golden.pruning import prune, pruned_rows
from embassay.protocols.rag.golden.stages import Asked, Done, Input, Product, input_of, lines, read_rows
from embassay.protocols.rag.golden.work import Work

VERSION = 1


@dataclass
class Cut:
    """S5 for many questions."""

    work: Work
    stage: str = "S5"

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {"version": VERSION, "minimum": self.work.request.options.minimum}

    def inputs(self, asked: Asked) -> Sequence[Input]:
        return (input_of(asked.folder.scores, self.work.run),)

    def do(self, waiting: Sequence[Asked], done: Done) -> Mapping[str, str]:
        minimum = self.work.request.options.minimum
        for asked in waiting:
            pruned = prune(read_rows(asked.folder.scores), minimum)
            rows = pruned_rows(pruned, moment("milliseconds"))
            files = {asked.folder.pruned(minimum): lines(rows)}
            done(asked, Product(files, {"kept": len(rows), "cut_stage": pruned.cut_stage}))
        return {}
