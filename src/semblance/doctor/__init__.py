"""What a run would find here: the machine, what is installed, and whether what comes along works."""

from __future__ import annotations

from semblance.doctor.checks import Check, examine
from semblance.doctor.extras import Extra, extras
from semblance.doctor.machine import Machine, look

__all__ = ["Check", "Extra", "Machine", "examine", "extras", "look"]
