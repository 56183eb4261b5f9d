"""Encoders of Cohere, Voyage, Gemini and Ollama against a server that is as strict as they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from embassay.errors import BudgetExceeded, ModelError, TextRefused, UsageError
from embassay.systems import SYSTEMS, open_system
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer
from stub import Faults, StubServer
from stub.strict import WRONG_KEY
from stub.vectors import vector

pytest.importorskip("httpx2")


@dataclass(frozen=True)
class Case:
    """A vendor: its spec, where the stub has it, how the stub marks texts by role (query, document, none)."""

    spec: str
    path: str
    marks: tuple[str, str, str]
    dims: int
    key: str

    def url(self, stub: StubServer) -> str:
        return stub.url + self.path

    def open(self, stub: StubServer, ledger: Ledger | None = None, **params: object):
        given = "&".join(f"{key}={value}" for key, value in {"base_url": self.url(stub), **params}.items())
        return SYSTEMS.build(f"{self.spec}?{given}", ledger=ledger or Ledger())


CASES = {
    "cohere": Case(
        "cohere:embed-v4.0", "", ("search_query: ", "search_document: ", "clustering: "), 1536, "COHERE_API_KEY"
    ),
    "voyage": Case("voyage:voyage-3.5", "/voyage/v1", ("query: ", "document: ", "None: "), 1024, "VOYAGE_API_KEY"),
    "gemini": Case(
        "gemini:gemini-embedding-001",
        "",
        ("RETRIEVAL_QUERY: ", "RETRIEVAL_DOCUMENT: ", "SEMANTIC_SIMILARITY: "),
        3072,
        "GEMINI_API_KEY",
    ),
    "ollama": Case(
        "ollama:nomic-embed-text:v1.5",
        "",
        ("search_query: ", "search_document: ", "classification: "),
        768,
        "MY_OLLAMA_KEY",
    ),
}
every_vendor = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
with_keys = pytest.mark.parametrize(
    "case", [case for name, case in CASES.items() if name != "ollama"], ids=[n for n in CASES if n != "ollama"]
)


@pytest.fixture(scope="module")
def stub():
    with StubServer() as server:
        yield server


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch):
    for name in ("COHERE_API_KEY", "CO_API_KEY", "VOYAGE_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@every_vendor
@pytest.mark.parametrize("position", range(3), ids=["query", "document", "no role"])
def test_a_role_reaches_the_server(stub, case, position):
    """The vectors are those of the text in its role, in the order of the texts; an empty one is zero."""
    role = ("query", "document", None)[position]
    encoder = case.open(stub)
    found = encoder.encode(["a red fox", "", "a hen"], role=role)
    assert found.dtype == np.float32
    assert found.shape == (3, case.dims)
    for row, text in ((0, "a red fox"), (2, "a hen")):
        assert np.array_equal(found[row], vector(case.marks[position] + text, case.dims))
    assert not found[1].any()
    assert encoder.uses_roles


@every_vendor
def test_many_requests(stub, case):
    """More texts than a request may hold: every vector in its place, no text paid for twice."""
    stub.forget()
    texts = [f"text number {number}" for number in range(300)]
    found = case.open(stub, dimensions=256).encode(texts)
    scale = np.float32(0.7) if "gemini" in case.spec else np.float32(1)
    expected = [vector(case.marks[2] + text, 256) * scale for text in texts]
    assert np.allclose(found, expected, atol=1e-7)
    assert len(stub.paid) == 300
    assert set(stub.paid.values()) == {1}


@every_vendor
def test_faults_pass(case, hasty):
    """Refusals, errors, resets, half answers, wrong vectors: asked again until every vector is right."""
    faults = Faults.all(0.3, slow_seconds=0.01)
    with StubServer(faults=faults) as stub:
        encoder = case.open(stub, dimensions=256, concurrency=8)
        chunks = [[f"chunk {n} text {i}" for i in range(3)] for n in range(40)]
        found = dict(encoder.encode_chunks(chunks))
        assert sum(stub.injected.values()) > 5
    right = [[vector(case.marks[2] + text, 256) for text in chunk] for chunk in chunks]
    scale = 0.7 if "gemini" in case.spec else 1
    assert all(np.allclose(found[n], np.array(rows) * np.float32(scale), atol=1e-7) for n, rows in enumerate(right))


@with_keys
def test_a_wrong_key_is_said_and_not_shown(stub, case, monkeypatch):
    """A plain ModelError at the first attempt, with what the vendor says; the texts are not at fault."""
    monkeypatch.setenv(case.key, WRONG_KEY)
    stub.forget()
    with pytest.raises(ModelError) as caught:
        case.open(stub).encode(["a"])
    assert not isinstance(caught.value, TextRefused)
    assert "invalid" in str(caught.value) or "not valid" in str(caught.value)
    assert "Check the key" in caught.value.mend
    assert WRONG_KEY not in str(caught.value)
    assert stub.requests.total() == 1


@with_keys
def test_a_key_that_the_server_repeats_is_not_shown(case, monkeypatch):
    """Some vendors put the key into their error."""
    monkeypatch.setenv(case.key, "mine-and-only-mine")
    with StubServer(keys={"another"}) as stub, pytest.raises(ModelError) as caught:
        case.open(stub).encode(["a"])
    assert "Incorrect API key provided: [key]" in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("cohere:embed-v4.0?dimensions=100&base_url={}", "output_dimension"),
        ("voyage:rerank-2.5?dimensions=256&base_url={}/voyage/v1", "is not supported"),
        ("gemini:gemini-embedding-001?dimensions=9999&base_url={}", "outputDimensionality"),
    ],
)
def test_a_model_that_cannot_do_it_is_no_fault_of_the_texts(stub, spec, said):
    """Else every text would be tried by itself."""
    with pytest.raises(ModelError, match=said) as caught:
        SYSTEMS.build(spec.format(stub.url), ledger=Ledger()).encode(["a", "b"])
    assert not isinstance(caught.value, TextRefused)


@pytest.mark.parametrize(("dims", "sent", "made"), [(2048, 2048, 2048), (512, 512, 512), (300, None, 300)])
def test_dims_is_the_models_own_parameter_where_it_has_one(stub, dims, sent, made):
    """More than its usual vectors have is had no other way; a size that it was not trained for is cut."""
    system = open_system(
        f"voyage:voyage-3-large?dims={dims}&base_url={stub.url}/voyage/v1", tokenizer=open_tokenizer("words")
    )
    inner = system.encoder.encoder if dims == 300 else system.encoder
    assert inner.dimensions == sent
    assert system.vectors(["a", "b"]).shape == (2, made)


@with_keys
def test_the_key_is_in_nothing_that_is_kept(stub, case, monkeypatch):
    """Not in the name, the identity, or what the object says of itself; but the server got it."""
    monkeypatch.setenv(case.key, "secret-of-mine-123")
    encoder = case.open(stub)
    encoder.encode(["a"])
    assert "secret-of-mine-123" in stub.seen_keys
    assert "secret" not in encoder.name + encoder.identity + repr(encoder.connection)


@with_keys
def test_a_missing_key_says_which(case):
    """Before any work, with the command that mends it."""
    with pytest.raises(ModelError, match=rf"needs a key, but .*not set\. export {case.key}="):
        SYSTEMS.build(case.spec, ledger=Ledger())


@pytest.mark.parametrize("second", ["CO_API_KEY", "GOOGLE_API_KEY"])
def test_the_second_name_of_a_key_counts_too(stub, second, monkeypatch):
    """As for the vendors' own clients."""
    monkeypatch.setenv(second, "another-secret")
    case = CASES["cohere" if second.startswith("CO") else "gemini"]
    stub.forget()
    case.open(stub).encode(["a"])
    assert stub.seen_keys == {"another-secret"}


def test_ollama_gets_a_key_only_when_one_is_named(stub, monkeypatch):
    """It needs none; a server before it may."""
    stub.forget()
    CASES["ollama"].open(stub).encode(["a"])
    monkeypatch.setenv("MY_OLLAMA_KEY", "for the proxy")
    CASES["ollama"].open(stub, key="MY_OLLAMA_KEY").encode(["a"])
    assert stub.seen_keys == {"", "for the proxy"}


LONG = {
    "cohere": ("cohere:embed-english-v3.0", 513, "cohere:embed-english-v3.0"),
    "voyage": ("voyage:voyage-3.5", 32_001, ""),
    "ollama": ("ollama:some-model", 2049, ""),
}


@pytest.mark.parametrize("name", LONG)
def test_a_text_that_is_too_long(stub, name):
    """Refused as the text's own failure; with truncate the server cuts it."""
    spec, words, _ = LONG[name]
    case = CASES[name]
    text = " ".join(["word"] * words)
    url = case.url(stub)
    strict = SYSTEMS.build(f"{spec}?base_url={url}", ledger=Ledger())
    (good, bad) = dict(strict.encode_chunks([["short"], ["short", text]])).values()
    assert isinstance(bad, TextRefused) or isinstance(good, TextRefused)
    cutting = SYSTEMS.build(f"{spec}?base_url={url}&truncate=true", ledger=Ledger())
    assert np.array_equal(*cutting.encode([text, text + " more"]))
    assert strict.identity != cutting.identity


def test_types_of_texts_without_a_role(stub):
    """Cohere's and Google's other types can be asked for, and are part of what is kept."""
    plain, other = CASES["cohere"].open(stub), CASES["cohere"].open(stub, input_type="classification")
    assert np.array_equal(other.encode(["a"])[0], vector("classification: a", 1536))
    assert plain.identity != other.identity
    google = CASES["gemini"].open(stub, task="CLUSTERING")
    assert np.array_equal(google.encode(["a"])[0], vector("CLUSTERING: a", 3072))
    with pytest.raises(UsageError, match="no input_type 'poetry'"):
        CASES["cohere"].open(stub, input_type="poetry")


def test_gemini_2_takes_prompts_instead_of_tasks(stub):
    """The stub refuses a task for it; the prompts are Google's own."""
    encoder = SYSTEMS.build(f"gemini:gemini-embedding-2?base_url={stub.url}", ledger=Ledger())
    found = encoder.encode(["a"], role="query")
    assert np.array_equal(found[0], vector("None: task: search result | query: a", 3072))


def test_gemini_may_be_told_nothing(stub):
    """For a model that takes no task and that no table knows: a role makes no difference then."""
    encoder = CASES["gemini"].open(stub, task="none")
    assert not encoder.uses_roles
    assert np.array_equal(encoder.encode(["a"], role="query")[0], vector("None: a", 3072))


def test_short_gemini_vectors_are_not_of_unit_length(stub):
    """They come as the server sends them; cosine does not mind."""
    assert np.linalg.norm(CASES["gemini"].open(stub, dimensions=768).encode(["a"])[0]) < 0.8


def test_dimensions_of_an_unknown_model_are_asked_for(stub):
    """Neither table nor parameter knows: one short text tells."""
    assert SYSTEMS.build(f"ollama:some-model?base_url={stub.url}", ledger=Ledger()).dim == 64


def test_identities_tell_models_servers_and_dimensions_apart(stub):
    """What the vectors depend on, and the same for the same."""
    base = f"cohere:embed-v4.0?base_url={stub.url}"
    specs = [base, f"{base}&dimensions=256", "cohere:embed-v4.0?base_url=http://localhost:1", f"{base}&rpm=10"]
    plain, shorter, elsewhere, slower = (SYSTEMS.build(spec, ledger=Ledger()).identity for spec in specs)
    assert plain == slower
    assert len({plain, shorter, elsewhere}) == 3


@every_vendor
def test_money_and_tokens_are_kept(stub, case):
    """As the server counted, at the price that is given."""
    ledger = Ledger()
    case.open(stub, ledger, price=2.0, dimensions=256).encode(["one two three"])
    (totals,) = ledger.map_models_to_call_totals().values()
    assert totals.requests == 1
    # Google's older models do not say: 13 bytes are taken for 5 tokens.
    assert totals.input_tokens == {"gemini": 5, "cohere": 3, "voyage": 4, "ollama": 4}[case.spec.partition(":")[0]]
    assert totals.usd == pytest.approx(totals.input_tokens * 2e-6)


def test_a_limit_of_cost_stops(stub):
    """Before the request that would pass it."""
    encoder = CASES["voyage"].open(stub, Ledger(max_usd=0.0), price=1.0)
    with pytest.raises(BudgetExceeded):
        encoder.encode(["a"])


def test_a_dead_server_is_one_line():
    """What was tried, why it failed and the mend; and nothing is counted that was never sent. One that answered before
    is asked more often than one that was never there."""
    ledger = Ledger()
    encoder = SYSTEMS.build("ollama:m?base_url=http://127.0.0.1:9&dimensions=8&price=1", ledger=ledger)
    encoder._calls.limits = type(encoder._calls.limits)(backoff=0.001)
    with pytest.raises(ModelError, match=r"^ollama:m: no connection .*attempts.*that the server is running"):
        encoder.encode(["a"])
    totals = ledger.map_models_to_call_totals()["ollama:m"]
    assert (totals.requests, totals.input_tokens, totals.usd) == (2, 0, 0.0)
    encoder._calls._open_request_limit().answered = True
    with pytest.raises(ModelError, match="no connection"):
        encoder.encode(["b"])
    assert ledger.map_models_to_call_totals()["ollama:m"].requests == 2 + 6


def test_a_model_that_is_not_there(stub):
    """Ollama's own words, which name the mend; not a failure of the text."""
    encoder = SYSTEMS.build(f"ollama:missing?base_url={stub.url}&dimensions=8", ledger=Ledger())
    with pytest.raises(ModelError, match="try pulling it first") as caught:
        encoder.encode(["a"])
    assert not isinstance(caught.value, TextRefused)


@every_vendor
def test_a_name_is_needed(case):
    """A vendor alone is no model."""
    vendor = case.spec.partition(":")[0]
    with pytest.raises(UsageError, match="needs the name of a model"):
        SYSTEMS.build(vendor, ledger=Ledger())


@pytest.mark.parametrize("answer", [{}, [], None, "no", {"embeddings": {"float": [[1, "x"]]}}, {"data": [{}]}])
@every_vendor
def test_an_answer_of_another_shape_is_no_crash(stub, case, answer):
    """Every reader says `MalformedServerAnswer` of it, whatever it is."""
    encoder = case.open(stub, dimensions=256)
    with pytest.raises((AttributeError, LookupError, TypeError, ValueError)):
        np.array(encoder.read(answer)[0], dtype=np.float32)
