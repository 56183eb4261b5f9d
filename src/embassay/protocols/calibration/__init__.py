"""Calibration: what a similarity means, as a probability, and thresholds that keep a promise."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embassay.protocols.calibration.options import CalibrationOptions
    from embassay.protocols.calibration.probability import Calibration, Translation, calibration, translations
    from embassay.protocols.calibration.protocol import calibrate

__all__ = ["Calibration", "CalibrationOptions", "Translation", "calibrate", "calibration", "translations"]

_HOMES = {
    "Calibration": "probability",
    "calibration": "probability",
    "Translation": "probability",
    "translations": "probability",
    "CalibrationOptions": "options",
    "calibrate": "protocol",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
