"""To and from other tools: results of MTEB and Every Eval Ever, the hub, CSV, LaTeX, Parquet, trackers."""

from __future__ import annotations

from pathlib import Path

from embassay.interchange.forms import FORMS, Exported, LeftOut, export, results_of
from embassay.interchange.tables import long_frame
from embassay.interchange.trackers import Logged, log_to_mlflow, log_to_trackio, log_to_wandb
from embassay.protocols.mteb import Document, Fault, Imported, bundle_of, import_results, read_documents
from embassay.records import ResultRow

__all__ = [
    "FORMS",
    "Document",
    "Exported",
    "Fault",
    "Imported",
    "LeftOut",
    "Logged",
    "bundle_of",
    "export",
    "import_results",
    "log_to_mlflow",
    "log_to_trackio",
    "log_to_wandb",
    "long_frame",
    "read_documents",
    "read_results",
    "results_of",
]


def read_results(source: Path) -> list[ResultRow]:
    """The results of our own runs in files of MTEB (a layout or one file), as they were exported. DataError where there
    is no such source, or a file of ours in it is broken."""
    return results_of(read_documents(Path(source)))
