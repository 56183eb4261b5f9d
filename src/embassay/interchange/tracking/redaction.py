"""Keeps secrets out of what leaves the machine, should one have come into a manifest."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "***"
_SECRET = r"(?:api[_-]?key|key|token|secret|password|passwd)"
_USER = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_VALUE = re.compile(rf"(?<=[?&;\s])((?i:{_SECRET})=)(?![A-Z][A-Z0-9_]*(?:[&;\s]|$))[^&;\s]+")
"""A value of a secret's name in a spec string; `key=OPENAI_API_KEY` names a variable, which is no secret."""
_OPTION = re.compile(rf"(--(?i:{_SECRET})[ =])\S+")
_KNOWN = re.compile(r"\b(?:sk-[\w-]{16,}|hf_\w{16,}|gh[pousr]_\w{16,}|AIza[\w-]{30,}|xox[abp]-[\w-]{10,})")
_NAMES = re.compile(rf"(?:^|_){_SECRET}$", re.IGNORECASE)
_SHORTEST = 8


def redacted(value: Any, environment: Mapping[str, str] | None = None) -> Any:
    """The same value of JSON with `***` for secrets: users in addresses, values called key, token, secret or password
    in spec strings, keys of known vendors, and whatever a variable of the environment with such a name holds.

    >>> redacted(["openai:m?base_url=http://me:pw@host/v1&key=OPENAI_KEY"], {})
    ['openai:m?base_url=http://***@host/v1&key=OPENAI_KEY']
    >>> redacted({"a": "x:m?key=abc123"}, {}), redacted("is 0123456789", {"MY_TOKEN": "0123456789"})
    ({'a': 'x:m?key=***'}, 'is ***')
    """
    environment = os.environ if environment is None else environment
    secrets = sorted(
        (text for name, text in environment.items() if _NAMES.search(name) and len(text) >= _SHORTEST),
        key=len,
    )
    return _walk(value, secrets[::-1])


def _walk(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        return _text(value, secrets)
    if isinstance(value, Mapping):
        return {_text(str(key), secrets): _walk(one, secrets) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(one, secrets) for one in value]
    return value


def _text(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    text = _USER.sub(HIDDEN, text)
    for named in (_VALUE, _OPTION):
        text = named.sub(rf"\g<1>{HIDDEN}", text)
    return _KNOWN.sub(HIDDEN, text)
