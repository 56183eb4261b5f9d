"""Rewritings are made once, kept, and asked for again where they failed."""

from __future__ import annotations

from pathlib import Path

from embassay.errors import ModelError
from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.rag.judges import Question
from embassay.protocols.rag.probes.options import NoiseRequest
from embassay.protocols.rag.probes.questions import (
    RewritingStore,
    add_small_talk_at_all_levels,
    apply_rewritings_to_variants,
    load_noise_probe_questions,
)


class Capitals:
    """A rewriter that shouts, and refuses some texts."""

    name = identity = "capitals"

    def __init__(self, refused: tuple[str, ...] = ()) -> None:
        self.refused, self.asked = refused, list[str]()

    async def rewrite(self, question: Question) -> str:
        self.asked.append(question.text)
        if question.text in self.refused:
            raise ModelError("it will not")
        return question.text.upper()


def test_what_is_there_is_not_asked_for_again(tmp_path: Path) -> None:
    first, second = Capitals(refused=("b",)), Capitals()
    kept = RewritingStore(tmp_path, "capitals/1")
    assert kept.complete(first, ["a", "b", "c", "a"], SilentListener(), None) == {"b": "it will not"}
    assert kept.read() == {"a": "A", "c": "C"}
    assert RewritingStore(tmp_path, "capitals/1").complete(second, ["a", "b", "c"], SilentListener(), None) == {}
    assert second.asked == ["b"]
    assert kept.read() == {"a": "A", "b": "B", "c": "C"}
    assert RewritingStore(tmp_path, "other").read() == {}


def test_wordings_keep_level_and_run() -> None:
    own = load_noise_probe_questions(NoiseRequest(("bm25",), queries=4), "bundled", "en")
    noisy = add_small_talk_at_all_levels(own, 2, 9)
    texts = {text: text.upper() for one in noisy for run in one.texts for text in run if text}
    lost = own.texts[1]
    del texts[lost]
    made = apply_rewritings_to_variants(noisy, "capitals", texts)
    assert [one.name for one in made] == [f"level={level}:capitals" for level in range(5)]
    assert made[0].texts[0] == (own.texts[0].upper(), None, own.texts[2].upper(), own.texts[3].upper())
    assert noisy[0].texts[0] == noisy[0].texts[1] == own.texts
    assert noisy[3].texts[0] != noisy[3].texts[1]
