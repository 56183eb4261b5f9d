"""Perturbations by name: spelled and read back, frozen, and the same in every process."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from embassay.contracts import Tokenizer
from embassay.errors import UsageError
from embassay.randomness import draw_random_bytes
from embassay.text import (
    FURTHER,
    PERTURBATIONS,
    SEMANTIC,
    SUPERFICIAL,
    Perturbation,
    insertion_variants,
    perturb,
    perturb_all,
    removal_variants,
    retrieval_variants,
)
from embassay.text.tokenizers import WordTokenizer

WORDS = WordTokenizer()
OPTIONS = ("capitalize:exact=true", "delete10:spaces=next", "numerize:both_cases=true")
EVERY = (*retrieval_variants(), *OPTIONS, *insertion_variants([1.0]), *removal_variants([0.9]))
TEXT = "It is late. We can't stay, but you will! Is naïve Straße 3.14 of 😀 use? They don’t say."
MANY = (TEXT, "", " ", "x", "no end", "日本語です。はい! 是 😀", "half \ud800 pair", TEXT * 30)


def build(name: str, tokenizer: Tokenizer = WORDS) -> Perturbation:
    return PERTURBATIONS.build(name, tokenizer=tokenizer)


def digest() -> str:
    """The bytes of every perturbation of texts of every sort."""
    edited = [perturb(build(name), text, seed=1337, text_id=f"d{i}") for name in EVERY for i, text in enumerate(MANY)]
    return sha256("\0".join(edited).encode("utf-8", "surrogatepass")).hexdigest()[:32]


FROZEN = "c1fc5266876e0a7b5269c3cbf17662d8"
# fmt: off
GOLDEN = {
    "capitalize": (
        "It is lAte. We CAn't stay, but You wIll! Is nAÏve Straße 3.14 Of 😀 uSe? THey doN’t sa"
        'y.'
    ),
    "delete10": "It is lat. We can' stay, bu you will Is naïve Straße 3.4 of 😀 us? They do’t say.",
    "numerize": (
        "It 1s l4t3. W3 c4n't st4y, but y0u w1ll! Is n4ïv3 Str4ß3 3.14 0f 😀 us3? Th3y d0n’t s4"
        'y.'
    ),
    "negate": (
        'It is not late. We can stay, but you will not! Is not naïve Straße 3.14 of 😀 use? The'
        'y do say.'
    ),
    "sentence_shuffle": (
        "It is late. They don’t say. Is naïve Straße 3.14 of 😀 use? We can't stay, but you wil"
        'l!'
    ),
    "word_shuffle": (
        "use? stay, is late. We you It don’t They say. of naïve 3.14 can't Is will! but Straße"
        ' 😀'
    ),
    "capitalize:exact=true": (
        "IT is laTe. We Can't Stay, buT You WilL! Is Naïve StRaße 3.14 of 😀 use? ThEy don’t sa"
        'y.'
    ),
    "delete10:spaces=next": (
        "It is lat. We can' stay, bu you will Is naïve traße 3.4 of 😀 us? They do’t say."
    ),
    "numerize:both_cases=true": (
        "1t 1s l4t3. W3 c4n't st4y, but y0u w1ll! 1s n4ïv3 Str4ß3 3.14 0f 😀 us3? Th3y d0n’t s4"
        'y.'
    ),
    "insertion:p=0.15,q=0.5": (
        "It is late. We can't stay, but you will! IsLorem ipsum dolor sit naïve Straße 3.14 of"
        ' 😀 use? They don’t say.'
    ),
    "removal:p=0.5,q=0.5": "It is late. We can' use? They don’t say.",
}
# fmt: on


@pytest.mark.parametrize("name", GOLDEN)
def test_frozen(name: str) -> None:
    """The outputs of the first release, for seed 1337 and the id d0; published scores depend on them."""
    assert perturb(build(name), TEXT, seed=1337, text_id="d0") == GOLDEN[name]


def test_all_frozen() -> None:
    """The same for every variant and texts of every sort."""
    assert digest() == FROZEN


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["0", "42"])
def test_same_in_another_process(hash_seed: str) -> None:
    """A new process with another hash seed makes the same bytes."""
    script = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('there', {str(Path(__file__))!r})\n"
        "module = importlib.util.module_from_spec(spec)\nspec.loader.exec_module(module)\n"
        "print(module.digest())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == FROZEN


def test_names_read_back() -> None:
    """The name of a perturbation builds an equal one; equal parameters spelled otherwise have one name."""
    for name in EVERY:
        perturbation = build(name)
        assert str(perturbation) == name
        assert build(str(perturbation)) == perturbation
        assert PERTURBATIONS.format(PERTURBATIONS.parse_spec(name)) == name
    assert build("insertion:q=0.0,p=1.0") == build("insertion:p=1,q=0")
    assert build("numerize:both_cases=false") == build("numerize")
    assert build("delete10:spaces=keep") == build("delete10")


def test_identity_names_what_the_output_depends_on() -> None:
    """The tokenizer for spans, the version of the list for negation, Unicode for capitals; all differ."""
    assert WORDS.identity in build("removal:p=0.5,q=0").identity
    assert WORDS.identity in build("insertion:p=0.5,q=0").identity
    assert build("negate").identity == "negate/2"
    assert "unicode-" in build("capitalize").identity
    assert len({build(name).identity for name in EVERY}) == len(EVERY)


def test_lists() -> None:
    """Three superficial and three semantic edits, nine insertions, nine removals, 18 for retrieval."""
    assert {build(name).kind for name in SUPERFICIAL} == {"superficial"}
    assert {build(name).kind for name in SEMANTIC} == {"semantic"}
    assert {build(name).kind for name in insertion_variants([0.15, 0.5, 1.0])} == {"insertion"}
    assert {build(name).kind for name in removal_variants([0.15, 0.5, 0.9])} == {"removal"}
    assert len(insertion_variants([0.15, 0.5, 1.0])) == len(removal_variants([0.15, 0.5, 0.9])) == 9
    assert len(set(retrieval_variants())) == 18
    assert [build(name).kind for name in FURTHER] == ["superficial"] * 4 + ["semantic"]
    known = {*SUPERFICIAL, *SEMANTIC, *FURTHER, "insertion", "removal"}
    assert {entry.name for entry in PERTURBATIONS} == known


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("insertion", "insertion needs p, a finite number of at least 0, found None"),
        ("insertion:p=0.5", "insertion needs q, a number from 0 to 1, found None"),
        ("insertion:p=-1,q=0", "found -1"),
        ("insertion:p=1e999,q=0", "does not accept p=1e999"),
        ("removal:p=1.5,q=0", "removal needs p, a number from 0 to 1, found 1.5"),
        ("removal:p=0.5,q=2", "does not accept q=2. q must be from 0 to 1"),
        ("removal:p=half,q=0", "needs p as float"),
        ("delete10:spaces=drop", "spaces"),
        ("capitalise", "capitalize"),
        ("numerize:cases=2", "no parameter 'cases'"),
    ],
)
def test_wrong_names(name: str, message: str) -> None:
    """What cannot be built says which parameter, what it takes, and what was found."""
    with pytest.raises(UsageError, match=message):
        build(name)


@given(st.sampled_from(EVERY), st.text(st.characters(exclude_categories=()), max_size=40))
def test_any_text(name: str, text: str) -> None:
    """No text breaks a perturbation, and the same call gives the same text."""
    once = perturb(build(name), text, seed=1, text_id="\ud800")
    assert once == perturb(build(name), text, seed=1, text_id="\ud800")


@pytest.mark.parametrize("name", ["capitalize", "sentence_shuffle", "word_shuffle"])
def test_stream_depends_on_seed_and_id_only(name: str) -> None:
    """Another seed or id gives another text; the order and company of texts do not matter."""
    perturbation, texts = build(name), [TEXT * 3] * 3
    a, b, c = perturb_all(perturbation, texts, ["a", "b", "c"], 1)
    assert len({a, b, c}) == 3
    assert perturb_all(perturbation, texts[:2], ["c", "a"], 1) == [c, a]
    assert perturb(perturbation, texts[0], seed=2, text_id="a") != a


def test_stream_is_the_documented_one() -> None:
    """The bytes are random_bytes(n, seed, name, id)."""
    seen: list[bytes] = []

    def take(text: str, draw: Callable[[int], bytes]) -> str:
        seen.append(draw(5))
        return text

    perturb(Perturbation("mine:x=1", "semantic", "mine/1", take), "text", seed=7, text_id="id")
    assert seen == [draw_random_bytes(5, 7, "mine:x=1", "id")]


def test_lengths_must_agree() -> None:
    """Ids and texts that do not pair up are refused."""
    with pytest.raises(ValueError, match="shorter"):
        perturb_all(build("negate"), ["a", "b"], ["1"], 1)


@pytest.fixture(scope="module")
def papers(shared: Path) -> list[dict[str, str]]:
    """SumPubMed articles with their abstracts."""
    with gzip.open(shared / "summarization" / "sumpubmed_150.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "similarity"),
    [("capitalize", 0.80), ("delete10", 0.956), ("numerize", 0.71), ("word_shuffle", 0.44), ("negate", 0.99)],
)
def test_strength_of_the_edits(name: str, similarity: float, papers: list[dict[str, str]]) -> None:
    """Mean Levenshtein similarity on articles as measured before (section 13)."""
    texts = [paper["text"] for paper in papers[:10]]
    edited = perturb_all(build(name), texts, [paper["id"] for paper in papers[:10]], 1337)
    found = mean(Indel.normalized_similarity(a, b) for a, b in zip(texts, edited, strict=True))
    assert found == pytest.approx(similarity, abs=0.02)


@pytest.mark.shared
@pytest.mark.slow
def test_sensitivity_of_abstracts(papers: list[dict[str, str]], cl100k: Tokenizer) -> None:
    """Levenshtein and Jaccard sensitivity on abstracts are the published ones within .01 (section 13)."""
    texts = [paper["summary"] for paper in papers]
    for variants, levenshtein, jaccard in (
        (insertion_variants([0.15, 0.5, 1.0]), 0.852, 0.940),
        (removal_variants([0.15, 0.5, 0.9]), 0.864, 0.855),
    ):
        errors: dict[str, list[float]] = {"levenshtein": [], "jaccard": []}
        for name in variants:
            expected = 1 / (1 + float(PERTURBATIONS.parse_spec(name).params["p"] or 0))
            edited = perturb_all(build(name, cl100k), texts, texts, 1337)
            for text, other in zip(texts, edited, strict=True):
                a, b = set(cl100k.encode(text)), set(cl100k.encode(other))
                errors["jaccard"].append(abs(len(a & b) / len(a | b) - expected))
                errors["levenshtein"].append(abs(Indel.normalized_similarity(text, other) - expected))
        assert 1 - mean(errors["levenshtein"]) == pytest.approx(levenshtein, abs=0.01)
        assert 1 - mean(errors["jaccard"]) == pytest.approx(jaccard, abs=0.01)
