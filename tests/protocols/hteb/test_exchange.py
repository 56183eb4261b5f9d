"""Files in the layout of the authors' code: written so that a strict reader takes them, and read (spec hteb 12)."""

import json
import re
import shutil
from pathlib import Path

import pytest

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.hteb.exchange import (
    OPTIONAL,
    REQUIRED,
    STATISTICS,
    check_metadata,
    export,
    file_hash,
    file_names,
    generator_folder,
    generator_of,
    import_,
)
from embassay.protocols.hteb.options import HtebOptions, Request
from embassay.protocols.hteb.transformations import TRANSFORMATIONS
from embassay.protocols.wordings.sets import ParaphraseSet

DATE = "2026-09-15T12:01:47Z"
QUICK = HtebOptions(resamples=60)


def named(transformation, date):
    return {
        "dataset": "banking77", "generation_datetime": date, "generator_model": "cyankiwi/gemma-4-31B-it-AWQ-4bit",
        "seed_transform": 1337, "transformation": transformation,
    }  # fmt: skip


def test_files_are_called_as_those_that_were_published():
    """The beginnings of two hashes, and the folder of their generator."""
    assert file_hash(named("summarised_expansion", DATE)).startswith("44926b63")
    assert file_hash(named("translation", "2026-09-15T11:32:54Z")).startswith("c46cda2f")
    assert generator_folder("cyankiwi/gemma-4-31B-it-AWQ-4bit") == "cyankiwi~2Fgemma-4-31B-it-AWQ-4bit"
    assert file_names(named("translation", None))[:2] == ("data.parquet", "metadata.JSON")


@pytest.mark.parametrize("model", ["org/model", "ollama:gemma3:27b", "a~b", "CON", "ends.", "modèle"])
def test_a_generator_is_found_again_by_its_folder(model):
    """No separator, no reserved name, and nothing lost."""
    name = generator_folder(model)
    assert generator_of(name) == model
    assert re.fullmatch(r"[A-Za-z0-9_.~-]+", name)
    assert name.upper() != "CON"
    assert not name.endswith(".")


@pytest.mark.parametrize("model", ["/models/own", "./own", "", "x" * 300])
def test_a_path_is_no_generator(model):
    """Nor is a name that no folder can have."""
    with pytest.raises(UsageError):
        generator_folder(model)


def strict(data: Path, metadata: Path):
    """Reads a pair of files as the reference does: the rules of section 12, each an assertion."""
    parquet = pytest.importorskip("pyarrow.parquet")
    told = json.loads(metadata.read_text("utf-8"))
    assert not [key for key in told if key not in (*REQUIRED, *OPTIONAL)], "a key too many"
    assert not [key for key in REQUIRED if key not in told]
    end = f"_{file_hash(told)}" if told["generation_datetime"] else ""
    assert (data.name, metadata.name) == (f"data{end}.parquet", f"metadata{end}.JSON")
    assert ("translation_language_selection" in told) == (told["transformation"] == "translation")
    assert ("max_tokens_expansion" in told) == (told["transformation"] == "summarised_expansion")
    table = parquet.read_table(data)
    assert table.schema.metadata is None
    assert parquet.ParquetFile(data).metadata.row_group(0).column(0).compression == "ZSTD"
    assert table.column_names == ["original", f"{told['transformation']}_seed_{told['seed_transform']}"]
    assert table.schema.types[0] == table.schema.types[1]
    statistics = told["generation_statistics"]
    assert tuple(statistics) == STATISTICS
    assert statistics["records_total"] == len(table)
    assert (
        statistics["text_fields_with_fallback"] + statistics["unchanged_outputs"]
        <= statistics["text_fields_total"]
    )
    if statistics["fallback_reasons"] != "":
        assert sum(statistics["fallback_reasons"].values()) == statistics["text_fields_with_fallback"]
    return told, table.to_pylist()


def pairs_of(root):
    """(data, metadata) of every folder."""
    return [(path, next(path.parent.glob("metadata*.JSON"))) for path in sorted(root.rglob("data*.parquet"))]


TASKS = (
    "sts",
    "classification",
    "clustering",
    "pair_classification",
    "reranking",
    "retrieval",
    "summarization",
)


@pytest.fixture
def made(transformer, tmp_path):
    """The run of a task on a few items of the sample, with some failures and copies."""

    def run(task, **more):
        _, model = transformer(copying=0.2)
        more = {
            "transformations": ("summarised_expansion", "translation", "cross_translation"),
            "limit": 6,
            **more,
        }
        return eb.hteb.run(
            ["jaccard"], transformer=model, out=tmp_path / f"run-{task}", tasks=(task,), runs=1, tokenizer="words",
            options=QUICK, **more,
        )  # fmt: skip

    return run


@pytest.mark.parametrize("task", TASKS)
def test_what_is_written_a_strict_reader_takes_and_we_score_alike(made, tmp_path, task):
    """Of every task; imported again, the files give the same scores under every transformation."""
    done = made(task)
    request = Request((), tasks=(task,), limit=6, options=QUICK)
    written = export(
        ParaphraseSet.open(done.path), request, tmp_path / "root", generator="org/model", date=DATE
    )
    assert len(written) == 3
    for data, metadata in pairs_of(tmp_path / "root"):
        told, rows = strict(data, metadata)
        assert all(
            row["original"].keys() == row[f"{told['transformation']}_seed_1337"].keys() for row in rows
        )
        assert told["generation_statistics"]["text_fields_with_fallback"] == 0
    found = import_(tmp_path / "root", tmp_path / "set")
    assert set(found.texts) == {
        (one, "sample", 1337) for one in ("summarised_expansion", "translation", "cross_translation")
    }
    again = eb.hteb.run(
        ["jaccard"], transformer=f"stored:{tmp_path / 'set'}", out=tmp_path / "again", tasks=(task,), limit=6, runs=1,
        tokenizer="words", options=QUICK,
    )  # fmt: skip
    keys = ("task", "dataset", "subset", "variant", "system", "measure", "value")
    first, second = (
        [[row[key] for key in keys] for row in run.results.to_dicts() if row["task"] == task]
        for run in (done, again)
    )
    assert first == second


def test_a_failed_slot_is_stored_empty(transformer, tmp_path, pairs):
    """With its reason among the counts; read again it is a failure."""
    _, model = transformer(empty=0.5)
    path = pairs()
    done = eb.hteb.run(
        ["jaccard"], transformer=model, datasets=[path], out=tmp_path / "run", runs=1, tokenizer="words",
        options=QUICK, transformations=("expansion",),
    )  # fmt: skip
    request = Request((), datasets=(str(path),), options=QUICK)
    [one] = export(ParaphraseSet.open(done.path), request, tmp_path / "root")
    assert 0 < one.statistics["text_fields_with_fallback"] < 32
    assert set(one.statistics["fallback_reasons"]) == {"invalid_text_after_retries"}
    [(data, metadata)] = pairs_of(tmp_path / "root")
    _, rows = strict(data, metadata)
    empty = [
        row
        for row in rows
        if "" in (row["expansion_seed_1337"]["sentence1"], row["expansion_seed_1337"]["sentence2"])
    ]
    assert len(empty) == one.statistics["records_with_fallback"]
    found = import_(tmp_path / "root", tmp_path / "set")
    assert found.texts["expansion", "pairs", 1337][1] == one.statistics["text_fields_with_fallback"]


def good(**more):
    statistics = dict.fromkeys(STATISTICS[:6], 0)
    statistics |= {"retried_text_fields": "", "recovered_after_retry_text_fields": "", "fallback_reasons": ""}
    return {
        **named("translation", DATE), "max_model_length": 4096, "max_tokens": 512, "max_retries": 3,
        "generation_statistics": statistics, **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 1.0},
        {"transformation": "translations"},
        {"generation_datetime": "2026-09-15"},
        {"seed_transform": "1337"},
        {"generation_statistics": {}},
        {"generation_statistics": {**good()["generation_statistics"], "unchanged_outputs": 1}},
        {"generation_statistics": {**good()["generation_statistics"], "fallback_reasons": {}}},
    ],
)
def test_metadata_that_the_reference_would_refuse(wrong):
    """A key too many, an unknown transformation, counts that do not add up."""
    assert check_metadata(good(), Path("m.JSON"))
    with pytest.raises(DataError):
        check_metadata({**good(), **wrong}, Path("m.JSON"))


@pytest.fixture
def root(made, tmp_path):
    """Exported files of one transformation."""
    done = made("sts", transformations=("translation",))
    export(
        ParaphraseSet.open(done.path), Request((), tasks=("sts",), limit=6, options=QUICK), tmp_path / "root",
        generator="org/model", date=DATE,
    )  # fmt: skip
    return tmp_path / "root"


def test_half_a_pair_a_link_and_two_of_one_date_are_refused(root, tmp_path):
    """Each with the file's name, and nothing is made."""
    [(data, metadata)] = pairs_of(root)
    kept = metadata.read_bytes()
    metadata.unlink()
    with pytest.raises(DataError, match="half a pair"):
        import_(root, tmp_path / "a")
    metadata.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="link"):
        import_(root, tmp_path / "a")
    metadata.unlink()
    metadata.write_bytes(kept)
    for path in (data, metadata):
        shutil.copy(path, path.with_name(path.name.replace("_", "_0", 1)))
    with pytest.raises(DataError, match="one date"):
        import_(root, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_the_newest_counts(root, tmp_path):
    """Of two dates in a folder."""
    [(data, metadata)] = pairs_of(root)
    told = json.loads(metadata.read_text("utf-8")) | {"generation_datetime": "2027-01-01T00:00:00Z"}
    shutil.copy(data, data.with_name(file_names(told)[0]))
    metadata.with_name(file_names(told)[1]).write_text(json.dumps(told), "utf-8")
    assert import_(root, tmp_path / "set").texts


def test_other_columns_and_other_originals_are_refused(root, tmp_path):
    """Files of one dataset must have been made of one version of it."""
    import polars as pl

    [(data, metadata)] = pairs_of(root)
    frame = pl.read_parquet(data)
    other = root / "org~2Fmodel" / "sample" / "translation" / "1338"
    other.mkdir()
    told = json.loads(metadata.read_text("utf-8")) | {"seed_transform": 1338, "generation_datetime": None}
    told["generation_statistics"] |= {"records_total": 5}
    (other / "metadata.JSON").write_text(json.dumps(told), "utf-8")
    frame.head(5).rename({"translation_seed_1337": "translation_seed_1338"}).write_parquet(
        other / "data.parquet"
    )
    with pytest.raises(DataError, match="originals"):
        import_(root, tmp_path / "a")
    frame.head(5).write_parquet(other / "data.parquet")
    with pytest.raises(DataError, match="two columns"):
        import_(root, tmp_path / "a")
    (other / "data.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError):
        import_(root, tmp_path / "a")


def test_every_transformation_has_a_name_that_files_can_have():
    """As the layout has folders of them."""
    assert all(re.fullmatch("[a-z_]+", name) for name in TRANSFORMATIONS)
