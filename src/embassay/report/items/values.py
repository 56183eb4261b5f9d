"""Items of scored runs, probes and HUME: the values of every system; texts where a study beside the run has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from embassay.errors import EmbassayError
from embassay.parquet import read_parquet
from embassay.report.items.groups import LENGTHS, Group, Kind, Measure, Part, Source, read_values
from embassay.report.record import Record
from embassay.runs.folder import RunFolder

MEASURES: Mapping[str, tuple[str, ...]] = {
    "names": ("d_name", "RA-nWG@10"),
    "noise": ("similarity", "N-Recall4+@10", "RA-nWG@10"),
    "hume": ("correct", "ap", "similarity"),
}
"""What is shown of probes and HUME; of a scored run every measure."""
WORDS = {
    "d_name": "name margin", "correct": "right label, share of repeats", "ap": "average precision",
    "similarity": "similarity",
}  # fmt: skip
NOUNS = {"score": "query", "names": "query", "noise": "query"}
TITLES = {"score": "Queries", "names": "Queries", "noise": "Queries", "sts": "STS"}
FIELDS = ("text", "text1", "text2", "query")
DOCUMENTS = 10
NOTES = {
    "score": "The run files hold ids, not texts. ",
    "names": "The queries are written anew from the seed by the probe. ",
    "noise": "The queries are written anew from the seed by the probe. ",
}


@dataclass(frozen=True)
class _Found:
    task: str
    dataset: str


def measured_groups(record: Record) -> Iterator[Group]:
    """The items of every task and dataset that have a value of the measures shown."""
    langs = {one["name"]: one.get("lang", "") for one in record.manifest.get("datasets", ())}
    pairs = dict.fromkeys(_Found(cell.task, cell.dataset) for cell in record.cells)
    for pair in pairs:
        measures = _measures(record, pair)
        if measures:
            title = (
                TITLES.get(record.kind) or TITLES.get(pair.task) or pair.task.replace("_", " ").capitalize()
            )
            kind = Kind("values", pair.task, title, NOUNS.get(record.kind, "item"), measures)
            group = read_values(record, kind, pair.dataset, langs.get(pair.dataset, ""))
            if group is not None:
                yield group


def values(source: Source) -> Part:
    """The texts of every item by field, none where the run and its study have none."""
    texts = _texts(source)
    names = [name for name in texts if any(texts[name].values())]
    add = source.excerpts.add
    return {
        "fields": {
            name: [add(texts[name].get(item, ""), LENGTHS["query"]) for item in source.ids] for name in names
        },
        "titles": {name: _title(name) for name in names},
        "note": NOTES.get(source.record.kind, "") + "Every value is in the folder items/.",
    }


def _measures(record: Record, pair: _Found) -> tuple[Measure, ...]:
    """The measures and variants that any system has, in the order of its file."""
    folder, wanted = RunFolder(record.path), MEASURES.get(record.kind)
    found: dict[tuple[str, str], None] = {}
    for system in record.ranked_systems:
        path = folder.items_path(pair.task, pair.dataset, system.name)
        if not path.exists():
            continue
        frame = read_parquet(path, ["measure", "variant"]).unique(maintain_order=True)
        for measure, variant in frame.iter_rows():
            if (wanted is None or measure in wanted) and not variant.startswith("document="):
                found.setdefault((measure, variant))
    order = {name: i for i, name in enumerate(wanted or ())}
    keys = sorted(found, key=lambda key: order.get(key[0], 0))
    return tuple(Measure(key, _words(record.kind, *key)) for key in keys)


def _words(kind: str, measure: str, variant: str) -> str:
    name = WORDS.get(measure, measure)
    if not variant:
        return f"{name}, as written" if kind == "names" else name
    said = variant.replace("level=", "level ").replace(":", ", ").replace("_", " ")
    return f"{name}, {said}"


def _title(field: str) -> str:
    return {"text1": "Text 1", "text2": "Text 2"}.get(field, field.replace("_", " ").capitalize())


def _texts(source: Source) -> dict[str, dict[str, str]]:
    """By field and item."""
    if source.record.kind != "hume":
        return {}
    found: dict[str, dict[str, str]] = {}
    for item in _study(str(source.record.arguments.get("study") or "")):
        if item.task != source.group.dataset:
            continue
        for field, text in _fields(item.payload):
            found.setdefault(field, {})[item.id] = text
    return found


def _fields(payload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((name, str(payload[name])) for name in FIELDS if payload.get(name))
    for place, document in enumerate(payload.get("documents", ())[:DOCUMENTS], start=1):
        yield f"document_{place}", str(document.get("text", ""))


@lru_cache(maxsize=4)
def _study(path: str) -> tuple[Any, ...]:
    """The items of the study beside the run; none where it is not there or cannot be read."""
    from embassay.protocols.hume.folder import read_study

    try:
        return tuple(read_study(Path(path)).items) if path else ()
    except (EmbassayError, OSError):
        return ()
