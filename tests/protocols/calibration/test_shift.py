"""Whether pairs are like those of a calibration: features by hand, differences found and false alarms, the command."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import embassay as eb
from embassay.errors import DataError
from embassay.protocols.calibration import CalibrationOptions
from embassay.protocols.calibration.check import check_calibration_on_new_pairs
from embassay.protocols.calibration.shift import (
    KEPT,
    WATCHED,
    PairShiftWatch,
    compare_pair_features,
    measure_pair_features,
    sample_pair_features_each_sorted,
)

WORDS = [
    "amber", "basin", "cedar", "delta", "ember", "field", "grove", "haven", "inlet", "jetty", "knoll", "larch",
]  # fmt: skip


def pairs(n: int, seed: int, *, length: int = 6, noise: float = 0.1) -> list[dict[str, object]]:
    rng = np.random.default_rng(seed)
    made = []
    for place in range(n):
        kept = int(rng.integers(0, length + 1))
        first = [str(word) for word in rng.choice(WORDS, length)]
        second = [*first[:kept], *(str(word) for word in rng.choice(WORDS, length - kept))]
        same = (kept > length / 2) != (rng.random() < noise)
        made.append({
            "id": f"p{seed}-{place}", "text": f"{' '.join(first)} {seed} {place:03}.",
            "text2": f"{' '.join(second)} {place:03}.", "label": int(same),
        })  # fmt: skip
    return made


def written(path: Path, rows: list[dict[str, object]], *, labelled: bool = True) -> Path:
    kept = rows if labelled else [{key: row[key] for key in ("id", "text", "text2")} for row in rows]
    path.write_text("".join(json.dumps(row) + "\n" for row in kept))
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shift")
    data = written(folder / "pairs.jsonl", pairs(300, 1, noise=0.02))
    options = CalibrationOptions(precision=0.7, recall=0.7, edits=False, resamples=50)
    run = eb.calibrate(["jaccard"], datasets=[str(data)], out=folder / "run", tokenizer="words", options=options)
    return run.path / "calibrations" / "jaccard--pairs.json"


def test_features_by_hand() -> None:
    """Of "Ab c1" and "ab": 8 characters with a blank, 5 letters with a capital, a digit, one of three words common."""
    found = measure_pair_features(np.array([0.5]), ["Ab c1"], ["ab"])
    expected = {
        "similarity": 0.5, "length": 3.5, "ratio": 0.4, "common": 0.5, "word": 6 / 3, "capitals": 1 / 5,
        "digits": 1 / 7, "marks": 0.0, "foreign": 0.0,
    }  # fmt: skip
    assert {name: values[0] for name, values in found.items()} == pytest.approx(expected)


def test_a_file_keeps_numbers_and_no_texts(saved: Path) -> None:
    plain = json.loads(saved.read_text())
    assert not any(word in json.dumps(plain["reference"]) for word in WORDS)
    assert {len(values) for values in plain["reference"].values()} == {300}
    assert (
        len(sample_pair_features_each_sorted({"similarity": np.arange(2000.0)}, np.random.default_rng(0))["similarity"])
        == KEPT
    )


def test_longer_texts_are_others_and_new_ones_alike(saved: Path, tmp_path: Path) -> None:
    """With labels what became of the promise is told: here half of the labels are turned."""
    alike = check_calibration_on_new_pairs(
        saved, written(tmp_path / "like.jsonl", pairs(120, 2, noise=0.02), labelled=False)
    )
    assert alike.is_calibration_usable
    assert not alike.kept
    longer = check_calibration_on_new_pairs(saved, written(tmp_path / "long.jsonl", pairs(120, 3, length=16)))
    assert not longer.likeness.is_similar_to_calibration_pairs
    assert longer.likeness.differences[0].name == "length"
    turned = check_calibration_on_new_pairs(saved, written(tmp_path / "turned.jsonl", pairs(200, 4, noise=0.6)))
    precision = turned.kept[0]
    assert precision.is_promised_precision_missed
    assert not turned.is_calibration_usable
    rows = pairs(200, 4, noise=0.6)
    system = eb.calibration(saved)
    similar = system.similarity([row["text"] for row in rows], [row["text2"] for row in rows])
    accepted = [row["label"] for row, score in zip(rows, similar, strict=True) if score >= precision.threshold]
    assert (precision.share, precision.n) == (pytest.approx(np.mean(accepted)), len(accepted))


def test_accepting_other_pairs_warns_and_like_ones_do_not(saved: Path) -> None:
    system = eb.calibration(saved)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = pairs(100, 5)
        system.accepts_as_same([row["text"] for row in rows], [row["text2"] for row in rows])
        system.probability("amber", "basin")
    others = pairs(100, 6, length=20)
    with pytest.warns(RuntimeWarning, match="characters"):
        system.accepts_as_same([row["text"] for row in others], [row["text2"] for row in others])


def test_single_pairs_are_compared_when_there_are_many() -> None:
    reference = sample_pair_features_each_sorted(
        {"similarity": np.random.default_rng(0).random(400)}, np.random.default_rng(1)
    )
    watch = PairShiftWatch(reference)
    said = [watch.describe_pair_shift_if_detected({"similarity": np.array([0.99])}) for _ in range(WATCHED)]
    assert not any(said[:-1])
    assert said[-1]


def test_few_pairs_and_files_of_before(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="too few pairs"):
        check_calibration_on_new_pairs(saved, written(tmp_path / "few.jsonl", pairs(5, 7)))
    plain = json.loads(saved.read_text())
    for changed in ({"similarity": [0.1, "x"]}, {"similarity": [float("inf")]}, {"odd": [1.0]}, {"similarity": []}):
        broken = tmp_path / "broken.json"
        broken.write_text(json.dumps(plain | {"reference": changed}))
        with pytest.raises(DataError, match="not a calibration"):
            eb.calibration(broken)
    del plain["reference"]
    (tmp_path / "before.json").write_text(json.dumps(plain))
    assert eb.calibration(tmp_path / "before.json").probability("amber", "basin")


@pytest.mark.parametrize(("draws", "most"), [(40, 2), pytest.param(2000, 30, marks=pytest.mark.nightly)])
def test_false_alarms(draws: int, most: int) -> None:
    """At most 1% of samples of the same pairs are taken for others: numbers with heavy ties."""
    rng, found = np.random.default_rng(11), 0
    for _ in range(draws):
        whole = {"similarity": rng.integers(0, 20, 400) / 20, "length": rng.lognormal(4, 0.5, 400).round()}
        reference = sample_pair_features_each_sorted({name: values[:300] for name, values in whole.items()}, rng)
        found += not compare_pair_features(
            reference, {name: values[300:] for name, values in whole.items()}
        ).is_similar_to_calibration_pairs
    assert found <= most
