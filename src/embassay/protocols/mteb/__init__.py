"""Results as MTEB publishes them: its files, its folders, and ordinary runs made of them."""

from embassay.protocols.mteb.protocol import Imported, import_results, read_imported_result_documents
from embassay.protocols.mteb.survey import (
    Document,
    Fault,
    WrittenResultCounts,
    bundle_of,
    read_documents,
    split_bundle_into_documents,
    write_result_files,
)

__all__ = [
    "Document",
    "Fault",
    "Imported",
    "WrittenResultCounts",
    "bundle_of",
    "import_results",
    "read_documents",
    "read_imported_result_documents",
    "split_bundle_into_documents",
    "write_result_files",
]
