"""What was left out of a dataset and what is odd about it, counted with examples."""

from __future__ import annotations

from collections.abc import Iterable

from embassay.records import Skipped

EXAMPLES = 3


class Tally:
    """Counts by reason, in the order the reasons first came up."""

    def __init__(self) -> None:
        self._skipped: dict[str, list[str]] = {}
        self._noted: dict[str, list[str]] = {}
        self._counts: dict[str, int] = {}

    def skip(self, reason: str, item: str) -> None:
        """Count `item` as left out for `reason`."""
        self._add(self._skipped, reason, item)

    def note(self, reason: str, item: str) -> None:
        """Count `item` as kept, but worth a warning."""
        self._add(self._noted, reason, item)

    def take(self, skipped: Iterable[Skipped] = (), noted: Iterable[Skipped] = ()) -> None:
        """Count what was counted before: items left out, and items kept with a warning."""
        for kind, counted in ((self._skipped, skipped), (self._noted, noted)):
            for one in counted:
                self._counts[one.reason] = self._counts.get(one.reason, 0) + one.count
                examples = kind.setdefault(one.reason, [])
                examples.extend(one.examples[: EXAMPLES - len(examples)])

    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out."""
        return tuple(
            Skipped(reason, self._counts[reason], tuple(items)) for reason, items in self._skipped.items()
        )

    def warnings(self) -> tuple[str, ...]:
        """What was kept with a warning: `reason: count (examples)`."""
        return tuple(
            f"{reason}: {self._counts[reason]} ({', '.join(items)})" for reason, items in self._noted.items()
        )

    def _add(self, kind: dict[str, list[str]], reason: str, item: str) -> None:
        self._counts[reason] = self._counts.get(reason, 0) + 1
        examples = kind.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(item)
