"""The registry of systems and opening one by its spec string."""

from __future__ import annotations

import subprocess
import sys

import pytest

from semblance.errors import UsageError
from semblance.systems import SYSTEMS, open_system
from semblance.text import open_tokenizer

NAMES = ["levenshtein", "rouge", "jaccard", "bm25", "wordllama", "minilm", "constant", "random"]


@pytest.fixture(scope="module")
def tokenizer():
    return open_tokenizer("words")


def test_every_system_has_a_summary_and_a_kind():
    """What `semblance list systems` shows."""
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
    """Encoders take no parameters here."""
    with pytest.raises(UsageError, match="no parameter 'dims'"):
        open_system("wordllama?dims=64", tokenizer=tokenizer)


def test_importing_the_registry_is_light():
    """Neither numeric libraries beyond numpy nor models load with the registry."""
    heavy = "{'scipy', 'sklearn', 'numba', 'polars', 'onnx', 'onnxruntime', 'tokenizers', 'rapidfuzz'}"
    code = f"import sys, semblance.systems; found = {heavy} & set(sys.modules); assert not found, found"
    subprocess.run([sys.executable, "-c", code], check=True)
