"""Somebody's answers to all of a small study."""

from __future__ import annotations

from embassay.protocols.hume.study import AnnotationRow, read_study

VALUES = {
    "mood": lambda at: at % 3,
    "topics": lambda at: f"group {at % 4}",
    "search": lambda at: [int(place % 3 == at % 3) for place in range(7)],
    "pairs": lambda at: float(at % 6),
}


def answers(path, annotator, shift=0):
    """Rows: the second item of a task cannot be judged, the third has a comment that provokes."""
    folder, rows = read_study(path), []
    for task in folder.study.tasks:
        for at, item in enumerate(folder.select_task_items(task.name)):
            refused = at == 1
            rows.append(
                AnnotationRow(
                    item_id=item.id, annotator_id=annotator, value=None if refused else VALUES[task.name](at + shift),
                    ts=f"2026-11-21T10:00:{at:02}.000Z", seconds=2.5 * at, flag="garbled" if refused else "",
                    comment='=HYPERLINK("x"); "ü"\n<script>' if at == 2 else "",
                )
            )  # fmt: skip
    return rows
