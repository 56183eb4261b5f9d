"""Collections that are signed: who signs what, what ablations write, and the recall that they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import embassay as eb
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.probes.bundles import AuthorName, make_or_read_authors_and_topics
from embassay.protocols.rag.probes.options import NoiseRequest
from embassay.protocols.rag.probes.questions import NoiseQuestions, load_noise_probe_questions
from embassay.protocols.rag.probes.signatures import (
    AuthorSignatures,
    add_author_signatures_to_collection,
    assign_authors_to_questions,
)

SMALL: dict[str, Any] = {"queries": 6, "runs": 2, "tokenizer": "words", "resamples": 100}
ALICE, BOB = AuthorName("Alice", "Dupont"), AuthorName("Bob", "Hill")
PEOPLE = make_or_read_authors_and_topics("en").people


def collection(corpus: tuple[str, ...], *relevant: set[int]) -> NoiseQuestions:
    """A question for each set of relevant passages."""
    ids = tuple(f"q{place}" for place in range(len(relevant)))
    texts = tuple(f"Why does the tide turn in port {place}?" for place in range(len(relevant)))
    grades = tuple(dict.fromkeys(sorted(places), 5) for places in relevant)
    return NoiseQuestions("mine", "en", ids, texts, texts, "query", corpus, grades, "")


TIDES = collection(("The tide turns. It is the moon.", "Ships wait"), {0})
SIGNED = AuthorSignatures((ALICE,), (ALICE, BOB), (ALICE, AuthorName("Alice", "Fupont")))


@pytest.mark.parametrize(
    ("condition", "query", "first", "second"),
    [
        ("base", "Works by Alice Dupont: ", "The tide turns. Author: Alice Dupont. It is the moon.", "Bob Hill."),
        ("hard_name_mask", "Works by AUTHOR_000: ", "The tide turns. Author: AUTHOR_000. It is the moon.",
         "AUTHOR_000."),
        ("edit_distance_near_miss", "Works by Alice Dupont: ",
         "The tide turns. Author: Alice Dupont. It is the moon.", "Alice Fupont."),
        ("remove_label", "Works by Alice Dupont: ", "The tide turns. Alice Dupont. It is the moon.", "Bob Hill."),
        ("initials_form", "Works by A. Dupont: ", "The tide turns. Author: A. Dupont. It is the moon.", "B. Hill."),
        ("name_order_inversion", "Works by Alice Dupont: ",
         "The tide turns. Author: Dupont, Alice. It is the moon.", "Hill, Bob."),
        ("author_position_shift", "Works by Alice Dupont: ",
         "Author: Alice Dupont. The tide turns. It is the moon.", "Ships wait"),
    ],
)  # fmt: skip
def test_what_ablations_write(condition: str, query: str, first: str, second: str) -> None:
    """As in the bundles, with the rest of a passage behind its author."""
    written = add_author_signatures_to_collection(TIDES, SIGNED, condition, 12345)
    assert written.queries == (f"{query}Why does the tide turn in port 0?",)
    assert written.passages[0] == first
    assert written.passages[1].endswith(second)


def test_a_passage_without_text_is_not_signed() -> None:
    empty = collection(("The tide turns.", " "), {0})
    assert add_author_signatures_to_collection(empty, SIGNED, "base", 1).passages[1] == " "


def test_questions_with_a_common_passage_ask_for_one_author() -> None:
    """Their author signs what is relevant to any of them, and others may sign the rest."""
    corpus = tuple(f"Passage {place} on tides." for place in range(40))
    posed = collection(corpus, *({place, place + 1} if place == 0 else {place} for place in range(12)))
    drawn = assign_authors_to_questions(posed, PEOPLE, 7)
    assert drawn.authors[0] == drawn.authors[1] != drawn.authors[2]
    for author, grades in zip(drawn.authors, posed.grades, strict=True):
        assert all(drawn.signers[place] == author for place in grades)
    assert len(set(drawn.signers[13:])) > 10
    assert drawn == assign_authors_to_questions(posed, PEOPLE, 7) != assign_authors_to_questions(posed, PEOPLE, 8)


def test_rivals_are_signed_by_a_near_miss_and_right_passages_are_not() -> None:
    from rapidfuzz.distance import Levenshtein

    corpus = tuple(f"The tide in port {place}." for place in range(30))
    drawn = assign_authors_to_questions(collection(corpus, {0}), PEOPLE, 7)
    assert drawn.near_signers[0] == drawn.signers[0] == drawn.authors[0]
    distances = {Levenshtein.distance(drawn.authors[0].name, person.name) for person in drawn.near_signers[1:]}
    assert distances == {1, 2, 3}


def test_a_mask_costs_what_only_the_name_could_find(tmp_path: Path) -> None:
    """Forty passages of the same words, one of them asked for, the last: found by its name, lost without."""
    folder = tmp_path / "mine"
    (folder / "qrels").mkdir(parents=True)
    rows = [f'{{"_id": "d{place:02d}", "text": "The tide turns twice a day."}}' for place in range(40)]
    (folder / "corpus.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "the tide"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td39\t1\n")
    chosen = ["hard_name_mask", "initials_form"]
    run = eb.rag.probe_names(
        ["bm25"], datasets=[folder], langs=["en"], conditions=chosen, out=tmp_path / "run", **SMALL
    )
    table = run.table("name_losses")
    assert dict(zip(table["condition"], table["N-Recall4+@10"], strict=True)) == {
        "base": 1.0, "hard_name_mask": 0.0, "initials_form": 1.0
    }  # fmt: skip
    assert table["N-Recall4+@10 change"].to_list() == [None, -1.0, 0.0]
    assert table["margin %"].to_list()[1] == -100.0


def test_a_collection_beside_the_probe(tmp_path: Path) -> None:
    """Rows of their own task; means of the items; the correlation over conditions, recomputed."""
    run = eb.rag.probe_names(["jaccard"], datasets=["sample"], langs=["en"], out=tmp_path / "run", **SMALL)
    rows = run.results
    signed = rows.filter(pl.col("task") == "signatures")
    assert set(signed["dataset"]) == {"sample-en"}
    items = pl.read_parquet(tmp_path / "run" / "items" / "signatures" / "sample-en" / "jaccard.parquet")
    of_recall = items.filter(pl.col("measure") == "N-Recall4+@10")
    means = dict(of_recall.group_by("variant").agg(pl.col("value").mean()).iter_rows())
    changes = signed.filter(pl.col("measure") == "N-Recall4+@10 change")
    # No letter of the English sample has an accent in a name.
    assert changes.height == len(means) - 1 == 9
    for row in changes.iter_rows(named=True):
        assert row["value"] == pytest.approx(means[row["variant"]] - means[""])
    margins = rows.filter((pl.col("task") == "names") & (pl.col("measure") == "d_name change"))
    by_name = dict(zip(margins["variant"], margins["value"], strict=True))
    pairs = [(by_name[row["variant"]], row["value"]) for row in changes.iter_rows(named=True)]
    link = signed.filter(pl.col("measure") == "Pearson(d_name change, N-Recall4+@10 change)")
    assert link["value"][0] == pytest.approx(np.corrcoef(np.array(pairs).T)[0, 1])
    assert link["n"][0] == 9
    again = eb.rag.probe_names(["jaccard"], datasets=["sample"], langs=["en"], out=tmp_path / "run", **SMALL)
    assert again.manifest["sessions"][-1]["cells_done"] == 0


def test_the_probe_alone_is_what_it_was(tmp_path: Path) -> None:
    """Without data the manifest has no argument of theirs, so older runs go on."""
    run = eb.rag.probe_names(["jaccard"], langs=["en"], out=tmp_path / "run", **SMALL)
    assert not {"datasets", "mapping", "split", "grades"} & set(run.manifest["arguments"])


def test_data_in_another_language_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no probe texts in"):
        eb.rag.probe_names(["jaccard"], datasets=["sample"], langs=["de"], out=tmp_path / "run", **SMALL)


@pytest.mark.parametrize(("values", "grades"), [((5, 2), (5, 2)), ((5, 0), (5, 1)), ((1, 0), (5, 1)), ((10, 4), None)])
def test_judgements_of_own_data_are_read_by_what_they_can_mean(
    tmp_path: Path, values: tuple[int, int], grades: tuple[int, int] | None
) -> None:
    """Values up to 5 are grades, 0 and 1 are binary; of others the option is asked for, and nothing is guessed."""
    folder = tmp_path / "own"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "a", "text": "Tides turn."}\n{"_id": "b", "text": "Ships."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "Why do tides turn?"}\n')
    judged = f"query-id\tcorpus-id\tscore\nq\ta\t{values[0]}\nq\tb\t{values[1]}\n"
    (folder / "qrels" / "test.tsv").write_text(judged)
    request = NoiseRequest(("wordllama",), datasets=(str(folder),), langs=("en",), reference="passage")
    if grades is None:
        with pytest.raises(DataError, match="--grades"):
            load_noise_probe_questions(request, str(folder), "en")
        return
    assert load_noise_probe_questions(request, str(folder), "en").grades == ({0: grades[0], 1: grades[1]},)
