"""Task 2: the three relations."""

from dataclasses import replace

import numpy as np
import pytest

from embassay.protocols.sage.robustness import compare_superficial_and_semantic_edits, evaluate_system
from embassay.records import Documents

TEXT = "The river is high today. It will rise again tomorrow! Nobody can say when it may fall? We must wait."
DOCUMENTS = Documents(("a", "b"), (TEXT * 3, TEXT.replace("river", "lake") * 2), ("High water.", "The lake rises."))


def similarities(**values):
    names = ("capitalize", "delete10", "numerize", "negate", "sentence_shuffle", "word_shuffle", "summary")
    return {name: np.array([values.get(name, 0.5)]) for name in names}


def test_all_three_relations_hold_for_an_ideal_system():
    """Noise above the summary, the summary above changed meaning."""
    ideal = similarities(
        capitalize=0.9, delete10=0.9, numerize=0.9, summary=0.6, negate=0.2, sentence_shuffle=0.3, word_shuffle=0.1
    )
    assert compare_superficial_and_semantic_edits(ideal).tolist() == [[True, True, True]]


def test_relations_are_strict_and_use_the_extremes():
    """Equality is no win; one bad edit breaks the extreme but not the average [A14]."""
    tied = similarities()
    assert compare_superficial_and_semantic_edits(tied).tolist() == [[False, False, False]]
    one_bad = similarities(capitalize=0.9, delete10=0.9, numerize=0.1, summary=0.4, negate=0.45,
                           sentence_shuffle=0.1, word_shuffle=0.1)  # fmt: skip
    assert compare_superficial_and_semantic_edits(one_bad).tolist() == [[False, False, False]]
    assert compare_superficial_and_semantic_edits(one_bad, extremes=False).tolist() == [[True, True, True]]


def test_a_constant_system_scores_nothing(pairwise, context, score):
    """A system that always answers 1 wins no strict comparison."""
    outcome = evaluate_system(pairwise(lambda a, b: 1.0), DOCUMENTS, context())
    assert score(outcome, "robustness").value == 0
    assert score(outcome, "share", "all_three").value == 0


def test_float_noise_does_not_decide(pairwise, context, score):
    """Differences under 1e-6 are no differences."""
    noisy = pairwise(lambda a, b: 1.0 + (hash(b) % 7) * 1e-8)
    assert score(evaluate_system(noisy, DOCUMENTS, context()), "robustness").value == 0


def test_a_measure_of_kept_text_saturates_at_one_third(pairwise, context, score):
    """A metric that only sees how much text is kept has noise above the summary and nothing else: 1/3 [A13]."""
    kept = pairwise(lambda a, b: 1 - abs(len(a) - len(b)) / max(len(a), len(b)) - (a != b) * 1e-3)
    outcome = evaluate_system(kept, DOCUMENTS, context())
    assert score(outcome, "share", "superficial_over_summary").value == 1
    assert score(outcome, "share", "summary_over_semantic").value == 0
    assert score(outcome, "robustness").value == pytest.approx(1 / 3)


def test_every_edit_has_its_rows_and_items(pairwise, context, score):
    """Mean similarity per edit, its side of the summary, and one item per document and row."""
    outcome = evaluate_system(pairwise(lambda a, b: float(a == b)), DOCUMENTS, context())
    assert score(outcome, "similarity", "original").value == 1
    assert score(outcome, "above_summary", "capitalize").value == 0
    assert score(outcome, "below_summary", "negate").value == 0
    rows = list(zip(outcome.items["item_id"], outcome.items["measure"], outcome.items["variant"], strict=True))
    assert len(rows) == len(set(rows)) == 2 * len(outcome.scores)


def test_every_version_is_a_batch_of_its_own(pairwise, context):
    """A metric that scales a batch never sees two versions in one: eight calls, one each [A3]."""
    batches = []

    class Noting(pairwise):
        def pairs(self, a, b):
            batches.append((tuple(a), tuple(b)))
            return super().pairs(a, b)

    evaluate_system(Noting(lambda a, b: float(a == b)), DOCUMENTS, context())
    assert len(batches) == 8
    assert {a for a, _ in batches} == {DOCUMENTS.texts}
    assert (DOCUMENTS.texts, DOCUMENTS.summaries) in batches


def test_edits_of_2024_are_other_texts(pairwise, context):
    """Three of the six differ; `text_tokens` is for sensitivity and changes none."""
    seen = {}

    def of(**options):
        seen.clear()
        system = pairwise(lambda a, b: float(a == b))
        plain = system.pairs
        system.pairs = lambda a, b: seen.setdefault(len(seen), (a, b)) and plain(a, b)
        evaluate_system(system, DOCUMENTS, context(**options))
        return [tuple(pair[1]) for pair in seen.values()]

    assert of(text_tokens=5) == of()
    other = of(edits="2024")
    assert sum(a != b for a, b in zip(of(), other, strict=True)) == 3


def test_an_edit_that_changes_nothing_is_no_evidence(pairwise, context, score):
    """What it left as it was does not count for it nor against the system, and is counted; a document that no edit of a
    kind changed has no relations at all."""
    still = "Elle mange une pomme verte. Elle boit une eau claire."
    one = "Pomme!"
    data = Documents(("a", "b", "c"), (TEXT * 3, still * 3, one), ("High water.", "Une pomme.", "Po."))
    # As a system that sees every change of meaning: of versions that differ, noise is near and the rest far.
    texts = set(data.texts)

    def similar(a, b):
        same = sorted(a.lower().split()) == sorted(b.lower().split())
        return 1.0 if b in texts else 0.1 if (same and a.lower() != b.lower()) or " not " in b else 0.9

    outcome = evaluate_system(pairwise(similar), data, context())
    skipped = {one.reason.partition(":")[0]: one for one in outcome.skipped}
    assert (skipped["negate"].count, skipped["negate"].examples) == (2, ("b", "c"))
    assert skipped["word_shuffle"].examples == skipped["sentence_shuffle"].examples == ("c",)
    assert score(outcome, "below_summary", "negate").n == 1
    assert score(outcome, "above_summary", "numerize").n == 3
    assert score(outcome, "robustness").n == 2
    nothing = evaluate_system(pairwise(similar), Documents(("c",), (one,), ("Po.",)), context())
    assert score(nothing, "robustness").value is None
    assert score(nothing, "below_summary", "negate").value is None


def test_relations_without_an_edit_are_those_of_the_others():
    """An edit that does not count is neither the extreme nor part of the mean."""
    found = similarities(capitalize=0.9, delete10=0.9, numerize=0.9, summary=0.6, negate=np.nan,
                         sentence_shuffle=0.3, word_shuffle=0.1)  # fmt: skip
    assert (
        compare_superficial_and_semantic_edits(found).tolist()
        == compare_superficial_and_semantic_edits(found, extremes=False).tolist()
        == [[True, True, True]]
    )


def test_the_language_of_the_data_chooses_the_rules(pairwise, context):
    """Of data in one language its rules hold; of several or none each text's own."""
    data = Documents(("a",), ("Le chat est sur la table, no?",), ("Le chat.",))
    seen: dict[str, list[str]] = {}
    for lang in ("fra", "mul", "rus"):
        texts = seen.setdefault(lang, [])
        evaluate_system(pairwise(lambda _, b, texts=texts: texts.append(b) or 0.5), data, replace(context(), lang=lang))
    denied = "Le chat n'est pas sur la table, no?"
    assert [denied in texts for texts in seen.values()] == [True, True, False]


def test_further_edits_have_rows_and_no_part_in_the_score(pairwise, context, score):
    """Synonyms belong above the summary, changed facts below; the score and its relations stay those of the paper."""
    data = Documents(
        ("a", "b"),
        ("The big house was built in 1987. It has 12 rooms and a small garden.", "A fast car came on 3 May 2020. Red."),
        ("An old house.", "A car."),
    )  # fmt: skip

    def similar(a, b):
        one, other = set(a.split()), set(b.split())
        return len(one & other) / len(one | other)

    plain = evaluate_system(pairwise(similar), data, context())
    more = evaluate_system(pairwise(similar), data, context(further_edits="facts,synonyms"))
    for measure, variant in [("robustness", ""), ("share", "all_three"), ("similarity", "negate")]:
        assert score(more, measure, variant).value == score(plain, measure, variant).value
    own = {(one.measure, one.variant) for one in more.scores} - {(one.measure, one.variant) for one in plain.scores}
    assert own == {
        ("above_summary", "synonyms"), ("below_summary", "facts"),
        ("similarity", "synonyms"), ("similarity", "facts"),
    }  # fmt: skip
    assert 0 < score(more, "similarity", "facts").value < 1
    assert more.counts["pairs"] - plain.counts["pairs"] == 2 * len(data)
