"""Spec strings: short texts that name a thing and its parameters, and read back as the same thing.

Three spellings, one meaning (a name, an optional target, parameters, an optional cutoff):

    systems, datasets     st:ORG/MODEL?dims=256&normalize=true
    perturbations         insertion:p=0.15,q=0
    measures              nDCG(gain='exponential')@10

Values are Python literals where they read as one, words otherwise; what type a parameter has is decided by
the signature of what is built, never guessed from the text.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import quote, unquote

from embassay.errors import UsageError

Value = str | int | float | bool | None


@dataclass(frozen=True)
class Spec:
    """A parsed spec string. Equality and hash follow the content, whatever the order of the parameters."""

    name: str
    target: str = ""
    params: Mapping[str, Value] = field(default_factory=dict)
    cutoff: int | None = None

    def __post_init__(self) -> None:
        # Sorted, so that equal specs are one text and one key whatever the order they were written in.
        object.__setattr__(self, "params", MappingProxyType(dict(sorted(self.params.items()))))

    def __hash__(self) -> int:
        return hash((self.name, self.target, tuple(self.params.items()), self.cutoff))

    def __reduce__(self) -> tuple[object, ...]:
        return (Spec, (self.name, self.target, dict(self.params), self.cutoff))


@dataclass(frozen=True)
class SpecStringParserAndFormatter:
    """One spelling: `parse` reads it, `format` writes it, and each undoes the other."""

    parse: Callable[[str], Spec]
    format: Callable[[Spec], str]


def parse_spec_value(text: str) -> Value:
    """A Python literal if `text` reads as one (`10`, `0.5`, `true`, `'10'`), else the text itself.

    >>> parse_spec_value("0.5"), parse_spec_value("true"), parse_spec_value("words"), parse_spec_value("'10'")
    (0.5, True, 'words', '10')
    """
    words: dict[str, Value] = {"true": True, "false": False, "none": None}
    if text in words:
        return words[text]
    try:
        value = ast.literal_eval(_parse_expression(text))
    except _UNREADABLE:
        return text
    return value if isinstance(value, str | int | float) else text


_UNREADABLE = (ValueError, SyntaxError, TypeError, ArithmeticError, MemoryError, RecursionError)


def _parse_expression(text: str) -> ast.expr:
    with warnings.catch_warnings():
        # Words like `0or` make Python's parser warn of code that nobody wrote.
        warnings.simplefilter("ignore")
        return ast.parse(text.lstrip(" \t"), mode="eval").body


def format_spec_value(value: Value) -> str:
    """The shortest text that `parse_spec_value` reads as `value`."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if parse_spec_value(value) == value and isinstance(parse_spec_value(value), str) else repr(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return _format_literal(value)


def _format_literal(value: Value) -> str:
    """`value` as a Python literal; infinity has none, so it is written as a number that no float can hold."""
    return repr(value).replace("inf", "1e999") if isinstance(value, float) else repr(value)


def _parse_spec_in_url_syntax(text: str) -> Spec:
    head, _, tail = text.partition("?")
    name, _, target = head.partition(":")
    return Spec(_check_spec_name(text, name), unquote(target), _parse_parameter_pairs(text, tail, "&"))


def _format_query_style_spec(spec: Spec) -> str:
    target = f":{quote(spec.target, safe='/:.@~+, ')}" if spec.target else ""
    pairs = "&".join(f"{key}={quote(format_spec_value(value), safe='/:.@~+, ')}" for key, value in spec.params.items())
    return f"{spec.name}{target}" + (f"?{pairs}" if pairs else "")


def _parse_colon_style_spec(text: str) -> Spec:
    name, _, tail = text.partition(":")
    return Spec(_check_spec_name(text, name), "", _parse_parameter_pairs(text, tail, ","))


def _format_colon_style_spec(spec: Spec) -> str:
    pairs = ",".join(f"{key}={quote(format_spec_value(value), safe='/.@~+ ')}" for key, value in spec.params.items())
    return spec.name + (f":{pairs}" if pairs else "")


_CALL = re.compile(r"(?P<name>[^()@]+)(?P<call>\(.*\))?(?:@(?P<cutoff>\d+))?", re.DOTALL)


def _parse_measure_spec_in_call_form(text: str) -> Spec:
    match = _CALL.fullmatch(text)
    if match is None:
        raise UsageError(f"Cannot read the measure {text!r}.", mend="Write it as NAME(parameter=value)@CUTOFF.")
    params = _parse_call_keywords(text, match["call"]) if match["call"] else {}
    cutoff = int(match["cutoff"]) if match["cutoff"] else None
    return Spec(_check_spec_name(text, match["name"]), "", params, cutoff)


def _parse_call_keywords(text: str, call: str) -> dict[str, Value]:
    try:
        body = _parse_expression("f" + call)
        # The function must be the `f` put in front: `m(a=1)(b=2)` calls what another call returns.
        if isinstance(body, ast.Call) and isinstance(body.func, ast.Name) and not body.args:
            params = {word.arg or "": _read_keyword_value(word) for word in body.keywords}
            if len(params) == len(body.keywords):
                return params
    except _UNREADABLE:
        pass
    raise UsageError(
        f"Cannot read the parameters of the measure {text!r}.", mend="Write (name=value, ...), with each name once."
    )


def _read_keyword_value(word: ast.keyword) -> Value:
    value = ast.literal_eval(word.value)
    if word.arg is None or not (value is None or isinstance(value, str | int | float)):
        raise ValueError(value)
    return value


def _format_call_style_spec(spec: Spec) -> str:
    pairs = ", ".join(f"{key}={_format_literal(value)}" for key, value in spec.params.items())
    return spec.name + (f"({pairs})" if pairs else "") + ("" if spec.cutoff is None else f"@{spec.cutoff}")


def _check_spec_name(text: str, name: str) -> str:
    if not name.strip() or name != name.strip():
        raise UsageError(f"Cannot read {text!r}: it has no name.", mend="Write NAME, or NAME with parameters.")
    return name


def _parse_parameter_pairs(text: str, tail: str, separator: str) -> dict[str, Value]:
    params: dict[str, Value] = {}
    for part in tail.split(separator) if tail else []:
        key, equals, value = part.partition("=")
        if not equals or not key.isidentifier():
            raise UsageError(f"Cannot read {part!r} in {text!r}.", mend="Write parameters as name=value.")
        if key in params:
            raise UsageError(f"{text!r} gives {key!r} twice.", mend="Give it once.")
        params[key] = parse_spec_value(unquote(value))
    return params


QUERY = SpecStringParserAndFormatter(_parse_spec_in_url_syntax, _format_query_style_spec)
COLON = SpecStringParserAndFormatter(_parse_colon_style_spec, _format_colon_style_spec)
CALL = SpecStringParserAndFormatter(_parse_measure_spec_in_call_form, _format_call_style_spec)
