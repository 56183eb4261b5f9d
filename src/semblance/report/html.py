"""From a record to one self-contained file: templates, style and script inlined, nothing fetched."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from semblance.report import marks, numbers
from semblance.report.board import Value, make_board
from semblance.report.record import Record, read_record
from semblance.report.sections import SECTIONS
from semblance.report.verdict import Command, Part, plain
from semblance.runs.files import write_atomic

STYLES = ("report.css",)
STYLE_PLACE, SCRIPT_PLACE = "/*style*/", "/*script*/"
SCRIPTS = ("frame.js", "tables.js", "compare.js", "items.js")


def write(run: Path, target: Path) -> Path:
    """Write the report of the run folder to `target`, in one step."""
    write_atomic(target, render(read_record(run)))
    return target


def render(record: Record) -> str:
    """The whole page."""
    board = make_board(record)
    built = [(section, section.build(record, board)) for section in SECTIONS]
    style, script = asset(STYLES), asset(SCRIPTS)
    page = environment().get_template("frame.html")
    html = page.render(
        record=record,
        board=board,
        sections=[(section, content) for section, content in built if content is not None],
        policy=policy(style, script),
        data=json_block(page_data(record, board)),
    )
    return tight(html).replace(STYLE_PLACE, style, 1).replace(SCRIPT_PLACE, script, 1)


def tight(html: str) -> str:
    """The same page in fewer bytes: one line break between tags, no quotes around simple attribute values.

    Text from data holds no quote (it is escaped), so only the templates' own attributes match.
    """
    head, data, tail = html.partition('<script type="application/json"')
    head = re.sub(r">\s+<", ">\n<", head)
    return re.sub(r'(?<==)"([\w.%#-]+)"(?=[\s>])', r"\1", head) + data + tail


def policy(style: str, script: str) -> str:
    """The content security policy: nothing may be loaded or run but this style and this script."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def json_block(value: Any) -> Markup:
    """JSON that can stand in a script element: no `<` can end it, no line separator can break it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in ("<", "\u2028", "\u2029"):
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


def packed(value: Any) -> str:
    """JSON compressed by gzip, in base64: for data that only the script reads."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode("ascii")


def page_data(record: Record, board: Any) -> dict[str, Any]:
    """What the script needs on every page: the systems and the paired comparisons, systems by their index."""
    label = {row.system.index: row.label for row in board.rows}
    index = {system.name: system.index for system in record.systems}
    titles = {"overall": "Overall"} | {task.name: task.title for task in board.tasks}
    scopes = [
        {
            "name": name,
            "title": title,
            "systems": [index[system] for system in record.scope(name).systems],
            "pairs": [
                [index[pair.a], index[pair.b],
                 *(float(f"{number:.6g}") for number in
                   (pair.difference, pair.ci_low, pair.ci_high, pair.p, pair.p_adjusted))]
                for pair in record.scope(name).pairs
            ],
        }
        for name, title in titles.items()
        if record.scope(name).pairs
    ]  # fmt: skip
    return {
        "run": record.manifest.get("name", ""),
        "alpha": record.alpha,
        "systems": [
            {"name": system.name, "label": label[system.index], "kind": system.kind}
            for system in record.systems
        ],
        "scopes": scopes,
    }


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The template environment: everything is escaped, an unknown name is an error."""
    made = Environment(
        loader=PackageLoader("semblance.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(numbers=numbers, marks=marks)
    made.filters.update(sentence=sentence, exact=exact, plain=plain, packed=packed)
    return made


@lru_cache(maxsize=8)
def asset(names: tuple[str, ...]) -> str:
    """The named files of the package, one after the other, without indentation and lines of comment."""
    folder = resources.files("semblance.report") / "assets"
    text = "\n".join((folder / name).read_text("utf-8") for name in names)
    return re.sub(r"(?m)^\s*(//.*|/\*\*.*\*/)?\n?", "", text)


def sentence(parts: tuple[Part, ...]) -> Markup:
    """A sentence with its names in bold, isolated from the direction of the text around them."""
    return Markup("").join(_part(part) for part in parts)


def exact(value: Value | None) -> Markup:
    """A value (and its interval) as an attribute for sorting and CSV; else the reason."""
    if value is None or value.row is None or value.row.value is None:
        return Markup(' data-why="{}"').format(value.reason or value.text if value else "")
    row = value.row
    ends = "" if row.ci_low is None or row.ci_high is None else f" {row.ci_low:.6g} {row.ci_high:.6g}"
    return Markup(f' data-v="{numbers.exact(row.value or 0.0)}{ends}"')


def _part(part: Part) -> Markup:
    if isinstance(part, str):
        return escape(part)
    return Markup("<code>{}</code>" if isinstance(part, Command) else "<b><bdi>{}</bdi></b>").format(
        part.label
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
