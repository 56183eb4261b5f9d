"""`semblance doctor`: what is installed, what works, and what a run would find here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from semblance.cli.options import Json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semblance.doctor import Check, Extra, Machine

_SIGNS = {"ok": "ok", "absent": "-", "broken": "BROKEN"}


def doctor(json: Json = False) -> None:
    """Show the machine, the extras, and whether what comes along works; nothing is sent or downloaded.

    Exit code 3 where something is broken that should work; what is merely not installed is no fault.
    """
    from semblance.doctor import examine, extras, look
    from semblance.runs.store import cache_folder

    machine, known = look(cache_folder()), extras()
    checks = list(examine(machine.cache))
    if json:
        _print_json(machine, known, checks)
    else:
        _print(machine, known, checks)
    if any(check.state == "broken" for check in checks):
        raise typer.Exit(3)


def _print(machine: Machine, known: Sequence[Extra], checks: Sequence[Check]) -> None:
    from semblance import __version__
    from semblance.cli.terminal import show_table

    typer.echo(f"semblance {__version__}, Python {machine.python}, {machine.platform}")
    typer.echo(f"{_cores(machine)}; memory {_gib(machine.memory)}, {_gib(machine.free)} of it free")
    typer.echo(f"Accelerators: {'; '.join(machine.accelerators) or 'none that the NVIDIA driver names'}")
    typer.echo(f"Cache: {machine.cache}, {_gib(machine.disk_free)} free on its disk\n")
    show_table(
        ["Extra", "State", "What it is for"],
        [[one.name, "ok" if one.here else "-", f"{one.purpose}{_lacks(one)}"] for one in known],
        wide=False,
    )
    typer.echo("")
    rows = [
        [one.name, _SIGNS[one.state], f"{one.told}{f'. {one.mend}' if one.mend else ''}"] for one in checks
    ]
    show_table(["Check", "State", "What was found"], rows, wide=False)


def _lacks(one: Extra) -> str:
    if one.here:
        return ""
    parts = [f"lacks {', '.join(one.missing)}"] if one.missing else []
    return f" ({'; '.join([*parts, *one.old])}): {one.mend}"


def _cores(machine: Machine) -> str:
    if machine.cores == machine.cores_built_in:
        return f"{machine.cores} core{'s' if machine.cores > 1 else ''}"
    return f"{machine.cores} of {machine.cores_built_in} cores may be used"


def _gib(size: int | None) -> str:
    return "unknown" if size is None else f"{size / 2**30:.1f} GiB"


def _print_json(machine: Machine, known: Sequence[Extra], checks: Sequence[Check]) -> None:
    from dataclasses import asdict
    from json import dumps

    told = {
        "machine": {**asdict(machine), "cache": str(machine.cache)},
        "extras": [{**asdict(one), "installed": one.here} for one in known],
        "checks": [asdict(one) for one in checks],
    }
    typer.echo(dumps(told, ensure_ascii=False))
