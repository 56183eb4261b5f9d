"""From a name or a path to a dataset."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from embassay.data.catalogue import DATASETS
from embassay.data.dataset import Dataset
from embassay.data.delimited import reading_of
from embassay.data.folder import open_folder
from embassay.data.one_table import parts_of_table
from embassay.data.shapes import check_targets
from embassay.data.tables import FORMATS, known_suffix, table
from embassay.errors import UsageError

_DESCRIPTIONS = (".yaml", ".yml")
_COMPARED = 1000
"""Names of a folder that a wrong one is compared with."""
_NOTHING: Mapping[str, str] = {}


def open_dataset(
    spec: str, *, mapping: Mapping[str, str] = _NOTHING, split: str | None = None, grades: str | None = None
) -> Dataset:
    """The dataset that `spec` names: a catalogue name, or a path to a table, a BEIR folder or a description.

    `?tasks=sts,clustering` at its end chooses what a protocol takes it for; otherwise a record of the catalogue
    says so, and of your own data the columns.

    `mapping` is target column -> source column; a mapped column wins over one called like its target, and `id` mapped
    to nothing has rows numbered. `quoting`, `header` and `delimiter` in it say how a table of lines and marks is read.
    `split` keeps the rows whose column `split` is that (in a BEIR folder, the qrels of that name). `grades`
    is a grade map (spec rag 1.1); without it the relevance in the file is the gain.

    A registered name is that dataset even if a file is called the same (write `./name` for the file). Raises
    UsageError for a spec that is neither, a mapping of unknown columns and options the dataset does not take,
    DataError for files that are not what they should be. Cells are checked when a shape is loaded.
    """
    check_targets(mapping)
    place, tasks = chosen_tasks(spec)
    opened = _opened(place, mapping, split, grades)
    return replace(opened, tasks={"": tasks}) if tasks else opened


def chosen_tasks(spec: str) -> tuple[str, tuple[str, ...]]:
    """A spec without its `?tasks=`, and the tasks that stand there; none where it has no such part.

    >>> chosen_tasks("pairs.csv?tasks=sts,clustering"), chosen_tasks("sts17?lang=en-en&tasks=sts")
    (('pairs.csv', ('sts', 'clustering')), ('sts17?lang=en-en', ('sts',)))
    """
    head, mark, tail = spec.rpartition("?")
    if not mark or "tasks=" not in tail or Path(spec).expanduser().exists():
        return spec, ()
    parts = tail.split("&")
    names = [one.strip() for part in parts if part.startswith("tasks=") for one in part[6:].split(",")]
    if not all(names):
        raise UsageError(f"Cannot read the tasks of {spec!r}.", mend=f"Write {head}?tasks=sts,clustering.")
    rest = "&".join(part for part in parts if not part.startswith("tasks="))
    return f"{head}?{rest}" if rest else head, tuple(dict.fromkeys(names))


def _opened(spec: str, mapping: Mapping[str, str], split: str | None, grades: str | None) -> Dataset:
    if spec.partition("?")[0].partition(":")[0] in DATASETS:
        return _from_catalogue(spec, {"mapping": mapping, "split": split, "grades": grades})
    path = Path(spec).expanduser()
    if not path.exists():
        raise _unknown(spec, path)
    if path.is_dir():
        return open_folder(path, mapping, split, grades)
    if path.name.lower().endswith(_DESCRIPTIONS):
        from embassay.data.description import open_description

        if mapping:
            raise UsageError(
                f"{spec} has its own column names, so --map cannot be used.", mend="Edit its `map`."
            )
        return open_description(path, split, grades)
    return _open_table(path, mapping, split, grades)


def parse_mapping(text: str) -> dict[str, str]:
    """The mapping written as `--map target=source,target=source`; UsageError if it is not.

    >>> parse_mapping("text=body,label=topic")
    {'text': 'body', 'label': 'topic'}
    """
    mapping: dict[str, str] = {}
    for part in text.split(","):
        target, _, column = (piece.strip() for piece in part.partition("="))
        nothing = not column and not (target == "id" and "=" in part)
        if not target or nothing or target in mapping:
            raise UsageError(
                f"Cannot read {part!r} in --map {text}.",
                mend="Write target=source, each target once: --map text=body,label=topic; id= for no ids.",
            )
        mapping[target] = column
    return mapping


def _open_table(path: Path, mapping: Mapping[str, str], split: str | None, grades: str | None) -> Dataset:
    if grades is not None:
        raise UsageError(f"{path} has no judgements, so --grades cannot be used.", mend="Leave --grades out.")
    reading, columns = reading_of(mapping)
    source = table(path, reading)
    name = path.name[: len(path.name) - len(known_suffix(path.name))]
    settings = {"mapping": dict(mapping), "split": split}
    return Dataset(name, parts_of_table(source, columns, split), settings=settings)


def _from_catalogue(spec: str, options: Mapping[str, Any]) -> Dataset:
    name = DATASETS.parse(spec).name
    taken = inspect.signature(DATASETS.get(name).load()).parameters
    for option, value in options.items():
        if value and option not in taken:
            flag = {"mapping": "--map"}.get(option, f"--{option}")
            raise UsageError(f"The dataset {name!r} takes no {flag}.", mend=f"Leave {flag} out.")
    return DATASETS.build(spec, **options)


def _unknown(spec: str, path: Path) -> UsageError:
    names = [entry.name for entry in DATASETS]
    folder = path.parent
    files = (
        [str(folder / entry.name) for entry in islice(folder.iterdir(), _COMPARED)] if folder.is_dir() else []
    )
    near = [
        *get_close_matches(spec, names, n=2, cutoff=0.5),
        *get_close_matches(str(path), files, n=2, cutoff=0.7),
    ]
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return UsageError(
        f"No dataset of the catalogue is called {spec!r}, and there is no file or folder {str(path)!r}.",
        mend=f"{hint}`embassay data list` shows the catalogue; a path is a folder in BEIR's layout, "
        f"a description (.yaml) or a table ({', '.join(FORMATS)}).",
    )
