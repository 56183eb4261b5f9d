"""Every reader of JSON, with values that JSON holds and nothing behind it can take, in every place of what it reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from fuzz.target import Target
from fuzz.targets import TARGETS

MARK = "put the value here"
VALUES = {
    "deep": "[" * 3_000 + "]" * 3_000,
    "deep objects": '{"a":' * 3_000 + "1" + "}" * 3_000,
    "unclosed": "[" * 100_000,
    "as deep as is read": "[" * 90 + "]" * 90,
    "huge": "1" + "0" * 400,
    "longer than Python reads": "1" + "0" * 5_000,
    "half a pair": r'"a\ud83d"',
    "infinite": "1e999",
}
MOST = 40
"""Places that are tried in a seed."""


def _documents(content: bytes) -> list[Any] | None:
    """The JSON of each line, or of the whole; None for what is no JSON."""
    for parts in ([line for line in content.split(b"\n") if line.strip()], [content]):
        try:
            return [json.loads(part) for part in parts]
        except ValueError:
            continue
    return None


def _marked(value: Any) -> Iterator[Any]:
    """The value with a mark in place of each of its parts, one at a time."""
    yield MARK
    if isinstance(value, dict):
        for key, part in value.items():
            yield from ({**value, key: changed} for changed in _marked(part))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from ([*value[:place], changed, *value[place + 1 :]] for changed in _marked(part))


def _inputs(seed: bytes, fragment: str) -> Iterator[bytes]:
    documents = _documents(seed) or []
    last = [[*documents[:-1], changed] for changed in _marked(documents[-1])] if documents else []
    for changed in last[:MOST]:
        text = "\n".join(json.dumps(document) for document in changed)
        yield text.replace(f'"{MARK}"', fragment).encode()


READERS = [target for target in TARGETS if any(_documents(seed) is not None for seed in target.all_seeds() if seed)]


@pytest.mark.slow
@pytest.mark.parametrize("fragment", VALUES.values(), ids=list(VALUES))
@pytest.mark.parametrize("target", READERS, ids=[target.name for target in READERS])
def test_it_is_read_or_refused(target: Target, fragment: str) -> None:
    for seed in target.all_seeds():
        for content in _inputs(seed, fragment):
            target(content)
