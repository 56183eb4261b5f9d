"""What the analyses take for a task's score is what the task says."""

from embassay.protocols.pteb.drops import HEADLINES
from embassay.protocols.tasks import TASK_NAMES, TASKS


def test_headlines_are_those_of_the_tasks():
    """So that a renamed measure does not leave a table empty."""
    assert {name: TASKS.build(name).headline for name in TASK_NAMES} == dict(HEADLINES)
