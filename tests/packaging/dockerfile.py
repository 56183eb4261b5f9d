"""Reading a Dockerfile: its stages and their steps, what .dockerignore leaves of the tree, and words with variables."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Step:
    """An instruction: `verb` in capitals, its `options` (--from=build) and the rest of it, `text`."""

    verb: str
    options: Mapping[str, str]
    text: str

    def words(self) -> list[str]:
        """The arguments: of the form ["a", "b"], or a shell's words."""
        return listed if (listed := self.listed()) is not None else shlex.split(self.text)

    def listed(self) -> list[str] | None:
        """The arguments of the form that runs without a shell; None for the other."""
        try:
            found: Any = json.loads(self.text)
        except ValueError:
            return None
        return found if isinstance(found, list) else None


def steps(text: str) -> Iterator[Step]:
    """The instructions of a Dockerfile, in order.

    >>> [step.verb for step in steps("FROM a AS b\\n# no\\nRUN one \\\\\\n  && two")]
    ['FROM', 'RUN']
    """
    kept = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(kept)).splitlines():
        verb, _, rest = line.strip().partition(" ")
        options = {}
        while found := re.match(r"--([a-z-]+)=(\S+)\s+", rest.lstrip()):
            options[found[1]], rest = found[2], rest.lstrip()[found.end() :]
        yield Step(verb.upper(), options, rest.strip())


def expanded(text: str, values: Mapping[str, str]) -> str:
    """`$NAME` and `${NAME}` replaced, by nothing where there is no value.

    >>> expanded("/opt/bin:$PATH", {"PATH": "/bin"})
    '/opt/bin:/bin'
    """
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda found: values.get(found[1] or found[2], ""), text)


def cached_folder(step: Step) -> str | None:
    """Where a RUN wants a folder that outlives the build."""
    found = re.search(r"target=([^,]+)", step.options.get("mount", ""))
    return found[1] if found else None


def context(root: Path, source: str, ignore: str) -> Iterator[Path]:
    """The files of `source`, relative to `root`, that .dockerignore leaves."""
    rules = [line.strip() for line in ignore.splitlines() if line.strip() and not line.startswith("#")]
    start = root / source
    for path in sorted(start.rglob("*")) if start.is_dir() else [start]:
        inner = path.relative_to(root)
        if path.is_file() and not _ignored(inner.as_posix(), rules):
            yield inner


def _ignored(path: str, rules: list[str]) -> bool:
    """The last rule that matches decides, as engines have it."""
    verdict = False
    for rule in rules:
        pattern = re.escape(rule.removeprefix("!").strip("/"))
        pattern = pattern.replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
        if re.fullmatch(f"{pattern}(?:/.*)?", path):
            verdict = not rule.startswith("!")
    return verdict
