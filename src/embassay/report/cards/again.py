"""The command that evaluates one system of a run alone."""

from __future__ import annotations

import shlex

from embassay.report.record import Record, System

OPTIONS = {"paraphrasers": "-p", "prompts": "--prompt", "runs": "--runs", "baseline": "--baseline"}
"""How the arguments of a PTEB run are given."""


def run_again(record: Record, system: System) -> str:
    """The command that evaluates this system alone, with the run's other arguments; empty where a run of its kind has
    no such command."""
    if record.kind not in ("sage", "pteb", "original"):
        return ""
    arguments = record.arguments
    parts = ["embassay", "sage" if record.kind == "sage" else "pteb", "run", "-s", system.name]
    parts += ["--original-only"] if record.kind == "original" else []
    for task in arguments.get("tasks", ()):
        parts += ["-t", task]
    for dataset in arguments.get("datasets", ()):
        parts += ["-d", dataset]
    for name in OPTIONS if record.kind == "pteb" else ():
        given = arguments.get(name)
        for value in given if isinstance(given, list | tuple) else [] if given is None else [given]:
            parts += [OPTIONS[name], str(value)]
    for column, renamed in (arguments.get("mapping") or {}).items():
        parts += ["--map", f"{column}={renamed}"]
    for option in ("split", "grades", "limit", "seed", "tokenizer"):
        if arguments.get(option) is not None:
            parts += [f"--{option}", str(arguments[option])]
    return shlex.join([*parts, "--out", f"runs/{record.manifest.get('name', 'again')}-again"])
