"""The last check of each system, from the files that `embassay watch` keeps among the runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from embassay.errors import DataError
from embassay.protocols.watch.history import ENDING, FingerprintCheck, read_watch_checks


def describe_last_check_by_system(root: Path) -> Mapping[str, str]:
    """Of each system that was checked, what the newest check in `root` or a folder in it says, and when. A file that
    holds no checks says nothing."""
    newest: dict[str, FingerprintCheck] = {}
    for file in sorted([*root.glob(f"*{ENDING}"), *root.glob(f"*/*{ENDING}")]):
        try:
            checks = read_watch_checks(file)
        except (DataError, OSError):
            continue
        for check in checks:
            known = newest.get(check.system)
            if known is None or known.at <= check.at:
                newest[check.system] = check
    return {system: _say_check(check) for system, check in newest.items()}


def _say_check(check: FingerprintCheck) -> str:
    """
    >>> from types import SimpleNamespace
    >>> _say_check(SimpleNamespace(verdict="changed", at="2026-01-02T03:04:05Z", changes=()))
    'changed, 2026-01-02'
    """
    kinds = ", ".join(change.kind for change in check.changes)
    return f"{check.verdict}{f' ({kinds})' if kinds else ''}, {check.at[:10]}"
