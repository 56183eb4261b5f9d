"""How the texts of a call are put together for a model, on all cores or on a card.

A batch on one thread gives the same bits however many cores there are; the threads of a numeric library would
not.

A card that is given 32 texts at a time is idle for the most part. But how a library multiplies depends on the shape of
what it is given, and with that, in the last digit, the vectors. So batches are never cut in another way: those of equal
width are laid one under the other, and the first time that such a shape comes up its vectors are compared, bit by bit,
with those of each batch alone. A shape that fails is never used again.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.errors import ModelError, UsageError
from embassay.machine import count_cores
from embassay.systems.models import (
    KnownModelFacts,
    find_model_family,
    find_model_with_prompts,
    format_first_error_line,
    warn_of_missing_prompts,
)

if TYPE_CHECKING:
    from tokenizers import Encoding


_OWN_NAMES: Mapping[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus")}
PromptTask = Literal["", "classification", "clustering", "pair_classification", "sts", "summarization"]
"""Tasks that a model may ship a prompt for; "" for none."""
_OF_A_TASK: Mapping[PromptTask, tuple[str, ...]] = {
    "": (),
    "classification": ("classification", "Classification"),
    "clustering": ("clustering", "Clustering"),
    "pair_classification": ("pair_classification", "Classification"),
    "sts": ("sts", "STS"),
    "summarization": ("summarization", "summarisation", "Summarization", "Summarisation"),
}


@dataclass(frozen=True)
class RolePrompts:
    """The prompt of a query, of a document, and of a text that is neither; "" for none."""

    query: str = ""
    document: str = ""
    plain: str = ""

    def of(self, role: Role | None) -> str:
        """The prompt for a text of this role."""
        return {"query": self.query, "document": self.document, None: self.plain}[role]

    @property
    def longest_prompt(self) -> str:
        """The longest of the prompts, which leaves the least room for a text."""
        return max((self.query, self.document, self.plain), key=len)

    @property
    def has_different_prompts_by_role(self) -> bool:
        """Whether the prompts differ by role."""
        return len({self.query, self.document, self.plain}) > 1


def choose_role_prompts(
    given: Mapping[Role | None, str | None],
    *,
    own: Mapping[str, str | None],
    default: str | None = None,
    known: KnownModelFacts | None = None,
    task: PromptTask = "",
) -> RolePrompts:
    """For each role the first there is: `given` by the user ("" is none), one of the model's `own` prompts by name, its
    `default` one (a name in `own`), what is `known` of the model, none. Texts that are neither query nor document have
    the model's own prompt for the `task`, where it has one.

    An own prompt that is empty is one: it says that nothing goes before such texts. Only where all of them are empty,
    as libraries write them for a model that was given none, does what is `known` count for more.
    """
    unsaid = known is not None and not any(own.values())

    def choose_prompt_for_role(role: Role | None) -> str:
        written = given.get(role)
        if written is not None:
            return written
        for name in (*(_OWN_NAMES[role] if role else _OF_A_TASK[task]), default or ""):
            prompt = own.get(name)
            if prompt or (prompt is not None and not unsaid):
                return prompt
        return (known.find_role_prompt(role) or "") if known is not None else ""

    return RolePrompts(
        choose_prompt_for_role("query"), choose_prompt_for_role("document"), choose_prompt_for_role(None)
    )


def choose_model_facts_for_prompts(family: str | None, listed: KnownModelFacts | None) -> KnownModelFacts | None:
    """The model whose prompts count where neither user nor model say others: the one that `family` names, else the one
    that is `listed` under its own name. UsageError where there is none of that name."""
    return listed if family is None else find_model_with_prompts(family)


def warn_if_prompts_missing(
    chosen: RolePrompts,
    given: Mapping[Role | None, str | None],
    known: KnownModelFacts | None,
    *,
    system: str,
    model: str,
) -> None:
    """Warn where a model has the name of a family that needs prompts, and neither it nor user nor table has any."""
    unsaid = known is None and all(prompt is None for prompt in given.values())
    if unsaid and not chosen.longest_prompt and (family := find_model_family(model)):
        warn_of_missing_prompts(system, family)


def complete_model_prompts_by_role(shipped: Mapping[str, str | None]) -> dict[str, str | None]:
    """The prompts that a model's configuration ships, as sentence-transformers reads them for `encode_query` and
    `encode_document`: a query or a document that it says nothing about has none, and not the default one.

    >>> complete_model_prompts_by_role({"sts": "same: "})["document"]
    ''
    """
    own = dict(shipped)
    for role in _OWN_NAMES:
        if all(own.get(name) is None for name in _OWN_NAMES[role]):
            own[role] = ""
    return own


def check_vectors_finite(vectors: NDArray[np.float32], name: str, dtype: str) -> NDArray[np.float32]:
    """The vectors. ModelError where there are values that are none, which half precision makes of large ones."""
    if np.isfinite(vectors).all():
        return vectors
    mend = "The model's weights or code may be broken."
    if dtype == "float16":
        mend = "Numbers above 65,504 overflow in float16: use dtype=bfloat16 or float32."
    raise ModelError(f"{name!r} returned values that are not finite when computing in {dtype}.", mend=mend)


def has_role_router(model: Any) -> bool:
    """Whether a model of sentence-transformers reads queries and documents by modules of their own: it has a Router."""
    names: list[str] = getattr(model, "get_model_kwargs", list)()
    return "task" in names


def make_task_argument_for_encoder(route: Role | None) -> dict[str, Role]:
    """What tells the library's `encode`, `preprocess` and `forward` the route; nothing where there is none."""
    return {} if route is None else {"task": route}


def find_role_tokenizer(model: Any, role: Role | None) -> Any:
    """What cuts texts of a role into tokens: the model, or where its first module is a Router the role's first one."""
    if role is None:
        return model
    routes = getattr(model[0], "sub_modules", {})
    name = getattr(model[0], "route_mappings", {}).get((role, None), role)
    return routes[name][0] if name in routes else model


def find_token_positions_after_prompt(encoding: Encoding, prompt: str = "") -> NDArray[np.int64]:
    """Places of the tokens of what follows the `prompt`, special ones left out."""
    # By its end: a piece that begins with the prompt's last space is the text's.
    return np.array(
        [
            i
            for i, (special, (_, end)) in enumerate(zip(encoding.special_tokens_mask, encoding.offsets, strict=True))
            if not special and end > len(prompt)
        ],
        dtype=np.int64,
    )


def find_character_spans_after_prompt(encoding: Encoding, prompt: str = "") -> NDArray[np.int64]:
    """First character and end of the tokens of what follows the `prompt`, counted from there, (tokens, 2)."""
    own = find_token_positions_after_prompt(encoding, prompt)
    places = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)[own]
    return np.maximum(places - len(prompt), 0)


class ModelTokenLimit:
    """`tokens` of a text are read by a model with this `tokenizer`; None where it has no limit, or no tokenizer
    that can be asked."""

    def __init__(self, tokenizer: Any, tokens: Any) -> None:
        countable = callable(tokenizer) and isinstance(tokens, int)
        self.tokens: int | None = tokens if countable else None
        # A copy: counting does not cut, and the model's own must not change while another thread uses it.
        self._tokenizer = deepcopy(tokenizer) if countable else None

    def count_texts_over_limit(self, texts: Sequence[str], prompt: str = "") -> int:
        """How many of the texts, with the prompt before each, have more tokens than that."""
        if self.tokens is None or self._tokenizer is None or not texts:
            return 0
        whole = [prompt + text for text in texts]
        ids = self._tokenizer(whole, truncation=False, verbose=False)["input_ids"]
        return sum(len(row) > self.tokens for row in ids)


class ModelTokenVectorExtractor:
    """Token vectors of `model`, by its `route` where it has routes. UsageError for a tokenizer that does not say
    where its tokens stand."""

    def __init__(self, model: Any, route: Role | None = None) -> None:
        reader = find_role_tokenizer(model, route)
        tokenizer: Any = getattr(reader, "tokenizer", None)
        if not getattr(tokenizer, "is_fast", False):
            raise UsageError(
                "The model's tokenizer does not give token positions in the text.",
                mend="Use a model with a fast tokenizer (tokenizer.json).",
            )
        self._model, self._route = model, route
        # A copy: how the model's own cuts and pads must not change while another thread uses it.
        self._tokenizer: Any = deepcopy(tokenizer)
        limit = getattr(reader, "max_seq_length", None)
        self._cut: dict[str, Any] = {"truncation": True, "max_length": limit} if limit else {}

    def find_own_token_places(self, texts: Sequence[str], prompt: str) -> list[tuple[int, NDArray[np.int64]]]:
        """How many tokens the model reads of each text with the prompt before it, and which are the text's own."""
        whole = [prompt + text for text in texts]
        encodings = self._tokenizer(whole, **self._cut).encodings if whole else []
        return [(len(encoding.ids), find_token_positions_after_prompt(encoding, prompt)) for encoding in encodings]

    def find(self, texts: Sequence[str], prompt: str) -> list[NDArray[np.int64]]:
        """First character and end of each of a text's own tokens, (tokens, 2) per text, however long it is."""
        whole = [prompt + text for text in texts]
        # Longer texts than the model reads are wanted here, and the tokenizer warns of them.
        encodings = self._tokenizer(whole, truncation=False, verbose=False).encodings if whole else []
        return [find_character_spans_after_prompt(encoding, prompt) for encoding in encodings]

    def read(
        self, texts: Sequence[str], places: Sequence[tuple[int, NDArray[np.int64]]], prompt: str, batch_size: int
    ) -> list[NDArray[np.float32]]:
        """(own tokens, width) per text. ModelError where the model fails."""
        try:
            states = self._model.encode(
                list(texts), prompt=prompt, batch_size=batch_size, output_value="token_embeddings",
                show_progress_bar=False, **make_task_argument_for_encoder(self._route)
            )  # fmt: skip
        except Exception as error:  # transformers and torch have no root in common
            raise ModelError(f"The model failed while encoding tokens: {format_first_error_line(error)}") from error
        return [_pick_own_token_states(state, *where) for state, where in zip(states, places, strict=True)]


def _pick_own_token_states(state: Any, n: int, own: NDArray[np.int64]) -> NDArray[np.float32]:
    hidden: NDArray[np.float32] = state.detach().float().cpu().numpy()
    if len(hidden) < n:
        raise ModelError(f"The model returned only {len(hidden)} states for {n} tokens of a text.")
    # The library cuts padding off at the end only; some tokenizers put it in front.
    return hidden[len(hidden) - n :][own]


Batch = list[int]
"""Rows of the call's texts."""


def batch_by_equal_length(lengths: Sequence[int], tokens: int) -> list[Batch]:
    """Rows of equal length, at most `tokens` tokens together: nothing is padded, so no text's vector depends
    on the texts beside it. The most expensive batches come first."""
    by_length: dict[int, Batch] = defaultdict(list)
    for row, length in enumerate(lengths):
        by_length[length].append(row)
    batches = []
    for length in sorted(by_length, reverse=True):
        rows, size = by_length[length], max(1, tokens // max(1, length))
        batches += [rows[start : start + size] for start in range(0, len(rows), size)]
    return batches


def batch_by_similar_length(texts: Sequence[str], size: int) -> list[Batch]:
    """Rows by length in characters, `size` together, long ones first; a function of the set of texts."""
    rows = sorted(range(len(texts)), key=lambda row: (-len(texts[row]), texts[row]))
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def run_batches_on_all_cores(
    work: Callable[[Batch], None], batches: Sequence[Batch], *, start: Callable[[], None] | None = None
) -> None:
    """`work` for every batch, in as many threads as there are cores; `start` is called in each thread first."""
    if not batches:
        return
    with ThreadPoolExecutor(min(count_cores(), len(batches)), initializer=start) as pool:
        list(pool.map(work, batches))


Vectors = NDArray[np.float32]

_GAIN = 1.1
"""Twice as many tokens together must be so much faster, each, for more to be tried."""
_HOPELESS = 8
"""So many shapes refused and none admitted: batches are done alone from then on."""


@dataclass(frozen=True)
class PaddedBatch:
    """A batch as the model takes it: `rows` texts, all filled up to `width` tokens. A batch that cannot be laid
    together with others has no width."""

    rows: int
    width: int | None
    features: Any

    @property
    def tokens(self) -> int:
        """The number of tokens in the batch, filling included."""
        return self.rows * (self.width or 0)


@dataclass
class EncoderBatchMerger:
    """`run` gives the vectors (rows, dim) of one batch or several of one width, in order; `halve` a batch in two of the
    same width; `no_memory` says that an error means the card is full."""

    run: Callable[[Sequence[PaddedBatch]], Vectors]
    halve: Callable[[PaddedBatch], tuple[PaddedBatch, PaddedBatch]]
    no_memory: Callable[[Exception], bool]
    clock: Callable[[], float] = perf_counter
    tokens: int = 0
    """At most so many are done together; grows until that no longer pays."""
    same: dict[tuple[int, int], bool] = field(default_factory=dict)
    """Rows and width of what was tried, and whether every vector was as it is alone."""
    _rate: float = 0.0
    _settled: bool = False
    _warned: bool = False

    def __call__(self, batches: Sequence[PaddedBatch]) -> list[Vectors]:
        """The vectors of each batch. ModelError where not even one text fits on the card."""
        results: list[Vectors | None] = [None] * len(batches)
        widths: dict[int | None, list[int]] = defaultdict(list)
        for i, batch in enumerate(batches):
            widths[batch.width].append(i)
        for width, places in widths.items():
            while places:
                taken = self._count_batches_to_join(batches, places, alone=width is None or self._is_joining_hopeless)
                group, places = places[:taken], places[taken:]
                done = self._run_group([batches[i] for i in group])
                for i, vectors in zip(group, done, strict=True):
                    results[i] = vectors
        return [vectors for vectors in results if vectors is not None]

    @property
    def _is_joining_hopeless(self) -> bool:
        return len(self.same) >= _HOPELESS and not any(self.same.values())

    def _count_batches_to_join(self, batches: Sequence[PaddedBatch], places: Sequence[int], *, alone: bool) -> int:
        """How many of the places to take together: one at least, more while they have at most `tokens`."""
        taken, tokens = 1, batches[places[0]].tokens
        self.tokens = max(self.tokens, tokens)
        while not alone and taken < len(places) and tokens + batches[places[taken]].tokens <= self.tokens:
            tokens += batches[places[taken]].tokens
            taken += 1
        return taken

    def _run_group(self, group: Sequence[PaddedBatch]) -> list[Vectors]:
        shape = (sum(batch.rows for batch in group), group[0].width or 0)
        if len(group) == 1 or self.same.get(shape) is False:
            return self._run_each_batch_alone(group)
        try:
            start = self.clock()
            parts = self._split_vectors_by_batch(self.run(group), group)
            seconds = self.clock() - start
        except Exception as error:
            if not self.no_memory(error):
                raise
            # A card that was full once is not asked for so much again.
            self.tokens, self._settled = max(1, self.tokens // 2), True
            middle = len(group) // 2
            return [*self._run_group(group[:middle]), *self._run_group(group[middle:])]
        if shape not in self.same:
            alone = self._run_each_batch_alone(group)
            self.same[shape] = all(a.tobytes() == b.tobytes() for a, b in zip(parts, alone, strict=True))
            # The vectors of each batch alone, whatever the comparison says: later ones must equal these.
            return alone
        self._double_token_limit_if_faster(sum(batch.tokens for batch in group), seconds)
        return parts

    def _run_each_batch_alone(self, group: Sequence[PaddedBatch]) -> list[Vectors]:
        parts = []
        for batch in group:
            start = self.clock()
            parts.append(self._encode_single_batch(batch))
            self._double_token_limit_if_faster(batch.tokens, self.clock() - start)
        return parts

    def _encode_single_batch(self, batch: PaddedBatch) -> Vectors:
        try:
            return self.run([batch])
        except Exception as error:
            if not self.no_memory(error):
                raise
            if batch.rows == 1:
                raise ModelError(
                    "The GPU ran out of memory on a single text.",
                    mend="Try a smaller max_length, or EMBASSAY_DEVICE=cpu.",
                ) from error
        self._warn_of_halved_batches()
        upper, lower = self.halve(batch)
        return np.concatenate([self._encode_single_batch(upper), self._encode_single_batch(lower)])

    def _split_vectors_by_batch(self, vectors: Vectors, group: Sequence[PaddedBatch]) -> list[Vectors]:
        ends = np.cumsum([batch.rows for batch in group])[:-1]
        return [np.ascontiguousarray(part) for part in np.split(vectors, ends)]

    def _double_token_limit_if_faster(self, tokens: int, seconds: float) -> None:
        """Twice as many from now on, if as many as are allowed were done, and faster than before."""
        if self._settled or 2 * tokens <= self.tokens or seconds <= 0:
            return
        rate = tokens / seconds
        if rate >= _GAIN * self._rate:
            self._rate, self.tokens = rate, 2 * self.tokens
        else:
            self._settled = True

    def _warn_of_halved_batches(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                "The GPU has too little memory for a whole batch, so batches are halved. Vectors may differ "
                "in the last digit from those of a larger GPU. Another batch_size counts as another encoder.",
                RuntimeWarning,
                stacklevel=2,
            )
