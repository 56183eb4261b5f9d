"""From a record to one self-contained file: templates, style and script inlined, nothing fetched."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from embassay.protocols import numbers
from embassay.report import marks
from embassay.report.board import Value
from embassay.report.compact import asset, tight
from embassay.report.gathered import Run, systems_of
from embassay.report.record import APART
from embassay.report.scale import SHARES, Scale
from embassay.report.sections import SECTIONS
from embassay.report.verdict import Command, Part, plain
from embassay.runs.files import write_atomic

STYLES = ("report.css",)
POLICY_PLACE, STYLE_PLACE, SCRIPT_PLACE = "/*policy*/", "/*style*/", "/*script*/"
IDS = re.compile(r'(?<= id=")([^"]+)')
IDS_AND_LINKS = re.compile(r'(?:(?<= id=")|(?<= href="#)|(?<= name="chip-)|(?<= aria-labelledby="))([^"?]+)')
ZERO = re.compile(r"-?0\.\d")
SCRIPTS = ("frame.js", "tables.js", "compare.js", "items.js", "sweep.js")


def write(runs: Sequence[Run], target: Path) -> Path:
    """Write the report of the runs to `target`, in one step."""
    write_atomic(target, render(runs))
    return target


def render(runs: Sequence[Run]) -> str:
    """The whole page."""
    pages = [page for section in SECTIONS for page in section.pages(runs)]
    html = tight(
        environment()
        .get_template("frame.html")
        .render(
            runs=runs,
            name=" and ".join(dict.fromkeys(run.record.manifest.get("name", "") for run in runs)),
            pages=pages,
            data=json_block(page_data(runs)),
        )
    )
    style, script = asset(STYLES) + marks.places(html), asset(SCRIPTS)
    # Before the first two places and after the last no text of data stands, which could hold the same words.
    html = html.replace(POLICY_PLACE, policy(style, script), 1).replace(STYLE_PLACE, style, 1)
    before, _, after = html.rpartition(SCRIPT_PLACE)
    return before + script + after


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


def page_data(runs: Sequence[Run]) -> dict[str, Any]:
    """What the script needs on every page: the systems and the paired comparisons, systems by their index."""
    return {
        "run": runs[0].record.manifest.get("name", ""),
        "alpha": runs[0].record.alpha,
        "systems": [
            {"name": system.name, "label": label, "kind": marks.CLASSES[system.kind]}
            for system, label in systems_of(runs)
        ],
        "scopes": [scope for run in runs for scope in _scopes(run, several=len(runs) > 1)],
    }


def _scopes(run: Run, *, several: bool) -> list[dict[str, Any]]:
    record, board = run.record, run.board
    index = {system.name: system.index for system in record.systems}
    titles = {"overall": "Overall"} | {task.name: task.title for task in board.tasks}
    titles |= {name + APART: f"{title}, classical metrics" for name, title in titles.items()}
    return [
        {
            "name": f"{run.slug}.{name}" if run.mark else name,
            "title": f"{run.title}: {title}" if several else title,
            "factor": board.unit.factor,
            "digits": board.unit.decimals,
            "systems": [index[system] for system in record.scopes[name].systems],
            "pairs": [
                [index[pair.a], index[pair.b],
                 *(float(f"{number:.4g}") for number in
                   (pair.difference, pair.ci_low, pair.ci_high, pair.p_adjusted))]
                for pair in record.scopes[name].pairs
            ],
        }
        for name, title in titles.items()
        if name in record.scopes and record.scopes[name].pairs
    ]  # fmt: skip


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The template environment: everything is escaped, an unknown name is an error."""
    made = Environment(
        loader=PackageLoader("embassay.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(
        numbers=numbers,
        marks=marks,
        unit_scale=Scale(0.0, 1.0, 1.0),
        unit_percent=SHARES,
    )
    made.filters.update(
        sentence=sentence,
        exact=exact,
        plain=plain,
        packed=packed,
        clipped=clipped,
        ended=ended,
        beside=beside,
        quoted=quoted,
    )
    return made


def sentence(parts: tuple[Part, ...]) -> Markup:
    """A sentence with its names in bold, isolated from the direction of the text around them."""
    return Markup("").join(_part(part) for part in parts)


def exact(value: Value | None) -> Markup:
    """A value (and its interval) in its unit, as an attribute for sorting and CSV, without zeros before the point; else
    the reason."""
    if value is None or value.row is None or value.value is None:
        return Markup(' data-why="{}"').format(value.reason or value.text if value else "")
    row, factor = value.row, value.unit.factor
    known = row.ci_low is not None and row.ci_high is not None
    found = [value.value, *((row.ci_low or 0.0, row.ci_high or 0.0) if known else ())]
    words = [f"{one * factor:.6g}" for one in found]
    return Markup(
        f' data-v="{",".join(word.replace("0.", ".", 1) if ZERO.match(word) else word for word in words)}"'
    )


def clipped(text: str, most: int = 400) -> str:
    """A text of at most `most` characters, with an ellipsis where it was longer."""
    return text if len(text) <= most else text[:most].rstrip() + " …"


def quoted(text: str) -> Markup:
    """JSON as the value of an attribute between single quotes: its own double ones need no escape."""
    return Markup(escape(text).replace(Markup("&#34;"), Markup('"')))


def beside(text: str, interval: str) -> str:
    """A value with its interval in brackets, where it has one."""
    return f"{text} ({interval})" if interval else text


def ended(html: Markup, ending: str) -> Markup:
    """A page whose every id ends in `ending`, with its own links to them: that of a second run of one kind.

    Text from data is escaped, so that no quote or tag in it matches.
    """
    if not ending:
        return html
    own = set(IDS.findall(html))
    return Markup(IDS_AND_LINKS.sub(lambda one: one[0] + (ending if one[1] in own else ""), html))


def _part(part: Part) -> Markup:
    if isinstance(part, str):
        return escape(part)
    return Markup("<code>{}</code>" if isinstance(part, Command) else "<b><bdi>{}</bdi></b>").format(
        part.label
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
