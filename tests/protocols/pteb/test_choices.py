"""What a run can be told: controls, seeds, how failures count, languages; and what it cannot."""

import polars as pl
import pytest

import embassay as eb
from embassay.errors import UsageError
from embassay.protocols.wordings.sets import ParaphraseSet


def wordings(run, seed, source=None):
    """Text -> wording, of one run."""
    kept = ParaphraseSet.open(run.path)
    dataset = run.manifest["datasets"][0]["name"]
    return {(row.text, row.place): row for row in kept.rows(source or next(iter(kept.sources)), dataset, seed)}


def test_a_control_stands_beside_and_is_in_no_mean(rewording, by, scored, tmp_path):
    """`control`: words permuted as far as the paraphrases are reworded; a bag of words loses nothing there, and the
    score is that of the paraphrases alone."""
    from embassay.measures import edit_distance

    given = {"paraphraser": by(rewording()), "datasets": [scored], "tokenizer": "words", "runs": 2}
    run = eb.pteb.run(["jaccard"], out=tmp_path / "run", control=True, **given)
    plain = eb.pteb.run(["jaccard"], out=tmp_path / "plain", **given)
    rows = run.results.filter((pl.col("system") == "jaccard") & (pl.col("dataset") == "scored"))
    control = rows.filter((pl.col("variant") == "by=permuted") & (pl.col("measure") == "delta"))
    assert control["value"].item() == pytest.approx(0)
    same = [
        one.results.filter((pl.col("variant") == "") & (pl.col("system") == "jaccard"))["value"].to_list()
        for one in (run, plain)
    ]
    assert same[0] == same[1]
    said, moved = wordings(run, 1337), wordings(run, 1337, "permuted")
    for key, row in moved.items():
        assert sorted(row.wording.split()) == sorted(row.text.split())
        wanted = edit_distance(row.text, said[key].wording)
        assert abs(edit_distance(row.text, row.wording) - wanted) <= 3 / len(row.text.split())


def test_a_seed_for_every_text_tells_equal_texts_apart(rewording, by, write_rows, tmp_path):
    """[A3]: by default identical sentences stay identical; with a seed per text they part."""
    rows = [
        {"id": f"p{i}", "lang": "en", "text": f"a man and a dog in house {i}", "text2": f"a man and a dog in house {i}",
         "score": 5.0 - i % 5}
        for i in range(20)
    ]  # fmt: skip
    given = {"paraphraser": by(rewording()), "datasets": [write_rows("same", rows)], "tokenizer": "words", "runs": 1}
    one = eb.pteb.run(["jaccard"], out=tmp_path / "one", **given)
    each = eb.pteb.run(["jaccard"], out=tmp_path / "each", seed_per="text", **given)
    assert len(wordings(one, 1337)) == 20
    found = wordings(each, 1337)
    assert len(found) == 40
    assert {row.place.split(":")[1] for row in found.values()} == {"first", "second"}
    assert len({row.seed for row in found.values()}) == 40
    pairs = [
        (row.wording, found[text, place.replace("first", "second")].wording)
        for (text, place), row in found.items()
        if ":first:" in place
    ]
    assert any(a != b for a, b in pairs)


def test_the_last_seed_of_a_dataset_can_be_another(rewording, by, scored, tmp_path):
    """The paper used 1443 for the last run of two datasets."""
    run = eb.pteb.run(
        ["jaccard"], paraphraser=by(rewording()), datasets=[scored], tokenizer="words", runs=3,
        last_seeds=(("scored", 1443),), out=tmp_path / "run",
    )  # fmt: skip
    assert run.manifest["paraphrases"]["sources"][0]["seeds"] == {"scored": [1337, 1338, 1443]}
    assert "paraphrase:seed=1443" in set(run.results["variant"])


def test_more_runs_end_where_the_set_does(tmp_path):
    """Three recorded wordings are no more than three runs: the run says so and ends well."""
    run = eb.pteb.run(
        ["jaccard"], out=tmp_path / "run", tokenizer="words", runs=2, tasks=("sts",), until_ci=0.01,
        options=eb.pteb.PtebOptions(languages="pooled"),
    )  # fmt: skip
    assert run.manifest["status"] == "finished"
    assert "3 recorded paraphrases" in run.manifest["paraphrases"]["stopped"]["sample"]
    assert run.manifest["paraphrases"]["sources"][0]["seeds"] == {"sample": [1337, 1338, 1339]}


def test_training_texts_can_stay(rewording, by, tmp_path):
    """`classification_texts="test"`: only test texts are sent."""
    server = rewording()
    run = eb.pteb.run(
        ["wordllama"], paraphraser=by(server), tokenizer="words", runs=1, tasks=("classification",),
        options=eb.pteb.PtebOptions(languages="pooled", classification_texts="test"), out=tmp_path / "run",
    )  # fmt: skip
    test = eb.data.open_dataset("sample").load("classification").data.test
    assert sum(server.requests.values()) == len(set(test.texts))
    assert run.manifest["status"] == "finished"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"runs": 0}, "0 runs are not possible"),
        ({"paraphraser": []}, "Nothing would be paraphrased"),
        ({"paraphraser": ["copied", "copied"]}, "given twice"),
        ({"prompts": ("default", "default"), "paraphraser": "copied"}, "given twice"),
        ({"paraphraser": "permuted", "control": True}, "given twice"),
        ({"until_ci": -1.0}, "points above 0|until-ci is -1.0"),
        ({"until_ci": 1.0, "runs": 30, "max_runs": 20}, "at least two runs"),
        ({"baseline": "minilm"}, "not one of the systems"),
        ({"tasks": ("stss",)}, "stss"),
        ({"last_seeds": (("other", 1),)}, "not one of the datasets"),
        ({"options": {"neighbours": 0}}, "neighbours is 0"),
    ],
)
def test_what_makes_no_sense_is_refused(given, told, tmp_path):
    """UsageError before anything is written."""
    arguments = {"tokenizer": "words", "runs": 3, **given}
    with pytest.raises(UsageError, match=told):
        _run(tmp_path / "run", **arguments)
    assert not (tmp_path / "run").exists()


def _run(out, options=None, **arguments):
    more = {} if options is None else {"options": eb.pteb.PtebOptions(**options)}
    return eb.pteb.run(["bm25"], out=out, **arguments, **more)
