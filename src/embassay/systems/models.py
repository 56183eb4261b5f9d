"""Known models: what vendors say of dimensions, context, prompts and price; and the tokenizers they bring along."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from embassay.contracts import Role, Tokenizer

__all__ = ["KnownModel", "advice", "chat_advice", "known_model", "known_models"]


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


SPECS = {"OpenAI": "openai", "Cohere": "cohere", "Voyage": "voyage", "Google": "gemini"}
"""The system that asks a vendor's models."""


def advice(text: str) -> str:
    """What to write in place of a system that is not known: the name of a model needs what runs it before it.

    >>> advice("BAAI/bge-m3")
    'A model of the Hugging Face hub or of a folder is -s st:BAAI/bge-m3. '
    >>> advice("minilm,bm25")
    'Every system has its own -s: -s minilm -s bm25. '
    """
    names = [one.strip() for one in text.split(",")]
    if len(names) > 1 and all(names) and "?" not in text:
        return f"Every system has its own -s: {' '.join(f'-s {name}' for name in names)}. "
    model = known_model(text.partition("?")[0])
    if model is not None and model.vendor in SPECS:
        if model.dims is None:
            return f"{model.name} writes texts and makes no vectors; {model.vendor}'s encoders are {_encoders(model)}. "
        return f"A model of {model.vendor} is -s {SPECS[model.vendor]}:{text}. "
    if model is not None or text.count("/") == 1:
        name = model.name if model and "/" not in text else text
        bundled = (
            "; `minilm` is that model without torch" if name.lower().endswith("all-minilm-l6-v2") else ""
        )
        return f"A model of the Hugging Face hub or of a folder is -s st:{name}{bundled}. "
    return ""


def chat_advice(text: str) -> str:
    """The same for a language model.

    >>> chat_advice("gemma3:27b")
    'A model of an Ollama server is ollama:gemma3:27b. '
    """
    model = known_model(text.partition("?")[0])
    if model is not None and model.vendor == "OpenAI":
        return f"A language model of OpenAI is openai:{text}. "
    name, colon, tag = text.partition("?")[0].partition(":")
    # Ollama's tags are sizes and kinds, such as 27b, 8x7b-instruct, latest.
    return f"A model of an Ollama server is ollama:{text}. " if name and colon and TAG.match(tag) else ""


TAG = re.compile(r"\d+(x\d+)?(\.\d+)?[bm]\b|latest\b")


def _encoders(model: KnownModel) -> str:
    return ", ".join(
        f"{SPECS[one.vendor]}:{one.name}" for one in known_models() if one.vendor == model.vendor and one.dims
    )


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
