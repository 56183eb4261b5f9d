"""Vulnerabilities fail the check unless they are excused with a reason for a time; no service is no failure."""

from __future__ import annotations

import datetime
import importlib.util
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "checks" / "audit.py"
_spec = importlib.util.spec_from_file_location("checks_audit", PROGRAM)
assert _spec is not None
assert _spec.loader is not None
audit = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(audit)

FOUND = [
    {"name": "safe", "version": "1.0", "vulns": []},
    {"name": "bad", "version": "2.0", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2.1"]}]},
    {"name": "ours", "skip_reason": "not there"},
]
EXCUSE = {"id": "CVE-1", "package": "bad", "reason": "we never call it", "until": datetime.date(2030, 1, 1)}
TODAY = datetime.date(2029, 12, 31)


def test_a_vulnerability_fails() -> None:
    code, lines = audit.verdict(FOUND, set())
    assert code == 1
    assert lines == ["bad 2.0: PYSEC-1, mended in 2.1", "2 of 3 packages audited, 1 vulnerabilities."]


def test_an_excuse_counts_until_its_day() -> None:
    """By either name of the fault; the day after it fails again."""
    assert audit.verdict(FOUND, audit.ignored([EXCUSE], TODAY))[0] == 0
    assert audit.verdict(FOUND, audit.ignored([EXCUSE], TODAY + datetime.timedelta(days=2)))[0] == 1


@pytest.mark.parametrize("lost", ["reason", "until"])
def test_an_excuse_needs_a_reason_and_a_day(lost: str) -> None:
    with pytest.raises(ValueError, match="needs a reason and a date"):
        audit.ignored([{name: value for name, value in EXCUSE.items() if name != lost}], TODAY)


def test_no_service_is_said_in_one_line() -> None:
    for nothing in (None, [{"name": "x", "skip_reason": "unknown"}]):
        code, lines = audit.verdict(nothing, set())
        assert code == 0
        assert len(lines) == 1
        assert lines[0].startswith("Dependencies were not audited")


def test_a_tool_that_fails_is_no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pip-audit prints where it cannot connect is no JSON."""
    monkeypatch.setattr(audit.sys, "executable", "false")
    assert audit.asked() is None
