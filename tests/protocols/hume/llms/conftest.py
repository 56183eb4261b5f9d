"""A small study, its gold by what a model sees, and a server whose model knows it."""

from __future__ import annotations

import pytest

from embassay.protocols.hume.study import read_study
from hume_small import LABELS, small_study


def known_of(path):
    """Gold by the texts of the items."""
    folder = read_study(path)
    names = {label.value: label.name for label in LABELS}
    known = {}
    for task in folder.study.tasks:
        if task.family == "clustering":
            continue
        gold = folder.gold(task.name)
        for item in folder.select_task_items(task.name):
            payload = item.payload
            if task.family == "reranking":
                texts = (payload["query"], *(one["text"] for one in payload["documents"]))
            else:
                texts = tuple(payload.values())
            value = gold[item.id]
            known[texts] = names[value] if task.family == "classification" else value
    return known


@pytest.fixture
def study(tmp_path):
    """A study of all families with 12 items each."""
    return small_study(tmp_path / "study")


@pytest.fixture
def known(study):
    return known_of(study)
