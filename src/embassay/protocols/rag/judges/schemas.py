"""The JSON that servers are told to bind a judge's answers to."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class GradeAnswer(BaseModel):
    """One grade; the field's name is `reading.GRADE_KEY`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    grade_1_5: int = Field(ge=1, le=5)


class OrderAnswer(BaseModel):
    """Labels, best first; the field's name is `reading.ORDER_KEY`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    order: list[str]


GRADE, ORDER = GradeAnswer, OrderAnswer
