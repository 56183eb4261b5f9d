"""HUME: how would people do on the same items, and how well do they agree?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embassay.protocols.hume.exchange.exporting import export
    from embassay.protocols.hume.exchange.importing import import_files
    from embassay.protocols.hume.folder import read_study
    from embassay.protocols.hume.llms.request import AnnotateRequest
    from embassay.protocols.hume.llms.run import annotate
    from embassay.protocols.hume.results.api import score
    from embassay.protocols.hume.results.request import PublishedRequest, StudyRequest
    from embassay.protocols.hume.summary.record import Summary, read_summary

__all__ = [
    "AnnotateRequest", "PublishedRequest", "StudyRequest", "Summary", "annotate", "export", "import_files",
    "read_study", "read_summary", "score",
]  # fmt: skip

_HOMES = {
    "AnnotateRequest": "llms.request",
    "annotate": "llms.run",
    "export": "exchange.exporting",
    "import_files": "exchange.importing",
    "PublishedRequest": "results.request",
    "StudyRequest": "results.request",
    "Summary": "summary.record",
    "read_study": "folder",
    "read_summary": "summary.record",
    "score": "results.api",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
