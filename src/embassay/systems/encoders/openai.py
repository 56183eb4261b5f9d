"""OpenAI's embedding models, and those of any server with its API."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from embassay.contracts import Role
from embassay.errors import ModelError, UsageError
from embassay.systems.encoders.server import EncoderPromptOptions, ServedEncoder, ServedModelDescription, Vectors
from embassay.systems.models import find_known_model
from embassay.systems.remote import Ledger, MalformedServerAnswer, ServerReply, TokenPrice
from embassay.systems.remote.calls import is_field_refused
from embassay.systems.remote.http import ModelServerSettings, OpenAIClient, find_openai_address
from embassay.systems.remote.ledger import count_or_bound_tokens, find_model_own_tokenizer

LOCAL_PATIENCE = 900.0
"""Seconds for an answer of a server on this machine, unless the user says: a small model on a busy processor takes
minutes for a request of many long texts, and what runs out is asked again without an end."""


class OpenAIEncoder(ServedEncoder):
    """`openai:MODEL`: vectors as the server sends them (OpenAI's are unit vectors).

    `dimensions` asks for shorter vectors; `server` says where (`base_url` is another server with the API of
    OpenAI), with which key, how fast and at what price, see `ModelServerSettings`. `query_prompt`,
    `document_prompt`, and `prompt` for texts without a role go before the texts ("" is none); else those of the known
    `family` (e5, bge ..., or a known model), by default of the one that has the model's own name. `input_type` tells a
    server that adds them itself: "query", or this word for documents.
    """

    def __init__(
        self,
        target: str,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        dimensions: int | None = None,
        prompts: EncoderPromptOptions = EncoderPromptOptions(),  # noqa: B008 - frozen
        input_type: Literal["", "passage", "document"] = "",
        server: ModelServerSettings = ModelServerSettings(),  # noqa: B008 - frozen
    ) -> None:
        if not target:
            raise UsageError("The system 'openai' needs the name of a model.", mend="Write openai:MODEL.")
        address = find_openai_address(server.base_url)
        listed = find_known_model(target)
        # A server that is told the role adds its own.
        adds_itself = bool(input_type) and prompts == EncoderPromptOptions()
        before = {} if adds_itself else prompts.before(name or f"openai:{target}", target, listed)
        served = ServedModelDescription(
            name=name or f"openai:{target}",
            identity=_encoder_identity(
                target, dimensions, server.describe_server_identity(address), before, input_type
            ),
            model=f"openai:{target}",
            dim=dimensions or (listed.dims if listed else None),
            max_tokens=listed.context if listed else None,
            price=TokenPrice.of(target, server.price),
            tokenizer=find_model_own_tokenizer(target),
            prompts=before,
        )
        limits = server.limits
        if address.local and server.timeout == ModelServerSettings().timeout:
            limits = replace(limits, timeout=LOCAL_PATIENCE)
        super().__init__(served, ledger, limits)
        self.uses_roles = bool(before) or bool(input_type)
        self._input_type = input_type
        self.is_local = address.local
        self._client = OpenAIClient(address, key=server.key)
        self._target, self._dimensions = target, dimensions
        self._format: Literal["base64", "float"] = "base64"
        self._bytes: np.dtype[Any] | None = None

    async def request(self, texts: Sequence[str], role: Role | None) -> ServerReply[Vectors]:
        """One call of /embeddings, whose vectors are sent as numbers."""
        answer = await self._create_embeddings(texts, "float", role)
        rows = [_read_number_vector(row) for row in _read_sent_embeddings(answer, len(texts))]
        return ServerReply(_stack_server_vectors(rows), self.usage(_read_server_token_count(answer), texts))

    async def _ask_server(self, texts: Sequence[str], role: Role | None) -> Vectors:
        """The vectors of the texts. Bytes are float32 where a vector then has as many values as the model is known to
        have; else the first text is asked for once more in numbers, which say what its bytes are."""

        async def request_embeddings_of_texts() -> ServerReply[Any]:
            answer = await self._request_embeddings_base64_or_float(texts, role)
            rows = _read_sent_embeddings(answer, len(texts))
            read = self._read_vectors(rows)
            sent: Any = rows if read is None else self._check_vectors(read, len(texts))
            return ServerReply(sent, self.usage(_read_server_token_count(answer), texts))

        tokens, price = sum(count_or_bound_tokens(texts, self.tokenizer)), self.served.price
        sent: Any = await self._calls.do(
            request_embeddings_of_texts, tokens=tokens, usd=price.usd(tokens) if price else None
        )
        if isinstance(sent, np.ndarray):
            return sent
        numbers = await self._request_first_text_as_numbers(texts[:1], role)
        if isinstance(numbers, bytes):
            self._bytes = _guess_number_type_of_bytes(sent)
            if self._bytes is None:
                raise ModelError(
                    f"{self.name} sends vectors as base64, and their number type is unclear.",
                    mend="Pass the number of dimensions: dimensions=N.",
                )
        else:
            self._bytes = _detect_number_type_of_bytes(sent[0], numbers[0])
        if self._bytes is not None:
            return self._check_vectors(_unpack_byte_vectors(sent, self._bytes), len(texts))
        self._format = "float"
        rest = [await self._ask_server(texts[1:], role)] if len(texts) > 1 else []
        return np.concatenate([numbers, *rest])

    async def _request_first_text_as_numbers(self, texts: Sequence[str], role: Role | None) -> Any:
        """The vector of a text (1, dim), asked for in numbers; its bytes where the server sends base64 all the same."""

        async def send_number_request() -> ServerReply[Any]:
            answer = await self._create_embeddings(texts, "float", role)
            (row,) = _read_sent_embeddings(answer, 1)
            sent: Any = (
                row
                if isinstance(row, bytes)
                else self._check_vectors(_stack_server_vectors([_read_number_vector(row)]), 1)
            )
            return ServerReply(sent, self.usage(_read_server_token_count(answer), texts))

        tokens, price = sum(count_or_bound_tokens(texts, self.tokenizer)), self.served.price
        return await self._calls.do(send_number_request, tokens=tokens, usd=price.usd(tokens) if price else None)

    def _read_vectors(self, rows: Sequence[Any]) -> Vectors | None:
        """The vectors that were sent, as numbers or as their bytes; None for bytes that may be of any kind."""
        if not all(isinstance(row, bytes) for row in rows):
            return _stack_server_vectors([_read_number_vector(row) for row in rows])
        if self._bytes is not None:
            return _unpack_byte_vectors(rows, self._bytes)
        if self._dim is None or len(rows[0]) != 4 * self._dim:
            return None
        vectors = _unpack_byte_vectors(rows, _FLOAT32)
        if not _are_plausible_vectors(vectors):
            return None
        self._bytes = _FLOAT32
        return vectors

    async def _request_embeddings_base64_or_float(self, texts: Sequence[str], role: Role | None) -> Any:
        try:
            return await self._create_embeddings(texts, self._format, role)
        except Exception as error:
            # Bytes in base64 are a quarter of the digits; not every server with this API sends them.
            if self._format == "float" or not is_field_refused(error, "encoding_format", "base64"):
                raise
            self._format = "float"
            return await self._create_embeddings(texts, self._format, role)

    async def _create_embeddings(
        self, texts: Sequence[str], form: Literal["base64", "float"], role: Role | None
    ) -> Any:
        # Texts without a role go as queries, which is how models of two roles are compared with themselves.
        told = {"input_type": self._input_type if role == "document" else "query"} if self._input_type else None
        shorter: dict[str, Any] = {} if self._dimensions is None else {"dimensions": self._dimensions}
        try:
            return await self._client().embeddings.create(
                model=self._target, input=list(texts), encoding_format=form, extra_body=told, **shorter
            )
        except OverflowError:  # of the client, for a number that no float can hold
            raise MalformedServerAnswer("vectors that cannot be read") from None


def _read_server_token_count(answer: Any) -> object:
    """The tokens that the server says it has read; None where it does not say."""
    usage = getattr(answer, "usage", None)
    counts = (getattr(usage, name, None) for name in ("prompt_tokens", "total_tokens"))
    return next((count for count in counts if count), None)


def _encoder_identity(
    model: str, dimensions: int | None, place: str, prompts: dict[Role | None, str], input_type: str
) -> str:
    parts = [f"openai:{model}", place]
    if dimensions is not None:
        parts.append(f"dimensions={dimensions}")
    parts += [f"{role or 'text'}={prompt!r}" for role, prompt in prompts.items()]
    if input_type:
        parts.append(f"input_type={input_type}")
    return ":".join(parts)


_FLOAT32 = np.dtype("<f4")
_KINDS = tuple(np.dtype(kind) for kind in ("<f4", "<f8", "<f2", ">f4"))
"""What servers send as base64. OpenAI's float32 first."""
_NEAR = 0.01
_LARGEST = 1e30
"""Numbers beyond are what bytes of another kind come to."""


def _read_sent_embeddings(answer: Any, n: int) -> list[Any]:
    """What was sent of each text, in their order: numbers, or bytes where it was base64. Malformed when the answer does
    not hold n."""
    if not hasattr(answer, "data"):
        # What the client gives where the server sent a page, or nothing, in place of JSON.
        raise MalformedServerAnswer("the answer is incomplete JSON")
    data = answer.data
    if not isinstance(data, list) or len(data) != n:
        raise MalformedServerAnswer(f"{len(data) if isinstance(data, list) else 'no'} vectors for {n} texts")
    try:
        if sorted(item.index for item in data) != list(range(n)):
            raise MalformedServerAnswer("vectors with wrong indices")
        sent = [item.embedding for item in sorted(data, key=lambda item: int(item.index))]
        return [b64decode(row, validate=True) if isinstance(row, str) else row for row in sent]
    except (AttributeError, TypeError, ValueError, binascii.Error):
        raise MalformedServerAnswer(UNREADABLE) from None


UNREADABLE = "vectors that cannot be read"


def _read_number_vector(row: Any) -> Vectors:
    """A vector that was sent as numbers."""
    try:
        return np.asarray(row, dtype=np.float32)
    except (ArithmeticError, TypeError, ValueError):
        raise MalformedServerAnswer(UNREADABLE) from None


def _unpack_byte_vectors(rows: Sequence[bytes], kind: np.dtype[Any]) -> Vectors:
    """The vectors that were sent as bytes, as float32."""
    try:
        read = [np.frombuffer(row, dtype=kind) for row in rows]
    except ValueError:
        raise MalformedServerAnswer(UNREADABLE) from None
    # A float64 beyond float32 becomes infinite, which later checks turn down without a warning.
    with np.errstate(over="ignore", invalid="ignore"):
        return _stack_server_vectors([row.astype(np.float32) for row in read])


def _stack_server_vectors(rows: Sequence[Vectors]) -> Vectors:
    try:
        return np.stack(rows)
    except ValueError:
        raise MalformedServerAnswer(UNREADABLE) from None


def _are_plausible_vectors(vectors: Vectors) -> bool:
    """Whether these can be vectors of a model: not all zero, and no numbers that only other bytes come to. What is not
    finite is a fault of another kind."""
    finite = vectors[np.isfinite(vectors)]
    return bool((finite != 0).any() and not (np.abs(finite) > _LARGEST).any())


_USUAL = (1e-5, 1e3)
_MOST = 0.99


def _guess_number_type_of_bytes(rows: Sequence[bytes]) -> np.dtype[Any] | None:
    """The only kind of number by which these bytes are vectors as models give them: bytes of another kind come to
    magnitudes all over. None where that is none, or several."""
    likely = []
    for kind in _KINDS:
        if any(len(row) % kind.itemsize for row in rows):
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            sizes = np.abs(np.concatenate([np.frombuffer(row, dtype=kind).astype(np.float64) for row in rows]))
        sizes = sizes[sizes != 0]
        usual = (sizes >= _USUAL[0]) & (sizes <= _USUAL[1])
        if len(sizes) and usual.mean() >= _MOST:
            likely.append(kind)
    return likely[0] if len(likely) == 1 else None


def _detect_number_type_of_bytes(row: bytes, numbers: Vectors) -> np.dtype[Any] | None:
    """What the bytes of a vector are, whose numbers are known; None where they are not this vector's."""
    for kind in _KINDS:
        if numbers.ndim != 1 or len(row) != kind.itemsize * len(numbers):
            continue
        read = np.nan_to_num(np.frombuffer(row, dtype=kind).astype(np.float64))
        if np.linalg.norm(read - numbers) <= _NEAR * np.linalg.norm(numbers):
            return kind
    return None
