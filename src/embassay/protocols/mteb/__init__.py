"""Results as MTEB publishes them: its files, its folders, and ordinary runs made of them."""

from embassay.protocols.mteb.bundle import bundle_of, documents_of
from embassay.protocols.mteb.document import Document
from embassay.protocols.mteb.importing import Imported, import_results
from embassay.protocols.mteb.originals import read_originals
from embassay.protocols.mteb.reading import Fault, read_documents
from embassay.protocols.mteb.writing import Written, write_documents

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
