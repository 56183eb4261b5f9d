"""Retrievers as they run: for runs (`runs`) and beside other systems (`systems`); here what they are asked with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from embassay.protocols.kernel.request import DATA, TaskRequest, option, redeclare_option


@dataclass(frozen=True)
class RetrieverOption:
    """The retrievers that a command asks; its other records repeat the option."""

    retrievers: tuple[str, ...] = option(
        (), "A retriever to query: MODULE:FUNCTION, http://..., TEMPLATE.json, mcp:COMMAND#TOOL; or NAME=SPEC.",
        name="--retriever", value="SPEC", group=DATA
    )  # fmt: skip


@dataclass(frozen=True)
class TaskRequestWithRetrievers(TaskRequest):
    """The arguments of a run over tasks whose systems may be retrievers, too."""

    GROWS: ClassVar[tuple[str, ...]] = (*TaskRequest.GROWS, "retrievers")
    retrievers: tuple[str, ...] = redeclare_option(
        RetrieverOption, "retrievers",
        help="A retriever to compare with the systems, once it serves the passages that the run writes: SPEC or "
            "NAME=SPEC."
    )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest; retrievers where there are any."""
        plain = super().as_dict()
        return plain if self.retrievers else {k: v for k, v in plain.items() if k != "retrievers"}
