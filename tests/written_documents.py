"""Small documents in the formats of offices, written byte by byte, so that tests need no program that writes them."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_HEAD = '<?xml version="1.0"?>'


def write_docx(path: Path, paragraphs: Sequence[tuple[str, str]], extra: dict[str, bytes] | None = None) -> Path:
    """A Word file of paragraphs, each a style (`Heading1`, `Normal`) and a text."""
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    parts = {
        "[Content_Types].xml": f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": _relationships("officeDocument", "word/document.xml"),
        "word/_rels/document.xml.rels": _relationships("styles", "styles.xml"),
        "word/styles.xml": f'{_HEAD}<w:styles xmlns:w="{_WORD}"><w:style w:type="paragraph" w:styleId="Heading1">'
        '<w:name w:val="heading 1"/></w:style></w:styles>',
        "word/document.xml": f'{_HEAD}<w:document xmlns:w="{_WORD}"><w:body>{body}</w:body></w:document>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in parts.items():
            package.writestr(name, text)
        for name, content in (extra or {}).items():
            package.writestr(name, content)
    return path


def _relationships(kind: str, target: str) -> str:
    return (
        f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" Type="{_OFFICE}/{kind}" '
        f'Target="{target}"/></Relationships>'
    )


def write_pdf(path: Path, pages: Sequence[Sequence[str]], title: str = "", stream: bytes | None = None) -> Path:
    """A PDF with the lines of each page; `stream`, packed with zlib, in place of what they would make."""
    objects = [b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    tree, kids = 2 + 2 * len(pages), []
    for lines in pages:
        shown = b" ".join(b"(" + line.encode("latin-1") + b") Tj T*" for line in lines)
        content = b"BT /F1 12 Tf 50 750 Td 14 TL " + shown + b" ET"
        packed = b""
        if stream is not None:
            content, packed = stream, b" /Filter /FlateDecode"
        objects.append(b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(content), packed, content))
        objects.append(
            b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 1 0 R >> >> "
            b"/Contents %d 0 R >>" % (tree, len(objects))
        )
        kids.append(b"%d 0 R" % len(objects))
    objects.append(b"<< /Type /Pages /Kids [" + b" ".join(kids) + b"] /Count %d >>" % len(kids))
    objects.append(b"<< /Type /Catalog /Pages %d 0 R >>" % tree)
    objects.append(b"<< /Title (" + title.encode("latin-1") + b") >>")
    written, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size, at = len(objects) + 1, len(written)
    written += b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, table)
    written += b"trailer << /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        size, tree + 1, tree + 2, at,
    )  # fmt: skip
    path.write_bytes(written)
    return path
