"""Systems that are objects of the caller: anything with `encode`, or a function from texts to an array."""

from __future__ import annotations

import hashlib
import inspect
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.errors import ModelError, UsageError
from embassay.registry import describe_error_place_in_package

__all__ = ["CallerObjectEncoder", "find_passed_in_encoder", "register_systems_and_list_specs"]

NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_given: dict[str, CallerObjectEncoder] = {}
"""Objects of this process by the name that their spec has."""


class CallerObjectEncoder:
    """An encoder that asks an object of the caller.

    `encode` calls `model.encode(texts)`, or `model(texts)`, which must give one vector per text: an array, a list, or a
    tensor, shape (n, dim). It gets `role=` ("query", "document" or None) where it takes that; queries and documents go
    to `encode_query` and `encode_document` where the object has both, as sentence-transformers' models do. The identity
    is the object's own `identity`, or a digest of its weights (`state_dict`) and settings; without either it is of this
    process alone: no vector is ever taken from the cache for another object, and cells are done again in a later
    process. `similarity` is the object's `similarity_fn_name`, as sentence-transformers calls it.
    """

    def __init__(self, model: Any, name: str) -> None:
        self.name = name
        self.model = model
        self._call = _find_encode_call(model)
        self._takes_role = "role" in _parameter_names(self._call)
        self._by_role = {} if self._takes_role else _map_roles_to_encode_methods(model)
        self.identity = f"own:{name}/{_find_model_object_identity(model)}"
        self.max_tokens: int | None = getattr(model, "max_seq_length", None) or getattr(model, "max_tokens", None)
        self._dim: int | None = None
        self._calls = self._changed = self._reordered = 0
        compared = getattr(model, "similarity_fn_name", None)
        compared = getattr(compared, "value", compared)
        self.similarity = compared if isinstance(compared, str) else "cosine"

    @property
    def can_resume_run(self) -> bool:
        """Whether a run can be resumed: another process can know that it has the same object."""
        return "/process-" not in self.identity

    @property
    def dim(self) -> int:
        """Dimensions of its vectors, by asking for one."""
        if self._dim is None:
            self._dim = int(self.encode(["dimensions"]).shape[1])
        return self._dim

    def encode(self, texts: Sequence[str], *, role: Role | None = None) -> NDArray[np.float32]:
        """Embeddings, shape (n, dim), float32. ModelError with what the object raised, or gave instead."""
        try:
            more = {"role": role} if self._takes_role else {}
            handed = list(texts)
            vectors = _convert_to_vectors(self._by_role.get(role, self._call)(handed, **more))
        except (Exception, SystemExit) as error:  # a script's model may call exit(), which is not ours to follow
            many = "a text" if len(texts) == 1 else f"{len(texts)} texts"
            where = describe_error_place_in_package(error, str(getattr(self.model, "__module__", "")))
            raise ModelError(
                f"{self.name} failed on {many}: {type(error).__name__}: {error}{where}.",
                mend="The object must accept a list of strings and return one vector per text.",
            ) from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise ModelError(
                f"{self.name} returned an array of shape {vectors.shape} for {len(texts)} texts.",
                mend="Return one vector per text: shape (n, dim).",
            )
        self._count_changed_text_lists(texts, handed)
        return vectors

    @property
    def object_faults(self) -> tuple[str, ...]:
        """What the object did that it should not, in words."""
        if not self._changed:
            return ()
        order = f", reordering it in {self._reordered:,} of them, so vectors belong to the wrong texts"
        return (
            f"{self.name} changed the list of texts in {self._changed:,} of {self._calls:,} calls"
            f"{order if self._reordered else ''}",
        )

    def _count_changed_text_lists(self, texts: Sequence[str], handed: list[Any]) -> None:
        """Whether the object changed the list that it was handed, which says whose vectors are whose."""
        self._calls += 1
        if handed == list(texts):
            return
        self._changed += 1
        alike = all(isinstance(text, str) for text in handed) and sorted(handed) == sorted(texts)
        self._reordered += alike

    def count_truncated(self, texts: Sequence[str]) -> int:
        """How many texts are longer than `max_tokens`, where the object has a tokenizer to count with; else 0."""
        tokenize = getattr(self.model, "tokenizer", None)
        if self.max_tokens is None or not callable(tokenize):
            return 0
        ids = tokenize(list(texts), truncation=False, padding=False, verbose=False)["input_ids"]
        return sum(len(row) > self.max_tokens for row in ids)


def _convert_to_vectors(made: Any) -> NDArray[np.float32]:
    """What an object gave as an array. TypeError that says what it is, where that is none."""
    if inspect.iscoroutine(made):
        made.close()
        raise TypeError("it is async and returned a coroutine: wrap it as lambda texts: asyncio.run(encode(texts))")
    if isinstance(made, Mapping):
        raise TypeError(f"it returned a mapping: return one of its values ({', '.join(map(str, made))})")
    if hasattr(made, "detach"):
        made = made.detach().cpu().float()  # numpy has no bfloat16, in which many models are loaded
    # A copy: some write the next call's vectors into the same array.
    vectors = np.array(list(made) if inspect.isgenerator(made) else made)
    if np.iscomplexobj(vectors):
        raise TypeError("it returned complex numbers: return their real and imaginary parts side by side")
    return vectors.astype(np.float32)


def register_systems_and_list_specs(systems: Any, *, workers: Any = 1) -> tuple[str, ...]:
    """The spec strings of systems as a caller gives them: strings as they are; of objects `own:NAME`, by which this
    process finds them, while results call them NAME. A mapping names them; else a name is the object's own (`name`,
    `__name__`) or its class's.

    UsageError for none, for an object that neither encodes nor can be called, for two of one name or one of a system's,
    for a spec under another name, and for `workers` elsewhere, which have no such object.
    """
    if isinstance(systems, str) or hasattr(systems, "encode"):
        systems = [systems]  # one system, as it is
    named = systems.items() if isinstance(systems, Mapping) else [("", system) for system in systems]
    specs: list[str] = []
    for name, model in named:
        if isinstance(model, str):
            if name and name != model:
                raise UsageError(
                    f"{model!r} has its own name and cannot be renamed to {name!r}.",
                    mend=f"Only objects can be named: write {{{model!r}: {model!r}}}, or pass a list.",
                )
            specs.append(model)
            continue
        if workers != 1:
            raise UsageError(
                f"{_find_model_object_name(model, name)} is an object in this process, so other workers cannot use it.",
                mend="Leave workers out, or use a system that they can open: st:FOLDER, onnx:FOLDER.",
            )
        specs.append(_register_model_object_as_system(model, _find_model_object_name(model, name)))
    if not specs:
        raise UsageError("There is no system to run.", mend="Pass one or more: ['minilm', 'bm25'].")
    twice = {spec for spec in specs if spec.startswith("own:") and specs.count(spec) > 1}
    if twice:
        raise UsageError(
            f"Two systems are called {min(twice).removeprefix('own:')}.", mend="Name them: {'first': a, 'second': b}."
        )
    return tuple(specs)


def find_passed_in_encoder(target: str) -> CallerObjectEncoder:
    """The object passed in under this name; ModelError in a process that has none."""
    if target not in _given:
        raise ModelError(
            f"{target} was a Python object in the process that made this run.",
            mend="Pass the object again from Python: eb.sage.run({'" + target + "': model}, ...).",
        )
    return _given[target]


def _register_model_object_as_system(model: Any, name: str) -> str:
    from embassay.systems import SYSTEMS, forget_opened_system

    if name in SYSTEMS:
        raise UsageError(
            f"{name!r} is one of Embassay's systems, so an object cannot have this name.",
            mend=f"Use another name: {{'my-{name}': model}}.",
        )
    kept, given = _given.get(name), CallerObjectEncoder(model, name)
    # Training changes weights in place: the same object is then another system.
    is_trained = kept is not None and given.can_resume_run and given.identity != kept.identity
    if kept is None or kept.model is not model or is_trained:
        _given[name] = given
        forget_opened_system(f"own:{name}")  # or the opened system would go on with the earlier object
    return f"own:{name}"


def _find_model_object_name(model: Any, name: str) -> str:
    title = name or next(
        (
            attribute
            for attribute in (getattr(model, "name", None), getattr(model, "__name__", None))
            if isinstance(attribute, str)
        ),
        "",
    )
    return NAME.sub("-", title or type(model).__name__).strip("-") or type(model).__name__


def _find_encode_call(model: Any) -> Callable[..., Any]:
    encode = None if inspect.isclass(model) else getattr(model, "encode", None)
    if callable(encode):
        return encode  # type: ignore[no-any-return]
    if callable(model) and not inspect.isclass(model):
        return model  # type: ignore[no-any-return]
    if inspect.isclass(model):
        raise UsageError(
            f"{model.__name__} is a class, not a system.", mend=f"Pass an instance: {model.__name__}(...)."
        )
    if callable(getattr(model, "embed_documents", None)):
        raise UsageError(
            f"{type(model).__name__} has no method encode.", mend="Pass its function: model.embed_documents."
        )
    raise UsageError(
        f"{model!r} is not a system: it has no method encode, and cannot be called with texts.",
        mend="Pass a spec string ('minilm'), an object with encode(texts), or a function texts -> array.",
    )


def _map_roles_to_encode_methods(model: Any) -> dict[Role | None, Callable[..., Any]]:
    """The object's methods for queries and for documents, where it has both."""
    methods: dict[Role | None, Any] = {
        "query": getattr(model, "encode_query", None),
        "document": getattr(model, "encode_document", None),
    }
    return methods if all(map(callable, methods.values())) else {}


def _parameter_names(call: Callable[..., Any]) -> Sequence[str]:
    try:
        return tuple(inspect.signature(call).parameters)
    except (TypeError, ValueError):
        return ()


def _find_model_object_identity(model: Any) -> str:
    stated = getattr(model, "identity", None)
    if isinstance(stated, str) and stated:
        return stated
    state = getattr(model, "state_dict", None)
    if callable(state):
        digest = hashlib.sha256(_describe_object_settings(model).encode("utf-8", "surrogatepass"))
        for key, tensor in sorted(state().items()):
            digest.update(key.encode())
            # By key, since a state_dict has the order in which modules were made.
            digest.update(np.ascontiguousarray(tensor.detach().cpu().float().numpy()).tobytes())
        return digest.hexdigest()[:16]
    return f"process-{uuid.uuid4().hex[:12]}"


_SETTINGS = ("prompts", "default_prompt_name", "max_seq_length", "truncate_dim")
# The repr of an object may hold its address, which differs in each process.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def _describe_object_settings(model: Any) -> str:
    """What the vectors depend on beside the weights: the parts of a model, and what goes before its texts. A method of
    its own for queries is one too: vectors that were made without it are others."""
    named = {name: getattr(model, name, None) for name in _SETTINGS}
    parts = _ADDRESS.sub("", repr(model))
    return f"{parts}\n{named}\n{'by role' if _map_roles_to_encode_methods(model) else ''}"
