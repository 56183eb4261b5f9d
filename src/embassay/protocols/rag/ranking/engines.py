"""The ranking engines by name, as `--ranking` takes them: `locks`, `locks:stability_turns=5,confirmations=1`."""

from __future__ import annotations

from embassay.protocols.rag.ranking.engine import Engine
from embassay.registry import Registry
from embassay.spec import COLON

ENGINES: Registry[Engine] = Registry("engine", COLON, [["name", "start", "share"]])

_HERE = "embassay.protocols.rag.ranking"
ENGINES.add("grades", f"{_HERE}.grades:Grades", "The order of the grades; nothing is asked", calls="0")
ENGINES.add(
    "single_shot", f"{_HERE}.single_shot:SingleShot", "The whole pool ordered in one answer", calls="1"
)
ENGINES.add(
    "locks", f"{_HERE}.locks:Locks", "The published refinement: locked pairs and Plackett-Luce steps",
    calls="about 3.5 per candidate",
)  # fmt: skip
ENGINES.add(
    "bayes", f"{_HERE}.bayes.engine:Bayes", "A posterior over all orders, asked where an answer tells most",
    calls="at most 1.2 per candidate, 0.9 where grades tell them apart",
)  # fmt: skip
