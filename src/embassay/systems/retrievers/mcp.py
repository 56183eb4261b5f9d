"""A tool of an MCP server as a retriever, by the official client: `mcp:COMMAND#TOOL`, or `mcp:http://...#TOOL`."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

from embassay.errors import ModelError, UsageError
from embassay.systems.remote import Ledger, MalformedServerAnswer, redact_keys, run_in_remote_loop_and_wait
from embassay.systems.remote.http import check_url_without_key
from embassay.systems.retrievers import (
    Retriever,
    RetrieverRequestLimits,
    convert_retriever_answer_to_json,
    find_result_count_parameter,
)
from embassay.systems.retrievers.function import parse_asking_options

if TYPE_CHECKING:
    from mcp import Client

_QUESTIONS = ("query", "question", "q", "text", "search", "search_query", "input", "prompt")
"""What tools call their question."""
_PATIENCE = 60.0
"""Seconds that a server may take to start."""


def open_mcp_retriever(target: str, depth: int, ledger: Ledger | None) -> Retriever:
    """The tool at `COMMAND#TOOL` or `ADDRESS#TOOL`, which may end with manners (`?price=0.001`); the server is started,
    or reached, now. UsageError for a target
    without a tool, a tool that is not there, and one without an argument for the question; ModelError where mcp is not
    installed, and where the server does not answer."""
    server, hash_sign, tool = target.rpartition("#")
    if not hash_sign or not server.strip() or not tool.strip():
        raise UsageError(
            f"mcp:{target} does not name a server and a tool.",
            mend="Write mcp:COMMAND#TOOL or mcp:http://HOST/mcp#TOOL.",
        )
    _check_mcp_installed()
    return run_in_remote_loop_and_wait(lambda: McpRetriever(server.strip(), tool.strip(), depth, ledger).open())


def _check_mcp_installed() -> None:
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise ModelError(
            "MCP servers need the package mcp, which is not installed.", mend="pip install 'embassay[mcp]'"
        )


class McpRetriever(Retriever):
    """A tool that takes a question, and may take how many documents are wanted.

    The session lives in one task of the loop of `remote.calls.remote_loop`: its client wants to be left where it was
    entered.
    """

    def __init__(self, server: str, tool: str, depth: int, ledger: Ledger | None) -> None:
        is_address = server.startswith(("http://", "https://"))
        if is_address:
            check_url_without_key(server)
        tool, _, options = tool.partition("?")
        manners = {"concurrency": 4 if is_address else 1, **parse_asking_options(options)}
        super().__init__(tool, f"mcp:{server}#{tool}", RetrieverRequestLimits(**manners), ledger)
        self._server, self._tool, self._depth = server, tool, depth
        self._question = ""
        self._more: dict[str, Any] = {}
        self._client: Client | None = None
        self._leave = asyncio.Event()
        self._complaint = ""
        self._session: asyncio.Task[None] | None = None

    async def open(self) -> McpRetriever:
        """Open a session with the tool, learn its arguments' names, and give the retriever itself."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._session = asyncio.create_task(self._keep_mcp_session_open(ready))
        try:
            async with asyncio.timeout(_PATIENCE):
                await ready
            await self._read_tool_arguments()
        except UsageError:
            await self.close()
            raise
        except Exception as error:
            await self.close()
            raise ModelError(
                f"The MCP server {self._server} cannot be used: {redact_keys(str(_first_cause(error)))[:200]}."
                f"{f' It said: {self._complaint}.' if self._complaint else ''}",
                mend="Start the server by hand to see its output.",
            ) from error
        return self

    async def _keep_mcp_session_open(self, ready: asyncio.Future[None]) -> None:
        from mcp import Client

        # What a server complains of is not for the terminal: its last line says why it cannot be used.
        with TemporaryFile("w+", errors="replace") as complaints:
            try:
                async with Client(self._open_transport(complaints)) as self._client:
                    ready.set_result(None)
                    await self._leave.wait()
            except BaseException as error:
                if ready.done():
                    raise
                ready.set_exception(error)
            finally:
                self._complaint = _read_redacted_last_error_line(complaints)

    def _open_transport(self, complaints: IO[str]) -> Any:
        from mcp import StdioServerParameters
        from mcp.client.stdio import stdio_client

        if self._server.startswith(("http://", "https://")):
            return self._server
        words = shlex.split(self._server)
        return stdio_client(StdioServerParameters(command=words[0], args=words[1:]), errlog=cast(TextIO, complaints))

    async def _read_tool_arguments(self) -> None:
        assert self._client is not None
        tools = (await self._client.list_tools()).tools
        tool = next((tool for tool in tools if tool.name == self._tool), None)
        if tool is None:
            raise UsageError(
                f"The MCP server has no tool {self._tool!r}.",
                mend=f"It has {', '.join(tool.name for tool in tools) or 'none'}.",
            )
        properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
        self._question = find_question_argument(properties, tool.input_schema.get("required", ()))
        if (wanted := find_result_count_parameter(list(properties))) is not None:
            self._more = {wanted: self._depth}

    async def send_question(self, question: str) -> Any:
        """What the tool gives: its structured content, else its text, as JSON where it is."""
        assert self._client is not None
        result = await self._client.call_tool(self._tool, {self._question: question, **self._more})
        texts = [part.text for part in result.content if hasattr(part, "text")]
        if result.is_error:
            raise MalformedServerAnswer(f"the tool failed: {' '.join(texts)[:200]}")
        if result.structured_content is not None:
            return unwrap_tool_result(convert_retriever_answer_to_json(result.structured_content))
        return parse_tool_answer_parts_as_json(texts)

    async def close(self) -> None:
        """End the session, and the server that was started for it."""
        self._leave.set()
        if self._session is not None:
            # A server that does not stop must not keep the run from ending.
            with suppress(Exception, asyncio.CancelledError):
                await asyncio.wait_for(self._session, timeout=5)


def find_question_argument(properties: Mapping[str, Any], required: Sequence[str]) -> str:
    """Which argument of a tool is the question: one of the usual names, else the only text that it requires. UsageError
    where that cannot be told.

    >>> find_question_argument({"needle": {"type": "string"}, "k": {"type": "integer"}}, ["needle"])
    'needle'
    """
    named = next((name for name in _QUESTIONS if name in properties), None)
    if named is not None:
        return named
    texts = [name for name, schema in properties.items() if schema.get("type") == "string"]
    needed = [name for name in texts if name in required]
    for names in (needed, texts):
        if len(names) == 1:
            return names[0]
    raise UsageError(
        f"The argument that takes the question is unclear: the tool has {', '.join(properties) or 'none'}.",
        mend="Call it `query`.",
    )


def unwrap_tool_result(content: Any) -> Any:
    """What a tool gave, out of the object in which clients put what is none: `{"result": [...]}`."""
    return content["result"] if isinstance(content, dict) and content.keys() == {"result"} else content


def parse_tool_answer_parts_as_json(texts: Sequence[str]) -> Any:
    """The parts of an answer: JSON where they are, else texts of documents, one a part.

    >>> parse_tool_answer_parts_as_json(['["d7", "d2"]']), parse_tool_answer_parts_as_json([
    ...     "A refund takes five days."])
    (['d7', 'd2'], ['A refund takes five days.'])
    """
    read = [_parse_json_or_text(text) for text in texts]
    return read[0] if len(read) == 1 and isinstance(read[0], list | dict) else read


def _parse_json_or_text(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, list | dict) else text


def _read_redacted_last_error_line(written: IO[str]) -> str:
    written.seek(0)
    lines = [line.strip() for line in written.read()[-2000:].splitlines() if line.strip()]
    return redact_keys(lines[-1])[:200] if lines else ""


def _first_cause(error: BaseException) -> BaseException:
    """The first of what went wrong together in a session's tasks."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
