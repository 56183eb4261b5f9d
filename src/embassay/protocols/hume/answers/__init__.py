"""Where the answers of a study are kept while people give them: a SQLite file in its folder, or a PostgreSQL server."""

from embassay.protocols.hume.answers.links import KEY_FILE, OWNER, Holder, Links, study_key
from embassay.protocols.hume.answers.records import (
    Annotator,
    Change,
    Draft,
    Refused,
    Role,
    Saved,
    checked_value,
    is_plain,
)
from embassay.protocols.hume.answers.store import (
    LEASE_SECONDS,
    AnswerStore,
    Browsers,
    Exposure,
    check_independent,
    has_store,
    in_words,
    open_store,
    own_order,
    stored_annotations,
)

__all__ = [
    "KEY_FILE",
    "LEASE_SECONDS",
    "OWNER",
    "Annotator",
    "AnswerStore",
    "Browsers",
    "Change",
    "Draft",
    "Exposure",
    "Holder",
    "Links",
    "Refused",
    "Role",
    "Saved",
    "check_independent",
    "checked_value",
    "has_store",
    "in_words",
    "is_plain",
    "open_store",
    "own_order",
    "stored_annotations",
    "study_key",
]
