"""Files in the layout of the authors' code: written so that a strict reader takes them, and read (spec hteb 12)."""

import json
import re
import shutil
from pathlib import Path

import pytest

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.hteb.exchange import export, import_reference_transformation_files
from embassay.protocols.hteb.layout import (
    STATISTICS,
    decode_generator_folder,
    encode_generator_folder,
    hash_generation_metadata,
    make_transformed_set_file_names,
    upgrade_and_validate_metadata,
)
from embassay.protocols.hteb.options import TRANSFORMATIONS, HtebOptions, HtebRequest
from embassay.protocols.wordings.sets import ParaphraseSet
from hteb_reader import strict

DATE = "2026-09-15T12:01:47Z"
QUICK = HtebOptions(resamples=60)


def named(transformation, date):
    return {
        "dataset": "banking77", "generation_datetime": date, "generator_model": "cyankiwi/gemma-4-31B-it-AWQ-4bit",
        "seed_transform": 1337, "transformation": transformation,
    }  # fmt: skip


def test_files_are_called_as_those_that_were_published():
    """The hashes of two, and the folder of their generator."""
    hashes = {
        ("summarised_expansion", DATE): "44926b631fa339f369a0d695176b20044969fb6292b83133e8c86ce4ec7e313e",
        ("translation", "2026-09-15T11:32:54Z"): "c46cda2f3acfbe0d5f1ea05c2a33086824fd705ca4f29dd6b867ef6390d45fc9",
    }
    assert {one: hash_generation_metadata(named(*one)) for one in hashes} == hashes
    assert encode_generator_folder("cyankiwi/gemma-4-31B-it-AWQ-4bit") == "cyankiwi~2Fgemma-4-31B-it-AWQ-4bit"
    assert make_transformed_set_file_names(named("translation", None))[:2] == ("data.parquet", "metadata.JSON")


@pytest.mark.parametrize(
    "model", ["org/model", "ollama:gemma3:27b", "a~b", "CON", "con.v2", "ends.", "ends...", "modèle"]
)
def test_a_generator_is_found_again_by_its_folder(model):
    """No separator, no reserved name, and nothing lost."""
    name = encode_generator_folder(model)
    assert decode_generator_folder(name) == model
    assert re.fullmatch(r"[A-Za-z0-9_.~-]+", name)
    assert name.upper() != "CON"
    assert not name.endswith(".")


@pytest.mark.parametrize("model", ["/models/own", "./own", "~/own", "~own", "", "x" * 300])
def test_a_path_is_no_generator(model):
    """Nor is a name that no folder can have."""
    with pytest.raises(UsageError):
        encode_generator_folder(model)


def pairs_of(root):
    """(data, metadata) of every folder."""
    return [(path, next(path.parent.glob("metadata*.JSON"))) for path in sorted(root.rglob("data*.parquet"))]


TASKS = ("sts", "classification", "clustering", "pair_classification", "reranking", "retrieval", "summarization")


@pytest.fixture
def made(transformer, tmp_path):
    """The run of a task on a few items of the sample, with some failures and copies."""

    def run(task, **more):
        _, model = transformer(copying=0.2)
        more = {"transformations": ("summarised_expansion", "translation", "cross_translation"), "limit": 6, **more}
        return eb.hteb.run(
            ["jaccard"], transformer=model, out=tmp_path / f"run-{task}", tasks=(task,), runs=1, tokenizer="words",
            options=QUICK, **more,
        )  # fmt: skip

    return run


@pytest.mark.parametrize("task", TASKS)
def test_what_is_written_a_strict_reader_takes_and_we_score_alike(made, tmp_path, task):
    """Of every task; imported again, the files give the same scores under every transformation."""
    done = made(task)
    request = HtebRequest((), tasks=(task,), limit=6, options=QUICK)
    written = export(ParaphraseSet.open(done.path), request, tmp_path / "root", generator="org/model", date=DATE)
    assert len(written) == 3
    for data, metadata in pairs_of(tmp_path / "root"):
        told, rows = strict(data, metadata)
        assert all(row["original"].keys() == row[f"{told['transformation']}_seed_1337"].keys() for row in rows)
        assert told["generation_statistics"]["text_fields_with_fallback"] == 0
    found = import_reference_transformation_files(tmp_path / "root", tmp_path / "set")
    assert set(found.texts) == {
        (one, "sample", 1337) for one in ("summarised_expansion", "translation", "cross_translation")
    }
    again = eb.hteb.run(
        ["jaccard"], transformer=f"stored:{tmp_path / 'set'}", out=tmp_path / "again", tasks=(task,), limit=6, runs=1,
        tokenizer="words", options=QUICK,
    )  # fmt: skip
    keys = ("task", "dataset", "subset", "variant", "system", "measure", "value")
    first, second = (
        [[row[key] for key in keys] for row in run.results.to_dicts() if row["task"] == task] for run in (done, again)
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
    request = HtebRequest((), datasets=(str(path),), options=QUICK)
    [one] = export(ParaphraseSet.open(done.path), request, tmp_path / "root")
    assert 0 < one.statistics["text_fields_with_fallback"] < 32
    assert set(one.statistics["fallback_reasons"]) == {"invalid_text_after_retries"}
    [(data, metadata)] = pairs_of(tmp_path / "root")
    _, rows = strict(data, metadata)
    empty = [
        row for row in rows if "" in (row["expansion_seed_1337"]["sentence1"], row["expansion_seed_1337"]["sentence2"])
    ]
    assert len(empty) == one.statistics["records_with_fallback"]
    found = import_reference_transformation_files(tmp_path / "root", tmp_path / "set")
    assert found.texts["expansion", "pairs", 1337][1] == one.statistics["text_fields_with_fallback"]


def good(**more):
    statistics = dict.fromkeys(STATISTICS[:6], 0)
    statistics |= {"retried_text_fields": "", "recovered_after_retry_text_fields": "", "fallback_reasons": ""}
    return {
        **named("translation", DATE), "max_model_length": 4096, "max_tokens": 512, "max_retries": 3,
        "generation_statistics": statistics, **more,
    }  # fmt: skip


def counted(**more):
    known = dict(zip(STATISTICS, (9, 4, 8, 2, 2, 1, 3, 1, {"backend_failure": 2}), strict=True))
    return {"generation_statistics": {**known, **more}}


WRONG = {
    "extra key": {"temperature": 1.0},
    "transformation": {"transformation": "translations"},
    "date": {"generation_datetime": "2026-09-15"},
    "no such day": {"generation_datetime": "2026-13-15T00:00:00Z"},
    "seed as text": {"seed_transform": "1337"},
    "seed below 0": {"seed_transform": -1},
    "path": {"generator_model": "~/models/own"},
    "no tokens": {"max_tokens": 0},
    "revision": {"source_revision": "18072d26"},
    "languages by row": {"translation_language_selection": "record"},
    "languages of another": {**named("expansion", DATE), "translation_language_selection": "dataset"},
    "expansion of another": {"max_tokens_expansion": 1024},
    "corpus of a classification": {"transform_corpus": True},
    "format of a classification": {"clustering_format": "nested"},
    "no format of a clustering": {"dataset": "PlscClusteringS2S.v2"},
    "no statistics": {"generation_statistics": {}},
    "history known in part": counted(fallback_reasons=""),
    "more unchanged than texts": counted(unchanged_outputs=7),
    "more records than texts": counted(records_targeted=9),
    "records without fallbacks": counted(records_with_fallback=0),
    "recovered of none": counted(recovered_after_retry_text_fields=4),
    "retried without retries": {**counted(), "max_retries": 0},
    "another reason": counted(fallback_reasons={"tired": 2}),
    "reasons of one": counted(fallback_reasons={"backend_failure": 1}),
    "reasons of none": counted(fallback_reasons={"backend_failure": 2, "prompt_too_long": 0}),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_metadata_that_the_reference_would_refuse(wrong):
    """An extra key, an unknown transformation, counts that do not add up: each in one line that names the file."""
    assert upgrade_and_validate_metadata(good(), Path("m.JSON"))
    assert upgrade_and_validate_metadata(good(**counted()), Path("m.JSON"))
    with pytest.raises(DataError, match=r"m\.JSON"):
        upgrade_and_validate_metadata({**good(), **wrong}, Path("m.JSON"))


def test_metadata_of_older_files_are_read():
    """What the reference itself drops of them, and null for what was not counted."""
    counts = {**good()["generation_statistics"], "source": "stored", "stages": {}}
    counts |= dict.fromkeys(("retried_text_fields", "recovered_after_retry_text_fields", "fallback_reasons"))
    found = upgrade_and_validate_metadata(good(format_version=3, generation_statistics=counts), Path("m.JSON"))
    assert found == good()


@pytest.fixture
def root(made, tmp_path):
    """Exported files of one transformation."""
    done = made("sts", transformations=("translation",))
    export(
        ParaphraseSet.open(done.path), HtebRequest((), tasks=("sts",), limit=6, options=QUICK), tmp_path / "root",
        generator="org/model", date=DATE,
    )  # fmt: skip
    return tmp_path / "root"


def test_half_a_pair_a_link_and_two_of_one_date_are_refused(root, tmp_path):
    """Each with the file's name, and nothing is made."""
    [(data, metadata)] = pairs_of(root)
    kept = metadata.read_bytes()
    metadata.unlink()
    with pytest.raises(DataError, match="is missing from the pair"):
        import_reference_transformation_files(root, tmp_path / "a")
    metadata.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="link"):
        import_reference_transformation_files(root, tmp_path / "a")
    metadata.unlink()
    metadata.write_bytes(kept)
    for path, name in ((data, "data.parquet"), (metadata, "metadata.JSON")):
        shutil.copy(path, path.with_name(name))
    with pytest.raises(DataError, match="the same date"):
        import_reference_transformation_files(root, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_the_newest_counts(root, tmp_path):
    """Of two dates in a folder."""
    [(data, metadata)] = pairs_of(root)
    told = json.loads(metadata.read_text("utf-8")) | {"generation_datetime": "2027-01-01T00:00:00Z"}
    shutil.copy(data, data.with_name(make_transformed_set_file_names(told)[0]))
    metadata.with_name(make_transformed_set_file_names(told)[1]).write_text(json.dumps(told), "utf-8")
    assert import_reference_transformation_files(root, tmp_path / "set").texts


def test_other_columns_and_other_originals_are_refused(root, tmp_path):
    """Files of one dataset must have been made of one version of it."""
    import polars as pl

    [(data, metadata)] = pairs_of(root)
    frame = pl.read_parquet(data)
    other = root / "org~2Fmodel" / "sample" / "translation" / "1338"
    other.mkdir()
    told = json.loads(metadata.read_text("utf-8")) | {"seed_transform": 1338, "generation_datetime": None}
    told["generation_statistics"] |= {"records_total": 5, "records_targeted": 5}
    (other / "metadata.JSON").write_text(json.dumps(told), "utf-8")
    frame.head(5).rename({"translation_seed_1337": "translation_seed_1338"}).write_parquet(other / "data.parquet")
    with pytest.raises(DataError, match="originals"):
        import_reference_transformation_files(root, tmp_path / "a")
    frame.head(5).write_parquet(other / "data.parquet")
    with pytest.raises(DataError, match="two columns"):
        import_reference_transformation_files(root, tmp_path / "a")
    (other / "data.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError):
        import_reference_transformation_files(root, tmp_path / "a")


def test_every_transformation_has_a_name_that_files_can_have():
    """As the layout has folders of them."""
    assert all(re.fullmatch("[a-z_]+", name) for name in TRANSFORMATIONS)


def authors(root, before, after, *, dataset="mine", transformation="expansion", **more):
    """A pair of files as the authors' code writes it: records with all fields of their source."""
    import polars as pl

    told = {**good(), **named(transformation, DATE), "dataset": dataset, **more}
    slots = len(before)
    told["generation_statistics"] |= {"records_total": len(before), "records_targeted": slots,
                                      "text_fields_total": slots}  # fmt: skip
    folder = root / encode_generator_folder(told["generator_model"]) / dataset / transformation / "1337"
    folder.mkdir(parents=True)
    original = pl.Series("original", before)
    said = pl.Series(f"{transformation}_seed_1337", after, dtype=original.dtype)
    pl.DataFrame([original, said]).write_parquet(folder / make_transformed_set_file_names(told)[0])
    (folder / make_transformed_set_file_names(told)[1]).write_text(json.dumps(told), "utf-8")
    return root


def kept(tmp_path, root, *, dataset="mine", transformation="expansion"):
    """What an import has of it."""
    import_reference_transformation_files(root, tmp_path / "set")
    return ParaphraseSet.open(tmp_path / "set").rows(transformation, dataset, 1337)


def test_slots_are_those_that_the_reference_chooses(tmp_path):
    """Of a record with several texts the first that counts; of pairs all left ones first; of a corpus that was left
    alone nothing."""
    before = [{"text": f"t{i}", "title": f"head {i}", "label_text": "x", "label": i, "language": "eng"} for i in (1, 2)]
    after = [{**one, "text": one["text"] + "!"} for one in before]
    found = kept(tmp_path, authors(tmp_path / "a", before, after))
    assert [(row.text, row.wording, row.lang) for row in found] == [("t1", "t1!", "eng"), ("t2", "t2!", "eng")]
    pairs = [{"sent1": ["a", "b"], "sent2": ["c", "d"], "labels": [0, 1], "title": "no", "language": "en-de"}]
    found = kept(tmp_path / "b", authors(tmp_path / "b" / "root", pairs, pairs))
    assert [(row.text, row.lang, row.outcome) for row in found] == [
        ("a", "en", "copied"), ("b", "en", "copied"), ("c", "de", "copied"), ("d", "de", "copied"),
    ]  # fmt: skip
    ranked = [{"query": ["q", "q2"], "positive": ["p"], "negative": ["n", ""], "_id": "1"}]
    for corpus, texts in ((True, ["q", "q2", "p", "n"]), (False, ["q", "q2"])):
        where = tmp_path / f"corpus-{corpus}"
        found = kept(where, authors(where / "root", ranked, ranked, transform_corpus=corpus))
        assert [row.text for row in found] == texts


def test_an_empty_slot_or_list_is_a_failure(tmp_path):
    """Of every text that it should have held."""
    before = [{"sentences": ["a b", "c d", " "], "labels": ["x", "y", "y"]}, {"sentences": ["e"], "labels": ["x"]},
              {"sentences": ["f", "g"], "labels": ["x", "y"]}]  # fmt: skip
    after = [
        {**before[0], "sentences": ["", "C D", ""]},
        {**before[1], "sentences": None},
        {**before[2], "sentences": []},
    ]
    found = kept(tmp_path, authors(tmp_path / "root", before, after))
    assert [(row.text, row.usable) for row in found] == [
        ("a b", False), ("c d", True), ("e", False), ("f", False), ("g", False),
    ]  # fmt: skip


ODD = {
    "texts are missing": ([{"sentences": ["a", "b"]}], [{"sentences": ["A"]}], "a different number of texts"),
    "a record is missing": ([{"text": "a"}, {"text": "b"}], [{"text": "A"}, None], "a record is missing"),
    "no texts": ([{"label": 1}], [{"label": 1}], "no record has a text"),
    "numbers": ([{"query": 1, "positive": ["a"]}], [{"query": 1, "positive": ["a"]}], "query is not a text"),
}


@pytest.mark.parametrize(("before", "after", "told"), ODD.values(), ids=ODD)
def test_odd_records_are_told_with_file_and_row(tmp_path, before, after, told):
    """And nothing is made of the others."""
    root = authors(tmp_path / "root", before, after)
    with pytest.raises(DataError, match=told) as caught:
        import_reference_transformation_files(root, tmp_path / "set")
    assert "data_" in caught.value.message
    assert not (tmp_path / "set").exists()


def test_a_file_under_another_hash_is_refused(root, tmp_path):
    """As a file whose metadata were changed afterwards."""
    [(data, metadata)] = pairs_of(root)
    told = json.loads(metadata.read_text("utf-8")) | {"generation_datetime": "2026-09-16T00:00:00Z"}
    metadata.write_text(json.dumps(told), "utf-8")
    with pytest.raises(DataError, match="different hashes"):
        import_reference_transformation_files(root, tmp_path / "a")
    metadata.write_bytes(b"\xef\xbb\xbf" + json.dumps(told | {"generation_datetime": DATE}).encode())
    assert import_reference_transformation_files(root, tmp_path / "a").texts
    assert data.exists()


def test_texts_of_the_authors_serve_data_whose_language_has_another_code(tmp_path, pairs):
    """Their `eng` is our `en`; also where a text is there several times with several languages."""
    path = pairs(6, lang="en")
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    lines[1]["text"] = lines[0]["text"]
    path.write_text("".join(json.dumps(one) + "\n" for one in lines), "utf-8")
    before = [{"sentence1": one["text"], "sentence2": one["text2"], "score": one["score"], "language": "eng"}
              for one in lines]  # fmt: skip
    after = [{**one, "sentence1": f"{i}-1", "sentence2": f"{i}-2"} for i, one in enumerate(before)]
    root = authors(tmp_path / "root", before, after, dataset="pairs", transformation="cross_translation")
    import_reference_transformation_files(root, tmp_path / "set")
    done = eb.hteb.run(
        ["jaccard"], transformer=f"stored:{tmp_path / 'set'}", datasets=[path], out=tmp_path / "run", runs=1,
        tokenizer="words", options=QUICK,
    )  # fmt: skip
    said = ParaphraseSet.open(done.path).rows("cross_translation", "pairs", 1337)
    assert [row.wording for row in said] == [*(f"{i}-1" for i in range(6)), *(f"{i}-2" for i in range(6))]
