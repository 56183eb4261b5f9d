"""A page of the documentation that a script makes: printed, or written with --write."""

from __future__ import annotations

import argparse
from pathlib import Path


def put(page: str, path: Path) -> None:
    """Print the page, or write it where it belongs."""
    parser = argparse.ArgumentParser(description=f"Print {path.name}, or write it.")
    parser.add_argument("--write", action="store_true", help="write the page")
    if parser.parse_args().write:
        path.write_text(page, encoding="utf-8")
    else:
        print(page)
