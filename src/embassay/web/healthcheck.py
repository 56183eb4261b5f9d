"""Whether a container is well: `python -m embassay.web.healthcheck`, for an image's HEALTHCHECK.

The first process of a container that serves must answer on /health; one that runs something else is well while it runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

PORTS = {("serve",): 8760, ("hume", "serve"): 8000}
"""The commands that serve, and where they do unless they are told another port."""
_SECONDS = 4


def find_port_in_serve_command(command: Sequence[str]) -> int | None:
    """Where a command line of `embassay` serves; None where it serves nothing.

    >>> find_port_in_serve_command(["python", "/opt/embassay/bin/embassay", "serve", "/runs", "--port=80"])
    80
    >>> (find_port_in_serve_command(["embassay", "hume", "serve", "study"]),
    ... find_port_in_serve_command(["embassay", "sage", "run", "--out", "serve"]))
    (8000, None)
    """
    starts = [place for place, word in enumerate(command) if Path(word).name == "embassay"]
    options = list(command[starts[0] + 1 :]) if starts else []
    words = [word for word in options if not word.startswith("-")]
    for path, port in PORTS.items():
        if tuple(words[: len(path)]) == path:
            return _parse_port_option(options) or port
    return None


def _parse_port_option(options: Sequence[str]) -> int | None:
    for place, word in enumerate(options):
        name, _, value = word.partition("=")
        if name == "--port":
            number = value or (options[place + 1] if place + 1 < len(options) else "")
            return int(number) if number.isdigit() else None
    return None


def main(process: Path = Path("/proc/1/cmdline")) -> int:
    """0 where all is well, else 1 and why on stderr."""
    # Arguments in /proc are separated by zero bytes.
    port = find_port_in_serve_command(process.read_bytes().decode(errors="replace").split("\0"))
    if port is None:
        return 0
    try:
        with urlopen(f"http://127.0.0.1:{port}/health", timeout=_SECONDS) as answer:
            return int(answer.status != 200)
    except (URLError, OSError) as error:
        print(f"No healthy server on port {port}: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
