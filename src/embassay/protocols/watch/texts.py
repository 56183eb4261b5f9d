"""The fixed texts of every fingerprint: short and long, in many scripts, and pairs that differ in one thing."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from embassay.contracts import Role

VERSION = 1
"""Of the texts: answers to other texts are not compared."""


@dataclass(frozen=True)
class WatchProbeText:
    """One text: what it probes (`group`), its language, and the roles that it is asked in. Texts of one `pair` differ
    in one thing; empty where a text is in none."""

    id: str
    group: str
    text: str
    lang: str = "en"
    pair: str = ""
    roles: tuple[Role, ...] = ("document",)


@cache
def load_watch_probe_texts() -> tuple[WatchProbeText, ...]:
    """All fixed texts, in an order that never changes within a VERSION."""
    held = tomllib.loads(files("embassay.protocols.watch").joinpath("texts.toml").read_text("utf-8"))
    return (*map(_make_probe_text_from_entry, held["text"]), *_iterate_essay_beginning_probes(held))


def _make_probe_text_from_entry(entry: Mapping[str, Any]) -> WatchProbeText:
    roles = ("document", *entry.get("roles", ()))
    return WatchProbeText(
        entry["id"], entry["group"], entry["text"], entry.get("lang", "en"), entry.get("pair", ""), roles
    )


def _iterate_essay_beginning_probes(held: Mapping[str, Any]) -> Iterator[WatchProbeText]:
    """The first words of the essay, each head with every ending."""
    words = held["essay"].split()
    for length in held["heads"]:
        head = " ".join(words[:length])
        for letter, ending in zip("ab", held["endings"], strict=True):
            yield WatchProbeText(f"head-{length}{letter}", "long", f"{head} {ending}", pair=f"head-{length}")


@dataclass(frozen=True)
class FixedRankedPassages:
    """A question with passages, from the best to the worst: what rerankers and judges are asked."""

    question: str
    passages: tuple[str, ...]


@cache
def load_fixed_ranked_passages() -> tuple[FixedRankedPassages, ...]:
    """All fixed panels, in an order that never changes within a VERSION."""
    held = tomllib.loads(files("embassay.protocols.watch").joinpath("texts.toml").read_text("utf-8"))
    return tuple(FixedRankedPassages(entry["question"], tuple(entry["passages"])) for entry in held["panel"])
