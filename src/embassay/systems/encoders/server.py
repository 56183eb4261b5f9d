"""What encoders behind a server share: requests of bounded size, many at once, checked answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role, Tokenizer, Usage
from embassay.errors import TextRefused, UsageError
from embassay.systems.encoders.batches import (
    choose_model_facts_for_prompts,
    choose_role_prompts,
    warn_if_prompts_missing,
)
from embassay.systems.models import KnownModelFacts, find_known_model
from embassay.systems.remote import (
    CallLimits,
    Ledger,
    MalformedServerAnswer,
    ModelServerClient,
    ServerReply,
    TokenPrice,
    iterate_finished_jobs,
    run_in_remote_loop_and_wait,
)
from embassay.systems.remote.http import ModelApiVendor, ModelServerSettings, VendorConnection
from embassay.systems.remote.ledger import (
    BookedTokenCount,
    count_or_bound_tokens,
    cut_text_to_tokens,
    estimate_most_server_tokens,
    estimate_server_tokens,
    find_too_long_texts,
    make_usage_from_booked_tokens,
)

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class ServedModelDescription:
    """A model behind a server, as its vendor or the user describes it.

    `name` is the canonical spec, `identity` everything its vectors depend on, `model` its name in the ledger
    (`openai:text-embedding-3-small`); `dim` None until a call tells; `max_tokens` what it reads of a text. A
    request holds at most `texts` texts and `tokens` tokens; `chunk_size` texts are a chunk (of the cache, and
    of `encode_chunks`). `tokenizer` is the model's own, where it is at hand. `prompts` go before texts of
    their role.
    """

    name: str
    identity: str
    model: str
    dim: int | None = None
    max_tokens: int | None = None
    chunk_size: int = 128
    texts: int = 2048
    tokens: int = 250_000
    price: TokenPrice | None = None
    tokenizer: Tokenizer | None = None
    prompts: Mapping[Role | None, str] = field(default_factory=dict)


class ServedEncoder(ABC):
    """An encoder whose subclass only asks the server: `request` sends texts and reads their vectors.

    An empty text is not sent; its vector is zero, which cosine gives no similarity to anything. Where the
    model's tokenizer is at hand, longer texts are cut at `max_tokens`; elsewhere the server may refuse them
    (TextRefused), and says so.
    """

    uses_roles = False
    is_local = False
    """Whether the server is on this machine."""

    def __init__(self, served: ServedModelDescription, ledger: Ledger | None, limits: CallLimits) -> None:
        self.served = served
        self.name, self.identity, self.model = served.name, served.identity, served.model
        self.max_tokens, self.chunk_size = served.max_tokens, served.chunk_size
        self.tokenizer = served.tokenizer
        self.price = served.price.usd_per_million_input if served.price else None
        self.rpm, self.tpm = limits.rpm, limits.tpm
        self._calls = ModelServerClient(served.model, ledger, limits)
        self._dim = served.dim

    @abstractmethod
    async def request(self, texts: Sequence[str], role: Role | None) -> ServerReply[Vectors]:
        """One request: the vectors of the texts, (n, dim), and the usage. Raises what `classify` understands."""

    @property
    def dim(self) -> int:
        """Dimensions; where neither table nor parameter says, one text is encoded to find out."""
        if self._dim is None:
            self._dim = run_in_remote_loop_and_wait(lambda: self._ask_server(["dimensions"], None)).shape[1]
        return self._dim

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> Vectors:
        """Embeddings, (n, dim) float32. ModelError when a call fails for good, TextRefused when it does for
        its texts, BudgetExceeded when the money is used up."""
        starts = range(0, len(texts), self.chunk_size)
        chunks = [texts[start : start + self.chunk_size] for start in starts]
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for position, answer in self.encode_chunks(chunks, role=role):
            if isinstance(answer, TextRefused):
                raise answer
            vectors[starts[position] : starts[position] + len(answer)] = answer
        return vectors

    def encode_chunks(
        self, chunks: Sequence[Sequence[str]], *, role: Role | None = None
    ) -> Iterator[tuple[int, Vectors | TextRefused]]:
        """Each chunk by its position, as soon as it is there; one that is refused for its texts as TextRefused.

        Other errors are raised after what was in flight has been yielded.
        """
        dim = self.dim
        jobs = (partial(self._encode_chunk, chunk, role, dim) for chunk in chunks)
        # A few more than may be in flight, so that the server never waits for us.
        yield from iterate_finished_jobs(jobs, at_once=self._calls.limits.concurrency + 2)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts are cut at `max_tokens`; 0 where the model's tokenizer is not at hand, because
        then none is cut."""
        if self.max_tokens is None or self.tokenizer is None:
            return 0
        return len(find_too_long_texts(texts, self.max_tokens, self.tokenizer))

    async def _encode_chunk(self, texts: Sequence[str], role: Role | None, dim: int) -> Vectors | TextRefused:
        # Empty texts are not sent: their vectors are zeros.
        filled = [i for i, text in enumerate(texts) if text]
        sent = self._prepare_texts([texts[i] for i in filled], role)
        try:
            parts = [await self._ask_server(part, role) for part in self._split_into_requests(sent)]
        except TextRefused as refusal:
            return refusal
        vectors = np.zeros((len(texts), dim), dtype=np.float32)
        if parts:
            vectors[filled] = np.concatenate(parts)
        return vectors

    def _prepare_texts(self, texts: list[str], role: Role | None) -> list[str]:
        """The texts as they are sent: after their prompt, and cut."""
        prompt = self.served.prompts.get(role, "")
        texts = [prompt + text for text in texts]
        if self.max_tokens is not None and self.tokenizer is not None:
            for i in find_too_long_texts(texts, self.max_tokens, self.tokenizer):
                texts[i] = cut_text_to_tokens(texts[i], self.max_tokens, self.tokenizer)
        return texts

    def _split_into_requests(self, texts: Sequence[str]) -> Iterator[Sequence[str]]:
        """The texts in requests that the server's bounds allow."""
        starts, tokens = [0], 0
        for i, count in enumerate(count_or_bound_tokens(texts, self.tokenizer)):
            if i > starts[-1] and (tokens + count > self.served.tokens or i - starts[-1] >= self.served.texts):
                starts.append(i)
                tokens = 0
            tokens += count
        yield from (texts[start:end] for start, end in pairwise([*starts, len(texts)]) if end > start)

    async def _ask_server(self, texts: Sequence[str], role: Role | None) -> Vectors:
        tokens = sum(count_or_bound_tokens(texts, self.tokenizer))

        async def send_request() -> ServerReply[Vectors]:
            answer = await self.request(texts, role)
            return ServerReply(self._check_vectors(answer.value, len(texts)), answer.usage)

        most = estimate_most_server_tokens(texts, self.tokenizer)
        return await self._calls.do(send_request, tokens=tokens, usd=self._price_tokens(most))

    def usage(self, said: object, texts: Sequence[str]) -> Usage:
        """What a request for `texts` is booked with, whose tokens the server `said` to have counted (None: it does not
        say)."""
        known = self.tokenizer is not None
        likely = sum(count_or_bound_tokens(texts, self.tokenizer)) if known else estimate_server_tokens(texts)
        read = BookedTokenCount.of(said, most=estimate_most_server_tokens(texts, self.tokenizer), likely=likely)
        return make_usage_from_booked_tokens(read, usd=self._price_tokens)

    def _price_tokens(self, input_tokens: int, output_tokens: int = 0) -> float | None:
        return None if self.served.price is None else self.served.price.usd(input_tokens, output_tokens)

    def _check_vectors(self, vectors: Vectors, n: int) -> Vectors:
        """The vectors; Malformed when there are not n, or not of the model's dimensions, or not finite."""
        if vectors.ndim != 2 or len(vectors) != n or vectors.shape[1] == 0:
            raise MalformedServerAnswer(f"{len(vectors)} vectors for {n} texts" if vectors.ndim == 2 else "no vectors")
        if self._dim is not None and vectors.shape[1] != self._dim:
            raise MalformedServerAnswer(f"vectors of {vectors.shape[1]} dimensions, expected {self._dim}")
        if not np.isfinite(vectors).all():
            raise MalformedServerAnswer("vectors with values that are not finite", of_texts=True)
        return vectors


_ROLES: tuple[Role | None, ...] = ("query", "document", None)


@dataclass(frozen=True)
class EncoderPromptOptions:
    """What the user says goes before texts: the prompt of a role ("" is none), or in one word those of a
    `family`."""

    query_prompt: str | None = None
    document_prompt: str | None = None
    prompt: str | None = None
    family: str | None = None

    def before(self, system: str, target: str, listed: KnownModelFacts | None) -> dict[Role | None, str]:
        """The prompts that are not empty. A warning where the model is of a family that needs some, and nobody says
        which."""
        given: dict[Role | None, str | None] = {
            "query": self.query_prompt, "document": self.document_prompt, None: self.prompt
        }  # fmt: skip
        known = choose_model_facts_for_prompts(self.family, listed)
        chosen = choose_role_prompts(given, own={}, known=known)
        warn_if_prompts_missing(chosen, given, known, system=system, model=target)
        return {role: prompt for role in _ROLES if (prompt := chosen.of(role))}


class HttpPostEncoder(ServedEncoder):
    """An encoder whose subclass says where to post (`path`), what (`payload`), and what the answer means (`read`).

    `most_texts` and `most_tokens` are what the vendor takes in one request. `facts` are what the vectors depend
    on beside model, server, dimensions and prompts.
    """

    path: str
    most_texts: int
    # Counted in bytes, as the models' tokenizers are not at hand: in any script fewer than 120,000 tokens.
    most_tokens: int = 300_000

    def __init__(
        self,
        vendor: ModelApiVendor,
        target: str,
        server: ModelServerSettings,
        ledger: Ledger | None,
        *,
        name: str = "",
        dimensions: int | None = None,
        facts: Mapping[str, Any] | None = None,
        prompts: EncoderPromptOptions = EncoderPromptOptions(),
    ) -> None:
        if not target:
            raise UsageError(
                f"The system {vendor.spec!r} needs the name of a model.", mend=f"Write {vendor.spec}:MODEL."
            )
        # What follows a colon is Ollama's tag: a size or quantization of the same model.
        listed = find_known_model(target) or find_known_model(target.partition(":")[0])
        spec = name or f"{vendor.spec}:{target}"
        before = prompts.before(spec, target, listed)
        self.connection = VendorConnection.of(vendor, server)
        self.target, self.dimensions = target, dimensions
        parts = [
            vendor.spec,
            target,
            server.describe_server_identity(self.connection.address),
            f"dimensions={dimensions}",
        ]
        parts += [f"{key}={value}" for key, value in (facts or {}).items()]
        parts += [f"{role or 'text'}={prompt!r}" for role, prompt in before.items()]
        served = ServedModelDescription(
            name=spec,
            identity=":".join(parts),
            model=f"{vendor.spec}:{target}",
            dim=dimensions or (listed.dims if listed else None),
            chunk_size=self.most_texts,
            texts=self.most_texts,
            tokens=self.most_tokens,
            price=TokenPrice.of(target, 0.0 if server.price is None and not vendor.keys else server.price),
            prompts=before,
        )
        super().__init__(served, ledger, server.limits)
        self.uses_roles = self.uses_roles or bool(before)
        self.is_local = self.connection.address.local

    @abstractmethod
    def build_request_payload(self, texts: Sequence[str], role: Role | None) -> dict[str, Any]:
        """The body of a request for the vectors of `texts`."""

    @abstractmethod
    def read(self, answer: Any) -> tuple[Sequence[Any], int | None]:
        """The vectors in the order of the texts, and the tokens that the server counted. LookupError, TypeError or
        ValueError where the answer holds none."""

    async def request(self, texts: Sequence[str], role: Role | None) -> ServerReply[Vectors]:
        """One POST; its tokens as the server counted them, or about as many as they were."""
        answer = await self.connection.post(self.path, self.build_request_payload(texts, role))
        try:
            rows, counted = self.read(answer)
            vectors = np.array(rows, dtype=np.float32)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise MalformedServerAnswer("the answer contains no vectors") from None
        return ServerReply(vectors, self.usage(counted, texts))
