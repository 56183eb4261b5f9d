"""Models of sentence-transformers, from the hub or a folder, in torch (or ONNX and OpenVINO through optimum)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.errors import ModelError, UsageError
from embassay.machine import read_requested_device
from embassay.systems.encoders.batches import (
    Batch,
    EncoderBatchMerger,
    ModelTokenLimit,
    ModelTokenVectorExtractor,
    PaddedBatch,
    PromptTask,
    RolePrompts,
    batch_by_similar_length,
    check_vectors_finite,
    choose_model_facts_for_prompts,
    choose_role_prompts,
    complete_model_prompts_by_role,
    find_role_tokenizer,
    has_role_router,
    make_task_argument_for_encoder,
    run_batches_on_all_cores,
    warn_if_prompts_missing,
)
from embassay.systems.models import (
    OF_LIBRARY,
    PICKLED,
    SAFE_WEIGHTS,
    ModelWeightsLocation,
    describe_system_for_non_embedding_folder,
    find_foreign_code_repositories,
    find_known_model,
    find_weights_and_library,
    format_first_error_line,
    import_model_library,
    is_pickle_refusal,
    is_revision_pinned,
    read_model_configuration,
)

_BACKENDS = {"onnx": "optimum.onnxruntime", "openvino": "optimum.intel"}
_CHUNK = 256
_BATCH, _CARD_BATCH = 32, 256


@dataclass(eq=False)
class SentenceTransformer:
    """The model `target`: ORG/MODEL of the hub at `revision`, or a folder.

    Queries and documents are encoded as by the library's `encode_query` and `encode_document`: by their own routes
    where the model has such (Router, Asym), and after their prompts: `query_prompt`, `document_prompt`, and `prompt`
    for texts without a role (defaults: `choose_role_prompts`; with a `task` the model's own for it; those of a known
    `family`, as e5, where the folder has none).

    `truncate_dim` keeps the first dimensions; `max_length` is in tokens; `device` is a torch device, by default
    $EMBASSAY_DEVICE or the best. A model's own code runs only with `trust_remote_code` and a commit as `revision`;
    code from another repository needs a commit as `code_revision`.

    On a CPU each batch runs on one thread, so vectors do not depend on the number of cores. `batch_size` (32,
    on CUDA 256) decides which texts are padded together, and so the last digit of their vectors.
    UsageError for parameters that cannot be, ModelError when the model or a package is missing or fails.
    """

    target: str
    name: str = "st"
    revision: str | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    prompt: str | None = None
    family: str | None = None
    task: PromptTask = ""
    truncate_dim: int | None = None
    max_length: int | None = None
    batch_size: int | None = None
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    device: str | None = None
    backend: Literal["torch", "onnx", "openvino"] = "torch"
    trust_remote_code: bool = False
    code_revision: str | None = None

    def __post_init__(self) -> None:
        self._check_encoder_settings()
        weights, library = find_weights_and_library(
            _import_sentence_transformers, self.target, self.revision, system="st"
        )
        self._check_foreign_code_is_pinned(weights)
        self._model = self._load_model(library, weights)
        self._cards: dict[Role | None, TorchBatchRunner] = {}
        self._states: dict[Role | None, ModelTokenVectorExtractor] = {}
        self.joins_chunks = self.backend == "torch" and self._model.device.type == "cuda"
        self._batch = self.batch_size or (_CARD_BATCH if self.joins_chunks else _BATCH)
        self._set_max_length()
        # Texts without a role are more often like documents, and documents are what is too long.
        reader = find_role_tokenizer(self._model, "document")
        self._limit = ModelTokenLimit(getattr(reader, "tokenizer", None), getattr(reader, "max_seq_length", None))
        self.max_tokens = self._limit.tokens
        self._weights = weights
        self.prompts = self._choose_prompts()
        said = self._model.similarity_fn_name or "cosine"
        self.similarity = str(getattr(said, "value", said))
        self.has_routes, width = self._probe_role_routes_and_vector_width()
        if self.truncate_dim is not None and not 1 <= self.truncate_dim <= width:
            raise UsageError(
                f"{self.name!r} has {width} dimensions, so truncate_dim={self.truncate_dim} is impossible."
            )
        self.dim = self.truncate_dim or width
        self.uses_roles = self.prompts.has_different_prompts_by_role or self.has_routes
        self.chunk_size = max(_CHUNK, self._batch)
        self.identity = self._build_identity(library)

    def with_task_prompt(self, task: PromptTask, name: str) -> SentenceTransformer:
        """The same loaded model with the prompt that it ships for a task, under another name."""
        twin = copy(self)
        twin.task, twin.name = task, name
        twin.prompts = twin._choose_prompts()
        twin.uses_roles = twin.prompts.has_different_prompts_by_role or twin.has_routes
        twin.identity = twin._build_identity(_import_sentence_transformers())
        return twin

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:
        """Vectors as the model gives them, (n, dim); longer texts are cut at `max_tokens`, prompt included."""
        if self.joins_chunks and texts:
            return next(self.encode_together([texts], role=role))[1]
        vectors = np.empty((len(texts), self.dim), dtype=np.float32)
        prompt = self.prompts.of(role)

        def fill_vectors(rows: Batch) -> None:
            vectors[rows] = self._encode_vectors(
                [texts[row] for row in rows], prompt, self._choose_encoder_route_for_role(role)
            )[:, : self.dim]

        self._call_function_for_each_batch(fill_vectors, texts)
        return vectors

    def encode_together(
        self, chunks: Sequence[Sequence[str]], *, role: Role | None = None
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """`encode` of every chunk by its position, bit by bit, with more texts on the card at once than a chunk has."""
        for position, vectors in self._make_torch_runner(self._choose_encoder_route_for_role(role)).encode_each_chunk(
            chunks, self.prompts.of(role)
        ):
            yield position, vectors[:, : self.dim]

    def _make_torch_runner(self, route: Role | None) -> TorchBatchRunner:
        if route not in self._cards:
            self._cards[route] = TorchBatchRunner(self._model, self._batch, self.name, route, self.dtype)
        return self._cards[route]

    def encode_token_vectors(self, texts: Sequence[str], *, role: Role | None = None) -> list[NDArray[np.float32]]:
        """The last hidden state of each of a text's own tokens, (tokens, width) per text. UsageError where the model's
        tokenizer does not say where a token stands."""
        prompt, states = (
            self.prompts.of(role),
            self._open_token_vector_reader(self._choose_encoder_route_for_role(role)),
        )
        places = states.find_own_token_places(texts, prompt)
        tokens: list[NDArray[np.float32]] = [np.empty(0, dtype=np.float32)] * len(texts)

        def fill_token_states(rows: Batch) -> None:
            part = [texts[row] for row in rows], [places[row] for row in rows]
            for row, hidden in zip(rows, states.read(*part, prompt, self._batch), strict=True):
                tokens[row] = hidden

        self._call_function_for_each_batch(fill_token_states, texts)
        return tokens

    @property
    def no_late_chunks(self) -> str:
        """Why passages cannot be read within their document; empty where they can. See `systems.late_chunks`."""
        pooling = self._find_pooling_module()
        if self.has_routes or pooling is None:
            return "it does not pool tokens itself, so a passage's vector cannot be computed from them"
        mode = getattr(pooling, "pooling_mode", None) or pooling.get_pooling_mode_str()
        return "" if mode == "mean" else f"its vectors are not the mean of its tokens' vectors ({mode})"

    @property
    def token_room(self) -> int | None:
        """Tokens of a document's own that are read at once, beside the prompt and special ones."""
        if self.max_tokens is None:
            return None
        return (
            self.max_tokens
            - self._open_token_vector_reader(None).find_own_token_places([""], self.prompts.of("document"))[0][0]
        )

    def locate_text_tokens(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """First character and end of each of a text's own tokens, (tokens, 2) per text, none cut off. UsageError as
        `encode_token_vectors`."""
        return self._open_token_vector_reader(None).find(texts, self.prompts.of("document"))

    def finish_mean_vectors(self, means: NDArray[np.float32]) -> NDArray[np.float32]:
        """The modules after pooling on means of token vectors, (n, width), as vectors, (n, dim)."""
        import torch

        modules = list(self._model)
        kind = next(iter(self._model.parameters()))
        features = {"sentence_embedding": torch.from_numpy(means).to(kind.device, kind.dtype)}
        with torch.inference_mode():
            for module in modules[modules.index(self._find_pooling_module()) + 1 :]:
                features = module(features)
        vectors = features["sentence_embedding"].float().cpu().numpy()
        return check_vectors_finite(np.asarray(vectors, dtype=np.float32), self.name, self.dtype)[:, : self.dim]

    def _find_pooling_module(self) -> Any:
        """The module that makes a vector of a text of its tokens'; None where there is none."""
        return next((module for module in self._model if type(module).__name__ == "Pooling"), None)

    def _open_token_vector_reader(self, route: Role | None) -> ModelTokenVectorExtractor:
        if route not in self._states:
            self._states[route] = ModelTokenVectorExtractor(self._model, route)
        return self._states[route]

    def _choose_encoder_route_for_role(self, role: Role | None) -> Role | None:
        """The route of a text of this role; None, which the library takes for none, where the model has no routes."""
        return role if self.has_routes else None

    def _call_function_for_each_batch(self, fill: Callable[[Batch], None], texts: Sequence[str]) -> None:
        batches = batch_by_similar_length(texts, self._batch)
        if self.backend == "torch" and self._model.device.type == "cpu":
            import torch

            run_batches_on_all_cores(fill, batches, start=partial(torch.set_num_threads, 1))
        else:
            for batch in batches:
                fill(batch)

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many of the texts have more than `max_tokens` tokens, the longest prompt included."""
        return self._limit.count_texts_over_limit(texts, self.prompts.longest_prompt)

    def _check_encoder_settings(self) -> None:
        if self.backend != "torch":
            if self.dtype != "float32":
                raise UsageError(f"The backend {self.backend} does not accept dtype.", mend="Leave dtype out.")
            _check_backend_installed(self.backend)
        folder = Path(self.target).expanduser()
        if mend := describe_system_for_non_embedding_folder(folder, self.target):
            raise UsageError(f"{self.name!r} is not an embedding model, according to its folder.", mend=mend.strip())
        pinned = is_revision_pinned(self.revision) or folder.is_dir()
        if self.trust_remote_code and not pinned:
            raise UsageError(
                f"Code from the hub runs only at a pinned commit, but none is given for {self.target}.",
                mend="Read the code, then add revision=COMMIT with all 40 characters.",
            )
        if self.batch_size is not None and self.batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, found {self.batch_size}.")

    def _check_foreign_code_is_pinned(self, weights: ModelWeightsLocation) -> None:
        foreign = find_foreign_code_repositories(weights) if self.trust_remote_code else ()
        if foreign and not is_revision_pinned(self.code_revision):
            raise UsageError(
                f"{self.target} uses code from {' and '.join(foreign)}, which is not pinned to a commit.",
                mend="Read that code too, then add code_revision=COMMIT with all 40 characters.",
            )

    def _load_model(self, library: Any, weights: ModelWeightsLocation) -> Any:
        code = {} if self.code_revision is None else {"code_revision": self.code_revision}
        try:
            model = library.SentenceTransformer(
                weights.location,
                revision=weights.commit,
                local_files_only=weights.cached,
                device=self.device or read_requested_device(),
                backend=self.backend,
                trust_remote_code=self.trust_remote_code,
                model_kwargs={**code},
                config_kwargs={**code},
            )
            if self.backend == "torch":
                import torch

                model.to(getattr(torch, self.dtype))
        except Exception as error:  # hub, safetensors, transformers and torch have no root in common
            mend = "Check that it is a sentence-transformers model and that its files are complete."
            if "trust_remote_code" in str(error) and not self.trust_remote_code:
                mend = "It needs its own code. Read it, then add trust_remote_code=true and revision=COMMIT."
            if is_pickle_refusal(error):
                raise ModelError(f"{self.name!r} is not loaded: {PICKLED}.", mend=SAFE_WEIGHTS) from error
            raise ModelError(f"{self.name!r} cannot be loaded: {format_first_error_line(error)}", mend=mend) from error
        return model

    def _probe_role_routes_and_vector_width(self) -> tuple[bool, int]:
        """Whether the model reads queries and documents by routes of their own, and the width of its vectors.
        ModelError where the two routes' vectors cannot be compared."""
        # These calls also fix how the tokenizer cuts and pads, which threads must not do at the same time.
        if not has_role_router(self._model):
            return False, self._encode_vectors([""], "").shape[1]
        try:
            asked = self._encode_vectors([""], "", "query").shape[1]
        except ModelError:
            # Code of the model's own may have tasks by other names: then prompts alone tell queries from documents.
            return False, self._encode_vectors([""], "").shape[1]
        width = self._encode_vectors([""], "", "document").shape[1]
        if asked != width:
            raise ModelError(
                f"{self.name!r} encodes queries with {asked} dimensions and documents with {width}, so they cannot "
                "be compared.",
                mend="Use a model whose query and document routes have the same number of dimensions.",
            )
        return True, width

    def _choose_prompts(self) -> RolePrompts:
        shipped = read_model_configuration(self._weights, OF_LIBRARY).get("prompts")
        listed = find_known_model(self._weights.location) if self._weights.folder is None else None
        known = choose_model_facts_for_prompts(self.family, listed)
        given: dict[Role | None, str | None] = {
            "query": self.query_prompt, "document": self.document_prompt, None: self.prompt
        }  # fmt: skip
        chosen = choose_role_prompts(
            given,
            own=complete_model_prompts_by_role(shipped if isinstance(shipped, dict) else {}),
            default=self._model.default_prompt_name,
            known=known,
            task=self.task,
        )
        warn_if_prompts_missing(chosen, given, known, system=self.name, model=Path(self.target).name)
        return chosen

    def _set_max_length(self) -> None:
        if self.max_length is None:
            return
        config = getattr(getattr(self._model[0], "auto_model", None), "config", None)
        most = getattr(config, "max_position_embeddings", None)
        if self.max_length < 1 or (most is not None and self.max_length > most):
            raise UsageError(
                f"max_length={self.max_length} is not possible: {self.name!r} reads "
                f"{f'1 to {most}' if most else '1 or more'} tokens."
            )
        self._model.max_seq_length = self.max_length

    def _encode_vectors(self, texts: list[str], prompt: str, route: Role | None = None) -> NDArray[np.float32]:
        try:
            vectors = self._model.encode(
                texts,
                prompt=prompt,
                batch_size=self._batch,
                show_progress_bar=False,
                convert_to_numpy=True,
                **make_task_argument_for_encoder(route),
            )
        except Exception as error:
            mend = "Try a smaller batch_size or max_length." if is_gpu_out_of_memory(error) else ""
            raise ModelError(
                f"{self.name!r} failed while encoding: {format_first_error_line(error)}", mend=mend
            ) from error
        return check_vectors_finite(np.asarray(vectors, dtype=np.float32), self.name, self.dtype)

    def _build_identity(self, library: Any) -> str:
        import torch
        import transformers

        depends = {
            "prompts": [self.prompts.query, self.prompts.document, self.prompts.plain],
            "max_length": self.max_tokens, "dims": self.dim, "batch": self._batch, "dtype": self.dtype,
            "device": self._model.device.type, "backend": self.backend, "code": self.code_revision,
            "versions": [library.__version__, transformers.__version__, torch.__version__]
        }  # fmt: skip
        if self.has_routes:
            depends["routes"] = True
        return f"st:{self._weights.identity}:{json.dumps(depends, separators=(',', ':'))}"


def _import_sentence_transformers() -> Any:
    return import_model_library(
        "sentence_transformers",
        what="sentence-transformers models",
        mend="Install it: pip install 'embassay[torch]'; or use onnx:./folder, which needs no torch.",
    )


def _check_backend_installed(backend: str) -> None:
    package = _BACKENDS[backend]
    try:
        installed = find_spec(package) is not None
    except ModuleNotFoundError:
        installed = False
    if not installed:
        raise ModelError(
            f"The backend {backend} needs the package {package}, which is not installed.",
            mend=f"Install it: pip install 'sentence-transformers[{backend}]'; or leave backend out.",
        )


WINDOW = 32
"""Chunks whose batches may be laid together: 8,192 texts."""
_NO_MEMORY = ("out of memory", "cublas_status_alloc_failed")


class TorchBatchRunner:
    """`model` with batches of `batch` texts of similar length, called `name` in errors; texts go by its `route`."""

    def __init__(self, model: Any, batch: int, name: str, route: Role | None = None, dtype: str = "float32") -> None:
        self._model, self._batch, self._name, self._route = model, batch, name, route
        self._dtype = dtype
        self._cut: dict[str, _BatchFeatureMaker] = {}
        self._joined = EncoderBatchMerger(
            self._run_model_on_joined_batches, _split_batch_in_halves, is_gpu_out_of_memory
        )

    def encode_each_chunk(
        self, chunks: Sequence[Sequence[str]], prompt: str
    ) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The vectors of every chunk by its position. The next ones are cut into tokens while the card works."""
        places = iter(range(len(chunks)))
        with ThreadPoolExecutor(1) as pool:

            def submit_next_chunk_window() -> Any:
                # Chunks are read here, since they may be made as they are asked for.
                group = [(position, chunks[position]) for position in islice(places, WINDOW)]
                return pool.submit(self._prepare_padded_batches_of_chunks, group, prompt) if group else None

            waiting = submit_next_chunk_window()
            while waiting is not None:
                window, waiting = waiting.result(), submit_next_chunk_window()
                yield from self._encode_prepared_chunks(window)

    def _prepare_padded_batches_of_chunks(self, chunks: Sequence[tuple[int, Sequence[str]]], prompt: str) -> list[Any]:
        """Position, number of texts, rows of each batch, and batches of each chunk."""
        window = []
        for position, texts in chunks:
            rows = batch_by_similar_length(texts, self._batch)
            batches = [self._make_padded_batch([texts[row] for row in batch], prompt) for batch in rows]
            window.append((position, len(texts), rows, batches))
        return window

    def _encode_prepared_chunks(self, window: Sequence[Any]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        try:
            done = iter(self._joined([batch for _, _, _, batches in window for batch in batches]))
        except ModelError:
            raise
        except Exception as error:  # transformers and torch have no root in common
            raise ModelError(f"{self._name!r} failed while encoding: {format_first_error_line(error)}") from error
        for position, n, rows, _ in window:
            parts = [next(done) for _ in rows]
            width = parts[0].shape[1] if parts else 0
            vectors = np.empty((n, width), dtype=np.float32)
            for batch, part in zip(rows, parts, strict=True):
                vectors[batch] = part
            yield position, vectors

    def _make_padded_batch(self, texts: list[str], prompt: str) -> PaddedBatch:
        cut = self._cut.setdefault(prompt, _BatchFeatureMaker(self._model, prompt, self._route))
        features = cut(texts)
        ids = features.get("input_ids")
        # Some models lay the texts of a batch in one row, without filling.
        width = int(ids.shape[1]) if ids is not None and ids.ndim == 2 and len(ids) == len(texts) else None
        return PaddedBatch(len(texts), width, features)

    def _run_model_on_joined_batches(self, group: Sequence[PaddedBatch]) -> NDArray[np.float32]:
        import torch

        joined = dict(group[0].features)
        for name, value in joined.items():
            if isinstance(value, torch.Tensor):
                whole = torch.cat([padded.features[name] for padded in group]) if len(group) > 1 else value
                joined[name] = whole.to(self._model.device, non_blocking=True)
        with torch.inference_mode():
            vectors = self._model(joined, **make_task_argument_for_encoder(self._route))["sentence_embedding"]
        return check_vectors_finite(
            np.asarray(vectors.float().cpu().numpy(), dtype=np.float32), self._name, self._dtype
        )


_COMPARED = 4
_PROBE = (" Blanks  at both ends \n", "\tÜber\u00a0\u6771\u4eac\u200b", "https://example.org/a.png", "word " * 600)
"""What libraries treat in ways of their own: some strip blanks, some open what looks like a picture."""
_ARRAYS = {"input_ids": "ids", "token_type_ids": "type_ids", "attention_mask": "attention_mask"}


class _BatchFeatureMaker:
    """The features of a batch of texts after a prompt, as the library makes them.

    Of a small model on a card, the library's way from text to tensor takes longer than the card. So what the tokenizer
    gives is laid into arrays here; the first batches are made both ways, and once they differ the library's way is the
    only one. The tokenizer is a copy, since each caller of the model's own sets how it cuts and fills.
    """

    def __init__(self, model: Any, prompt: str, route: Role | None = None) -> None:
        self._model, self._prompt, self._route = model, prompt, route
        self._tokenizer: Any = None
        self._rest: dict[str, Any] = {}
        self._names: list[str] = []
        self._compared: int | None = 0

    def __call__(self, texts: list[str]) -> Mapping[str, Any]:
        # So many batches were the same both ways: the library's own way is no longer needed.
        if self._compared is not None and self._compared >= _COMPARED:
            return self._make_features_by_tokenizer(texts)
        features = self._preprocess_texts_with_library(texts)
        if self._compared is not None:
            if not self._compared:
                self._learn_tokenized_batch_layout(features)
            alike = self._tokenizer is not None and _has_same_features(
                features, self._make_features_by_tokenizer(texts)
            )
            self._compared = self._compared + 1 if alike else None
        return features

    def _learn_tokenized_batch_layout(self, features: Mapping[str, Any]) -> None:
        """What a batch consists of, and how the tokenizer is set for it; no tokenizer where that is not known."""
        import torch
        from tokenizers import Tokenizer

        self._names = [name for name, value in features.items() if isinstance(value, torch.Tensor)]
        self._rest = {name: value for name, value in features.items() if name not in self._names}
        own = getattr(find_role_tokenizer(self._model, self._route), "tokenizer", None)
        fast = getattr(own, "backend_tokenizer", None)
        if isinstance(fast, Tokenizer) and fast.padding is not None and set(self._names) <= set(_ARRAYS):
            self._tokenizer = Tokenizer.from_str(fast.to_str())
            probe = self._preprocess_texts_with_library(list(_PROBE))
            self._tokenizer = (
                self._tokenizer if _has_same_features(probe, self._make_features_by_tokenizer(list(_PROBE))) else None
            )

    def _preprocess_texts_with_library(self, texts: list[str]) -> Mapping[str, Any]:
        features = self._model.preprocess(texts, prompt=self._prompt, **make_task_argument_for_encoder(self._route))
        return cast("Mapping[str, Any]", features)

    def _make_features_by_tokenizer(self, texts: list[str]) -> dict[str, Any]:
        import torch

        read = self._tokenizer.encode_batch_fast([self._prompt + text for text in texts])
        arrays = {
            name: torch.from_numpy(np.array([getattr(one, _ARRAYS[name]) for one in read], dtype=np.int64))
            for name in self._names
        }
        return {**self._rest, **arrays}


def _has_same_features(features: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two batches hold the same."""
    import torch

    return features.keys() == other.keys() and all(
        torch.equal(value, other[name]) if isinstance(value, torch.Tensor) else value == other[name]
        for name, value in features.items()
    )


def _split_batch_in_halves(batch: PaddedBatch) -> tuple[PaddedBatch, PaddedBatch]:
    """The upper and the lower rows of a batch, as wide as before."""
    import torch

    middle = batch.rows // 2
    parts = []
    for rows in (slice(0, middle), slice(middle, batch.rows)):
        features = {
            name: value[rows] if isinstance(value, torch.Tensor) and len(value) == batch.rows else value
            for name, value in dict(batch.features).items()
        }
        parts.append(PaddedBatch(rows.stop - rows.start, batch.width, features))
    # What the failed attempt held is given back before the halves are tried.
    torch.cuda.empty_cache()
    return parts[0], parts[1]


def is_gpu_out_of_memory(error: Exception) -> bool:
    """Whether the error says that the card is full."""
    text = str(error).lower()
    return type(error).__name__ == "OutOfMemoryError" or any(words in text for words in _NO_MEMORY)
