"""Beyond the paper: what a system can hope for, where it stands among people, and what so few items can tell."""

from __future__ import annotations
