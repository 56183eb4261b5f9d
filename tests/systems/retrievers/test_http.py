"""Servers as retrievers: what is sent, what is read, and what templates may say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from embassay.errors import DataError, ModelError
from embassay.systems.remote import Ledger, run_in_remote_loop_and_wait
from embassay.systems.retrievers import open_retriever
from embassay.systems.retrievers.http import read_request_template
from stub import StubServer
from stub.retrieving import find

QUESTION = "When does the bus leave?"


def template(folder: Path, **said: Any) -> str:
    path = folder / "search.json"
    path.write_text(json.dumps(said))
    return str(path)


def ask(spec: str, question: str = QUESTION, ledger: Ledger | None = None) -> Any:
    retriever = open_retriever(spec, 2, ledger)
    return run_in_remote_loop_and_wait(lambda: retriever.ask(question)).value


def test_an_address_alone_gets_query_and_k() -> None:
    """And answers as it will."""
    with StubServer() as stub:
        answer = ask(f"{stub.url}/search")
    assert [hit["id"] for hit in answer["data"]["results"]] == find(QUESTION, 2)


def test_a_template_says_what_to_send_and_where_the_documents_are(tmp_path: Path) -> None:
    """A price, too, which the ledger keeps."""
    ledger = Ledger()
    with StubServer() as stub:
        spec = template(
            tmp_path, url=f"{stub.url}/search", body={"query": "{question}", "k": "{k}"}, answer="data.results",
            price=0.25
        )  # fmt: skip
        assert [hit["id"] for hit in ask(spec, ledger=ledger)] == find(QUESTION, 2)
    assert ledger.spent_usd == 0.25


def test_a_question_in_the_address_is_written_as_addresses_are(tmp_path: Path) -> None:
    """Slashes, signs and other scripts included."""
    for question in ("a/b & c?d=e#f", "東京 ä {k}", QUESTION):
        with StubServer() as stub:
            spec = template(tmp_path, url=f"{stub.url}/find/{{question}}", method="GET", params={})
            assert ask(spec, question) == find(question, 4)


def test_a_header_names_the_variable_that_holds_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is in no identity; where it is not set, that is said before any work."""
    spec = template(
        tmp_path, url="http://127.0.0.1:9/search", headers={"Authorization": "Bearer $SEARCH_KEY"},
        body={"q": "{question}"}
    )  # fmt: skip
    monkeypatch.delenv("SEARCH_KEY", raising=False)
    with pytest.raises(ModelError, match="SEARCH_KEY"):
        open_retriever(spec, 2)
    monkeypatch.setenv("SEARCH_KEY", "a-secret-of-mine-1")
    retriever = open_retriever(spec, 2)
    assert "a-secret-of-mine-1" not in retriever.identity + repr(vars(retriever).get("identity"))


def test_an_answer_without_the_list_is_a_failure(tmp_path: Path) -> None:
    """With the path that leads nowhere."""
    with StubServer() as stub:
        spec = template(tmp_path, url=f"{stub.url}/search", answer="data.hits", attempts=1)
        with pytest.raises(ModelError, match=r"nothing at data\.hits"):
            ask(spec)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({}, "address"),
        ({"url": 3}, "address"),
        ({"url": "http://a/b", "bodies": {}}, "unknown key"),
        ({"url": "http://a/b", "concurrency": 0}, "concurrency"),
        ({"url": "http://a/b", "concurrency": True}, "concurrency"),
        ({"url": "http://a/b", "price": -1}, "price"),
        ({"url": "http://a/b", "method": "PUT"}, "method"),
        ({"url": "http://a/b", "headers": {"X": 3}}, "headers"),
        ({"url": "http://a/b", "body": {"query": "question"}}, "where the question goes"),
    ],
)
def test_a_template_that_cannot_be_used(tmp_path: Path, said: dict[str, Any], reason: str) -> None:
    """Names its file and what is at fault."""
    with pytest.raises(DataError, match=reason) as raised:
        read_request_template(Path(template(tmp_path, **said)))
    assert "search.json" in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe"])
def test_a_file_that_is_no_template(tmp_path: Path, content: bytes) -> None:
    """Is told as a fault of the file."""
    (tmp_path / "search.json").write_bytes(content)
    with pytest.raises(DataError):
        read_request_template(tmp_path / "search.json")
    with pytest.raises(DataError, match="cannot be read"):
        read_request_template(tmp_path / "absent.json")
