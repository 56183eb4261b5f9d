"""The command line: a module per command or group of commands; each parses, calls the library and prints."""

from __future__ import annotations
