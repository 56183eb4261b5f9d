"""The probe of versions: twins differ in one thing, remedies do what they say, planted stores are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.protocols.rag import VersionsOptions, probe_versions
from embassay.protocols.rag.probes.twins import (
    CHANGES,
    STATUS,
    NearDuplicateGroups,
    make_copy_with_print_version_line,
    make_old_versions_and_copies,
    make_text_with_reversed_status,
    negate_first_negatable_sentence,
)
from embassay.protocols.rag.probes.versions import REMEDIES, apply_duplicate_remedy_to_ranking
from embassay.records import Documents, RetrievalSet
from embassay.runs.folder import RunFolder

TOPICS = ("harbour", "granite", "lantern", "orchard", "copper", "pepper", "meadow", "quarry")


def passage(topic: str, number: int) -> str:
    return (
        f"The {topic} office is open until {5 + number} in the evening. Since 19{70 + number} whoever asks for {topic} "
        f"writes {120 + number} words about {topic} to the keeper of the {topic} hall."
    )


@pytest.fixture
def data() -> RetrievalSet:
    """A passage and a question for each topic; one question has no judgement."""
    ids = tuple(f"d{number}" for number in range(len(TOPICS)))
    corpus = Documents(ids, tuple(passage(topic, number) for number, topic in enumerate(TOPICS)))
    asked = tuple(f"Until when is the {topic} office open?" for topic in TOPICS)
    questions = Documents((*(f"q{number}" for number in range(len(TOPICS))), "q-none"), (*asked, "Who asks?"))
    return RetrievalSet(corpus, questions, {f"q{number}": {f"d{number}": 1.0} for number in range(len(TOPICS))})


def test_twins_differ_in_one_thing(data: RetrievalSet) -> None:
    """Every kind of change comes in, as often as the others; each passage has one twin, each question its own."""
    twins, left = make_old_versions_and_copies(data, 100, 2, seed=1, lang="en")
    assert left == 1
    assert sorted(twin.current for twin in twins) == list(range(8))
    assert sorted(twin.change for twin in twins) == sorted(CHANGES * 2)
    for twin in twins:
        text = data.corpus.texts[twin.current]
        before, after = text.split(), twin.old.split()
        if twin.change == "negation":
            assert after == [*before[:4], "not", *before[4:]]
        else:
            assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
        assert twin.copies == (make_copy_with_print_version_line(text, 1), make_copy_with_print_version_line(text, 2))
    assert make_old_versions_and_copies(data, 3, 2, seed=1, lang="en")[0] == twins[:3]


def test_status_and_negation() -> None:
    """Words of status turn round, in pairs; a text without any, or in a language without rules, stays."""
    assert all(STATUS[STATUS[word]] == word for word in STATUS)
    assert make_text_with_reversed_status("Reactive powder.") is None
    assert make_text_with_reversed_status("It is inactive, and open.") == "It is active, and open."
    assert negate_first_negatable_sentence("A list of names. It was long.") == "A list of names. It was not long."
    assert negate_first_negatable_sentence("Names, and no more") is None


def test_remedies_on_a_list() -> None:
    """By hand: 1 and 9 are versions of one passage, 9 the old; 4 stands alone."""
    groups = [0, 1, 0]
    left = {remedy: apply_duplicate_remedy_to_ranking([9, 4, 1], groups, remedy, originals=5) for remedy in REMEDIES}
    assert left == {"": [9, 4, 1], "recency": [1, 4, 9], "deduplicated": [9, 4], "both": [1, 4]}


def test_near_duplicates_of_a_list() -> None:
    """The same as the Jaccard index of all runs of five characters; case and spaces do not count."""
    texts = ["the harbour office is open", "The  Harbour office is open", "a lantern", "the harbour office is shut"]
    assert NearDuplicateGroups(texts, 0.8).of([2, 0, 1, 3]) == [0, 1, 1, 3]

    def runs(text: str) -> set[str]:
        return {text[at : at + 5] for at in range(len(text) - 4)}

    index = len(runs(texts[0]) & runs(texts[3])) / len(runs(texts[0]) | runs(texts[3]))
    assert NearDuplicateGroups(texts, index).of([0, 3]) == [0, 0]
    assert NearDuplicateGroups(texts, index + 1e-9).of([0, 3]) == [0, 1]


def write_data(folder: Path, data: RetrievalSet) -> Path:
    import json

    folder.mkdir()
    for name, documents in (("corpus", data.corpus), ("queries", data.queries)):
        rows = zip(documents.ids, documents.texts, strict=True)
        (folder / f"{name}.jsonl").write_text("".join(json.dumps({"_id": k, "text": t}) + "\n" for k, t in rows))
    (folder / "qrels").mkdir()
    lines = [f"{query}\t{doc}\t1\n" for query, grades in data.qrels.items() for doc in grades]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(lines))
    return folder


class Prefers:
    """An encoder by topic, which ranks a text with the word or mark `first` above one without."""

    def __init__(self, is_first: Any) -> None:
        self.is_first = is_first

    def __call__(self, texts: list[str]) -> np.ndarray:
        vectors = np.zeros((len(texts), len(TOPICS) + 1), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row, :-1] = [topic in text for topic in TOPICS]
            vectors[row, -1] = 0.1 if text.startswith("Until") or self.is_first(text) else 0.2
        return vectors


def cells(run: Any) -> dict[tuple[str, str, str], float | None]:
    return {
        (row.measure, row.variant, row.subset): row.value
        for row in RunFolder(run.path).read_results()
        if row.dataset and row.system == "mine"
    }


@pytest.mark.parametrize(("prefers_old", "expected"), [(False, 1.0), (True, 0.0)])
def test_planted_stores(data: RetrievalSet, tmp_path: Path, prefers_old: bool, expected: float) -> None:
    """One search ranks current passages first, the other old ones; recency mends what deduplication makes worse. With
    three copies and five places, the first four are one passage."""
    current = set(data.corpus.texts)
    system = Prefers(lambda text: (text not in current) == prefers_old)
    run = probe_versions(
        {"mine": system}, datasets=[str(write_data(tmp_path / "data", data))], out=tmp_path / "run", tokenizer="words",
        options=VersionsOptions(cutoff=5, resamples=50)
    )  # fmt: skip
    values = cells(run)
    assert values["current_first", "", ""] == expected
    assert values["current_first", "recency", ""] == 1.0
    assert values["only_old", "deduplicated", ""] == 1 - expected
    assert values["only_old", "both", ""] == 0.0
    assert {subset for measure, variant, subset in values if measure == "current_first" and not variant} == {
        "",
        *CHANGES,
    }
    assert values["copies_share", "", ""] == pytest.approx(0.6)
    assert values["distinct_passages", "", ""] == 2.0
    assert values["copies_share", "deduplicated", ""] == 0.0
    assert values["distinct_passages", "deduplicated", ""] == 5.0


def test_equal_scores_are_a_half(data: RetrievalSet, tmp_path: Path) -> None:
    """A search that sees no difference: the order in the store decides, which is no merit."""
    run = probe_versions(
        {"mine": Prefers(lambda text: True)}, datasets=[str(write_data(tmp_path / "data", data))], tokenizer="words",
        out=tmp_path / "run", options=VersionsOptions(resamples=50)
    )  # fmt: skip
    values = cells(run)
    assert values["current_first", "", ""] == 0.5
    assert values["current_first", "deduplicated", ""] == values["only_old", "deduplicated", ""] == 0.5
    assert values["only_old", "", ""] == 0.0


def test_the_command(data: RetrievalSet, tmp_path: Path) -> None:
    """Tables on the terminal, the same again on resume; sizes that cannot be are refused."""
    from typer.testing import CliRunner

    from embassay.cli.main import build_app_with_commands

    words = ["rag", "probe", "versions", "-s", "bm25", "-d", str(write_data(tmp_path / "data", data))]
    words += ["--tokenizer", "words", "--resamples", "50", "--out", str(tmp_path / "run")]
    told = CliRunner().invoke(build_app_with_commands("rag"), words)
    assert told.exit_code == 0, told.output
    assert "recency" in told.output
    again = CliRunner().invoke(build_app_with_commands("rag"), words)
    assert again.exit_code == 0
    assert (tmp_path / "run" / "tables" / "versions_copies.csv").exists()
    for wrong in ({"copies": 0}, {"near": 0.1}, {"cutoff": 0}):
        with pytest.raises(UsageError):
            VersionsOptions(**wrong)  # type: ignore[arg-type]
