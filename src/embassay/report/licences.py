"""Under which licence a dataset stands, as far as the catalogue or its own description says."""

from __future__ import annotations

from pathlib import Path

from embassay.errors import DataError

OWN = "not recorded: own data"
SAMPLE = "that of Embassay"
DESCRIPTIONS = (".yaml", ".yml")


def licence_of(source: str) -> str:
    """In words, of the dataset that `source` gives: a catalogue name, or a path.

    >>> licence_of("sample"), licence_of("my/questions.jsonl")
    ('that of Embassay', 'not recorded: own data')
    """
    if source == "sample" or source.startswith("bundled"):
        return SAMPLE
    if source.endswith(DESCRIPTIONS):
        return _described(Path(source)) or OWN
    if not source or any(sign in source for sign in "/\\.:"):
        return OWN
    from embassay.data.catalogue.entries import entries

    found = entries().get(source.partition("?")[0])
    return found.licence if found is not None and found.licence else OWN


def _described(path: Path) -> str:
    """What a description says of its data; empty where it is gone, broken or silent."""
    from embassay.data.yaml12 import read_yaml

    try:
        plain = read_yaml(path)
    except DataError:
        return ""
    return str(plain.get("licence") or "") if isinstance(plain, dict) else ""
