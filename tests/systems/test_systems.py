"""The registry of systems and opening one by its spec string."""

from __future__ import annotations

import subprocess
import sys
from string import ascii_lowercase

import numpy as np
import pytest

from embassay.errors import UsageError
from embassay.registry import RegistryEntry
from embassay.systems import SYSTEMS, open_system
from embassay.text import open_tokenizer

NAMES = ["levenshtein", "rouge", "jaccard", "bm25", "wordllama", "minilm", "constant", "random"]


class Letters:
    """An encoder that counts letters."""

    name, identity, dim, max_tokens = "letters", "letters/1", 26, None

    def encode(self, texts, *, role=None):
        return np.array([[text.lower().count(c) for c in ascii_lowercase] for text in texts], np.float32)

    def count_truncated(self, texts):
        return 0


@pytest.fixture(scope="module")
def tokenizer():
    return open_tokenizer("words")


def test_every_system_has_a_summary_and_a_kind():
    """What `embassay list systems` shows."""
    entries = {entry.name: entry for entry in SYSTEMS}
    assert set(NAMES) <= set(entries)
    for name in NAMES:
        assert entries[name].summary
        assert dict(entries[name].facts)["kind"] in ("embedding", "classical", "reference")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "minilm"])
def test_a_system_has_its_spec_as_name_and_the_kind_of_its_entry(name, tokenizer):
    """The registry's facts are those of the thing itself; equal texts have similarity 1."""
    system = open_system(name, tokenizer=tokenizer)
    assert system.name == name
    assert system.identity
    assert system.kind == dict(SYSTEMS.get(name).facts)["kind"]


def test_an_encoder_goes_through_wrap_and_is_loaded_once(tokenizer):
    """A run puts its cache between the encoder and the cosine; the model itself is shared."""
    seen = []

    def wrap(encoder):
        seen.append(encoder)
        return encoder

    open_system("wordllama", tokenizer=tokenizer, wrap=wrap)
    open_system("wordllama", tokenizer=tokenizer, wrap=wrap)
    open_system("levenshtein", tokenizer=tokenizer, wrap=wrap)
    assert len(seen) == 2
    assert seen[0] is seen[1]


def test_an_unknown_name_gets_the_nearest(tokenizer):
    """A typo is answered with the name that was meant."""
    with pytest.raises(UsageError, match="Did you mean minilm"):
        open_system("minilmm", tokenizer=tokenizer)


def test_a_parameter_that_does_not_exist_is_refused(tokenizer):
    """The error lists what there is: the factory's own parameters and those of every encoder."""
    with pytest.raises(
        UsageError, match=r"has no parameter 'dim'. Did you mean dims\? Its parameters: dims, normalize, q"
    ):
        open_system("wordllama?dim=64", tokenizer=tokenizer)
    with pytest.raises(UsageError, match=r"'constant' has no parameter 'dim'. Its parameters: clean"):
        open_system("constant?dim=64", tokenizer=tokenizer)


def test_vectors_are_changed_behind_the_cache(tokenizer):
    """Systems that differ only in the transform share an encoder, and its full vectors pass through `wrap`."""
    seen = []

    def wrap(encoder):
        seen.append(encoder)
        return encoder

    short = open_system("wordllama?quantize=binary&dims=64", tokenizer=tokenizer, wrap=wrap)
    full = open_system("wordllama", tokenizer=tokenizer, wrap=wrap)
    assert short.name == "wordllama?dims=64&quantize=binary"
    assert short.identity != full.identity
    assert seen[0] is seen[1]
    assert (seen[0].dim, short.encoder.dim, full.encoder.dim) == (256, 64, 256)
    assert short.pairs(["a text", "x"], ["a text", ""]).tolist() == [1, 0]


def test_a_metric_without_vectors_has_none_to_change(tokenizer):
    """Said, not ignored."""
    with pytest.raises(UsageError, match=r"dims applies to vectors, but 'levenshtein' has none. Write 'levenshtein'"):
        open_system("levenshtein?dims=64", tokenizer=tokenizer)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wordllama?dims=257", "has 256 dimensions.*Use 1 to 256"),
        ("wordllama?dims=0", "dims must be from 1"),
        ("wordllama?dims=small", "needs dims as int, found 'small'"),
        ("wordllama?quantize=int4", "no quantize 'int4'. Use one of float32, float16, int8, binary"),
    ],
)
def test_a_transform_that_cannot_be_is_refused(text, message, tokenizer):
    """With what would be possible."""
    with pytest.raises(UsageError, match=message):
        open_system(text, tokenizer=tokenizer)


def test_what_costs_money_is_made_for_its_ledger(tokenizer, monkeypatch):
    """An encoder that asks for the ledger belongs to one; without one it gets its own, the same each time."""
    from embassay.systems.remote.ledger import Ledger

    made = []

    class Paid(Letters):
        def __init__(self, ledger):
            made.append(ledger)

    monkeypatch.setitem(SYSTEMS._entries, "paid", RegistryEntry("paid", Paid))
    ledger = Ledger(max_usd=1)
    for given in (ledger, ledger, None, None):
        open_system("paid", tokenizer=tokenizer, ledger=given)
    assert made[0] is ledger
    assert [type(one) for one in made] == [Ledger, Ledger]


@pytest.mark.slow
def test_importing_the_registry_is_light():
    """Neither numeric libraries beyond numpy nor models load with the registry."""
    heavy = "{'scipy', 'sklearn', 'numba', 'polars', 'onnx', 'onnxruntime', 'tokenizers', 'rapidfuzz'}"
    code = f"import sys, embassay.systems; found = {heavy} & set(sys.modules); assert not found, found"
    subprocess.run([sys.executable, "-c", code], check=True)
