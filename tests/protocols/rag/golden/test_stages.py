"""What makes a stage be done, skipped and done again."""

import json

import pytest

from embassay.errors import DataError
from embassay.protocols.rag.golden import stages
from embassay.protocols.rag.golden.stages import STAGES, SingleQueryFolder
from embassay.runs.folder import format_json_lines


class Copies:
    """A stage that copies a file of the run; `failing` queries it cannot do."""

    def __init__(self, run, stage="S3", failing=(), **parameters):
        self.run, self.stage, self.failing, self.parameters = run, stage, failing, parameters
        self.asked = []

    def inputs(self, asked):
        return [stages.hash_stage_input_file(self.run / "in.txt", self.run)]

    def do(self, waiting, done):
        for one in waiting:
            self.asked.append(one.id)
            if one.id not in self.failing:
                path = one.folder.stage(self.stage) / f"{len(self.parameters)}.txt"
                done(one, stages.QueryStageOutput({path: (self.run / "in.txt").read_text()}, {"rows": 1}))
        return dict.fromkeys(self.failing, "no answer")


@pytest.fixture
def queries(tmp_path):
    (tmp_path / "in.txt").write_text("one")
    return [stages.QueryWithFolder(key, "?", SingleQueryFolder(tmp_path, key)) for key in ("q01", "q02")]


def test_a_whole_stage_is_skipped(tmp_path, queries):
    """The second time nothing is asked for, and both queries count as kept."""
    first = stages.run_stage_for_unfinished_queries(Copies(tmp_path), queries, "run")
    again = Copies(tmp_path)
    second = stages.run_stage_for_unfinished_queries(again, queries, "run")
    assert (first.done, first.kept) == (("q01", "q02"), ())
    assert (second.done, second.kept, again.asked) == ((), ("q01", "q02"), [])


def test_the_manifest_says_from_what_and_into_what(tmp_path, queries):
    """Run, query, stage, parameters, counts, inputs and outputs with their SHA-256, and when it ended."""
    stages.run_stage_for_unfinished_queries(Copies(tmp_path, c=60), queries, "run-1")
    said = json.loads(queries[0].folder.manifest("S3").read_text())
    assert (said["run_id"], said["qid"], said["stage"], said["parameters"]) == ("run-1", "q01", "S3", {"c": 60})
    digest = stages.hash_sha256(b"one")
    assert said["inputs"] == [{"path": "in.txt", "sha256": digest}]
    assert said["outputs"] == [{"path": "q01/s3_merge/1.txt", "sha256": digest}]
    assert said["counts"] == {"rows": 1}
    assert said["finished_at"]
    assert queries[0].folder.stage_success_path("S3").read_bytes() == b""


@pytest.mark.parametrize(
    "change",
    [
        lambda run, folder: folder.stage_success_path("S3").unlink(),
        lambda run, folder: (run / "in.txt").write_text("two"),
        lambda run, folder: (folder.stage("S3") / "0.txt").unlink(),
        lambda run, folder: folder.manifest("S3").write_text('{"parameters"'),
        lambda run, folder: folder.manifest("S3").unlink(),
    ],
    ids=["no success", "another input", "no artefact", "half a manifest", "no manifest"],
)
def test_what_is_not_whole_is_done_again(tmp_path, queries, change):
    """And later stages are no longer done, whatever their own manifests say."""
    for stage in STAGES:
        stages.run_stage_for_unfinished_queries(Copies(tmp_path, stage), queries, "run")
    change(tmp_path, queries[0].folder)
    again = Copies(tmp_path)
    stages.run_stage_for_unfinished_queries(again, queries, "run")
    assert "q01" in again.asked
    assert [queries[0].folder.stage_success_path(stage).exists() for stage in STAGES] == [True] * 3 + [False] * 3


def test_other_parameters_do_it_again_and_leave_nothing_of_the_old(tmp_path, queries):
    """A list of another depth must not lie beside the new one."""
    stages.run_stage_for_unfinished_queries(Copies(tmp_path), queries, "run")
    stages.run_stage_for_unfinished_queries(Copies(tmp_path, k=1), queries, "run")
    assert sorted(path.name for path in queries[0].folder.stage("S3").iterdir()) == [
        "1.txt", "_SUCCESS", "manifest.json",
    ]  # fmt: skip


def test_what_is_forgotten_is_done_again(tmp_path, queries):
    """That stage and later ones, of which nothing is left; earlier ones stay."""
    for stage in STAGES:
        stages.run_stage_for_unfinished_queries(Copies(tmp_path, stage), queries, "run")
    stages.delete_stages_from(queries[0].folder, "S5")
    left = {path.parent.name for path in queries[0].folder.path.rglob("*") if path.is_file()}
    assert left == {name for stage, name in STAGES.items() if stage < "S5"}
    again = Copies(tmp_path, "S5")
    stages.run_stage_for_unfinished_queries(again, queries, "run")
    assert again.asked == ["q01"]


def test_a_query_that_failed_is_tried_again(tmp_path, queries):
    """It has no _SUCCESS; the others have."""
    outcome = stages.run_stage_for_unfinished_queries(Copies(tmp_path, failing=("q02",)), queries, "run")
    assert (outcome.done, outcome.failed) == (("q01",), {"q02": "no answer"})
    again = Copies(tmp_path)
    stages.run_stage_for_unfinished_queries(again, queries, "run")
    assert again.asked == ["q02"]


def test_lines_hold_any_text(tmp_path):
    """Separators that Python takes for line ends are text."""
    rows = [{"text": "a\u2028b\x85c\r"}, {"text": "ü"}]
    path = tmp_path / "rows.jsonl"
    path.write_text(format_json_lines(rows), encoding="utf-8", newline="")
    assert stages.read_json_line_rows(path) == rows


def test_a_broken_artefact_names_its_line_and_stage(tmp_path):
    """The mend is to redo the stage."""
    path = SingleQueryFolder(tmp_path, "q01").scores
    path.parent.mkdir(parents=True)
    path.write_text('{"a": 1}\n{"a":\n')
    with pytest.raises(DataError, match=r"q01.scores.jsonl:2: .*--from-stage S4"):
        stages.read_json_line_rows(path)
    with pytest.raises(DataError, match="--from-stage S4"):
        stages.hash_stage_input_file(path.with_name("gone.jsonl"), tmp_path)
