"""What kind of task a task of MTEB is."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from embassay.protocols.mteb.document import BLOCK, Document

OTHER = "other"
_LONGEST = 60


@cache
def task_types() -> Mapping[str, str]:
    """Name of a task -> its type, as mteb 2.26 has it (2,087 tasks)."""
    import json

    known = json.loads(files(__package__).joinpath("task_types.json").read_text("utf-8"))
    return {name: kind for kind, names in known.items() for name in names.split()}


def task_of(document: Document) -> str:
    """A document's type as a task of ours is called, `other` where nobody knows: what we wrote into it ourselves, what
    MTEB says of the task, or the category that a bundle gives."""
    block = document.body.get(BLOCK)
    block = block if isinstance(block, dict) else {}
    run = block.get("run")
    own = run.get("task") if isinstance(run, dict) else None
    return (
        _snake(
            str(
                (own if isinstance(own, str) else "")
                or task_types().get(document.task)
                or _category(block)
                or OTHER
            )
        )
        or OTHER
    )


def _category(block: Mapping[str, object]) -> object:
    records = block.get("records")
    first = records[0] if isinstance(records, list) and records else None
    values = first.get("values") if isinstance(first, dict) else None
    return values.get("category") if isinstance(values, dict) else None


def _snake(name: str) -> str:
    """As our tasks are called.

    >>> [_snake(name) for name in ("PairClassification", "STS", "VisualSTS(eng)", "Any2AnyRetrieval")]
    ['pair_classification', 'sts', 'visual_sts_eng', 'any2any_retrieval']
    """
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z][A-Za-z])", "_", name.replace("Any2Any", "any2any_"))
    return re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")[:_LONGEST]
