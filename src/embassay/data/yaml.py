"""YAML as people mean it: `on`, `no` and dates are texts, and a key may be there only once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from embassay.errors import DataError
from embassay.limits import NODES, read_bounded_file

_DEEPEST = 100
"""Levels of lists and mappings inside each other; descriptions need six."""
_PLAIN = {
    "int": re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$"),
    "float": re.compile(
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))$"
        r"|\.(?:nan|NaN|NAN)$"
    ),
}
"""Numbers without YAML 1.1's sexagesimal ones, which turn `1:30` into 90."""
# The parser in C is five to fifty times as fast as one in Python, which commands that open the catalogue would feel.
_SAFE: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Yaml12Loader(_SAFE):  # type: ignore[misc,valid-type]
    """YAML 1.2's truth values (true and false only) instead of 1.1's, which turn the key `on` into True."""

    yaml_implicit_resolvers = {  # noqa: RUF012  (PyYAML's own interface)
        first: [
            (tag, _PLAIN.get(tag.rpartition(":")[2], pattern))
            for tag, pattern in resolvers
            if not tag.endswith((":bool", ":timestamp"))
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """The value; one that is not of the kind its tag or its first signs say is an error."""
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, LookupError, AttributeError) as error:
            kind = node.tag.rpartition(":")[2]
            raise yaml.constructor.ConstructorError(
                problem=f"{str(node.value)[:40]!r} is not a valid {kind}", problem_mark=node.start_mark
            ) from error

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping; a repeated key is an error."""
        keys: set[str] = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key, yaml.ScalarNode):
                continue  # no key at all, which the constructor says
            if key.value in keys:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {key.value!r} appears twice", problem_mark=key.start_mark
                )
            keys.add(key.value)
        return dict(super().construct_mapping(node, deep=deep))


_Yaml12Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("true|false"), ["t", "f"])


def find_yaml_line(path: Path, place: Sequence[str | int]) -> int:
    """The line of a key or an entry of a file that `read_yaml` has read, or of the nearest that is there above it."""
    node: Any = yaml.compose(path.read_text("utf-8"), Loader=_Yaml12Loader)
    line = 1 if node is None else node.start_mark.line + 1
    for part in place:
        child = _find_child_line_and_value(node, part)
        if child is None:
            break
        line, node = child
    return line


def _find_child_line_and_value(node: Any, part: str | int) -> tuple[int, Any] | None:
    """The line of a key or an entry, and its value."""
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key.start_mark.line + 1, value
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        child = node.value[part]
        return child.start_mark.line + 1, child
    return None


@dataclass
class _YamlValueCounter:
    """Values so far with aliases written out, and the collections that are open: anchor, and values before each."""

    values: int = 0
    open: list[tuple[str | None, int]] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)

    def add(self, event: yaml.Event) -> str:
        """Count an event, and say what is wrong with it; empty where nothing is."""
        if isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in self.open):
                return f"*{event.anchor} refers to a value that contains it"
            # An alias counts as all values that it stands for: nested ones can stand for billions.
            self.values += self.anchors.get(event.anchor or "", 1)
        elif isinstance(event, yaml.NodeEvent):
            if isinstance(event, yaml.CollectionStartEvent):
                self.open.append((event.anchor, self.values))
            elif event.anchor is not None:
                self.anchors[event.anchor] = 1
            self.values += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = self.open.pop()
            if anchor is not None:
                self.anchors[anchor] = self.values - before
        return f"more than {_DEEPEST} levels" if len(self.open) > _DEEPEST else ""


def _check_yaml_size(text: str, path: Path) -> None:
    """DataError for values inside each other deeper than _DEEPEST, or more of them than NODES once aliases are written
    out: a few lines can stand for billions of values, and the parser in C overflows its stack."""
    size, most = _YamlValueCounter(), NODES.most
    event: Any
    for event in yaml.parse(text, Loader=_Yaml12Loader):
        wrong = size.add(event)
        line = event.start_mark.line + 1
        if wrong:
            raise DataError(
                "the file nests its values too deeply", path=path, line=line, found=wrong,
                mend="Correct that line."
            )  # fmt: skip
        if size.values > most:
            raise NODES.make_exceeded_error(path, line)


def read_yaml(path: Path) -> Any:
    """The content of a YAML file; DataError with the line if it is not valid, too large or too deep."""
    try:
        text = read_bounded_file(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            "the file cannot be read",
            path=path,
            found=str(error),
            mend="Save it as UTF-8 and check your read permission.",
        ) from error
    return parse_yaml(text, path)


def parse_yaml(text: str, path: Path) -> Any:
    """What a text in YAML holds, `path` being the file that it is from; DataError as of `read_yaml`."""
    try:
        _check_yaml_size(text, path)
        return yaml.load(text, Loader=_Yaml12Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        line = mark.line + 1 if mark else None
        raise DataError(
            "the file is not valid YAML", path=path, line=line, found=problem, mend="Correct that line."
        ) from error
