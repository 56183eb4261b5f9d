"""What a calibration can be told, and what its thresholds are to keep."""

from __future__ import annotations

from dataclasses import dataclass, field

from embassay.errors import UsageError
from embassay.protocols.kernel.request import Options, TaskRequest, option

SILENT_BELOW, SILENT, ANSWERED, LOSS = "silence_threshold", "silent", "answered", "signal_log_loss"
"""Measures of when to say nothing."""


@dataclass(frozen=True)
class ThresholdPromises:
    """What thresholds are to keep: shares of precision and recall with a confidence, and what mistakes cost."""

    precision: float
    recall: float
    confidence: float
    wrong: float | None = None
    missed: float | None = None


@dataclass(frozen=True)
class CalibrationOptions(Options):
    """The options of a calibration."""

    same_from: float | None = option(None, "Lowest grade at which two texts mean the same.")
    precision: float = option(0.9, "Share of accepted pairs that must have the same meaning.")
    recall: float = option(0.9, "Share of pairs with the same meaning that must be accepted.")
    confidence: float = option(0.95, "Confidence of a guarantee.")
    cost: str = option("", "Cost of each kind of error: wrong=5,missed=1.")
    edits: bool = option(True, "Also test pairs whose second text is damaged or negated.")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("precision", "recall", "confidence"):
            if not 0 < getattr(self, name) < 1:
                raise UsageError(
                    f"{name} is {getattr(self, name):g}.", mend="Use a share between 0 and 1, such as 0.9."
                )
        _ = self.threshold_promises

    @property
    def threshold_promises(self) -> ThresholdPromises:
        """What thresholds must keep. UsageError for a cost that cannot be read."""
        wrong, missed = parse_mistake_costs(self.cost) if self.cost else (None, None)
        return ThresholdPromises(self.precision, self.recall, self.confidence, wrong, missed)


def parse_mistake_costs(text: str) -> tuple[float, float]:
    """What accepting a wrong one and missing a right one cost. UsageError for a text that does not say it.

    >>> parse_mistake_costs("wrong=5,missed=1")
    (5.0, 1.0)
    """
    try:
        given = {name.strip(): float(value) for name, value in (part.split("=") for part in text.split(","))}
        if given.keys() == {"wrong", "missed"} and min(given.values()) >= 0 < max(given.values()):
            return given["wrong"], given["missed"]
    except ValueError:
        pass
    raise UsageError(f"The cost is {text!r}.", mend="Write the cost of each kind of error: wrong=5,missed=1.")


@dataclass(frozen=True)
class CalibrationRequest(TaskRequest):
    """The arguments of a calibration."""

    options: CalibrationOptions = field(default_factory=CalibrationOptions)
