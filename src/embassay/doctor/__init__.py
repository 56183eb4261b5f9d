"""What a run would find here: the machine, what is installed, and whether what is bundled works."""

from __future__ import annotations

from embassay.doctor.checks import Check, Extra, examine, extras
from embassay.doctor.machine import Machine, look

__all__ = ["Check", "Extra", "Machine", "examine", "extras", "look"]
