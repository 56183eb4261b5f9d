"""The study of the paper: its datasets, its 26 pairs of dataset and language, its 13 models, and how it rounds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from embassay.errors import DataError
from embassay.protocols.hume.study import Family
from embassay.protocols.mteb.survey import MAIN as MAIN_SCORE
from embassay.protocols.mteb.survey import MEND, find_model_of_results_folder, list_result_files, read_json_file

if TYPE_CHECKING:
    import polars as pl


MULTILINGUAL, ENGLISH_ONLY = "multilingual datasets", "English-only datasets"


@dataclass(frozen=True)
class PaperDatasetInOneLanguage:
    """A dataset in one language, the unit of all means: `n_items` were annotated, by `n_annotators` people each.

    `group` says whether the dataset has other languages than English; the English part of one that has counts as
    multilingual (spec hume, ambiguity 8). `flags` are what else is known of its items (spec hume, T11).
    """

    dataset: str
    lang: str
    family: Family
    n_items: int
    n_annotators: int
    group: str = ENGLISH_ONLY
    flags: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """As in messages: `STS22 (ara)`."""
        return f"{self.dataset} ({self.lang})"


@dataclass(frozen=True)
class PaperDataset:
    """One of the sixteen; `metrics` begin with the primary one, `aliases` are its names in other tables."""

    name: str
    task: str
    family: Family
    metrics: tuple[str, ...]
    pairs: tuple[PaperDatasetInOneLanguage, ...]
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class PaperEmbeddingModel:
    """An embedding model by its full name; parameters in millions, None where the paper does not say. `label` is what
    tables call it, by default its name without the owner."""

    name: str
    parameters_millions: float | None = None
    label: str = ""

    @property
    def short(self) -> str:
        """The name without its owner, as the tables write it, or its label."""
        return self.label or self.name.rpartition("/")[2]


@dataclass(frozen=True)
class PublishedStudy:
    """A published study as a whole; `human` is the people's name in result files."""

    datasets: tuple[PaperDataset, ...]
    models: tuple[PaperEmbeddingModel, ...]
    human: str
    human_revision: str
    source: str

    @property
    def pairs(self) -> tuple[PaperDatasetInOneLanguage, ...]:
        """The study's 26 pairs of dataset and language, in the order of table 8."""
        return tuple(pair for dataset in self.datasets for pair in dataset.pairs)

    def dataset(self, name: str) -> PaperDataset | None:
        """The dataset of this name, task name or alias, in any case; None where the study has no such one."""
        return _index_datasets_by_name(self).get(name.strip().lower())

    def pair(self, name: str, lang: str) -> PaperDatasetInOneLanguage | None:
        """Find the pair of a dataset (by any of its names) and a language (ISO 639-3)."""
        dataset = self.dataset(name)
        return next((pair for pair in dataset.pairs if pair.lang == lang), None) if dataset else None


@cache
def load_hume_paper_study() -> PublishedStudy:
    """The study of the HUME paper.

    >>> len(load_hume_paper_study().datasets), len(load_hume_paper_study().pairs), len(load_hume_paper_study().models)
    (16, 26, 13)
    """
    import tomllib

    text = files(__package__ or "").joinpath("study.toml").read_text("utf-8")
    table = tomllib.loads(text)
    return PublishedStudy(
        datasets=tuple(_read_paper_dataset(row) for row in table["dataset"]),
        models=tuple(PaperEmbeddingModel(**row) for row in table["model"]),
        human=table["human"],
        human_revision=table["human_revision"],
        source=table["source"],
    )


def _read_paper_dataset(row: Mapping[str, object]) -> PaperDataset:
    items = cast(Mapping[str, int], row["items"])
    family, name = cast(Family, row["family"]), str(row["name"])
    group = MULTILINGUAL if set(items) - {"eng"} else ENGLISH_ONLY
    return PaperDataset(
        name=name,
        task=str(row["task"]),
        family=family,
        metrics=tuple(cast(list[str], row["metrics"])),
        # Two people read every English item, one every other: spec hume, section 3.
        pairs=tuple(
            PaperDatasetInOneLanguage(
                name, lang, family, n, 2 if lang == "eng" else 1, group, _read_pair_flags(row, lang)
            )
            for lang, n in sorted(items.items())
        ),
        aliases=tuple(cast(list[str], row.get("aliases", []))),
    )


def _read_pair_flags(row: Mapping[str, object], lang: str) -> tuple[str, ...]:
    flags = (*cast(list[str], row.get("flags", [])), *cast(list[str], row.get(f"flags_{lang}", [])))
    return tuple(flags)


@cache
def _index_datasets_by_name(study: PublishedStudy) -> Mapping[str, PaperDataset]:
    return {name.lower(): data for data in study.datasets for name in (*data.aliases, data.task, data.name)}


_AS_IN_THE_STUDY = {"arb": "ara", "cmn": "zho", "no": "nob", "nor": "nob"}


def convert_to_iso_639_3(code: str) -> str:
    """The three letters of ISO 639-3 that HUME's tables use; a script or region behind the code is left out.

    Arabic is always `ara` (also where a file says `arb`, its standard form), Norwegian always `nob`: the study's
    Norwegian is Bokmål. A code that is not known stays as it is, in small letters. Source: spec hume, trap T9.

    >>> [convert_to_iso_639_3(code) for code in ("no", "nor", "arb_Arab", "eng-Latn", "da", "RU", "swa")]
    ['nob', 'nob', 'ara', 'eng', 'dan', 'rus', 'swa']
    """
    from langcodes import Language

    first = re.split(r"[-_]", code.strip())[0].lower()
    try:
        return _AS_IN_THE_STUDY.get(first) or Language.make(language=first).to_alpha3()
    except LookupError:
        return first


def round_to_points_once(score: float) -> float:
    """Convert a fraction to points, rounded once (tables 2, 4-7 and 10-12).

    >>> round_to_points_once(0.6805146)
    68.1
    """
    return float(f"{score * 100:.1f}")


def round_fraction_first(score: float) -> float:
    """Round a fraction to four decimals, then its points to one (table 1).

    >>> round_fraction_first(0.680515), round_fraction_first(0.92254)
    (68.0, 92.2)
    """
    return float(f"{round(score, 4) * 100:.1f}")


def round_points_to_two_then_one_decimal(score: float) -> float:
    """Round a score's points to two decimals, then half up to one (table 8).

    >>> round_points_to_two_then_one_decimal(0.67545), round_points_to_two_then_one_decimal(0.8125)
    (67.6, 81.3)
    """
    points = Decimal(str(round(score * 100, 2)))
    return float(points.quantize(Decimal("0.1"), rounding=ROUND_HALF_UP))


_EXPERIMENTS, _AGREEMENT = "scores_per_experiment", "agreement"


def read_results(path: Path, study: PublishedStudy | None = None) -> tuple[PublishedEvaluation, ...]:
    """All evaluations of a file or of the files below a folder, in the order of their names.

    A file is either a collection, `{"results": [{"model", "revision", "task", "hf_subset", "main_score", "scores"}]}`,
    or one task of MTEB, `{"task_name", "scores": {"test": [...]}}`, whose system and revision are the two folders
    above it. Only the test split counts. DataError for files that are neither, or cannot be read.
    """
    study = study or load_hume_paper_study()
    if not path.exists():
        raise DataError("There is no such file or folder", path=path, mend=MEND)
    files = [path] if path.is_file() else list_result_files(path)
    evaluations = tuple(evaluation for file in files for evaluation in _read_file_evaluations(file, study))
    if not evaluations:
        raise DataError("No results for the test split were found", path=path, mend=MEND)
    return evaluations


def _read_file_evaluations(path: Path, study: PublishedStudy) -> Iterator[PublishedEvaluation]:
    document = read_json_file(path)
    if isinstance(document, dict) and isinstance(document.get("results"), list):
        entries = document["results"]
    elif isinstance(document, dict) and isinstance(document.get("scores"), dict):
        entries = _convert_result_file_to_entries(document, path)
    else:
        raise DataError("The file does not contain MTEB results", path=path, mend=MEND)
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise _make_entry_error(path, number, "is not an object", entry)
        if entry.get("split", "test") == "test":
            yield _read_entry_evaluation(entry, path, number, study)


def _convert_result_file_to_entries(document: Mapping[str, Any], path: Path) -> list[Any]:
    """A file of one task as entries of a collection; the folders say which system it is of."""
    entries = document["scores"].get("test", [])
    if not isinstance(entries, list):
        raise DataError("The test split is not a list", path=path, found=type(entries).__name__, mend=MEND)
    # By the path alone, whatever a `model_meta.json` beside it says.
    model, revision, _ = find_model_of_results_folder(path.resolve().parent, None)
    head = {"model": model, "revision": revision, "task": document.get("task_name")}
    return [
        {"scores": entry, _AGREEMENT: entry.get(_AGREEMENT), **head, **_select_published_score_fields(entry)}
        if isinstance(entry, dict)
        else entry
        for entry in entries
    ]


def _select_published_score_fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("hf_subset", "languages", MAIN_SCORE) if key in entry}


def _read_entry_evaluation(
    entry: Mapping[str, Any], path: Path, number: int, study: PublishedStudy
) -> PublishedEvaluation:
    for key in ("model", "revision", "task"):
        if not isinstance(entry.get(key), str) or not entry[key]:
            raise _make_entry_error(path, number, f"has no {key}", entry.get(key))
    scores, agreement = entry.get("scores") or {}, entry.get(_AGREEMENT) or {}
    if not isinstance(scores, dict) or not isinstance(agreement, dict):
        raise _make_entry_error(path, number, "has scores or an agreement that is not an object", entry.get("scores"))
    dataset = study.dataset(entry["task"])
    return PublishedEvaluation(
        system=entry["model"],
        revision=entry["revision"],
        dataset=dataset.name if dataset else entry["task"],
        lang=_read_entry_language(entry, path, number),
        subset=str(entry.get("hf_subset", "default")),
        main_score=_read_main_score(entry, path, number),
        metrics=_keep_number_fields(scores),
        experiments=tuple(_keep_number_fields(run) for run in scores.get(_EXPERIMENTS) or () if isinstance(run, dict)),
        agreement=_keep_number_fields(agreement),
        agreement_metric=str(agreement.get("metric", "")),
        simulated=scores.get("simulated") is True,
    )


def _read_entry_language(entry: Mapping[str, Any], path: Path, number: int) -> str:
    """From `languages`, which always says it; a subset's name (`default`, `en`) only where that is missing."""
    languages = entry.get("languages") or [entry.get("lang") or entry.get("hf_subset")]
    if not isinstance(languages, list) or not isinstance(languages[0], str) or languages[0] == "default":
        raise _make_entry_error(path, number, "does not state its language", languages)
    return convert_to_iso_639_3(languages[0])


def _read_main_score(entry: Mapping[str, Any], path: Path, number: int) -> float:
    value = entry.get(MAIN_SCORE)
    if value is None:
        return math.nan
    # Points of 100 in place of fractions are the likeliest mistake of a file.
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1:
        raise _make_entry_error(path, number, "has a main score that is not a number from -1 to 1", value)
    return float(value)


def _keep_number_fields(block: Mapping[str, Any]) -> dict[str, float]:
    """Keep the fields that are numbers; lists, texts and MTEB's own fields are left out."""
    return {
        key: float(value)
        for key, value in block.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and key != MAIN_SCORE
    }


def _make_entry_error(path: Path, number: int, what: str, found: object) -> DataError:
    return DataError(f"Result {number + 1} {what}", path=path, found=repr(found)[:80], mend=MEND)


_PRIMARY = ("accuracy", "v_measure", "map", "spearman")
_AGREEMENT_FIELDS = ("value", "mean_spearman")


@dataclass(frozen=True)
class PublishedEvaluation:
    """The scores of a system, fractions 0 to 1 (correlations -1 to 1; NaN where a file says so).

    `dataset` is the study's name, or the task's where it is not of the study. `experiments` are the metrics of single
    annotators (people) or of single repeats (models). `agreement` holds the numbers of the agreement block, and
    `agreement_metric` their name where the file gives one. `simulated`: scripts stood in for people.
    """

    system: str
    revision: str
    dataset: str
    lang: str
    subset: str
    main_score: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    experiments: tuple[Mapping[str, float], ...] = ()
    agreement: Mapping[str, float] = field(default_factory=dict)
    agreement_metric: str = ""
    simulated: bool = False

    @property
    def short(self) -> str:
        """The system's name without its owner."""
        return self.system.rpartition("/")[2]

    @property
    def headline_agreement(self) -> float | None:
        """Kappa, ARI or the mean Spearman between annotators; None where one person annotated."""
        return next((self.agreement[name] for name in _AGREEMENT_FIELDS if name in self.agreement), None)

    @property
    def main_scores_per_annotator(self) -> tuple[float, ...]:
        """The primary metric of every annotator or repeat."""
        scores = (
            next((experiment[name] for name in (MAIN_SCORE, *_PRIMARY) if name in experiment), None)
            for experiment in self.experiments
        )
        return tuple(value for value in scores if value is not None)


def select_human_evaluations_by_revision(
    evaluations: Iterable[PublishedEvaluation], study: PublishedStudy
) -> list[PublishedEvaluation]:
    """The evaluations of people in the revision that the paper used."""
    return [row for row in evaluations if (row.system, row.revision) == (study.human, study.human_revision)]


def long_frame(evaluations: Iterable[PublishedEvaluation]) -> pl.DataFrame:
    """One row per number: system, revision, dataset, subset, lang, kind, experiment, metric, value.

    `kind` is score, experiment (an annotator or a repeat, numbered from 0 in `experiment`) or agreement. NaN is null.
    """
    import polars as pl

    schema = {
        **dict.fromkeys(("system", "revision", "dataset", "subset", "lang", "kind"), pl.String),
        "experiment": pl.Int64, "metric": pl.String, "value": pl.Float64
    }  # fmt: skip
    rows = [row for evaluation in evaluations for row in _flatten_evaluation_scores(evaluation)]
    return pl.DataFrame(rows, schema=schema, orient="row")


def _flatten_evaluation_scores(evaluation: PublishedEvaluation) -> Iterable[tuple[str | int | float | None, ...]]:
    key = (evaluation.system, evaluation.revision, evaluation.dataset, evaluation.subset, evaluation.lang)
    parts: list[tuple[str, int | None, Mapping[str, float]]] = [
        ("score", None, {**evaluation.metrics, MAIN_SCORE: evaluation.main_score}),
        *(("experiment", i, metrics) for i, metrics in enumerate(evaluation.experiments)),
        ("agreement", None, evaluation.agreement),
    ]
    for kind, number, metrics in parts:
        for metric, value in metrics.items():
            yield (*key, kind, number, metric, None if math.isnan(value) else value)
