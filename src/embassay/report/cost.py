"""What the run was expected to take and what it took, system by system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from embassay.protocols import numbers
from embassay.report.names import labels
from embassay.report.record import Record
from embassay.runs.spending import dollars, in_one_line

FIGURES = ("texts to encode", "tokens", "requests", "cost", "time")


@dataclass(frozen=True)
class Cost:
    """A system's planned and real figures, each as words: texts to encode, tokens, requests, cost, time."""

    system: str
    figures: tuple[tuple[str, str], ...]
    calls: str

    @property
    def said(self) -> str:
        """The same in one line, figures that neither plan nor run has left out."""
        found = [
            f"{title} {took} (planned {planned})"
            for title, (planned, took) in zip(FIGURES, self.figures, strict=True)
            if {planned, took} != {numbers.NONE}
        ]
        return f"{' '.join(filter(None, (self.system, self.calls)))}: {', '.join(found)}"


def costs(record: Record) -> tuple[Cost, ...]:
    """Of every ranked system, and of whoever else asked a server; none for a run that was not planned."""
    planned = {one["system"]: one for one in (record.manifest.get("forecast") or {}).get("systems", ())}
    spent = (record.manifest.get("spent") or {}).get("systems", {})
    others = [
        name for name, plan in planned.items() if name not in record.by_name and plan["requests"] is not None
    ]
    label = labels([*record.by_name, *others])
    return tuple(
        Cost(label[name], _figures(planned[name], _actual(record, name, spent)), _calls(spent.get(name)))
        for name in (*(system.name for system in record.ranked_systems), *others)
        if name in planned
    )


def paid(record: Record) -> str:
    """What all sessions have paid, in one sentence; empty where nothing was sent."""
    spent = record.manifest.get("spent")
    return in_one_line(spent) if spent else ""


def _actual(record: Record, system: str, spent: Mapping[str, Any]) -> Mapping[str, Any]:
    cells = [cell for cell in record.cells if cell.system == system and cell.status == "done"]
    own = spent.get(system, {})
    return {
        "texts": own.get("texts") or sum(cell.counts.get("texts_encoded", 0) for cell in cells),
        "tokens": own.get("input_tokens"),
        "requests": own.get("requests"),
        "usd": own.get("usd", 0.0),
        "seconds": sum(cell.seconds or 0.0 for cell in cells),
    }


def _figures(plan: Mapping[str, Any], actual: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    def both(key: str, words: Callable[[Any], str], about: str = "") -> tuple[str, str]:
        expected, real = plan[key], actual[key]
        return (
            numbers.NONE if expected is None else about + words(expected),
            numbers.NONE if real is None else words(real),
        )

    nothing = (numbers.NONE, numbers.NONE)
    about = "" if plan["exact"] else "about "
    embeds = plan["disk_bytes"] or plan["cached"] or actual["texts"]
    texts = (numbers.count(plan["texts"] - plan["cached"]), numbers.count(actual["texts"]))
    money = tuple("price unknown" if one is None else dollars(one) for one in (plan["usd"], actual["usd"]))
    return (
        texts if embeds else nothing,
        both("tokens", numbers.count, about) if plan["requests"] is not None else nothing,
        both("requests", numbers.count),
        (money[0], money[1]),
        both("seconds", numbers.duration, "about "),
    )


def _calls(spent: Mapping[str, Any] | None) -> str:
    if not spent or not spent["requests"]:
        return ""
    parts = [
        numbers.counted(spent["retries"], "retry"),
        f"{numbers.counted(spent['failed'], 'call')} failed for good",
        f"{numbers.duration(spent['seconds'])} of waiting, summed over requests side by side",
    ]
    return ", ".join(parts)
