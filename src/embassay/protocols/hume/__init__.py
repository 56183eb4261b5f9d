"""HUME: how would people do on the same items, and how well do they agree?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embassay.protocols.hume.exchange.export import export
    from embassay.protocols.hume.exchange.intake import import_files
    from embassay.protocols.hume.llms.protocol import annotate
    from embassay.protocols.hume.options import AnnotateRequest, PublishedRequest, StudyRequest
    from embassay.protocols.hume.record import Summary, read_summary
    from embassay.protocols.hume.results.protocol import score
    from embassay.protocols.hume.sampling.protocol import sample_study as sample
    from embassay.protocols.hume.study import read_study

__all__ = [
    "AnnotateRequest", "PublishedRequest", "StudyRequest", "Summary", "annotate", "export", "import_files",
    "read_study", "read_summary", "sample", "score"
]  # fmt: skip

_HOMES = {
    "AnnotateRequest": "options",
    "annotate": "llms.protocol",
    "export": "exchange.export",
    "import_files": "exchange.intake",
    "PublishedRequest": "options",
    "StudyRequest": "options",
    "Summary": "record",
    "read_study": "study",
    "read_summary": "record",
    "score": "results.protocol",
}


def __getattr__(name: str) -> Any:
    if name == "sample":
        return import_module(f"{__name__}.sampling.protocol").sample_study
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
