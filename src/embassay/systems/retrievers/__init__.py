"""Retrievers as they run: a function, a server behind HTTP, a tool of an MCP server.

    open_retriever("search:find", depth=30)                     find(question) or find(question, k) in search.py
    open_retriever("http://localhost:8000/search", depth=30)    {"query": ..., "k": 30} is posted there
    open_retriever("search.json", depth=30)                     what to send, and where in the answer the documents are
    open_retriever("mcp:python server.py#search", depth=30)     a tool of an MCP server: a command, or an address

Whatever a retriever answers is kept as it is, and read as the output of engines is (`data.judged_runs`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embassay.contracts import Usage
from embassay.errors import UsageError
from embassay.systems.remote import Ledger, MalformedServerAnswer, ModelServerClient, ServerReply
from embassay.systems.remote.pace import CallLimits


@dataclass(frozen=True)
class TimedRetrieverAnswer:
    """What a retriever answered, as JSON, and the seconds that the answered request took."""

    value: Any
    seconds: float


@dataclass(frozen=True)
class RetrieverRequestLimits:
    """How a retriever is asked: at most `concurrency` questions at a time, `rpm` a minute (None: no limit), `timeout`
    seconds for an answer, `attempts` of each, and its `price` in US dollars a question (None: not known)."""

    concurrency: int = 4
    rpm: float | None = None
    timeout: float = 60.0
    attempts: int = 3
    price: float | None = None

    @property
    def limits(self) -> CallLimits:
        """The limits of the retriever's calls, for `ModelServerClient`."""
        return CallLimits(rpm=self.rpm, concurrency=self.concurrency, timeout=self.timeout, attempts=self.attempts)


@dataclass(frozen=True)
class PassagesToServe:
    """Passages that a run wants a retriever to serve: what the collection is called, and id -> text."""

    name: str
    texts: Mapping[str, str]


_NUMBER = (int, float)
MANNERS: Mapping[str, tuple[Any, str]] = {
    "concurrency": (int, "a whole number from 1"), "rpm": (_NUMBER, "a number above 0"),
    "timeout": (_NUMBER, "seconds above 0"), "attempts": (int, "a whole number from 1"),
    "price": (_NUMBER, "US dollars per question, 0 or more")
}  # fmt: skip
"""What a user may give of `RetrieverRequestLimits`: name -> type, and in words."""


def is_valid_asking_option(name: str, value: Any) -> bool:
    """Whether a value is valid for an option of how a retriever is asked, one of `MANNERS`.

    >>> (is_valid_asking_option("price", 0), is_valid_asking_option("concurrency", 0),
    ... is_valid_asking_option("concurrency", "many"))
    (True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, MANNERS[name][0]):
        return False
    return bool(value >= 0 if name == "price" else value > 0)


class Retriever(ABC):
    """A retriever that answers `depth` documents to a question, if it has as many. `name` is shown; `identity` is what
    its answers are kept under."""

    def __init__(self, name: str, identity: str, manners: RetrieverRequestLimits, ledger: Ledger | None) -> None:
        self.name, self.identity, self.manners = name, identity, manners
        self._calls = ModelServerClient(name, ledger, manners.limits)
        self.find_fault: Callable[[Any], str] = lambda _: ""
        """Why an answer is none, such as an error that was sent as one; empty where it is one."""

    async def ask(self, question: str) -> TimedRetrieverAnswer:
        """The answer to a question. ModelError where it fails for good, BudgetExceeded where there is no money."""
        price = self.manners.price

        async def send_request() -> ServerReply[Any]:
            value = await self.send_question(question)
            if fault := self.find_fault(value):
                raise MalformedServerAnswer(fault)
            return ServerReply(value, Usage(requests=1, usd=price))

        answer = await self._calls.ask(send_request, tokens=1, usd=price, read_usd=price)
        return TimedRetrieverAnswer(answer.value, answer.usage.seconds)

    @abstractmethod
    async def send_question(self, question: str) -> Any:
        """What one request brings, as JSON; raises what `remote.calls.classify_error` understands."""

    async def close(self) -> None:  # noqa: B027 - most have opened nothing
        """Let go of what was opened for it."""


def open_retriever(
    spec: str, depth: int, ledger: Ledger | None = None, base: Path | None = None, served: PassagesToServe | None = None
) -> Retriever:
    """The retriever that a spec names. `base` is the folder in which functions are looked for; by default the one that
    the command runs in. What is to be `served` is told to functions that take it, and named to servers whose template
    says where. UsageError for a spec of no form, and for what it names and is not there."""
    from embassay.systems.retrievers.function import open_function_retriever
    from embassay.systems.retrievers.http import open_http_retriever, open_template_retriever

    if spec.startswith("mcp:"):
        from embassay.systems.retrievers.mcp import open_mcp_retriever

        return open_mcp_retriever(spec.removeprefix("mcp:"), depth, ledger)
    if spec.startswith(("http://", "https://")):
        return open_http_retriever(spec, depth, ledger)
    if spec.endswith(".json"):
        return open_template_retriever(Path(spec).expanduser(), depth, ledger, served)
    if ":" in spec:
        return open_function_retriever(spec, depth, ledger, base or Path.cwd(), served)
    raise UsageError(
        f"{spec!r} is not a retriever.",
        mend="Write MODULE:FUNCTION, an address (http://...), a template (FILE.json), or mcp:COMMAND#TOOL.",
    )


def find_result_count_parameter(names: Sequence[str]) -> str | None:
    """Which of the parameters of a function or tool is how many documents it answers; None for none.

    >>> find_result_count_parameter(["question", "top_k"]), find_result_count_parameter(["question"])
    ('top_k', None)
    """
    return next((name for name in names if name.lower() in _DEPTHS), None)


_DEPTHS = {"k", "top_k", "topk", "n", "limit", "depth", "size", "n_results", "num_results", "max_results", "count"}


def convert_retriever_answer_to_json(value: Any) -> Any:
    """An answer as JSON: LangChain's and LlamaIndex' objects by what they write of themselves, arrays as lists.

    TypeError for what is none, with the kind of thing that it is.

    >>> convert_retriever_answer_to_json([("d7", 0.5), "d2"])
    [['d7', 0.5], 'd2']
    """
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, dict):
        return {str(key): convert_retriever_answer_to_json(inner) for key, inner in value.items()}
    if isinstance(value, set | frozenset):
        raise TypeError("a set, which has no order")
    if isinstance(value, list | tuple):
        return [convert_retriever_answer_to_json(inner) for inner in value]
    for name in _WRITERS:
        write: Callable[[], Any] | None = getattr(value, name, None)
        if callable(write):
            return convert_retriever_answer_to_json(write())
    if hasattr(value, "__iter__"):
        return [convert_retriever_answer_to_json(inner) for inner in value]
    raise TypeError(type(value).__name__)


_WRITERS = ("model_dump", "to_dict", "tolist", "as_dict", "_asdict")
"""Methods by which the objects of others say what they hold: pydantic, Haystack and LlamaIndex, numpy, tuples."""
