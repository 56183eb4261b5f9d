"""What tags and data fields are called in projects that we write, so that reading finds them again."""

from __future__ import annotations

ITEM, TASK = "embassay_item", "embassay_task"
"""Fields of a task's data: the item's id and the task of the study."""
LABEL, RATING, GROUP, RELEVANT = "label", "rating", "group", "relevant"
"""Control tags; a document's is `relevant_0`, `relevant_1` ..."""
FLAG, COMMENT = "flag", "comment"
YES, NO = "relevant", "not relevant"
