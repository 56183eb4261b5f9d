"""Clustering: scikit-learn's k-means on each set, complete linkage without vectors, and single sets."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, MiniBatchKMeans
from sklearn.metrics import silhouette_score, v_measure_score

from embassay.protocols.tasks import clustering
from embassay.records import LabelledTexts
from embassay.systems import open_system
from embassay.text import open_tokenizer


def of_set(data, name):
    return [row for row, one in enumerate(data.sets) if one == name]


def test_it_is_scikit_learns_k_means(sample, context):
    """With as many clusters as labels, batches of 500 and the seed; the mean over sets, resampled over sets."""
    data = sample("clustering")
    system = open_system("wordllama", tokenizer=open_tokenizer("words"))
    outcome = clustering.evaluate_system(system, data, context())
    expected = []
    for name in sorted(set(data.sets)):
        rows = of_set(data, name)
        labels = [data.labels[row] for row in rows]
        vectors = system.encoder.encode([data.texts[row] for row in rows])
        model = MiniBatchKMeans(len(set(labels)), batch_size=500, n_init="auto", random_state=1337)
        expected.append(v_measure_score(labels, model.fit_predict(vectors)))
    assert outcome.scores[0].value == pytest.approx(np.mean(expected), abs=1e-12)
    assert [row.value for row in outcome.scores[1:]] == pytest.approx(expected, abs=1e-12)
    assert [(row.variant, row.subset) for row in outcome.scores[1:]] == [("set", "1"), ("set", "2"), ("set", "3")]
    assert outcome.scores[0].method == "k-means, bootstrap over 3 sets"
    assert outcome.counts == {"texts": 108, "sets": 3}


def test_complete_linkage_without_vectors(sample, context):
    """scikit-learn's partition of the system's distances; ties follow the order of the digests of texts' words."""
    from scipy.spatial.distance import squareform

    data = sample("clustering")
    system = open_system("levenshtein", tokenizer=open_tokenizer("words"))
    outcome = clustering.evaluate_system(system, data, context())

    def digest(row):
        words = " ".join(sorted(data.texts[row].lower().split()))
        return blake2b(words.encode(), digest_size=16).digest()

    rows = sorted(of_set(data, "1"), key=digest)
    labels = [data.labels[row] for row in rows]
    model = AgglomerativeClustering(len(set(labels)), metric="precomputed", linkage="complete")
    clusters = model.fit_predict(squareform(system.distances([data.texts[row] for row in rows])))
    assert outcome.scores[1].value == pytest.approx(v_measure_score(labels, clusters), abs=1e-12)
    assert outcome.scores[0].method == "complete linkage, bootstrap over 3 sets"


def test_a_single_set_is_resampled_over_its_texts(sample, context):
    """Clusters held, as in SAGE, and says so; one of a single label does not count."""
    data = sample("clustering")
    rows = of_set(data, "1")
    extra = LabelledTexts(
        (*(data.ids[row] for row in rows), "x", "y"),
        (*(data.texts[row] for row in rows), "one", "two"),
        (*(data.labels[row] for row in rows), "food", "food"),
        ("1",) * len(rows) + ("alone",) * 2,
    )
    system = open_system("wordllama", tokenizer=open_tokenizer("words"))
    outcome = clustering.evaluate_system(system, extra, context())
    (row,) = outcome.scores
    assert row.n == 40
    assert 0 <= row.ci_low < row.value < row.ci_high <= 1
    assert row.method == "k-means, bootstrap over 40 texts of the only set, clusters held fixed"
    again = clustering.evaluate_system(system, extra, context()).components["v_measure"]
    assert (outcome.components["v_measure"].replicates == again.replicates).all()
    assert [(left.reason, left.count, left.examples) for left in outcome.skipped] == [
        ("sets with a single label", 1, ("alone",))
    ]
    one_label = LabelledTexts(extra.ids, extra.texts, ("food",) * 42, extra.sets)
    assert clustering.evaluate_system(system, one_label, context()).scores[0].reason == "no set with two or more labels"


def test_a_large_set_is_drawn_by_label_for_systems_without_vectors(sample, context):
    """The same texts for every such system and every wording; an encoder clusters them all."""
    data = sample("clustering")
    names = ("jaccard", "random", "wordllama")
    jaccard, rand, words = (
        clustering.evaluate_system(
            open_system(name, tokenizer=open_tokenizer("words")), data, context(clustering_cap=20)
        )
        for name in names
    )
    drawn = lambda outcome: [  # noqa: E731
        one
        for one, measure in zip(outcome.items["item_id"], outcome.items["measure"], strict=True)
        if measure == "cluster"
    ]
    assert drawn(jaccard) == drawn(rand)
    assert (len(drawn(jaccard)), len(drawn(words))) == (60, 108)
    assert jaccard.warnings[0] == "set '1': 20 of 40 texts, sampled by label"
    assert words.warnings == ()


def test_fewer_different_vectors_than_labels(context, bag):
    """Clusters may be empty; what is equal is together."""
    texts = ("a", "a", "b", "b", "a", "b")
    data = LabelledTexts(tuple("abcdef"), texts, ("1", "2", "3", "4", "1", "2"), ("",) * 6)
    outcome = clustering.evaluate_system(bag(), data, context())
    assert 0 <= outcome.scores[0].value <= 1
    clusters = dict(zip(outcome.items["item_id"], outcome.items["value"], strict=True))
    assert clusters["a"] == clusters["b"] == clusters["e"] != clusters["c"]
    # More labels than half of the texts: a cluster for each text would have the highest value.
    assert outcome.warnings == ("set '': 6 texts have 4 labels, so random clusters also score high",)


def test_a_text_in_many_sets_is_encoded_once(bag, context):
    """The paper's newsgroups have 5,242 texts in 59,545 places."""
    texts = tuple(f"w{i % 5} x{i % 7}" for i in range(70))
    data = LabelledTexts(
        tuple(map(str, range(70))), texts, tuple(str(i % 3) for i in range(70)), tuple(str(i % 2) for i in range(70))
    )
    system = bag()
    clustering.evaluate_system(system, data, context())
    assert system.encoder.calls == [(list(dict.fromkeys(texts)), None)]


def test_a_set_left_with_one_label_does_not_count(bag, context):
    """Its only text of another label could not be encoded."""
    data = LabelledTexts(
        tuple(f"t{i}" for i in range(60)),
        (*(f"a{i}" for i in range(29)), "odd", *(f"b{i % 2} c{i}" for i in range(30))),
        (*("x",) * 29, "y", *("01"[i % 2] for i in range(30))),
        (*("first",) * 30, *("second",) * 30),
    )
    outcome = clustering.evaluate_system(bag("odd"), data, context())
    assert [(left.reason, left.examples) for left in outcome.skipped] == [
        ("texts that could not be encoded: Too long: 9,000 tokens", ("t29",)),
        ("sets with a single label", ("first",)),
    ]
    assert outcome.scores[0].n == 30


def test_a_system_that_is_not_told_k_finds_the_groups_that_are_there() -> None:
    """By the silhouette, as scikit-learn has it; one cluster where no number gives two; the method says so."""
    rng = np.random.default_rng(3)
    points = np.concatenate([rng.normal(place, 0.1, (6, 2)) for place in ((0, 0), (5, 0), (0, 5), (5, 5))])
    points = points.astype(np.float32)
    found = clustering.cluster_by_best_silhouette(
        24, lambda k: clustering.cluster_by_k_means(points, k, 7), points, "euclidean"
    )
    assert v_measure_score([i // 6 for i in range(24)], found) == 1.0
    scores = {k: silhouette_score(points, clustering.cluster_by_k_means(points, k, 7)) for k in range(2, 13)}
    assert max(scores, key=lambda k: scores[k]) == 4
    one = clustering.cluster_by_best_silhouette(4, lambda _: np.zeros(4, np.int64), points[:4], "euclidean")
    assert one.tolist() == [0] * 4


@pytest.mark.parametrize("system", ["wordllama", "jaccard"])
def test_without_k_the_method_says_so(sample, context, system):
    """And nothing else of the outcome is missing; with k it is what it was."""
    data, one = sample("clustering"), open_system(system, tokenizer=open_tokenizer("words"))
    found = clustering.evaluate_system(one, data, context(), give_k=False).scores[0]
    assert "number of clusters by silhouette" in found.method
    assert 0 <= found.value <= 1
    assert "silhouette" not in clustering.evaluate_system(one, data, context()).scores[0].method


@pytest.mark.parametrize("how", ["jaccard", "constant"])
def test_equal_distances_know_no_order_of_rows(how, context):
    """Texts without a common word: sorted by label, mixed or under other ids, the value is the same."""
    words = "oak elm ash yew fir box bay may sea sky hay ice".split()  # noqa: SIM905 - easier to read
    rows = [(word, "abc"[place % 3]) for place, word in enumerate(words)]
    system, values = open_system(how, tokenizer=open_tokenizer("words")), set()
    for ordered, name in ((sorted(rows, key=lambda row: row[1]), "t"), (rows, "t"), (rows[::-1], "u")):
        texts, labels = zip(*ordered, strict=True)
        ids = tuple(f"{name}{place}" for place in range(len(ordered)))
        data = LabelledTexts(ids, texts, labels, ("",) * len(ordered))
        values.add(clustering.evaluate_system(system, data, context()).scores[0].value)
    assert len(values) == 1
