"""What fields and questions are called in datasets that we write, so that reading finds them again."""

from __future__ import annotations

LABEL, RATING, GROUP, RELEVANT = "label", "rating", "group", "relevant"
FLAG, COMMENT = "flag", "comment"
NONE = "none"
"""The answer that no document is relevant: an empty selection would be no answer there."""
TASK = "embassay_task"
"""A record's metadata say which task of the study it is of."""
USERS = "users.json"
"""A file beside the records: who the users are that their ids stand for."""


def document(place: int) -> str:
    """The field of a document, and its name among the answers, from 1 on."""
    return f"document_{place + 1}"
