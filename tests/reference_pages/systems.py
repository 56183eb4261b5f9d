"""The page of systems and of whatever else is named by a spec string."""

from __future__ import annotations

import re
from typing import Any

from embassay.protocols.pteb.paraphrasing import PARAPHRASERS
from embassay.protocols.rag.judges import JUDGES
from embassay.protocols.rag.ranking.engines import ENGINES
from embassay.protocols.rag.rewriters import REWRITERS
from embassay.registry import Registry, RegistryEntry
from embassay.search.indexes import INDEXES
from embassay.systems import SYSTEMS
from embassay.systems.chat import CHAT_MODELS
from embassay.systems.rerankers import RERANKERS
from reference_pages.markdown import MADE, brief, names, options

INNER = ("tokenizer", "name", "ledger", "target", "opened")
REMOTE = ("base_url", "rpm", "tpm", "concurrency", "timeout", "key", "price")
"""Parameters of every remote model, told once."""
LONG = 100
"""Characters of a docstring about a `target` that says more than that it is one."""
OTHERS: tuple[tuple[str, Registry[Any], str], ...] = (
    ("Rerankers", RERANKERS, "rerankers.md"),
    ("Indexes", INDEXES, "indexes.md"),
    ("Language models", CHAT_MODELS, "remote.md"),
    ("Paraphrasers that are not language models", PARAPHRASERS, "paraphrases.md"),
    ("Judges of golden sets", JUDGES, "golden.md"),
    ("Ranking engines", ENGINES, "ranking.md"),
    ("Rewriters", REWRITERS, "golden.md#rewriting"),
)
"""What else is named by spec strings: title, names, and the page that explains them."""
HEAD = """# Systems, one by one

{made}

A spec string names a system. It has a name, for some systems a colon and a target, and parameters: `bm25?k1=1.2`,
`st:ORG/MODEL?truncate_dim=256`. [Models](../models.md), [remote models](../remote.md) and [vendors](../vendors.md)
explain how to use systems and which parameters every encoder takes; [extending](../extending.md) explains how to add
one. {remote}
"""


def systems_page() -> str:
    """Every system, then the names of everything else that a spec string names."""
    head = HEAD.format(made=MADE, remote=_of_remote())
    sections = [_section(one) for one in SYSTEMS if not one.package]
    return "\n".join([head, *sections, "## Other names", "", *map(_other, OTHERS), ""])


def _other(told: tuple[str, Registry[Any], str]) -> str:
    """A line: what it is, with its page, and the names."""
    title, registry, page = told
    listed = ", ".join(f"`{one.name}`" for one in registry if not one.package)
    return f"- [{title}](../{page}): {listed}"


def _of_remote() -> str:
    found = [one for one in SYSTEMS if not one.package and _is_remote(one)]
    other = [name for name in re.findall(r"`(\w+)=", options(found[0].load())) if name not in REMOTE]
    names = ", ".join(f"`{one.name}`" for one in found)
    return f"{names} also take {options(found[0].load(), other).removeprefix('Parameters: ')}"


def _section(one: RegistryEntry[Any]) -> str:
    """Its facts and what it is; the docstring where that says more, but for vendors, which have a page."""
    factory = one.load()
    about = factory.__init__.__doc__ if isinstance(factory, type) else ""
    told = brief(factory.__doc__ or about or "")
    lines = [f"## {one.name}", "", names([one]).removeprefix(f"- `{one.name}` "), ""]
    known = _is_remote(one) or ("`target`" in told and len(told) <= LONG)
    lines += [] if known else [told, ""]
    taken = options(factory, (*INNER, *REMOTE) if _is_remote(one) else INNER)
    return "\n".join([*lines, *([taken, ""] if taken else [])])


def _is_remote(one: RegistryEntry[Any]) -> bool:
    return all(f"`{name}=" in options(one.load()) for name in REMOTE)
