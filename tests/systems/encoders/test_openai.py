"""OpenAI's encoder against a server that speaks like OpenAI, with and without faults."""

from __future__ import annotations

import http.server
import json
import shutil
import threading
from base64 import b64encode
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from embassay.errors import BudgetExceeded, ModelError, TextRefused, UsageError
from embassay.systems import SYSTEMS
from embassay.systems.encoders.openai import OpenAIEncoder
from embassay.systems.remote import Ledger
from embassay.systems.remote.http import ModelServerSettings
from embassay.systems.remote.ledger import estimate_most_server_tokens
from embassay.text.tokenizers import Cl100kTokenizer
from stub import Faults, Problem, StubServer
from stub.vectors import tokens, vector

pytest.importorskip("openai")

KEY = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def opened(stub, ledger=None, model="stub-model", **params):
    given = "&".join(f"{key}={value}" for key, value in {"base_url": f"{stub.url}/v1", **params}.items())
    return SYSTEMS.build(f"openai:{model}?{given}", name="x", ledger=ledger)


def expected(texts, dim=64):
    return np.array([vector(text, dim) if text else np.zeros(dim) for text in texts], dtype=np.float32)


def test_vectors_and_what_they_cost():
    """Bit for bit as the server has them, in the order of the texts, counted by the server's own count."""
    texts = [f"text number {i}" for i in range(300)]
    ledger = Ledger()
    with StubServer(keys={KEY}) as stub:
        encoder = opened(stub, ledger, price=0.5)
        assert np.array_equal(encoder.encode(texts), expected(texts))
        # Once in each form: what is known of no model is told by the numbers.
        assert stub.paid == {**dict.fromkeys(texts, 1), "dimensions": 2}
    totals = ledger.map_models_to_call_totals()[encoder.model]
    assert totals.input_tokens == sum(map(tokens, texts)) + 2
    assert totals.usd == pytest.approx(totals.input_tokens * 0.5 / 1e6)
    assert totals.requests == 5  # the dimensions in both forms, and chunks of 128


def test_an_empty_text_is_zero_and_not_sent():
    """The server would refuse the whole request for it."""
    with StubServer() as stub:
        encoder = opened(stub)
        assert np.array_equal(encoder.encode(["a", "", "b"]), expected(["a", "", "b"]))
        assert not encoder.encode([""]).any()
        assert encoder.encode([]).shape == (0, 64)
        assert "" not in stub.paid


def test_dimensions():
    """A parameter that reaches the server; what the table knows needs no call to find out."""
    with StubServer() as stub:
        encoder = opened(stub, dimensions=16)
        assert encoder.dim == 16
        assert opened(stub, model="text-embedding-3-small").dim == 1536
        assert not stub.requests
        assert np.array_equal(encoder.encode(["a"]), expected(["a"], 16))


def test_identity_has_server_and_dimensions_but_no_key():
    """All that vectors depend on."""
    with StubServer() as stub:
        place = stub.url.removeprefix("http://")
        assert opened(stub, dimensions=16).identity == f"openai:stub-model:{place}/v1:dimensions=16"
    assert SYSTEMS.build("openai:m", name="x").identity == "openai:m:api.openai.com/v1"


def test_prompts_of_known_models_behind_a_server():
    """e5 needs its prefixes wherever it is served."""
    with StubServer() as stub:
        encoder = opened(stub, model="intfloat/multilingual-e5-small", dimensions=64)
        assert encoder.uses_roles
        assert np.array_equal(encoder.encode(["a"], role="query"), expected(["query: a"]))
        assert np.array_equal(encoder.encode(["a"], role="document"), expected(["passage: a"]))


E5 = "query_prompt=query: &document_prompt=passage: &prompt=query: "


@pytest.mark.parametrize("said", [E5, "family=e5", "family=intfloat/e5-base-v2"])
def test_the_user_says_which_prompts_a_served_model_needs(said):
    """By the names that st: has for them, or in one word; vectors depend on them, so the identity does."""
    with StubServer() as stub:
        encoder = SYSTEMS.build(f"openai:my-model?base_url={stub.url}/v1&dimensions=64&{said}", name="x", ledger=None)
        bare = opened(stub, model="my-model", dimensions=64)
        assert encoder.uses_roles
        assert not bare.uses_roles
        assert encoder.identity == f"{bare.identity}:query='query: ':document='passage: ':text='query: '"
        for role, sent in (("query", "query: a"), ("document", "passage: a"), (None, "query: a")):
            assert np.array_equal(encoder.encode(["a"], role=role), expected([sent]))


def test_prompts_that_the_user_leaves_out_are_none():
    """An empty one too: the server of a known model may add its own."""
    with StubServer() as stub:
        known = {"model": "intfloat/multilingual-e5-small", "dimensions": 64, "query_prompt": "''"}
        encoder = opened(stub, **known, document_prompt="''", prompt="''")
        assert np.array_equal(encoder.encode(["a"], role="query"), expected(["a"]))
        with pytest.raises(UsageError, match="family=rose"):
            opened(stub, family="rose")


def test_a_server_that_adds_prompts_itself_is_told_the_role():
    """In every request, and a text without a role goes as a query."""
    told = []
    with StubServer(check=lambda request: told.append(request.json.get("input_type"))) as stub:
        encoder = opened(stub, model="multilingual-e5-small-q4", dimensions=64, input_type="passage")
        assert encoder.uses_roles
        assert encoder.identity.endswith("input_type=passage")
        for role in ("query", "document", None):
            encoder.encode([f"a {role}"], role=role)
    assert told == ["query", "passage", "query"]


def test_a_model_of_a_known_family_without_prompts_is_told():
    """By whatever name its server has it; said once, and not where the user has spoken."""
    with StubServer() as stub:
        with pytest.warns(RuntimeWarning, match="family=e5"):
            opened(stub, model="multilingual-e5-small-q4")
        opened(stub, model="multilingual-e5-small-q4", family="e5")
        opened(stub, model="multilingual-e5-small-q4", query_prompt="''")
        opened(stub, model="bge-m3")


def test_requests_are_cut_by_tokens(monkeypatch):
    """No request has more tokens than the server takes; a single text that is longer goes alone."""
    sizes = []

    def note(request):
        sizes.append([len(text) for text in request.json["input"]])

    with StubServer(check=note) as stub:
        encoder = opened(stub, dimensions=64)
        encoder.encode(["a" * 100_000, "b" * 100_000, "c" * 100_000, "d" * 300_000, "e"])
    assert sizes == [[100_000, 100_000], [100_000], [300_000], [1]]


def test_a_server_on_this_machine_has_more_time():
    """A small model on a busy processor takes minutes for many long texts; what the user says holds."""
    here, far = "http://127.0.0.1:8000/v1", "https://models.example/v1"
    waits = [
        OpenAIEncoder("m", server=ModelServerSettings(base_url=place))._calls.limits.timeout for place in (here, far)
    ]
    assert waits == [900.0, 120.0]
    said = OpenAIEncoder("m", server=ModelServerSettings(base_url=here, timeout=30.0))
    assert said._calls.limits.timeout == 30.0


def test_floats_where_base64_is_not_known():
    """A server that does not take it is asked for numbers, from then on."""
    refused = []

    def strict(request):
        if request.json["encoding_format"] != "float":
            refused.append(1)
            raise Problem(400, "encoding_format: only float")

    with StubServer(check=strict) as stub:
        encoder = opened(stub, dimensions=64)
        assert np.allclose(encoder.encode(["a"]), expected(["a"]))
        assert np.allclose(encoder.encode(["b"]), expected(["b"]))
    assert len(refused) == 1


KINDS = {"float32": "<f4", "float64": "<f8", "float16": "<f2", "float32 of other machines": ">f4"}


@contextmanager
def serving(answer):
    """A server that gives what `answer` makes of a request's JSON, and the requests so far."""
    requests = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            body = json.dumps(answer(requests[-1])).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", requests
        server.shutdown()


def sent_as(pack, always=False):
    """A server of OpenAI's API whose vectors in base64 are what `pack` makes of the numbers."""

    def answer(asked):
        base64 = always or asked["encoding_format"] == "base64"
        vectors = [vector(text, asked.get("dimensions") or 64) for text in asked["input"]]
        return {
            "object": "list", "model": "m", "usage": {"prompt_tokens": len(vectors), "total_tokens": len(vectors)},
            "data": [
                {"index": i, "embedding": b64encode(pack(row)).decode() if base64 else row.tolist()}
                for i, row in enumerate(vectors)
            ],
        }  # fmt: skip

    return answer


@pytest.mark.parametrize("more", ["", "&dimensions=64"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_bytes_in_base64_are_what_the_server_made_of_the_numbers(kind, more):
    """Told by the number of bytes, or by one text that is asked for in both forms; what that took is counted."""
    texts, ledger = [f"text {i}" for i in range(9)], Ledger()
    with serving(sent_as(lambda row: row.astype(kind).tobytes())) as (url, requests):
        encoder = SYSTEMS.build(f"openai:m?base_url={url}/v1{more}", name="x", ledger=ledger)
        found = encoder.encode(texts)
        encoder.encode(["one more"])
    np.testing.assert_allclose(found, expected(texts), atol=1e-3 if kind == "<f2" else 1e-7)
    forms = [request["encoding_format"] for request in requests]
    assert forms.count("float") == (0 if kind == "<f4" and more else 1)
    assert ledger.map_models_to_call_totals()["openai:m"].requests == len(requests)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_server_that_always_sends_base64_is_read_where_its_bytes_are_of_one_kind_alone(kind):
    """Whatever form is asked for: by any other kind they would be no vectors."""
    texts = [f"text {i}" for i in range(9)]
    with serving(sent_as(lambda row: row.astype(kind).tobytes(), always=True)) as (url, _):
        found = SYSTEMS.build(f"openai:m?base_url={url}/v1", name="x").encode(texts)
    np.testing.assert_allclose(found, expected(texts), atol=1e-3 if kind == "<f2" else 1e-7)


@pytest.mark.parametrize("pack", [lambda row: bytes(4 * len(row)), lambda row: bytes(3 * len(row))])
def test_bytes_that_are_no_vector_are_asked_for_as_numbers(pack):
    """A server that sends zeros in base64, or half of the bytes, is read in numbers from then on."""
    texts = [f"text {i}" for i in range(5)]
    with serving(sent_as(pack)) as (url, requests):
        encoder = SYSTEMS.build(f"openai:m?base_url={url}/v1&dimensions=64", name="x")
        assert np.allclose(encoder.encode(texts), expected(texts))
        before = len(requests)
        assert np.allclose(encoder.encode(texts), expected(texts))
    assert [request["encoding_format"] for request in requests[before:]] == ["float"]


@pytest.mark.parametrize("fault", ["wrong_dimensions", "not_a_number", "truncated", "reset", "broken"])
def test_a_fault_that_passes(fault, hasty):
    """Each is seen, and tried again until the vectors are right."""
    texts = [f"text {i}" for i in range(30)]
    with StubServer(faults=Faults(**{fault: 0.3})) as stub:
        encoder = opened(stub, dimensions=64)
        chunks = [[text] for text in texts]
        done = dict(encoder.encode_chunks(chunks))
        assert stub.injected[fault] > 3
    assert np.array_equal(np.concatenate([done[i] for i in range(30)]), expected(texts))


def test_a_fault_that_stays(monkeypatch):
    """Is an error that names it; one that may be the texts' own is told from one of the server."""
    monkeypatch.setattr("embassay.systems.remote.http.CallLimits", _quick)
    with StubServer(faults=Faults(not_a_number=1.0)) as stub, pytest.raises(TextRefused, match="not finite"):
        opened(stub, dimensions=64).encode(["a"])
    with StubServer(faults=Faults(wrong_dimensions=1.0)) as stub, pytest.raises(ModelError, match="63 dim") as e:
        opened(stub, dimensions=64).encode(["a"])
    assert type(e.value) is ModelError


def _quick(**given):
    from embassay.systems.remote import CallLimits

    return CallLimits(**{**given, "attempts": 2, "backoff": 0.001})


def test_a_refused_chunk_does_not_stop_the_others():
    """It comes as its refusal."""

    def picky(request):
        if "bad" in request.json["input"]:
            raise Problem(400, "this text is too long")

    with StubServer(check=picky) as stub:
        done = dict(opened(stub, dimensions=64).encode_chunks([["a"], ["bad"], ["c"]]))
    assert np.array_equal(done[0], expected(["a"]))
    assert isinstance(done[1], TextRefused)
    assert "too long" in done[1].message


def test_a_wrong_key():
    """Is final at once, and is not shown even where the server repeats it."""
    with StubServer(keys={"another"}) as stub, pytest.raises(ModelError, match="status 401") as caught:
        opened(stub, dimensions=64).encode(["a"])
    assert KEY not in str(caught.value)
    assert stub.statuses[401] == 1


def test_no_key(monkeypatch):
    """OpenAI itself needs one; a server on this machine does not."""
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelError, match="OPENAI_API_KEY is not set"):
        SYSTEMS.build("openai:m", name="x")
    with StubServer() as stub:
        assert opened(stub).encode(["a"]).shape == (1, 64)


def test_a_limit_of_cost_needs_a_price():
    """Before anything is sent."""
    with StubServer() as stub, pytest.raises(UsageError, match="price=NUMBER"):
        opened(stub, Ledger(max_usd=1), dimensions=64).encode(["a"])
    assert not stub.requests


def test_the_budget_stops_within_a_batch_of_the_cap():
    """Everything finished is given first; what is left of the cap would not have paid for another request."""
    chunks = [[f"word{i} {j}" for j in range(10)] for i in range(120)]
    a_batch, cap = 20 * 1000 / 1e6, 30.5 * 20 * 1000 / 1e6
    bound = max(estimate_most_server_tokens(chunk) for chunk in chunks) * 1000 / 1e6
    ledger, done = Ledger(max_usd=cap), []
    with StubServer(latency=0.01) as stub:
        encoder = opened(stub, ledger, dimensions=64, price=1000)
        with pytest.raises(BudgetExceeded, match="repeat the command"):
            done.extend(encoder.encode_chunks(chunks))
        assert sum(stub.paid.values()) == 10 * len(done)
    assert ledger.spent_usd == pytest.approx(len(done) * a_batch)
    assert cap - bound < ledger.spent_usd <= cap


@pytest.mark.shared
def test_long_texts_are_cut_where_the_tokenizer_is_at_hand(root, tmp_path, monkeypatch):
    """At the model's context, in its own tokens; how many is counted."""
    vocabulary = root / ".." / "shared" / "data" / "tokenizer" / "cl100k_base.tiktoken"
    if not vocabulary.exists():
        pytest.skip("the development datasets are absent")
    shutil.copy(vocabulary, tmp_path / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("embassay.systems.remote.ledger.open_tokenizer", lambda name: Cl100kTokenizer())
    texts = ["short", "naïve café 東京 " * 2000]
    with StubServer() as stub:
        encoder = opened(stub, model="text-embedding-3-small", dimensions=64)
        assert encoder.count_truncated(texts) == 1
        encoder.encode(texts)
        sent = max(stub.paid, key=len)
    assert texts[1].startswith(sent)
    assert 8180 <= len(Cl100kTokenizer().encode(sent)) <= 8191


class Answering(http.server.BaseHTTPRequestHandler):
    """Status 200 with whatever the class has been given."""

    protocol_version = "HTTP/1.1"
    body = b""
    kind = "application/json"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", self.kind)
        self.send_header("content-length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_):
        pass


@contextmanager
def answering(body, kind="application/json"):
    handler = type("Given", (Answering,), {"body": body, "kind": kind})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


HUGE = b'{"data": [{"index": 0, "embedding": [1' + b"0" * 400 + b']}], "embeddings": [[1' + b"0" * 400 + b"]]}"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<html>Welcome</html>", "text/html"),
        (b"", "application/json"),
        (b"null", "application/json"),
        (HUGE, "application/json"),
    ],
    ids=["html", "empty", "null", "10**400"],
)
@pytest.mark.parametrize("system", ["openai:x", "ollama:x"])
def test_an_answer_that_is_none(system, body, kind):
    """Status 200 and a page, nothing, or a number that no float holds: an error with the place, never a traceback."""
    with answering(body, kind) as url:
        encoder = SYSTEMS.build(f"{system}?base_url={url}/v1", name="x", ledger=Ledger())
        encoder._calls.limits = replace(encoder._calls.limits, attempts=1)
        with pytest.raises(ModelError, match=f"base_url={url}/v1"):
            encoder.encode(["a text"])


@pytest.mark.parametrize("tokens", [-5, 10**30])
def test_tokens_that_cannot_be(tokens):
    """A server's count below 0, or beyond all texts, is said, and our own is booked."""
    body = {"data": [{"index": 0, "embedding": [1.0, 2.0]}], "usage": {"prompt_tokens": tokens, "total_tokens": 1}}
    ledger = Ledger()
    with answering(json.dumps(body).encode()) as url:
        encoder = SYSTEMS.build(f"openai:x?base_url={url}/v1&price=1", name="x", ledger=ledger)
        with pytest.warns(RuntimeWarning, match="which is impossible|more than possible"):
            encoder.encode(["a text"])
    assert 0 < ledger.map_models_to_call_totals()["openai:x"].input_tokens < 100


def test_a_server_that_is_named_may_move():
    """What is kept under its name is found at another address; without a name the address is part of the identity."""

    def identity(model, port, name=""):
        return SYSTEMS.build(f"{model}?base_url=http://127.0.0.1:{port}/v1{name}", name="x", ledger=Ledger()).identity

    for model in ("openai:x", "ollama:x"):
        assert identity(model, 1) != identity(model, 2)
        assert identity(model, 1, "&name=judge") == identity(model, 2, "&name=judge")
        assert "127.0.0.1" not in identity(model, 1, "&name=judge")
        assert identity(model, 1, "&name=judge") != identity(model, 1, "&name=other")
