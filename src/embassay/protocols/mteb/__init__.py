"""Results as MTEB publishes them: its files, its folders, and ordinary runs made of them."""

from embassay.protocols.mteb.protocol import Imported, import_results, read_originals
from embassay.protocols.mteb.survey import (
    Document,
    Fault,
    WrittenResults,
    bundle_documents,
    bundle_of,
    read_documents,
    write_documents,
)

__all__ = [
    "Document",
    "Fault",
    "Imported",
    "WrittenResults",
    "bundle_documents",
    "bundle_of",
    "import_results",
    "read_documents",
    "read_originals",
    "write_documents",
]
