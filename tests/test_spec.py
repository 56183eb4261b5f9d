"""Spec strings: what is written reads back as the same thing, in all three spellings."""

from __future__ import annotations

import keyword
import math
import pickle
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from embassay.errors import UsageError
from embassay.spec import CALL, COLON, QUERY, Spec, SpecStringParserAndFormatter, format_spec_value, parse_spec_value

STYLES = {"query": QUERY, "colon": COLON, "call": CALL}

words = st.text(string.ascii_letters + string.digits + "_", min_size=1).filter(
    lambda word: word.isidentifier() and not keyword.iskeyword(word) and word != "__debug__"
)
names = st.text(st.characters(codec="utf-8", exclude_characters=":?@()"), min_size=1).filter(
    lambda name: name == name.strip()
)
ODD = (
    *("", " ", "10", "1e3", "0.50", "true", "True", "none", "None", "inf", "nan", "'10'", '"', "'"),
    *("\\d", "'\\d'", "{[]}", "1if 2", "9" * 400 + "+1j", "a,b", "a&b=c", "100%", "%20", "?x=1", "x:y"),
    *("#", "+", "é", "北京", "a\nb", "\x00"),
)
texts = st.text(st.characters(codec="utf-8")) | st.sampled_from(ODD)
values = texts | st.integers(-(10**40), 10**40) | st.floats(allow_nan=False) | st.booleans() | st.none()
params = st.dictionaries(words, values, max_size=4)


def _same(one: Spec, other: Spec) -> bool:
    """Equal, and of equal types but for whole floats, which are written as integers."""
    kinds = [
        type(a) is type(b) or (isinstance(a, float) and isinstance(b, int) and not isinstance(b, bool))
        for a, b in zip(one.params.values(), other.params.values(), strict=True)
    ]
    return one == other and hash(one) == hash(other) and all(kinds)


@given(names, texts, params)
@example("st", "./my folder/ü?x=1&y", {"a": "1", "b": "none", "c": math.inf})
def test_query_round_trip(name: str, target: str, parameters: dict) -> None:
    """A system or dataset spec survives being written and read, whatever is in its target and values."""
    spec = Spec(name, target, parameters)
    assert _same(spec, QUERY.parse(QUERY.format(spec)))


@given(names, params)
def test_colon_round_trip(name: str, parameters: dict) -> None:
    """A perturbation spec survives being written and read."""
    spec = Spec(name, "", parameters)
    assert _same(spec, COLON.parse(COLON.format(spec)))


@given(names, params, st.none() | st.integers(0, 10**9))
def test_call_round_trip(name: str, parameters: dict, cutoff: int | None) -> None:
    """A measure spec survives being written and read."""
    spec = Spec(name, "", parameters, cutoff)
    assert _same(spec, CALL.parse(CALL.format(spec)))


@given(values)
def test_value_round_trip(value: object) -> None:
    """A value is written so that it reads back equal."""
    assert parse_spec_value(format_spec_value(value)) == value  # type: ignore[arg-type]


@given(texts)
def test_parse_value_accepts_any_text(text: str) -> None:
    """Reading a value never fails: what is no literal is a word."""
    assert isinstance(parse_spec_value(text), str | int | float | None)


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
@given(text=texts)
def test_parse_fails_only_with_usage_errors(style: SpecStringParserAndFormatter, text: str) -> None:
    """Any text either reads as a spec that is written back to an equal one, or is the user's mistake."""
    try:
        spec = style.parse(text)
    except UsageError:
        return
    assert style.parse(style.format(spec)) == spec


@pytest.mark.parametrize(
    ("style", "text", "spec"),
    [
        (QUERY, "bm25", Spec("bm25")),
        (QUERY, "st:ORG/MODEL?dims=256&normalize=true", Spec("st", "ORG/MODEL", {"dims": 256, "normalize": True})),
        (QUERY, "openai:gemma3:27b", Spec("openai", "gemma3:27b")),
        (
            QUERY,
            "openai:m?base_url=http://localhost:8000/v1",
            Spec("openai", "m", {"base_url": "http://localhost:8000/v1"}),
        ),
        (COLON, "insertion:p=0.15,q=0", Spec("insertion", "", {"p": 0.15, "q": 0})),
        (COLON, "capitalize", Spec("capitalize")),
        (CALL, "nDCG(gain='exponential')@10", Spec("nDCG", "", {"gain": "exponential"}, 10)),
        (CALL, "N-Recall4+@10", Spec("N-Recall4+", "", {}, 10)),
        (CALL, "RAnWG(alpha=1, cap3=.25)", Spec("RAnWG", "", {"alpha": 1, "cap3": 0.25})),
    ],
)
def test_known_spellings(style: SpecStringParserAndFormatter, text: str, spec: Spec) -> None:
    """The spellings that documents, scripts and files use mean what they say."""
    assert style.parse(text) == spec
    assert style.parse(style.format(spec)) == spec


@pytest.mark.parametrize("text", ["bm25", "insertion:p=0.15,q=0", "removal:p=0.9,q=0.5"])
def test_variant_names_are_canonical(text: str) -> None:
    """The variant names of result files are written exactly as they are read."""
    assert COLON.format(COLON.parse(text)) == text


def test_order_of_parameters_does_not_matter() -> None:
    """Two spellings that differ in order are one spec, with one canonical text."""
    one, other = QUERY.parse("m?b=1&a=x"), QUERY.parse("m?a=x&b=1")
    assert one == other
    assert hash(one) == hash(other)
    assert QUERY.format(one) == "m?a=x&b=1"


def test_quotes_keep_a_number_a_text() -> None:
    """`'10'` is the text 10."""
    assert QUERY.parse("m?revision='10'").params["revision"] == "10"


@pytest.mark.parametrize(
    ("style", "text", "message"),
    [
        (QUERY, "", "has no name"),
        (QUERY, ":target", "has no name"),
        (QUERY, " bm25", "has no name"),
        (QUERY, "m?dims", "Cannot read 'dims'"),
        (QUERY, "m?2x=1", "Cannot read '2x=1'"),
        (QUERY, "m?a=1&a=2", "gives 'a' twice"),
        (QUERY, "m?a=1&", "Cannot read ''"),
        (COLON, "insertion:p", "Cannot read 'p'"),
        (COLON, "insertion:p=1,p=2", "gives 'p' twice"),
        (CALL, "nDCG@ten", "Cannot read the measure"),
        (CALL, "nDCG(10)", "Cannot read the parameters"),
        (CALL, "nDCG(**x)", "Cannot read the parameters"),
        (CALL, "nDCG(gain=linear)", "Cannot read the parameters"),
        (CALL, "nDCG(gain=[1])", "Cannot read the parameters"),
        (CALL, "nDCG(gain={[]})", "Cannot read the parameters"),
        (CALL, "nDCG(a=1)(b=2)", "Cannot read the parameters"),
        (CALL, "nDCG(a=1, a=2)", "Cannot read the parameters"),
    ],
)
def test_unreadable_specs_say_what_is_wrong(style: SpecStringParserAndFormatter, text: str, message: str) -> None:
    """A text that is no spec is refused with the part that cannot be read and how to write it."""
    with pytest.raises(UsageError, match=message) as caught:
        style.parse(text)
    assert caught.value.mend


def test_a_spec_is_frozen_and_pickles() -> None:
    """A spec cannot change and travels to worker processes."""
    spec = Spec("st", "a/b", {"dims": 256})
    with pytest.raises(TypeError):
        spec.params["dims"] = 1  # type: ignore[index]
    assert pickle.loads(pickle.dumps(spec)) == spec
