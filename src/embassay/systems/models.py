"""Known models: what vendors say of dimensions, context, prompts and price; and the tokenizers they bring along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from embassay.contracts import Role, Tokenizer

__all__ = ["KnownModel", "known_model", "known_models"]


@dataclass(frozen=True)
class KnownModel:
    """A row of the table; None is what is not known, or does not apply.

    `dims` are those of a vector by default, `dimensions` other sizes the model was trained for, `context` tokens.
    Prices are list prices in US dollars on the day `priced_on` (ISO). `query_prompt` and `document_prompt` go
    before texts of that role, `prompt` before texts of none. `source` says in words where this is from.
    """

    name: str
    vendor: str
    source: str
    dims: int | None = None
    dimensions: tuple[int, ...] = ()
    context: int | None = None
    usd_per_million_input: float | None = None
    usd_per_million_output: float | None = None
    usd_per_thousand_searches: float | None = None
    priced_on: str | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    prompt: str | None = None
    aliases: tuple[str, ...] = ()

    def prompt_for(self, role: Role | None) -> str | None:
        """What the vendor says goes before a text of this role."""
        return {"query": self.query_prompt, "document": self.document_prompt, None: self.prompt}[role]


def known_model(name: str) -> KnownModel | None:
    """The model of this name, in any case: as it is listed, an alias, or a hub name without its owner.

    >>> known_model("multilingual-e5-small").query_prompt
    'query: '
    """
    return _by_name().get(name.lower())


@cache
def known_models() -> tuple[KnownModel, ...]:
    """All of them, in the order of the table."""
    import tomllib

    text = files("embassay.systems").joinpath("models.toml").read_text("utf-8")
    return tuple(_model(group, row) for group in tomllib.loads(text)["group"] for row in group["models"])


def _model(group: Mapping[str, Any], row: Mapping[str, Any]) -> KnownModel:
    fields: dict[str, Any] = {key: value for key, value in (*group.items(), *row.items()) if key != "models"}
    for key in ("dimensions", "aliases"):
        fields[key] = tuple(fields.get(key, ()))
    return KnownModel(**fields)


@cache
def _by_name() -> Mapping[str, KnownModel]:
    # Full names last, so that they win over what is only short for another.
    short = {model.name.rpartition("/")[2]: model for model in known_models()}
    other = {alias: model for model in known_models() for alias in model.aliases}
    full = {model.name: model for model in known_models()}
    return {name.lower(): model for name, model in (*short.items(), *other.items(), *full.items())}


def wordllama() -> Tokenizer:
    """wordllama's own tokenizer; ModelError when its files cannot be read."""
    from embassay.systems.encoders.wordllama import WordLlama

    return _own(WordLlama())


def minilm() -> Tokenizer:
    """minilm's own tokenizer; ModelError when its packages are missing."""
    from embassay.systems.encoders.minilm import MiniLM

    return _own(MiniLM())


def _own(encoder: object) -> Tokenizer:
    from embassay.text.tokenizers import EncoderTokenizer

    return EncoderTokenizer(encoder.name, encoder.tokenizer)  # type: ignore[attr-defined]
