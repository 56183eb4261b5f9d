"""Which tasks a dataset joins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embassay.data import open_dataset
from embassay.errors import UsageError
from embassay.protocols.kernel.plan import choose_tasks_for_dataset
from embassay.protocols.kernel.request import RunRequest
from embassay.protocols.tasks import TASKS

NAMES = ("sts", "classification", "clustering", "pair_classification")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A file that has the columns of classification and of clustering."""
    rows = [{"text": f"t {one}", "label": "ab"[one % 2], "split": ("train", "test")[one // 4]} for one in range(8)]
    path = tmp_path / "intents.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def joined(spec: str, *names: str) -> list[str]:
    """The tasks of PTEB among the names that it joins."""
    wanted = [TASKS.build(name) for name in names or NAMES]
    return [task.name for task in choose_tasks_for_dataset(spec, open_dataset(spec), wanted, "pteb", TASKS)]


def test_own_files_join_by_columns_and_as_they_are_told(table: Path, tmp_path: Path) -> None:
    """Every task whose columns are there, unless the spec or the description chooses."""
    assert joined(str(table)) == ["classification", "clustering"]
    assert joined(f"{table}?tasks=clustering") == ["clustering"]
    described = tmp_path / "own.yaml"
    described.write_text(
        "name: own\ntasks: [classification]\ntables: [{file: intents.jsonl, shapes: [labelled, classification]}]\n"
    )
    assert joined(str(described)) == ["classification"]


def test_a_catalogue_dataset_joins_the_tasks_of_its_record(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Banking77 is classification in PTEB, though its columns would do for clustering; the user may say otherwise."""
    monkeypatch.setenv("EMBASSAY_DATA", str(tmp_path))
    (tmp_path / "banking77").mkdir()
    for side in ("train", "test"):
        (tmp_path / "banking77" / f"{side}.jsonl").write_text(table.read_text())
    assert joined("banking77") == ["classification"]
    assert joined("banking77?tasks=clustering") == ["clustering"]
    with pytest.raises(UsageError, match=r"is for classification.*\n?.*banking77\?tasks=clustering"):
        joined("banking77", "clustering")
    # A protocol that the record does not name goes by the columns.
    assert open_dataset("banking77").tasks_in("sage") is None


def test_a_chosen_task_that_is_none(table: Path) -> None:
    """A slip is no silent choice of less."""
    with pytest.raises(UsageError, match=r"clusterin.*\n?.*Did you mean clustering"):
        joined(f"{table}?tasks=classification,clusterin")
    with pytest.raises(UsageError, match="Cannot read the tasks"):
        joined(f"{table}?tasks=")


def test_a_chosen_task_changes_nothing_about_the_file(table: Path) -> None:
    """A mapping still reaches it, and what is computed of it is found again."""
    request = RunRequest(("jaccard",), datasets=(f"{table}?tasks=clustering", "sample"), mapping={"text": "text"})
    assert request.dataset(request.datasets[0]).mapping == (("text", "text"),)
    assert open_dataset(request.datasets[0]).fingerprint == open_dataset(str(table)).fingerprint
