"""What the catalogue says of its datasets: where each is, what its tables are, who uses it; and each on one screen."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from embassay.data.catalogue import DATASETS
from embassay.data.dataset import Dataset
from embassay.data.rows import RowSource, find_nearest_name
from embassay.data.shapes import OTHERWISE, PARTS, RETRIEVAL_PARTS, SHAPES, TASKS, find_axis_columns
from embassay.data.tables import FORMATS, find_known_suffix
from embassay.data.yaml import read_yaml
from embassay.errors import UsageError
from embassay.limits import list_bounded_folder_entries
from embassay.registry import Registry

if TYPE_CHECKING:
    from embassay.data.dataset import Dataset


Protocol = Literal["sage", "pteb", "hteb", "rag", "hume"]
Task = Literal[
    "preference", "robustness", "sensitivity", "clustering", "retrieval", "sts", "classification",
    "pair_classification", "reranking", "summarization"
]  # fmt: skip
LARGE = 200_000
"""Rows above which a table of the hub is streamed, not downloaded whole."""


def _wrap_text_in_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str], BeforeValidator(_wrap_text_in_list)]
"""One name or several; of several, the first that is there counts."""


class StrictCatalogueRecord(BaseModel):
    """A record that has no other fields than its own, of exactly their types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class CatalogueTableRecord(StrictCatalogueRecord):
    """One table: a file of the mirror, and one or more splits of one configuration on the hub.

    `map` is canonical column -> the dataset's own, a dot leading into a nested cell and `.0` to an element of
    a list. A canonical column that is not mapped is read under its own name or BEIR's.
    """

    part: str
    shapes: list[str]
    config: Names = []
    split: Names = []
    map: dict[str, Names] = {}
    rows: int | None = None
    nested: bool = False
    exact: bool = False
    """Whether the split was asked for by name, so that no other will do."""

    @property
    def is_retrieval_set_table(self) -> bool:
        """Whether it is one of the tables of a retrieval set."""
        return self.part in (*RETRIEVAL_PARTS, "top_ranked")

    @property
    def list_hub_split_names(self) -> tuple[str, ...]:
        """The splits on the hub, all of which are read; by default the one called like the part."""
        return tuple(self.split) or (self.part,)

    @property
    def list_canonical_columns(self) -> tuple[str, ...]:
        """The canonical columns it gives: those that its shapes need, and what it maps besides."""
        lists = OTHERWISE if self.nested else {}
        needed = [
            name for shape in self.shapes for name in lists.get(shape) or PARTS.get(shape) or SHAPES.get(shape, ())
        ]
        return tuple(dict.fromkeys([*needed, *self.map]))

    @property
    def is_streamed(self) -> bool:
        """Whether it is streamed."""
        return (self.rows or 0) > LARGE


_CORPUS = CatalogueTableRecord(part="corpus", shapes=["corpus"], config=["corpus"])
_QUERIES = CatalogueTableRecord(part="queries", shapes=["queries"], config=["queries", "query"])
_QRELS = CatalogueTableRecord(part="qrels", shapes=["qrels"], config=["default", "qrels"], split=["test"])
_RANKED = CatalogueTableRecord(part="top_ranked", shapes=["top_ranked"], config=["top_ranked"])
_SENTENCES = {"text": ["sentence1", "sent1"], "text2": ["sentence2", "sent2"]}

LAYOUTS: Mapping[str, tuple[CatalogueTableRecord, ...]] = {
    "sts": (CatalogueTableRecord(part="test", shapes=["pairs"], map=_SENTENCES),),
    "pair_classification": (
        CatalogueTableRecord(
            part="test", shapes=["labelled_pairs"], map={**_SENTENCES, "label": ["labels", "label"]}, nested=True
        ),
    ),
    "classification": (
        CatalogueTableRecord(part="train", shapes=["train"]),
        CatalogueTableRecord(part="test", shapes=["test", "labelled"]),
    ),
    "clustering": (
        CatalogueTableRecord(
            part="test", shapes=["labelled"], map={"text": ["sentences"], "label": ["labels"]}, nested=True
        ),
    ),
    "retrieval": (_CORPUS, _QUERIES, _QRELS),
    "reranking": (_CORPUS, _QUERIES, _QRELS, _RANKED),
}
"""Layout -> its tables, as MTEB and BEIR keep them on the hub."""


class CatalogueDatasetRecord(StrictCatalogueRecord):
    """A dataset of the catalogue.

    Its tables are those of `layout` with `rows`, `split` and `shapes` by part laid over them, or spelled out.
    `langs` are its languages where each is a configuration of its own. `size` counts what is scored (pairs, texts
    to test or to cluster, queries, documents), 0 where it is not known; `gold` is the range of its scores.
    `by_hand` says how to come by what no hub holds. Datasets of one `group` count as one: the mean of them.

    For plans before anything is fetched: `chars` is how many characters a text has on average, by column or, where
    several tables have one, by table; `each` how many texts the list of an item holds; `by_lang` the items of each
    language where they differ; `sets` how many sets are clustered; `relevant` how many documents of the corpus are
    relevant to some query, 0 for all.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    title: str
    licence: str
    protocols: dict[Protocol, list[Task]]
    hub: str = ""
    revision: str = "main"
    lang: str = ""
    langs: list[str] = []
    gold: list[float] = Field(default=[], max_length=2)
    size: int = 0
    chars: dict[str, int | float] = {}
    each: dict[str, int] = {}
    by_lang: dict[str, int] = {}
    sets: int = 1
    relevant: int = 0
    layout: str = ""
    rows: dict[str, int] = {}
    split: dict[str, Names] = {}
    shapes: dict[str, list[str]] = {}
    tables: list[CatalogueTableRecord] = []
    by_hand: str = ""
    notes: str = ""
    group: str = Field(default="", pattern=r"^([a-z0-9][a-z0-9-]*)?$")

    @property
    def is_pinned_to_commit(self) -> bool:
        """Whether the revision is a commit: then everybody gets the same bytes."""
        return re.fullmatch("[0-9a-f]{40}", self.revision) is not None

    @property
    def all_tables(self) -> tuple[CatalogueTableRecord, ...]:
        """The tables, spelled out."""
        laid = [
            table.model_copy(
                update={
                    "rows": self.rows.get(table.part),
                    "split": self.split.get(table.part, table.split),
                    "shapes": self.shapes.get(table.part, table.shapes),
                }
            )
            for table in (LAYOUTS[self.layout] if self.layout else ())
        ]
        return (*laid, *self.tables)

    @property
    def list_shapes_tables_can_give(self) -> tuple[str, ...]:
        """The shapes that the tables together can give."""
        parts = {shape for table in self.all_tables for shape in table.shapes}
        possible = parts & set(SHAPES)
        if {"train", "test"} <= parts:
            possible.add("classification")
        if parts >= set(RETRIEVAL_PARTS):
            possible.add("reranking" if "top_ranked" in parts else "retrieval")
        return tuple(shape for shape in SHAPES if shape in possible)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of all protocols that use it."""
        return tuple(dict.fromkeys(task for tasks in self.protocols.values() for task in tasks))

    def list_hub_configs(self, table: CatalogueTableRecord, lang: str) -> tuple[str, ...]:
        """The configurations on the hub that may hold a table, the likeliest first."""
        if not lang or not self.langs:
            return tuple(table.config)
        return tuple(f"{lang}-{name}" for name in table.config if name != "default") or (lang,)


@cache
def read_catalogue_entries() -> Mapping[str, CatalogueDatasetRecord]:
    """Name -> record, in the order of the files: sts, classification, clustering, and so on."""

    files = sorted(Path(__file__).parent.glob("*.yaml"))
    records = [CatalogueDatasetRecord.model_validate(facts) for file in files for facts in read_yaml(file)]
    return {record.name: record for record in records}


def find_catalogue_entry(name: str) -> CatalogueDatasetRecord:
    """The record called `name`; UsageError, with the nearest name, for a dataset without one."""
    if name not in read_catalogue_entries():
        near = find_nearest_name(name, read_catalogue_entries())
        raise UsageError(
            f"The catalogue has no dataset called {name!r}.",
            mend=f"{f'Did you mean {near}? ' if near else ''}Run `embassay data list` to see all datasets.",
        )
    return read_catalogue_entries()[name]


def register_all_datasets(registry: Registry[Dataset]) -> None:
    """Give the registry a factory for every record, nothing of which is opened."""
    from embassay.data.catalogue.hub import open_catalogue_entry

    for record in read_catalogue_entries().values():
        lang = record.lang or "mul"
        registry.add(
            record.name,
            partial(open_catalogue_entry, record),
            record.title,
            lang=lang,
            shapes=" ".join(record.list_shapes_tables_can_give),
            protocols=" ".join(record.protocols),
        )


VARIABLE = "EMBASSAY_DATA"


def find_data_mirror_folder() -> Path:
    """`$EMBASSAY_DATA`, or the platform's folder for data of users."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("embassay") / "data"


def find_table_files_by_language(
    folder: Path, part: str, split: str, langs: tuple[str, ...]
) -> Mapping[str, tuple[Path, ...]]:
    """Language -> the files of the table `part` in `folder`; one key "" where languages are not apart.

    `part.SUFFIX`; or in the folder `part`: `LANG.SUFFIX` for each of `langs`, or `SPLIT.SUFFIX`, or all files
    in the order of their names. Empty where there is nothing of it.
    """
    if single := find_table_in_folder(folder, part):
        return {"": (single,)}
    inside = folder / part
    if not inside.is_dir():
        return {}
    by_lang = {lang: (path,) for lang in langs if (path := find_table_in_folder(inside, lang))}
    if by_lang:
        return by_lang
    if single := find_table_in_folder(inside, split):
        return {"": (single,)}
    shards = tuple(
        path for path in sorted(list_bounded_folder_entries(inside.iterdir(), inside)) if find_known_suffix(path.name)
    )
    return {"": shards} if shards else {}


def find_table_in_folder(folder: Path, stem: str) -> Path | None:
    """The table of that name in a folder, in whatever format."""
    return next((path for suffix in FORMATS if (path := folder / (stem + suffix)).is_file()), None)


@dataclass(frozen=True)
class DatasetOverview:
    """A dataset in one line. `place` is where it would be read from now: `package`, `mirror`, `part of mirror`,
    `cache` (of the hub), `hub` (fetched when it is used) or `by hand` (nobody can fetch it for you)."""

    name: str
    place: str
    size: int
    tasks: tuple[str, ...]
    title: str
    protocols: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()
    lang: str = ""
    licence: str = ""
    hub: str = ""
    revision: str = ""


def list_dataset_overviews(protocol: str = "", task: str = "") -> Iterator[DatasetOverview]:
    """One per dataset that the protocol uses for the task; the sample, which serves all, is always among them."""
    known = read_catalogue_entries()
    for dataset in DATASETS:
        record = known.get(dataset.name)
        if record is None:
            facts = dict(dataset.facts)
            shapes = tuple(facts.get("shapes", "").split())
            where = "hub" if dataset.name == "hub" else "package"
            yield DatasetOverview(
                dataset.name, where, 0, (), dataset.summary, shapes=shapes, lang=facts.get("lang", "")
            )
        elif _is_used_for_task(record, protocol, task):
            yield make_overview_row_of_dataset(record)


def make_overview_row_of_dataset(record: CatalogueDatasetRecord) -> DatasetOverview:
    """Make the overview of a record: the dataset in one line."""
    return DatasetOverview(
        record.name, describe_dataset_source(record), record.size, record.tasks, record.title, tuple(record.protocols),
        record.list_shapes_tables_can_give,
        record.lang or " ".join(record.langs), record.licence, record.hub, record.revision
    )  # fmt: skip


def describe_dataset_source(record: CatalogueDatasetRecord) -> str:
    """Find where a dataset would be read from now, by the names of files and folders only."""
    folder = find_data_mirror_folder() / record.name
    if folder.is_dir():
        return "mirror" if _is_mirror_complete(record, folder) else "part of mirror"
    if not record.hub:
        return "by hand"
    return "cache" if any(path.is_dir() for path in _list_hub_cache_folders(record.hub)) else "hub"


def _is_mirror_complete(record: CatalogueDatasetRecord, folder: Path) -> bool:
    """Whether every table is there in every language, or every shape in a file of its own."""
    langs = tuple(record.langs)
    by_language = [
        find_table_files_by_language(folder, table.part, table.list_hub_split_names[0], langs)
        for table in record.all_tables
    ]
    tables = all(len(files) >= (1 if "" in files else max(1, len(langs))) for files in by_language)
    return tables or all(
        find_table_files_by_language(folder, shape, "", ()) for shape in record.list_shapes_tables_can_give
    )


def _list_hub_cache_folders(repo: str) -> Iterator[Path]:
    """The folders that the libraries of the hub would keep `repo` in; they are not asked, as that loads them."""
    home = Path(os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "huggingface")
    datasets = os.environ.get("HF_DATASETS_CACHE") or home / "datasets"
    yield Path(datasets).expanduser() / repo.replace("/", "___")


def _is_used_for_task(record: CatalogueDatasetRecord, protocol: str, task: str) -> bool:
    used = [tasks for by, tasks in record.protocols.items() if protocol in ("", by)]
    return any(task in ("", *tasks) for tasks in used)


ROWS, WIDTH = 3, 60


@dataclass(frozen=True)
class DatasetFactsAndFirstRows:
    """Facts in the order to show them, and the first rows by part where the dataset is at hand."""

    name: str
    facts: dict[str, str]
    tables: tuple[str, ...]
    rows: dict[str, list[dict[str, str]]]

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)

    def lines(self) -> Iterator[str]:
        """Format the card as lines for the terminal."""
        yield self.name
        width = max(map(len, self.facts))
        for name, value in self.facts.items():
            yield textwrap.fill(
                f"{name:<{width}}  {value}", 110, initial_indent="  ", subsequent_indent=" " * (width + 4)
            )
        if self.tables:
            yield "\nFiles of a mirror"
            yield from (f"  {table}" for table in self.tables)
        for part, rows in self.rows.items():
            yield f"\nFirst rows of {part}"
            for row in rows:
                yield "  " + "  ".join(f"{name}={value}" for name, value in row.items())


def make_card_of_catalogue_dataset(spec: str) -> DatasetFactsAndFirstRows:
    """The card of a catalogue name or a path. Only `hub:` reads from the network.

    UsageError for a spec that is neither.
    """
    from embassay.data.catalogue.hub import list_expected_mirror_files

    name = re.split("[:?]", spec, maxsplit=1)[0]
    record = read_catalogue_entries().get(name)
    at_hand = record is None or "mirror" in describe_dataset_source(record)
    dataset = _open_dataset_spec(spec) if at_hand else None
    facts = _collect_dataset_facts(record) if record else {}
    shapes = dataset.shapes() if dataset else record.list_shapes_tables_can_give if record else ()
    facts |= {"shapes": " ".join(shapes), "tasks": _name_tasks_of_shapes(shapes)}
    if dataset:
        facts["language"] = " ".join(dataset.langs) or dataset.lang
    rows = (
        {part: _read_first_rows(part, dataset.parts[part]) for part in _list_shapes_and_retrieval_parts(dataset)}
        if dataset
        else {}
    )
    return DatasetFactsAndFirstRows(
        name if record else spec, facts, tuple(list_expected_mirror_files(record)) if record else (), rows
    )


def _open_dataset_spec(spec: str) -> Dataset:
    from embassay.data.sources import open_dataset

    return open_dataset(spec)


def _collect_dataset_facts(record: CatalogueDatasetRecord) -> dict[str, str]:
    pinned = record.revision if record.is_pinned_to_commit else f"{record.revision} (not pinned, so it can change)"
    folder = find_data_mirror_folder() / record.name
    come_from = {
        "mirror": str(folder),
        "part of mirror": f"{folder}, which contains only part of the dataset",
        "cache": f"the hub's cache on this machine; run `embassay data fetch {record.name}` to mirror it",
        "hub": f"the hub, when needed; run `embassay data fetch {record.name}` to mirror it in {folder}",
        "by hand": f"{folder}, once you have filled it. {record.by_hand}",
    }
    facts = {
        "what": record.title,
        "read from": come_from[describe_dataset_source(record)],
        "hub": f"{record.hub} at {pinned}" if record.hub else "",
        "licence": record.licence,
        "language": record.lang or " ".join(record.langs),
        "size": f"{record.size:,}" if record.size else "not known",
        "scores": f"{record.gold[0]:g} to {record.gold[1]:g}" if record.gold else "",
        "used by": "; ".join(f"{by}: {', '.join(tasks)}" for by, tasks in record.protocols.items()),
        "notes": record.notes.strip(),
    }
    # A line without a fact would ask more than it tells.
    return {name: value for name, value in facts.items() if value}


def _name_tasks_of_shapes(shapes: tuple[str, ...]) -> str:
    return " ".join(dict.fromkeys(TASKS[shape] for shape in shapes if shape in TASKS))


def _list_shapes_and_retrieval_parts(dataset: Dataset) -> list[str]:
    retrieval = () if dataset.missing("retrieval") else RETRIEVAL_PARTS
    return [*(shape for shape in dataset.shapes() if shape != "retrieval"), *retrieval]


def _read_first_rows(part: str, source: RowSource) -> list[dict[str, str]]:
    needed = {*(PARTS.get(part) or SHAPES[part]), *OTHERWISE.get(part, ()), "id", "set", "lang"}
    axes = find_axis_columns(source.columns()).values() if part == "ratings" else ()
    columns = [name for name in source.columns() if name in needed or name in axes]
    rows = islice(source.rows(columns), ROWS)
    return [
        {name: _truncate_cell_value(value) for name in columns if (value := row.cells.get(name)) is not None}
        for row in rows
    ]


def _truncate_cell_value(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
