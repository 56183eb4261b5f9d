"""The fixed texts: what they cover, and that nobody changes them unawares."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

from embassay.protocols.watch.texts import VERSION, load_fixed_ranked_passages, load_watch_probe_texts


def test_they_cover_what_can_change() -> None:
    """Lengths, scripts, code, emoji, empty texts, near duplicates, order and negation are all there."""
    texts = load_watch_probe_texts()
    groups = Counter(text.group for text in texts)
    assert 55 <= len(texts) <= 75
    assert {"empty", "length", "language", "code", "emoji", "near duplicate", "order", "negation"} <= groups.keys()
    assert {"ar", "zh", "hi"} <= {text.lang for text in texts}
    assert {text.text for text in texts} >= {""}
    assert max(len(text.text.split()) for text in texts) > 500


def test_ids_and_texts_are_their_own() -> None:
    """No id and no text stands twice, and each pair has two texts."""
    texts = load_watch_probe_texts()
    assert len({text.id for text in texts}) == len({text.text for text in texts}) == len(texts)
    pairs = Counter(text.pair for text in texts if text.pair)
    assert set(pairs.values()) == {2}


def test_heads_differ_only_in_their_end() -> None:
    """Two texts of a length share all words but those of the last sentence."""
    by_pair: dict[str, list[list[str]]] = {}
    for text in load_watch_probe_texts():
        if text.group == "long":
            by_pair.setdefault(text.pair, []).append(text.text.split())
    for name, (first, second) in by_pair.items():
        length = int(name.removeprefix("head-"))
        assert first[:length] == second[:length]
        assert first[length:] != second[length:]


def test_their_bytes_are_those_of_this_version() -> None:
    """Answers to other texts cannot be compared: a changed text needs a new VERSION, and a new sum here."""
    content = "\x1f".join(f"{text.id}\x1e{text.text}" for text in load_watch_probe_texts())
    content += "\x1f".join("\x1e".join((panel.question, *panel.passages)) for panel in load_fixed_ranked_passages())
    assert (VERSION, sha256(content.encode()).hexdigest()[:16]) == (1, "8aa062b41c023086")
