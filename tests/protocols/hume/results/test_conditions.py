"""What people and systems were told and asked for, and whether their scores are like for like."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import embassay as eb
from embassay.errors import UsageError
from embassay.protocols.hume.options import StudyRequest
from embassay.protocols.hume.results.tables import task_conditions_table
from embassay.protocols.hume.sampling.options import ANY_GROUPS, parse_sampling_config
from embassay.protocols.hume.sampling.protocol import draw_study
from embassay.protocols.hume.study import read_study
from embassay.runs.folder import RunFolder
from hume_scored import scored_study
from hume_small import small_study

QUICK: dict[str, Any] = {"tokenizer": "words", "resamples": 50}


def _alike(study: Path, modes: tuple[str, ...], groups: int | None, *, give_k: bool) -> dict[tuple[str, str], int]:
    tasks = [
        task.model_copy(update={"groups": groups if task.family == "clustering" else None})
        for task in read_study(study).study.tasks
    ]
    llms: Any = [SimpleNamespace(mode=mode) for mode in modes]
    table = task_conditions_table(tasks, llms, give_k=give_k)
    return {(str(row[0]), str(row[3])): int(row[6] or 0) for row in table.rows}


def test_what_is_like_for_like(tmp_path: Path) -> None:
    """Groups where both or neither know their number; marks of language models, and not their rankings."""
    study = small_study(tmp_path / "study", 6)
    found = _alike(study, ("binary", "ranking"), None, give_k=True)
    assert found == {
        ("classification", "systems"): 0, ("classification", "language models"): 1, ("clustering", "systems"): 0,
        ("reranking", "systems"): 0, ("reranking", "language models (binary)"): 1,
        ("reranking", "language models (ranking)"): 0, ("sts", "systems"): 1, ("sts", "language models"): 1,
    }  # fmt: skip
    for groups, give_k, alike in ((3, True, 1), (3, False, 0), (None, False, 1)):
        assert _alike(study, (), groups, give_k=give_k)["clustering", "systems"] == alike


def test_systems_without_k(tmp_path: Path) -> None:
    """Another cell with another method; the request is another run, and the usual one is saved as ever."""
    study = scored_study(tmp_path / "study", families=("clustering",))
    told = eb.hume.score(study, ["jaccard"], out=tmp_path / "told", **QUICK)
    alone = eb.hume.score(study, ["jaccard"], out=tmp_path / "alone", give_k=False, **QUICK)
    methods = [RunFolder(one.path).read_results()[0].method for one in (told, alone)]
    assert ["silhouette" in method for method in methods] == [False, True]
    assert [one["like_for_like"] for one in alone.table("hume_conditions").to_dicts()] == [1]
    assert "give_k" not in told.manifest["arguments"]
    assert alone.manifest["arguments"]["give_k"] is False
    assert told.manifest["cells"][0]["key"] != alone.manifest["cells"][0]["key"]
    with pytest.raises(UsageError):
        StudyRequest("study", smallest_group=1)


def test_people_are_told_k_where_it_is_asked_for() -> None:
    """In the guidelines and in the study; else in neither."""
    task = {"data": "sample", "family": ["clustering"], "lang": ["eng"], "n": 18}
    (plain,) = draw_study(parse_sampling_config({"tasks": [task]})).study.tasks
    (told,) = draw_study(parse_sampling_config({"tasks": [{**task, "give_k": True}]})).study.tasks
    assert (plain.groups, told.groups) == (None, 6)
    assert ANY_GROUPS in plain.guidelines
    assert "There are 6 groups" in told.guidelines
