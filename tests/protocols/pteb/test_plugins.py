"""Paraphrasers and tasks of other packages."""

from importlib.metadata import EntryPoint

import pytest

from embassay import registry
from embassay.protocols.pteb.paraphrasing import PARAPHRASERS, CopyingParaphraser, open_paraphraser
from embassay.protocols.sage.tasks import TASKS as SAGE_TASKS
from embassay.protocols.tasks import TASKS


class Shouted(CopyingParaphraser):
    """The text in capitals."""

    name = identity = "shouted"


def test_a_paraphraser_of_another_package_is_used_by_name(monkeypatch):
    """It joins through its entry-point group, as other parts do."""

    def points(group):
        own = group == "embassay.paraphrasers"
        return [EntryPoint("shouted", f"{__name__}:Shouted", group)] if own else []

    monkeypatch.setattr(registry, "entry_points", points, raising=False)
    monkeypatch.setattr("importlib.metadata.entry_points", points)
    monkeypatch.setattr(PARAPHRASERS, "_entries", dict(PARAPHRASERS._entries))
    monkeypatch.setattr(PARAPHRASERS, "_plugins_loaded", False)
    assert open_paraphraser("shouted").name == "shouted"


@pytest.mark.parametrize(("tasks", "group"), [(TASKS, "embassay.pteb_tasks"), (SAGE_TASKS, "embassay.tasks")])
def test_each_protocol_has_a_group_of_its_own_for_tasks(tasks, group):
    """A task of SAGE is none of PTEB's."""
    assert tasks.group == group
