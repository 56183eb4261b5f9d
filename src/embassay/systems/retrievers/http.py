"""A server as a retriever: its address alone, or a template of what to send and where its answer has the documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from embassay.errors import DataError, UsageError
from embassay.limits import parse_bounded_json
from embassay.systems.remote import Ledger, MalformedServerAnswer
from embassay.systems.remote.calls import read_api_key
from embassay.systems.remote.http import check_package_installed, check_url_without_key, request_json
from embassay.systems.retrievers import (
    MANNERS,
    PassagesToServe,
    Retriever,
    RetrieverRequestLimits,
    is_valid_asking_option,
)

QUESTION, DEPTH, CORPUS = "{question}", "{k}", "{corpus}"
_BODY: Mapping[str, Any] = {"query": QUESTION, "k": DEPTH}


@dataclass(frozen=True, kw_only=True)
class RetrieverRequestTemplate(RetrieverRequestLimits):
    """What is sent for a question, where in the answer the documents are, and how the server is asked.

    `{question}`, `{k}` and, where a command wants several collections searched, `{corpus}` stand for the question, how
    many documents are wanted and the collection, in the body, the parameters and the address; `$NAME` in a header for
    an environment variable. `answer` is the path of the list of documents, such as `data.results`; empty: the answer is
    read as engines' output is.
    """

    url: str
    method: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    answer: str = ""


def open_http_retriever(url: str, depth: int, ledger: Ledger | None) -> Retriever:
    """The server at an address, to which `{"query": QUESTION, "k": K}` is posted."""
    return HttpRetriever(RetrieverRequestTemplate(url=url, body=_BODY), depth, "", ledger)


def open_template_retriever(
    path: Path, depth: int, ledger: Ledger | None, served: PassagesToServe | None = None
) -> Retriever:
    """The server that a template describes. DataError with the file for one that is none."""
    return HttpRetriever(read_request_template(path), depth, path.stem, ledger, served)


def read_request_template(path: Path) -> RetrieverRequestTemplate:
    """The template in a JSON file. DataError for a file that is not there or no object, an unknown key, a value of
    another kind than it should be, and where neither body, parameters nor address hold the question."""
    try:
        read = parse_bounded_json(path.read_bytes())
    except OSError as error:
        raise DataError("the template cannot be read", path=path, found=str(error.strerror)) from None
    except ValueError as error:
        raise DataError("the template is not valid JSON", path=path, found=str(error)) from None
    if not isinstance(read, dict) or not isinstance(read.get("url"), str):
        raise DataError(
            "the template has no address", path=path, expected='{"url": "http://...", "body": {...}}',
            found=repr(read)[:80], mend="Write an object with the url of the server."
        )  # fmt: skip
    for name, value in read.items():
        if name not in _KINDS:
            raise DataError(
                "the template has an unknown key", path=path, expected=", ".join(_KINDS), found=name,
                mend="Correct or remove it."
            )  # fmt: skip
        if not _is_valid_template_value(name, value):
            raise DataError(
                f"{name} in the template is not valid", path=path, expected=_KINDS[name][1],
                found=repr(value)[:80]
            )  # fmt: skip
    # A template with parameters and no body sends none.
    template = RetrieverRequestTemplate(**{"body": None if "params" in read else _BODY, **read})
    if QUESTION not in json.dumps([template.url, template.params, template.body], ensure_ascii=False):
        raise DataError(
            "the template does not say where the question goes", path=path, expected=QUESTION,
            mend='Write "{question}" where the server expects it, for instance "body": {"query": "{question}"}.'
        )  # fmt: skip
    return template


_KINDS: Mapping[str, tuple[Any, str]] = {
    "url": (str, "an address"), "method": (str, "GET or POST"), "headers": (dict, "name -> text"),
    "params": (dict, "name -> value"), "body": (object, "JSON"), "answer": (str, "a path such as data.results"),
    **MANNERS
}  # fmt: skip


def _is_valid_template_value(name: str, value: Any) -> bool:
    if name in MANNERS:
        return is_valid_asking_option(name, value)
    if isinstance(value, bool) or not isinstance(value, _KINDS[name][0]):
        return name == "body"
    if name == "method":
        return value in ("GET", "POST")
    if name == "headers":
        return all(isinstance(text, str) for text in value.values())
    return True


class HttpRetriever(Retriever):
    """A server that answers a question with JSON. Headers are made when it is opened, so that a key that is missing is
    known before any work; they are in no identity."""

    def __init__(
        self,
        template: RetrieverRequestTemplate,
        depth: int,
        name: str,
        ledger: Ledger | None,
        served: PassagesToServe | None = None,
    ) -> None:
        check_package_installed(who="Servers")
        address = template.url
        host = urlsplit(address).hostname
        if not host or urlsplit(address).scheme not in ("http", "https"):
            raise UsageError(f"{address!r} is not a URL.", mend="Write it like http://localhost:8000/search")
        check_url_without_key(address)
        said = {"method": template.method, "params": template.params, "body": template.body, "answer": template.answer}
        identity = f"http:{address}:{json.dumps(said, sort_keys=True, ensure_ascii=False)}"
        super().__init__(name or host, identity, template, ledger)
        self._template, self._depth = template, depth
        self._corpus = "" if served is None else served.name
        self._headers = {key: _fill_header_variable(key, text) for key, text in template.headers.items()}

    async def send_question(self, question: str) -> Any:
        """The server's answer, or the list in it that the template names."""
        fill = _RequestTemplateFiller(question, self._depth, self._corpus)
        answer = await request_json(
            self._template.method, fill.text(self._template.url), self._headers,
            payload=fill.value(self._template.body), params=fill.value(self._template.params)
        )  # fmt: skip
        return answer if not self._template.answer else find_value_at_path(answer, self._template.answer)


def _fill_header_variable(name: str, text: str) -> str:
    """A header with the variable that it names; ModelError where that is not set."""
    before, dollar, variable = text.partition("$")
    return text if not dollar else before + read_api_key(f"The header {name}", (variable,), key=variable)


@dataclass(frozen=True)
class _RequestTemplateFiller:
    question: str
    depth: int
    corpus: str = ""

    def value(self, template: Any) -> Any:
        """A part of a template with the question and the depth filled in."""
        if template == DEPTH:
            return self.depth
        if isinstance(template, str):
            return self.text(template, plain=True)
        if isinstance(template, dict):
            return {key: self.value(inner) for key, inner in template.items()}
        if isinstance(template, list):
            return [self.value(inner) for inner in template]
        return template

    def text(self, template: str, *, plain: bool = False) -> str:
        """A text of a template filled in; in an address the question is written as addresses have it."""
        from urllib.parse import quote

        question = self.question if plain else quote(self.question, safe="")
        # The depth first: a question may hold its sign.
        named = template.replace(DEPTH, str(self.depth)).replace(CORPUS, self.corpus)
        return named.replace(QUESTION, question)


def find_value_at_path(answer: Any, path: str) -> Any:
    """What stands at a path such as `data.results` or `hits.0.documents`; Malformed where nothing does.

    >>> find_value_at_path({"data": [{"results": ["d7"]}]}, "data.0.results")
    ['d7']
    """
    value = answer
    for part in path.split("."):
        try:
            value = value[int(part)] if isinstance(value, list) else value[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise MalformedServerAnswer(f"the answer has nothing at {path}: {repr(answer)[:120]}") from None
    return value
