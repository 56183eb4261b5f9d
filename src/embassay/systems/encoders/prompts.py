"""What goes before a text, by its role: what the user says, else the model's own prompt, else the known one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from embassay.contracts import Role
from embassay.systems.models import KnownModel

_OWN_NAMES: Mapping[Role, tuple[str, ...]] = {
    "query": ("query",),
    "document": ("document", "passage", "corpus"),
}


@dataclass(frozen=True)
class Prompts:
    """The prompt of a query, of a document, and of a text that is neither; "" for none."""

    query: str = ""
    document: str = ""
    plain: str = ""

    def of(self, role: Role | None) -> str:
        """The prompt for a text of this role."""
        return {"query": self.query, "document": self.document, None: self.plain}[role]

    @property
    def longest(self) -> str:
        """The one that leaves the least room for a text."""
        return max((self.query, self.document, self.plain), key=len)

    @property
    def by_role(self) -> bool:
        """Whether a role makes a difference."""
        return len({self.query, self.document, self.plain}) > 1


def choose_prompts(
    given: Mapping[Role | None, str | None],
    *,
    own: Mapping[str, str | None],
    default: str | None = None,
    known: KnownModel | None = None,
) -> Prompts:
    """For each role the first there is: `given` by the user ("" is none), one of the model's `own` prompts by
    name and not empty, its `default` one (a name in `own`), what is `known` of the model, none."""

    def first(role: Role | None) -> str:
        asked = given.get(role)
        if asked is not None:
            return asked
        names = (*(_OWN_NAMES[role] if role else ()), default or "")
        return next(
            (prompt for name in names if (prompt := own.get(name))),
            (known.prompt_for(role) or "") if known is not None else "",
        )

    return Prompts(first("query"), first("document"), first(None))
