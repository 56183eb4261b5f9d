"""How each kind of foreign content is read, as functions of bytes and an empty folder."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from embassay.errors import EmbassayError
from fuzz.target import Read, text_of


def _file(content: bytes, folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def table(suffix: str) -> Read:
    def read(content: bytes, folder: Path) -> object:
        from embassay.data import SHAPES, open_dataset

        opened = open_dataset(str(_file(content, folder, f"table{suffix}")))
        for shape in SHAPES:
            try:
                opened.load(shape)
            except EmbassayError:
                continue
        return opened

    return read


def beir(content: bytes, folder: Path) -> object:
    """Corpus, queries and judgements, one after another between lines of dashes."""
    from embassay.data import open_dataset

    parts = [*content.split(b"\n--\n"), b"", b""][:3]
    (folder / "qrels").mkdir()
    for name, part in zip(("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"), parts, strict=True):
        _file(part, folder, name)
    return open_dataset(str(folder)).load("retrieval")


def judged(kind: str, name: str) -> Read:
    def read(content: bytes, folder: Path) -> object:
        from embassay.data.judged_runs import read_qrels_entries, read_run_entries

        path = _file(content, folder, name)
        return read_run_entries(path) if kind == "run" else read_qrels_entries(path)

    return read


def description(content: bytes, folder: Path) -> object:
    from embassay.data import open_dataset

    _file(b'{"text": "a", "label": "b"}\n{"text": "c", "label": "d"}\n', folder, "rows.jsonl")
    return open_dataset(str(_file(content, folder, "described.yaml"))).load("labelled")


def sweep(content: bytes, folder: Path) -> object:
    from embassay.protocols.rag.sweep.config import read_sweep_request_from_config

    return read_sweep_request_from_config(_file(content, folder, "sweep.yaml"))


def sampling(content: bytes, folder: Path) -> object:
    from embassay.protocols.hume.sampling.options import read_sampling_config

    return read_sampling_config(_file(content, folder, "study.yaml"))


def mteb(content: bytes, folder: Path) -> object:
    from embassay.protocols.hume.published.paper import read_results

    return read_results(_file(content, folder, "results.json"))


def annotations(form: str | None, suffix: str) -> Read:
    def read(content: bytes, folder: Path) -> object:
        from embassay.protocols.hume.exchange.intake import import_files

        study = _study(folder / "study")
        return import_files(study, [_file(content, folder, f"answers{suffix}")], form=form)  # type: ignore[arg-type]

    return read


@lru_cache(maxsize=1)
def study_files() -> Mapping[str, bytes]:
    from hume_small import small_study

    with tempfile.TemporaryDirectory() as folder:
        made = small_study(Path(folder) / "study", 2)
        return {str(path.relative_to(made)): path.read_bytes() for path in made.rglob("*") if path.is_file()}


def _study(folder: Path) -> Path:
    for name, content in study_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def exported(form: str) -> bytes:
    """Answers to one task of the study as another tool has them."""
    from embassay.protocols.hume.collection import simulate_annotators
    from embassay.protocols.hume.exchange.export import export
    from embassay.protocols.hume.study import read_study, write_annotations

    with tempfile.TemporaryDirectory() as folder:
        study = _study(Path(folder) / "study")
        write_annotations(study, "ann", simulate_annotators(read_study(study), 1, noise=0.0, seed=1))
        export(study, form, Path(folder) / "out", tasks=["mood"], answers=True)  # type: ignore[arg-type]
        files = sorted((Path(folder) / "out").rglob("*.json*"), key=lambda path: path.stat().st_size)
        return files[-1].read_bytes()


def study_file(name: str) -> Read:
    """A study in which one file is the input."""

    def read(content: bytes, folder: Path) -> object:
        from embassay.protocols.hume.study import read_study

        study = _study(folder / "study")
        _file(content, study, name)
        return read_study(study)

    return read


def ratings(content: bytes, folder: Path) -> object:
    from embassay.protocols.pteb.validation.raters import read_rating_file_rows

    return read_rating_file_rows(_file(content, folder, "ratings.csv"))


def facets(name: str) -> Read:
    def read(content: bytes, folder: Path) -> object:
        from embassay.protocols.rag.scoring.facets import read_judged_facets

        return read_judged_facets(_file(content, folder, name), {})

    return read


def traces(content: bytes, folder: Path) -> object:
    from embassay.data.judged_runs.traces import read_searches_from_traces

    return read_searches_from_traces([_file(content, folder, "spans.jsonl")])


def sessions(content: bytes, folder: Path) -> object:
    from embassay.protocols.rag.sessions import read_search_sessions

    return read_search_sessions(_file(content, folder, "agent.jsonl"))


def unanswerable(content: bytes, folder: Path) -> object:
    from embassay.protocols.rag.silence import read_unanswerable_ids_by_kind

    return read_unanswerable_ids_by_kind(str(_file(content, folder, "no_answer.jsonl")))


def rated_sheet(content: bytes, folder: Path) -> object:
    from embassay.protocols.pteb.validity.sheet import read_rating_sheet

    return read_rating_sheet(_file(content, folder, "rated.csv"))


_TWO = {"a": [0.1, 0.9], "b": [0.5, 0.4]}
_SYSTEMS = [{"name": "a", "kind": "embedding"}, {"name": "b", "kind": "classical"}]


@lru_cache(maxsize=1)
def run_files() -> Mapping[str, bytes]:
    from written_runs import write_run

    with tempfile.TemporaryDirectory() as folder:
        run = write_run(Path(folder) / "run", _TWO, systems=_SYSTEMS, cells=[])
        return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file()}


def run_folder(name: str) -> Read:
    """A run's folder in which one file is the input, as `report`, `compare` and `serve` read it."""

    def read(content: bytes, folder: Path) -> object:
        from embassay.report.record import read_run_record

        for each, known in run_files().items():
            (folder / each).write_bytes(known)
        (folder / name).write_bytes(content)
        return read_run_record(folder)

    return read


def parquet() -> bytes:
    import polars as pl

    buffer = io.BytesIO()
    pl.DataFrame({"id": ["1"], "text": ["One fox."], "label": ["a"]}).write_parquet(buffer)
    return buffer.getvalue()


def headlines(content: bytes, folder: Path) -> object:
    from embassay.protocols.kernel.comparisons import FILE, read_standings

    _file(content, folder, FILE)
    return read_standings(folder)


def spec(style: str) -> Read:
    def read(content: bytes, folder: Path) -> object:
        from embassay import spec

        chosen = getattr(spec, style)
        text = text_of(content)
        parsed = chosen.parse(text)
        if chosen.parse(chosen.format(parsed)) != parsed:
            raise AssertionError(f"{text!r} is written as {chosen.format(parsed)!r}, which reads as another spec")
        return parsed

    return read


def system(content: bytes, folder: Path) -> object:
    from embassay.systems import SYSTEMS

    return SYSTEMS.parse_spec(text_of(content))


def measure(content: bytes, folder: Path) -> object:
    from embassay.measures import MEASURES

    return MEASURES.build(text_of(content))


def small_texts(content: bytes, folder: Path) -> object:
    """`--map`, `--grades` and bars of gates."""
    from embassay.data import grade_map, parse_mapping
    from embassay.protocols.thresholds import parse_score_threshold

    text, made = text_of(content), []
    for read in (parse_mapping, grade_map, parse_score_threshold):
        try:
            made.append(read(text))  # type: ignore[operator]
        except EmbassayError:
            continue
    return made


def answers(content: bytes, folder: Path) -> object:
    """What language models answer: judges of passages, of pairs, annotators."""
    from embassay.protocols.hume.llms import annotator as annotators
    from embassay.protocols.hume.study import LabelChoice, RatingScale
    from embassay.protocols.pteb.ratings import NoRatingError, parse_rating
    from embassay.protocols.rag.judges import chat as judges

    text, names = text_of(content), ["A", "B", "C"]
    labels = [LabelChoice(value=0, name="sad"), LabelChoice(value="x", name="Joy")]
    tried: list[Callable[[], Any]] = [
        lambda: judges.parse_grade_answer(text), lambda: judges.parse_order_answer(text, names),
        lambda: judges.parse_partial_order_answer(text, names), lambda: parse_rating(text),
        lambda: annotators.read_label_from_answer(text, labels),
        lambda: annotators.read_rating_from_answer(text, RatingScale()),
        lambda: annotators.read_document_order(text, names), lambda: annotators.read_relevance_marks(text, names),
    ]  # fmt: skip
    made = []
    for attempt in tried:
        try:
            made.append(attempt())
        except (judges.MalformedJudgement, annotators.UnreadableLlmAnswerError, NoRatingError):
            continue
    return made
