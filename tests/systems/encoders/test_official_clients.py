"""The vendors' own clients against the same server: they send what we send, and get what we get.

The server refuses every field that it does not know, so it and our adapters speak the vendors' language and not
our idea of it.
"""

from __future__ import annotations

import gc
import json
import warnings

import numpy as np
import pytest

from embassay.errors import ModelError
from embassay.systems import SYSTEMS
from embassay.systems.remote import Ledger
from stub import StubServer
from stub.server import Handler
from stub.strict import WRONG_KEY

pytestmark = [pytest.mark.vendors, pytest.mark.filterwarnings("ignore")]

TEXTS = ["a red fox", "naïve café — 東京 🙂", "word " * 200, " padded "]


@pytest.fixture(autouse=True)
def _collect():
    """The clients leave their connections open; what complains of that is to do it here, where it is ignored."""
    yield
    gc.collect()


def _cohere(url, model, role, dimensions):
    cohere = pytest.importorskip("cohere")
    types = {"query": "search_query", "document": "search_document", None: "clustering"}
    more = {"output_dimension": dimensions} if dimensions else {}
    answer = cohere.ClientV2(api_key="k", base_url=url).embed(
        model=model, texts=TEXTS, input_type=types[role], embedding_types=["float"], truncate="NONE", **more
    )
    return answer.embeddings.float_


def _voyage(url, model, role, dimensions):
    voyageai = pytest.importorskip("voyageai")
    client = voyageai.Client(api_key="k", base_url=f"{url}/voyage/v1")
    return client.embed(TEXTS, model=model, input_type=role, truncation=False, output_dimension=dimensions).embeddings


def _gemini(url, model, role, dimensions):
    genai = pytest.importorskip("google.genai")
    tasks = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT", None: "SEMANTIC_SIMILARITY"}
    client = genai.Client(api_key="k", http_options=genai.types.HttpOptions(base_url=url))
    config = genai.types.EmbedContentConfig(task_type=tasks[role], output_dimensionality=dimensions)
    answer = client.models.embed_content(model=model, contents=list(TEXTS), config=config)
    return [one.values for one in answer.embeddings]


CLIENTS = {
    "cohere:embed-v4.0": (_cohere, ""),
    "voyage:voyage-3.5": (_voyage, "/voyage/v1"),
    "gemini:gemini-embedding-001": (_gemini, ""),
}


@pytest.fixture(scope="module")
def stub():
    with StubServer() as server:
        yield server


@pytest.mark.parametrize(("role", "dimensions"), [("query", None), ("document", 256), (None, 256)], ids=str)
@pytest.mark.parametrize("spec", CLIENTS)
def test_the_client_gets_the_same_vectors(stub, spec, role, dimensions):
    """To the bit, for every role and both lengths; the client says no more than the server knows."""
    ask, path = CLIENTS[spec]
    given = f"?base_url={stub.url}{path}" + (f"&dimensions={dimensions}" if dimensions else "")
    ours = SYSTEMS.build(spec + given, ledger=Ledger()).encode(TEXTS, role=role)
    theirs = np.array(ask(stub.url, spec.partition(":")[2], role, dimensions), dtype=np.float32)
    assert np.array_equal(ours, theirs)


def _bodies(stub: StubServer) -> list[tuple[str, dict]]:
    """Have the stub keep every body by its path, from now on."""
    kept: list[tuple[str, dict]] = []

    def keeping(handler: Handler) -> Handler:
        def kept_and_handled(request):
            kept.append((request.path, json.loads(request.content)))
            return handler(request)

        return kept_and_handled

    stub._routes = [(method, pattern, keeping(handler)) for method, pattern, handler in stub._routes]
    return kept


@pytest.mark.parametrize("spec", CLIENTS)
def test_our_request_is_the_clients(spec):
    """Field for field, but for fields that say what holds without them."""
    ask, path = CLIENTS[spec]
    with StubServer() as stub:
        kept = _bodies(stub)
        SYSTEMS.build(f"{spec}?base_url={stub.url}{path}&dimensions=256", ledger=Ledger()).encode(TEXTS, role="query")
        ask(stub.url, spec.partition(":")[2], "query", 256)
    (our_path, ours), (their_path, theirs) = kept
    assert our_path.replace("/v1beta/", "/v1/") == their_path
    assert _bare(ours) == _bare(theirs)


def _bare(body):
    """Without nulls and without the role of a content, of which there is only one."""
    if isinstance(body, list):
        return [_bare(one) for one in body]
    if not isinstance(body, dict):
        return body
    return {k: _bare(v) for k, v in body.items() if v is not None and (k, v) != ("role", "user")}


def test_gemini_2_has_prompts_instead_of_tasks():
    """Google's client with the prompt of Google's guide before a text: our request, and our vector."""
    genai = pytest.importorskip("google.genai")
    prompts = {
        "query": "task: search result | query: ",
        "document": "title: none | text: ",
        None: "task: sentence similarity | query: ",
    }
    with StubServer() as stub:
        kept = _bodies(stub)
        encoder = SYSTEMS.build(f"gemini:gemini-embedding-2?base_url={stub.url}", ledger=Ledger())
        client = genai.Client(api_key="k", http_options=genai.types.HttpOptions(base_url=stub.url))
        for role, prompt in prompts.items():
            # A list of strings would be one content of many parts to this model, and so one vector.
            contents = [genai.types.Content(parts=[genai.types.Part(text=prompt + text)]) for text in TEXTS]
            theirs = client.models.embed_content(model="gemini-embedding-2", contents=contents).embeddings
            ours = encoder.encode(TEXTS, role=role)
            assert np.array_equal(ours, np.array([one.values for one in theirs], dtype=np.float32))
    bodies = [_bare(body) for _, body in kept]
    assert bodies[::2] == bodies[1::2]


@pytest.mark.parametrize(
    ("spec", "path", "key"),
    [
        ("cohere:embed-v4.0", "", "COHERE_API_KEY"),
        ("voyage:voyage-3.5", "/voyage/v1", "VOYAGE_API_KEY"),
        ("gemini:gemini-embedding-001", "", "GEMINI_API_KEY"),
    ],
)
def test_the_client_understands_the_refusal(stub, spec, path, key, monkeypatch):
    """The stub's answer to a wrong key is one that the client takes for an answer of its vendor."""
    monkeypatch.setenv(key, WRONG_KEY)
    with pytest.raises(ModelError) as ours:
        SYSTEMS.build(f"{spec}?base_url={stub.url}{path}", ledger=Ledger()).encode(["a"])
    with warnings.catch_warnings(), pytest.raises(Exception) as theirs:  # noqa: PT011 - each has its own
        _refused(spec, stub.url)
    status = getattr(theirs.value, "status_code", None) or getattr(theirs.value, "http_status", None)
    assert f"status {status or theirs.value.code}" in str(ours.value)


def _refused(spec, url):
    if spec.startswith("cohere"):
        cohere = pytest.importorskip("cohere")
        cohere.ClientV2(api_key=WRONG_KEY, base_url=url).embed(
            model="embed-v4.0", texts=["a"], input_type="clustering", embedding_types=["float"]
        )
    elif spec.startswith("voyage"):
        voyageai = pytest.importorskip("voyageai")
        voyageai.Client(api_key=WRONG_KEY, base_url=f"{url}/voyage/v1").embed(["a"], model="voyage-3.5")
    else:
        genai = pytest.importorskip("google.genai")
        client = genai.Client(api_key=WRONG_KEY, http_options=genai.types.HttpOptions(base_url=url))
        client.models.embed_content(model="gemini-embedding-001", contents=["a"])
