"""The seven tasks of PTEB (spec/pteb, section 5)."""

from semblance.protocols.pteb.tasks.task import Reworded, Task, Wording

__all__ = ["Reworded", "Task", "Wording"]
