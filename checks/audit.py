"""Known vulnerabilities of the packages that are installed: exit code 1 where one is not in `audit.toml`.

    python checks/audit.py

Asks through pip-audit. Where its service cannot be reached, or does not know the packages, one line says so and the
exit code is 0. An entry of `audit.toml` is an `id`, a `package`, a `reason` and a date `until`, after which it counts
no more.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

IGNORED = Path(__file__).with_suffix(".toml")
_SECONDS = 45


def asked() -> Any:
    """What pip-audit says of this environment, as JSON; None where it cannot say anything."""
    command = [sys.executable, "-m", "pip_audit", "--local", "--format", "json", "--progress-spinner", "off"]
    try:
        done = subprocess.run(
            [*command, "--timeout", "10"], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        return json.loads(done.stdout)["dependencies"]
    except (subprocess.TimeoutExpired, ValueError, KeyError):
        return None


def ignored(entries: Iterable[Mapping[str, Any]], today: datetime.date) -> set[tuple[str, str]]:
    """Package and id of the entries that count; ValueError for one without reason or date."""
    counted = set()
    for one in entries:
        if not str(one.get("reason", "")).strip() or not isinstance(one.get("until"), datetime.date):
            raise ValueError(f"{one.get('id')} of {one.get('package')} needs a reason and a date `until`")
        if today <= one["until"]:
            counted.add((one["package"], one["id"]))
    return counted


def verdict(packages: Any, known: set[tuple[str, str]]) -> tuple[int, list[str]]:
    """The exit code and what to print."""
    if packages is None:
        return 0, ["Dependencies were not audited: the service of vulnerabilities cannot be reached."]
    audited = [one for one in packages if "skip_reason" not in one]
    if not audited:
        return 0, [f"Dependencies were not audited: the service knows none of the {len(packages)} packages."]
    lines = []
    for one in audited:
        for fault in one["vulns"]:
            names = {fault["id"], *fault.get("aliases", ())}
            if not any((one["name"], name) in known for name in names):
                fixed = ", ".join(fault.get("fix_versions", ())) or "no version yet"
                lines.append(f"{one['name']} {one['version']}: {fault['id']}, mended in {fixed}")
    said = f"{len(audited)} of {len(packages)} packages audited, {len(lines)} vulnerabilities."
    return int(bool(lines)), [*lines, said]


def main() -> int:
    """Ask, and print what is found."""
    known = ignored(
        tomllib.loads(IGNORED.read_text("utf-8")).get("ignored", []),
        datetime.datetime.now(datetime.UTC).date(),
    )
    code, lines = verdict(asked(), known)
    print("\n".join(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
