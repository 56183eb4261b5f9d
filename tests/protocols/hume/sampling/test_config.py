"""The file that says what to sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from embassay.errors import EmbassayError, UsageError
from embassay.protocols.hume.sampling import draw_study
from embassay.protocols.hume.sampling.options import read_sampling_config

FILE = """\
seed: 5
tasks:
  - data: topics.jsonl
    family: classification
    n: 16
    guidelines: mine.md
    labels:
      bees: Anything with hives.
      wool: {name: Wool!, description: Anything with sheep.}
  - data: pairs.jsonl
    lang: da
    n: 10
    against: pairs.jsonl
    scale: {high: 4, anchors: {0: nothing, 4: all}}
  - data: sample
    family: [sts, reranking]
    lang: eng
    n: 5
"""


def test_a_file_with_several_tasks(labelled: Path, pairs: Path, tmp_path: Path) -> None:
    """Paths are beside the file, names of the catalogue stay; one word or a list; the name is the file's."""
    (tmp_path / "mine.md").write_text("# Mine\n\n", "utf-8")
    path = tmp_path / "round.yaml"
    path.write_text(FILE, "utf-8")
    request = read_sampling_config(path)
    assert (request.name, request.seed) == ("round", 5)
    assert [task.data for task in request.tasks] == [str(labelled), str(pairs), "sample"]
    drawn = draw_study(request)
    names = [task.name for task in drawn.study.tasks]
    assert names == ["topics", "pairs", "sample-sts", "sample-reranking"]
    topics, rated = drawn.study.tasks[:2]
    assert topics.guidelines == "# Mine\n"
    assert [(one.name, one.description) for one in topics.labels if one.description] == [
        ("bees", "Anything with hives."), ("Wool!", "Anything with sheep.")
    ]  # fmt: skip
    assert rated.scale is not None
    assert rated.scale.anchors == {"0": "nothing", "4": "all"}
    assert rated.source.against == [str(pairs)]
    assert "10 of 10 items also in the training data" in rated.notes


@pytest.mark.parametrize(
    ("text", "said", "mend"),
    [
        ("tasks:\n  - data: sample\n    famly: sts\n", ":3: unknown key 'tasks[1].famly'", "Did you mean 'family'"),
        ("tasks:\n  - data: sample\n    scale: {hgh: 4}\n", ":3: unknown key 'tasks[1].scale.hgh'", "'high'"),
        ("tasks:\n  - n: 3\n", "the key 'tasks[1].data' is missing", "data"),
        ("seed: 3\n", "the key 'tasks' is missing", "tasks"),
        ("tasks: []\n", ":1: tasks is \\[\\], but should", "docs/hume_sampling.md"),
        ("tasks:\n  - data: sample\n    family: stss\n", ":3: tasks\\[1\\].family.*'stss'", "docs"),
        ("tasks:\n  - data: sample\n    n: many\n", ":3: tasks\\[1\\].n is 'many'", "docs"),
        ("tasks:\n  - {data: sample, relevant: 7}\n", "relevant \\(7\\) must be less than candidates \\(7\\)", "docs"),
        ("tasks:\n  - {data: sample, guidelines: no.md}\n", "The guidelines .*no.md cannot be read", "text file"),
        ("tasks:\n  - {data: sample, name: a b}\n", "tasks\\[1\\].name is 'a b'", "docs"),
        ("- a\n", "the file is not a YAML mapping", "tasks"),
        ("tasks: [\n", "not valid YAML", "line"),
    ],
)
def test_what_is_wrong_in_a_file(text: str, said: str, mend: str, tmp_path: Path) -> None:
    """One line with file, line and place, and what to do."""
    path = tmp_path / "round.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(EmbassayError, match=said.replace("[1].", r"\[1\]\.") if "\\" not in said else said) as caught:
        read_sampling_config(path)
    assert mend in str(caught.value.mend)


def test_no_file(tmp_path: Path) -> None:
    """It is named."""
    with pytest.raises(UsageError, match=r"no file .*nowhere\.yaml"):
        read_sampling_config(tmp_path / "nowhere.yaml")


def test_the_round_on_real_data_can_be_read(root: Path) -> None:
    """The example in `benchmarks/hume` is a config of today."""
    request = read_sampling_config(root / "benchmarks" / "hume" / "round.yaml")
    assert [task.n for task in request.tasks] == [40] * len(request.tasks)
    assert {family for task in request.tasks for family in task.family} == {
        "sts", "classification", "clustering", "reranking"
    }  # fmt: skip
