"""What a page may send: untrusted, so every field has a kind, a length and a limit."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from embassay.protocols.hume.answers import is_plain

_MOST_SEQ = 2**53


def _plain(text: str) -> str:
    if not is_plain(text):
        raise ValueError("a character that cannot be kept")
    return text


Comment = Annotated[str, Field(max_length=4000), AfterValidator(_plain)]
Flag = Annotated[str, Field(max_length=500), AfterValidator(_plain)]
Tab = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_plain)]
Name = Annotated[str, Field(max_length=80), AfterValidator(_plain)]


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class SentAnswer(_Sent):
    """An answer to one item; `value` is checked by the family of its task."""

    value: Any = None
    seconds: Annotated[float, Field(ge=0, le=1e7)] = 0.0
    flag: Flag = ""
    comment: Comment = ""
    seq: Annotated[int, Field(ge=1, le=_MOST_SEQ)]
    tab: Tab
    paused: Annotated[int, Field(ge=0, le=100_000)] = 0


class SentTab(_Sent):
    """A tab that asks whether it may write, or takes the right to."""

    tab: Tab
    take: bool = False


class SentSettings(_Sent):
    """How somebody's page is set."""

    single_keys: bool = True
    advance: bool = False
    theme: Literal["system", "light", "dark"] = "system"


class SentProfile(_Sent):
    """The name somebody gives themselves, and their settings."""

    name: Name | None = None
    settings: SentSettings = SentSettings()
