"""What the vendors' endpoints check alike: a key in the right header, and no field that the vendor does not know."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from .wire import Problem, Request

WRONG_KEY = "wrong-key-of-a-test"


class Shape(BaseModel):
    """A request body: unknown fields are refused, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


S = TypeVar("S", bound=Shape)


def body_of(request: Request, shape: type[S], refusal: str = "message", status: int = 400) -> S:
    """The body as `shape`; a Problem with the vendor's field for what is wrong."""
    try:
        return shape.model_validate(request.json)
    except ValidationError as error:
        first = error.errors()[0]
        said = f"invalid request: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise Problem(status, {refusal: said}) from None


def check_bearer(request: Request, body: dict[str, Any]) -> None:
    """401 with the vendor's body unless a bearer token is shown that is not the wrong one."""
    shown = request.headers.get("authorization", "")
    if not shown.startswith("Bearer ") or shown == f"Bearer {WRONG_KEY}":
        raise Problem(401, body)


def scores(query: str, documents: list[str], spoilt: str = "") -> list[tuple[int, float]]:
    """Positions and scores of documents, best first: the share of the query's words in each, and a little less
    the longer it is, so that few are equal. `spoilt` leaves the last out or makes its score NaN."""
    words = set(query.lower().split())
    values = [
        len(words & set(document.lower().split())) / max(1, len(words)) * 0.9 + 0.1 / (1 + len(document))
        for document in documents
    ]
    ranked = sorted(enumerate(values), key=lambda pair: (-pair[1], pair[0]))
    if spoilt == "wrong_dimensions":
        return ranked[:-1]
    if spoilt == "not_a_number":
        return [*ranked[:-1], (ranked[-1][0], float("nan"))]
    return ranked
