"""Results as MTEB publishes them: its files, its folders, and ordinary runs made of them."""

from semblance.protocols.mteb.bundle import bundle_of, documents_of
from semblance.protocols.mteb.document import Document
from semblance.protocols.mteb.importing import Imported, import_results
from semblance.protocols.mteb.originals import read_originals
from semblance.protocols.mteb.reading import Fault, read_documents
from semblance.protocols.mteb.writing import Written, write_documents

__all__ = [
    "Document",
    "Fault",
    "Imported",
    "Written",
    "bundle_of",
    "documents_of",
    "import_results",
    "read_documents",
    "read_originals",
    "write_documents",
]
