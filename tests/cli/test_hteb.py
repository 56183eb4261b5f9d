"""`embassay hteb` as a user types it: a run offline, texts alone, the authors' files, people, and what is wrong."""

import json

import pytest

from stub import StubServer
from stub.transforming import transforming

OFFLINE = (
    "--transformer", "recorded", "-t", "sts", "--limit", "14", "--languages", "reference", "--runs", "1", "--tokenizer",
    "words", "--resamples", "60",
)  # fmt: skip


@pytest.fixture
def model():
    pytest.importorskip("openai")
    with StubServer(chat=transforming(copying=0.1)) as server:
        yield server, f"ollama:ruler?base_url={server.url}&name=stub&price=1"


def test_the_sample_has_a_profile_without_any_model(embassay, tmp_path):
    """A verdict by axis, the axes of every system, a report; --json gives the rows of each axis."""
    command = ("hteb", "run", "-s", "jaccard", *OFFLINE, "--out", "run")
    shown = embassay(*command).stdout
    assert "on the axis of" in shown
    assert "Δ language" in shown
    rows = json.loads(embassay(*command, "--json").stdout)["results"]
    variants = {row["variant"] for row in rows if row["system"] == "jaccard"}
    assert {"axis:style", "axis:length", "axis:language", "style_change", "translation", ""} <= variants
    assert "hteb-profiles" in (tmp_path / "run" / "report.html").read_text("utf-8")


def test_texts_go_out_and_come_back(embassay, tmp_path, model):
    """Transformed, exported in the authors' layout, imported, and scored without the model."""
    server, spec = model
    more = ("-d", "sample", "-t", "sts", "--limit", "5")
    plan = json.loads(
        embassay(
            "hteb", "transform", "--transformer", spec, "--runs", "1", *more, "--dry-run", "--json"
        ).stdout
    )
    calls = sum(cell["requests"] for cell in plan["cells"])
    assert not server.requests
    counts = json.loads(
        embassay(
            "hteb", "transform", "--transformer", spec, "--runs", "1", *more, "--out", "texts", "--json"
        ).stdout
    )
    assert {one["transformation"] for one in counts} >= {"paraphrasing", "cross_translation"}
    assert 0.9 * calls <= sum(server.requests.values()) <= calls
    said = embassay("hteb", "export", "texts", *more, "--generator", "org/model", "--out", "root").stdout
    assert said.count("data.parquet") == 8
    embassay("hteb", "import", "root", "--out", "set")
    asked = sum(server.requests.values())
    run = ("hteb", "run", "-s", "jaccard", *more, "--runs", "1", "--tokenizer", "words", "--resamples", "60")
    embassay(*run, "--transformer", "stored:set", "--out", "run")
    assert sum(server.requests.values()) == asked
    drawn = embassay(
        "hteb", "validate", "sample", "run", "--pairs", "4", "--transformations", "style", "--out", "study"
    )
    assert "3 transformations" in drawn.stdout
    assert "paraphrasing" in embassay("hteb", "validate", "score", "study").stdout


def test_a_folder_without_texts_is_told(embassay):
    """As data that cannot be read."""
    done = embassay(
        "hteb",
        "run",
        "-s",
        "jaccard",
        "--tokenizer",
        "words",
        "--transformer",
        "stored:nowhere",
        check_code=4,
    )
    assert "nowhere" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--transformer", "recorded", "--transformations", "expanson"), "expansion"),
        (("--transformer", "recorded", "--runs", "2"), "--runs 1"),
        (("--transformer", "recorded", "--transformations", "backtranslation"), "backtranslation"),
        (("--transformer", "stored:"), "stored:FOLDER"),
        (("--transformer", "recorded", "--failed", "drop"), "leave-out"),
        (("--transformer", "recorded", "--family", "e5"), "BILLIONS"),
        (("--transformer", "recorded", "--top-k", "0"), "top_k"),
    ],
)
def test_mistakes_are_told_in_a_line_with_their_mend(embassay, words, told):
    """Before any work, and never with a traceback."""
    done = embassay("hteb", "run", "-s", "jaccard", "--tokenizer", "words", *words, check_code=2)
    assert told in done.stderr
    assert "Traceback" not in done.stderr
