"""The command as a user runs it: a process of its own."""

from __future__ import annotations

import os
import subprocess

import pytest


@pytest.fixture
def embassay(tmp_path, warm):
    """Run `embassay ARGS` in an empty folder and return the finished process."""

    def run(*args, env=None, check_code=0, width=100):
        environment = {
            **os.environ, "COLUMNS": str(width), "PYTHONIOENCODING": "utf-8", "NO_COLOR": "1", **(env or {}),
        }  # fmt: skip
        done = subprocess.run(
            [*warm.command, *map(str, args)],
            cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == check_code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
        assert "Traceback" not in done.stderr
        return done

    return run
