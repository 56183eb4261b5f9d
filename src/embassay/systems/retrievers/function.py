"""A function as a retriever: `module:function`, or `file.py:function`."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, cast

from embassay.errors import UsageError
from embassay.registry import describe_error_place_in_package
from embassay.spec import QUERY
from embassay.systems.remote import Ledger, MalformedServerAnswer
from embassay.systems.retrievers import (
    MANNERS,
    PassagesToServe,
    Retriever,
    RetrieverRequestLimits,
    convert_retriever_answer_to_json,
    find_result_count_parameter,
    is_valid_asking_option,
)

Search = Callable[..., Any]


def open_function_retriever(
    spec: str, depth: int, ledger: Ledger | None, base: Path, served: PassagesToServe | None = None
) -> Retriever:
    """The function at `module:function`, which may end with manners (`?concurrency=8`): asked one question at a time
    unless it is a coroutine, since nothing says that others may ask it meanwhile. UsageError where it is not there."""
    place, _, options = spec.partition("?")
    manners = parse_asking_options(options)
    function = import_search_function(place, base)
    at_once = 4 if inspect.iscoroutinefunction(function) else 1
    return FunctionRetriever(
        function, depth, place, RetrieverRequestLimits(**{"concurrency": at_once, **manners}), ledger, served
    )


def parse_asking_options(options: str) -> dict[str, Any]:
    """What stands behind the question mark of a spec, such as `concurrency=8&price=0.001`. UsageError for what is no
    parameter, and for a value that it cannot have."""
    if not options:
        return {}
    params = dict(QUERY.parse(f"f?{options}").params)
    if unknown := sorted(params.keys() - MANNERS.keys()):
        raise UsageError(
            f"A retriever has no parameter {unknown[0]!r}.",
            mend="Its parameters are concurrency, rpm, timeout, attempts and price.",
        )
    for name, value in params.items():
        if not is_valid_asking_option(name, value):
            raise UsageError(f"{name} of a retriever is {value!r}.", mend=f"Give {MANNERS[name][1]}.")
    return params


def import_search_function(place: str, base: Path) -> Search:
    """The function at `module:name` or `file.py:name`, modules looked for in the folder `base` first. UsageError where
    it cannot be had, with the line of their file that fails."""
    module, _, name = place.rpartition(":")
    try:
        home = _load_python_file(base / module) if module.endswith(".py") else _import_module_from_folder(module, base)
        value: Any = home
        for part in name.split("."):
            value = getattr(value, part)
    except Exception as error:  # their module runs as it is imported, and fails in its own ways
        where = describe_error_place_in_package(error, module.removesuffix(".py").rpartition("/")[2])
        raise UsageError(
            f"The retriever {place} cannot be opened: {type(error).__name__}: {error}{where}.",
            mend=f"Check that {module} can be imported here and contains {name}.",
        ) from error
    if not callable(value):
        raise UsageError(f"{place} is not a function.", mend="Pass a function that maps a question to documents.")
    return cast(Search, value)


def _load_python_file(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path.name}")
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    # Dataclasses and pickles look their module up by its name.
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def _import_module_from_folder(module: str, base: Path) -> Any:
    # The command's own folder is not on the path of an installed script.
    if str(base) not in sys.path:
        sys.path.insert(0, str(base))
    return import_module(module)


class FunctionRetriever(Retriever):
    """A function of a question, and perhaps of how many documents are wanted and of the passages to search; it may be a
    coroutine."""

    def __init__(
        self,
        function: Search,
        depth: int,
        place: str,
        manners: RetrieverRequestLimits | None = None,
        ledger: Ledger | None = None,
        served: PassagesToServe | None = None,
    ) -> None:
        super().__init__(
            place.rpartition(":")[2] or place, f"function:{place}", manners or RetrieverRequestLimits(1), ledger
        )
        self._function = function
        self._arguments = _build_search_function_arguments(function, depth, served)

    async def send_question(self, question: str) -> Any:
        """What the function gives. Its exceptions are failures of the question, tried again as others'."""
        try:
            value = await self._call_function(question)
        # A time limit is ours, whoever notices it.
        except (MalformedServerAnswer, TimeoutError):
            raise
        except Exception as error:
            where = describe_error_place_in_package(error, self._function.__module__)
            raise MalformedServerAnswer(f"it raised {type(error).__name__}: {error}{where}") from error
        if value is None:
            raise MalformedServerAnswer("it returned None instead of a list of documents")
        try:
            return convert_retriever_answer_to_json(value)
        except (TypeError, RecursionError) as error:
            raise MalformedServerAnswer(f"it did not return a list of documents ({error})") from error

    async def _call_function(self, question: str) -> Any:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(question, **self._arguments)
        value = await _run_in_thread(lambda: self._function(question, **self._arguments))
        if inspect.isasyncgen(value):
            return [entry async for entry in value]
        return await value if inspect.isawaitable(value) else value


def _build_search_function_arguments(function: Search, depth: int, served: PassagesToServe | None) -> dict[str, Any]:
    """What a function takes besides the question: how many documents, and the passages to search, id -> text."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # of some written in C
        return {}
    wanted = find_result_count_parameter(names[1:])
    arguments: dict[str, Any] = {} if wanted is None else {wanted: depth}
    if served is not None and CORPUS in names[1:]:
        arguments[CORPUS] = served.texts
    return arguments


CORPUS = "corpus"
"""The argument of a function that takes the passages to search."""


def _run_in_thread(work: Callable[[], Any]) -> Awaitable[Any]:
    """The result of `work`, done in a thread that the end of the process does not wait for: a search may hang."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle_future(set_it: Callable[[Any], None], value: Any) -> None:
        # A future that was cancelled meanwhile takes no result.
        if not future.done():
            set_it(value)

    def run() -> None:
        try:
            value = work()
        except BaseException as error:
            loop.call_soon_threadsafe(settle_future, future.set_exception, error)
        else:
            loop.call_soon_threadsafe(settle_future, future.set_result, value)

    threading.Thread(target=run, name="embassay-retriever", daemon=True).start()
    return future
