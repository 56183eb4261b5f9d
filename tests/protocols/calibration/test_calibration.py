"""A calibration from the command or the call to the saved file, its page and its view."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.calibration import CalibrationOptions, translations
from embassay.protocols.calibration.probability import read_pairs
from embassay.protocols.kernel.outcome import Run
from embassay.records import Result
from embassay.runs.folder import RunFolder
from report.pages import printed

WORDS = [
    "amber",
    "basin",
    "cedar",
    "delta",
    "ember",
    "field",
    "grove",
    "haven",
    "inlet",
    "jetty",
    "knoll",
    "larch",
    "mango",
    "north",
    "ocean",
    "pearl",
]


def rows(n: int = 240, seed: int = 1) -> list[dict[str, object]]:
    """Pairs that share the more words the likelier they are the same, in every degree."""
    rng = np.random.default_rng(seed)
    found = []
    for place in range(n):
        share = rng.random()
        first = [str(word) for word in rng.choice(WORDS, 8, replace=False)]
        rest = [word for word in WORDS if word not in first]
        kept = round(8 * share)
        second = [*first[:kept], *(str(word) for word in rng.choice(rest, 8 - kept, replace=False))]
        same = rng.random() < 1 / (1 + np.exp(-12 * (share - 0.5)))
        pair = {
            "id": f"p{place}",
            "text": f"It is {' '.join(first)} {place}.",
            "text2": f"It is {' '.join(second)}.",
        }
        found.append({**pair, "label": int(same)})
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("calibration")
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    options = CalibrationOptions(precision=0.8, recall=0.8, cost="wrong=5,missed=1", resamples=100)
    return eb.calibrate(
        ["jaccard", "rouge"], datasets=[str(folder / "pairs.jsonl")], out=folder / "run", tokenizer="words",
        options=options,
    )  # fmt: skip


def found(run: Run, measure: str, system: str = "jaccard", **where: str) -> Result:
    wanted = {"measure": measure, "system": system, "dataset": "pairs", **where}
    [row] = [
        row for row in RunFolder(run.path).read_results()
        if all(getattr(row, name) == value for name, value in {"variant": "", "subset": "", **wanted}.items())
    ]  # fmt: skip
    return row


def test_every_pair_and_every_promise_is_told(run: Run) -> None:
    """Skill with an interval; thresholds that the saved file repeats; what the sample has above them."""
    skill = found(run, "skill")
    assert skill.n == 240
    assert skill.ci_low is not None
    assert skill.value is not None
    assert 0.2 < skill.ci_low < skill.value < 0.9
    saved = eb.calibration(run.path / "calibrations" / "jaccard--pairs.json")
    for measure in ("precision", "recall"):
        row = found(run, "threshold", variant=measure)
        assert saved.threshold(measure) == row.value
        seen = found(run, f"sample_{measure}", variant=measure)
        assert seen.value is not None
        assert seen.value >= 0.8
    assert saved.curve.cost is not None
    assert saved.curve.cost.most < saved.curve.cost.always


def test_a_saved_curve_answers_for_texts(run: Run) -> None:
    """Equal texts are likelier the same than different ones; the rule is the threshold's; a list gives a list."""
    saved = eb.calibration(run.path / "calibrations" / "jaccard--pairs.json")
    alike, apart = (
        saved.probability("amber basin cedar", "amber basin cedar"),
        saved.probability("amber", "jetty"),
    )
    assert apart.low <= apart.value <= apart.high < alike.low <= alike.value <= alike.high
    assert saved.accepts(["amber basin", "amber"], ["amber basin", "jetty"]) == [True, False]
    assert [one.value for one in saved.probability(["amber"], ["jetty"])] == [apart.value]
    with pytest.raises(UsageError, match="one length"):
        saved.probability(["a", "b"], ["a"])


def test_the_order_of_the_pairs_and_a_resume_change_nothing(run: Run, tmp_path: Path) -> None:
    """Same request, same bytes."""
    options = CalibrationOptions(precision=0.8, recall=0.8, cost="wrong=5,missed=1", resamples=100)
    data = str(run.path.parent / "pairs.jsonl")
    for _ in range(2):
        eb.calibrate(["jaccard"], datasets=[data], out=tmp_path / "again", tokenizer="words", options=options)
    name = "calibrations/jaccard--pairs.json"
    assert (tmp_path / "again" / name).read_bytes() == (run.path / name).read_bytes()


def test_negated_copies_are_where_words_fail(run: Run) -> None:
    """A pair that was the same and is negated means another thing; a metric of words hardly sees it."""
    gap = found(run, "gap", subset="negated copies")
    assert gap.value is not None
    assert gap.value < -0.3
    assert {row.subset for row in RunFolder(run.path).read_results() if row.measure == "gap"} >= {
        "short pairs", "copies with letters lost", "negated copies",
    }  # fmt: skip


def test_pairs_that_share_texts_count_once(tmp_path: Path) -> None:
    """Five copies of forty pairs are forty units, and the run says so."""
    few = rows(40)
    copies = [
        {**row, "id": f"{row['id']}-{i}", "text2": f"{row['text2']}{'!' * i}"}
        for row in few
        for i in range(5)
    ]
    made = eb.calibrate(["jaccard"], datasets={"copies": copies}, out=tmp_path / "run", tokenizer="words")
    saved = eb.calibration(next((made.path / "calibrations").glob("jaccard*")))
    assert (saved.curve.n, saved.curve.units) == (200, 40)
    assert "40 of them" in str(made)


def test_too_few_of_a_label_has_a_reason_and_no_file(tmp_path: Path) -> None:
    few = [{**row, "label": int(place < 3)} for place, row in enumerate(rows(60))]
    made = eb.calibrate(["jaccard"], datasets={"few": few}, out=tmp_path / "run", tokenizer="words")
    [row] = [
        one
        for one in RunFolder(made.path).read_results()
        if one.measure == "skill" and one.system == "jaccard" and one.dataset
    ]
    assert "3 pairs are the same" in row.reason
    assert not (made.path / "calibrations").exists()


def test_grades_need_a_cut(tmp_path: Path) -> None:
    """Said before any work; with one, grades are labels."""
    graded = [
        {**{k: v for k, v in row.items() if k != "label"}, "score": 4.5 if row["label"] else place % 4}
        for place, row in enumerate(rows(120))
    ]
    with pytest.raises(UsageError, match=r"grades from 0 to 4\.5"):
        eb.calibrate(["jaccard"], datasets={"graded": graded}, out=tmp_path / "a", tokenizer="words")
    options = CalibrationOptions(same_from=4, resamples=50)
    made = eb.calibrate(
        ["jaccard"], datasets={"graded": graded}, out=tmp_path / "b", tokenizer="words", options=options
    )
    pairs = read_pairs(RunFolder(made.path).items_path("pairs", "graded", "jaccard"))
    assert pairs is not None
    assert pairs.same.sum() == sum(row["score"] == 4.5 for row in graded)


def test_a_threshold_in_another_scale_accepts_as_many(run: Run) -> None:
    [told] = translations(run.path, "jaccard", 0.6)
    pairs = {
        name: read_pairs(RunFolder(run.path).items_path("pairs", "pairs", name))
        for name in ("jaccard", "rouge")
    }
    a, b = pairs["jaccard"], pairs["rouge"]
    assert a is not None
    assert b is not None
    assert told.target == "rouge"
    assert told.low <= told.value <= told.high
    assert abs((b.similar >= told.value).mean() - (a.similar >= 0.6).mean()) < 0.05
    assert told.agree > 0.8
    with pytest.raises(UsageError, match="accepts none"):
        translations(run.path, "jaccard", 2.0)
    with pytest.raises(UsageError, match="no system 'nobody'"):
        translations(run.path, "jaccard", 0.6, ["nobody"])


def test_another_file_is_no_calibration(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text('{"format": "other", "version": 1}')
    for path, said in (
        (tmp_path / "other.json", "no calibration"),
        (run.path, "no one calibration"),
        (tmp_path, "no calib"),
    ):
        with pytest.raises(DataError, match=said):
            eb.calibration(path)


def test_a_changed_system_is_refused(run: Run, tmp_path: Path) -> None:
    """A probability of another model would be silently wrong."""
    plain = json.loads((run.path / "calibrations" / "jaccard--pairs.json").read_text())
    (tmp_path / "old.json").write_text(json.dumps({**plain, "identity": "another"}))
    with pytest.raises(DataError, match="no longer the system"):
        eb.calibration(tmp_path / "old.json").probability("a", "b")


def test_the_page_has_thresholds_and_the_view_fits(run: Run) -> None:
    from embassay.report.terminal import run_view

    page = run.report().read_text("utf-8")
    assert "id=calibration " in page
    assert "Thresholds with a promise" in page
    text = printed(run_view(run.path))
    saved = eb.calibration(run.path / "calibrations" / "jaccard--pairs.json")
    assert f"{saved.threshold():.3f}" in text
    assert all(len(line) <= 80 for line in text.splitlines() if str(run.path) not in line)


def test_the_command_says_thresholds_and_translations(run: Run, tmp_path: Path) -> None:
    from embassay.cli.main import with_commands

    data = str(run.path.parent / "pairs.jsonl")
    words = ["calibrate", "-s", "jaccard", "-s", "rouge", "-d", data, "--tokenizer", "words", "--precision", "0.8",
             "--resamples", "50", "--out", str(tmp_path / "run")]  # fmt: skip
    told = CliRunner().invoke(with_commands("calibrate", "list"), [*words, "--from", "jaccard=0.6"])
    assert told.exit_code == 0, told.output
    assert "in the scales of others" in told.output
    assert (tmp_path / "run" / "calibrations" / "rouge--pairs.json").exists()


@pytest.mark.parametrize("cost", ["wrong=5", "wrong=5,missed=-1", "5,1", "wrong=0,missed=0"])
def test_a_cost_names_both_mistakes(cost: str) -> None:
    with pytest.raises(UsageError, match="cost"):
        CalibrationOptions(cost=cost)
