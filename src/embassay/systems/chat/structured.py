"""Answers that are JSON of a given shape: what a server is told, and how its answer is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from embassay.contracts import Message
from embassay.errors import TextRefused

_DECODER = json.JSONDecoder()
_LONGEST = 500
_TRIED = 200
"""Brackets at which JSON may begin: each is read to where it breaks, and an answer of brackets has no end of them."""


class NeverFits(TextRefused):
    """What a model answered does not fit the schema, not even when asked for once more: its failure, no server's."""


class Unfit(ValueError):
    """An answer that is not JSON, or not of the shape that was asked for; says what is wrong, for the model too."""


def json_schema(schema: Any) -> dict[str, Any]:
    """The JSON schema of a pydantic model, its objects closed to fields that it does not name."""
    closed: dict[str, Any] = _closed(schema.model_json_schema())
    return closed


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Whether servers can hold a model to it to the letter: every object names its fields and needs them all."""
    parts = [schema, *schema.get("$defs", {}).values(), *schema.get("properties", {}).values()]
    objects = [part for part in parts if part.get("type") == "object"]
    return all(
        part.get("properties") and set(part.get("required", ())) == set(part["properties"])
        for part in objects
    )


def with_schema(messages: Sequence[Message], schema: Mapping[str, Any]) -> list[Message]:
    """The messages with the schema told in words, for a server that takes none."""
    told = "Answer with one JSON object that fits this JSON schema, and nothing else:\n" + json.dumps(schema)
    if messages and messages[0].role == "system":
        return [Message("system", f"{messages[0].content}\n\n{told}"), *messages[1:]]
    return [Message("system", told), *messages]


def found_json(text: str) -> str:
    """The JSON in an answer, as it stands there: a fence or words around it are left out. Unfit without any.

    >>> found_json('Here: ```json {"a": 1}``` as you asked')
    '{"a": 1}'
    """
    starts = (i for i, sign in enumerate(text) if sign in "{[")
    for start in islice(starts, _TRIED):
        try:
            _, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        return text[start:end]
    raise Unfit("there is no JSON in it, or it is not whole")


def checked(text: str, schema: Any) -> Any:
    """The object that `text` (JSON) describes, checked by the pydantic model `schema`; Unfit, with what is wrong."""
    from pydantic import ValidationError

    try:
        return schema.model_validate_json(text)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(str(part) for part in one['loc']) or 'the whole'}: {one['msg']}"
            for one in error.errors(include_url=False, include_input=False)
        )
        raise Unfit(wrong[:_LONGEST]) from None


def asking_again(messages: Sequence[Message], answer: str, wrong: Unfit) -> list[Message]:
    """The conversation that asks for the answer once more, with what was wrong."""
    ask = f"That answer cannot be used: {wrong}. Give the whole corrected JSON, and nothing else."
    return [*messages, Message("assistant", answer or "(empty)"), Message("user", ask)]


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if closed.get("type") == "object" and "properties" in closed:
        closed.setdefault("additionalProperties", False)
    return closed
