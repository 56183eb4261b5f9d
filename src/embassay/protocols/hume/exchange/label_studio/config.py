"""The labelling configuration of a task: which tags an annotator sees, as XML."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from embassay.protocols.hume.exchange.label_studio.names import (
    COMMENT,
    FLAG,
    GROUP,
    LABEL,
    NO,
    RATING,
    RELEVANT,
    YES,
)
from embassay.protocols.hume.folder.formats import Scale, Task

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no XML can hold, escaped or not."""
_MOST_BUTTONS = 11
"""Levels of a scale that are shown as choices; a finer one is a number to type."""


def labelling_config(task: Task) -> str:
    """The configuration of a project for this task.

    Classification and STS are choices (a number for scales with many steps), a group is a short text, and every
    document of a query has two choices. A reason why an item cannot be judged, and a comment, are texts.
    """
    view = ET.Element("View")
    _add(view, "Header", value=task.title)
    _add(view, "Header", value=task.question, size="4")
    first = {
        "classification": _classification,
        "clustering": _clustering,
        "reranking": _reranking,
        "sts": _sts,
    }[task.family](view, task)
    for name, told in ((FLAG, "Cannot be judged or is broken: why?"), (COMMENT, "Comment")):
        _add(view, "Header", value=told, size="5")
        _add(
            view,
            "TextArea",
            name=name,
            toName=first,
            maxSubmissions="1",
            editable="true",
            rows="1",
            required="false",
        )
    ET.indent(view)
    return ET.tostring(view, encoding="unicode") + "\n"


def levels(scale: Scale) -> list[str]:
    """The levels of a scale as texts: "0", "0.5" ...; none where there are too many for buttons.

    >>> levels(Scale(high=2)), levels(Scale(step=0.1))
    (['0', '1', '2'], [])
    """
    count = round((scale.high - scale.low) / scale.step) + 1
    return [] if count > _MOST_BUTTONS else [f"{scale.low + i * scale.step:g}" for i in range(count)]


def _classification(view: ET.Element, task: Task) -> str:
    _text(view, "text")
    choices = _choices(view, LABEL, "text", required=True)
    for one in task.labels:
        _choice(choices, one.name, alias=str(one.value), hint=one.description)
    return "text"


def _clustering(view: ET.Element, task: Task) -> str:  # noqa: ARG001 - one signature for all families
    _text(view, "text")
    _add(
        view, "TextArea", name=GROUP, toName="text", maxSubmissions="1", editable="true", rows="1", required="true",
        placeholder="The same word or number for texts of one topic",
    )  # fmt: skip
    return "text"


def _sts(view: ET.Element, task: Task) -> str:
    scale = task.scale or Scale()
    _text(view, "text1")
    _text(view, "text2")
    if not (every := levels(scale)):
        ends = {"min": f"{scale.low:g}", "max": f"{scale.high:g}", "step": f"{scale.step:g}"}
        _add(view, "Number", name=RATING, toName="text1", required="true", **ends)
        return "text1"
    choices = _choices(view, RATING, "text1", required=True)
    for level in every:
        meaning = scale.anchors.get(level, "")
        _choice(choices, f"{level}: {meaning}" if meaning else level, alias=level)
    return "text1"


def _reranking(view: ET.Element, task: Task) -> str:  # noqa: ARG001
    _text(view, "query")
    each = _add(view, "Repeater", on="$documents", indexFlag="{{idx}}")
    _text(each, "document_{{idx}}", value="$documents[{{idx}}].text")
    choices = _choices(each, f"{RELEVANT}_{{{{idx}}}}", "document_{{idx}}", required=True)
    _choice(choices, YES)
    _choice(choices, NO)
    return "query"


def _text(parent: ET.Element, name: str, value: str = "") -> None:
    _add(parent, "Text", name=name, value=value or f"${name}")


def _choices(parent: ET.Element, name: str, shown: str, *, required: bool) -> ET.Element:
    return _add(
        parent, "Choices", name=name, toName=shown, choice="single-radio", required=str(required).lower(),
        showInline="true",
    )  # fmt: skip


def _choice(parent: ET.Element, value: str, alias: str = "", hint: str = "") -> None:
    more = {name: text for name, text in (("alias", alias), ("hint", hint)) if text and text != value}
    _add(parent, "Choice", value=value, **more)


def _add(parent: ET.Element, tag: str, **attributes: str) -> ET.Element:
    return ET.SubElement(parent, tag, {name: _NOT_XML.sub(" ", text) for name, text in attributes.items()})
