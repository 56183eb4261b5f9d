"""Calibration: what a similarity means, as a probability, and thresholds that keep a promise."""

from typing import TYPE_CHECKING

from embassay.registry import make_lazy_getattr

if TYPE_CHECKING:
    from embassay.protocols.calibration.options import CalibrationOptions
    from embassay.protocols.calibration.probability import (
        Calibration,
        ThresholdTranslation,
        calibration,
        translate_thresholds,
    )
    from embassay.protocols.calibration.protocol import calibrate

__all__ = [
    "Calibration",
    "CalibrationOptions",
    "ThresholdTranslation",
    "calibrate",
    "calibration",
    "translate_thresholds",
]

_HOMES = {
    "Calibration": "probability",
    "calibration": "probability",
    "ThresholdTranslation": "probability",
    "translate_thresholds": "probability",
    "CalibrationOptions": "options",
    "calibrate": "protocol",
}

__getattr__ = make_lazy_getattr(__name__, _HOMES)
