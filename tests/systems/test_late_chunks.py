"""Late chunks: passages as means of tokens that were read in their document, in windows where it is long."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from embassay.systems.cleanup import TextCleaningEncoder, TextCleanupSteps
from embassay.systems.encoders.minilm import MiniLMEncoder
from embassay.systems.encoders.wordllama import WordLlamaEncoder
from embassay.systems.late_chunks import (
    DocumentWithPassages,
    choose_window_with_most_context,
    encode_late_chunks,
    explain_no_late_chunks,
    plan_token_windows_of_passages,
)

DOCUMENT = (
    "The turbine in hall four was made in Brno. It failed in March, because its oil pump had run dry. Nobody heard "
    "it. The canteen opens at nine."
)


def cut(text: str, *beginnings: str) -> DocumentWithPassages:
    """The document in passages that begin so."""
    starts = [text.index(words) for words in beginnings]
    ends = [*starts[1:], len(text)]
    return DocumentWithPassages(
        text, tuple((a, a + len(text[a:b].rstrip())) for a, b in zip(starts, ends, strict=True))
    )


class Counting:
    """A reader whose tokens are words, and whose vector of a word is (its place, how many words it is read with)."""

    dim = 2
    no_late_chunks = ""

    def __init__(self, token_room: int | None = None) -> None:
        self.token_room = token_room
        self.read: list[str] = []

    def locate_text_tokens(self, texts: Any) -> list[Any]:
        return [
            np.array([match.span() for match in re.finditer(r"\S+", text)], dtype=np.int64).reshape(-1, 2)
            for text in texts
        ]

    def encode_token_vectors(self, texts: Any, *, role: Any = None) -> list[Any]:
        assert role == "document"
        self.read += texts
        sizes = [len(text.split()) for text in texts]
        return [np.array([(i, n) for i in range(n)], dtype=np.float32).reshape(-1, 2) for n in sizes]

    def finish_mean_vectors(self, means: Any) -> Any:
        return means


def test_a_passage_is_the_mean_of_its_own_tokens() -> None:
    """By hand: words 0 to 8, 9 to 19, 20 to 22 and 23 to 27, all of them read among 28; a blank passage is zeros."""
    document = cut(DOCUMENT, "The turbine", "It failed", "Nobody", "The canteen")
    vectors = encode_late_chunks(Counting(), [document, DocumentWithPassages("  ", ((0, 2),))])
    assert vectors[0].tolist() == [[4, 28], [14, 28], [21, 28], [25, 28]]
    assert vectors[1].tolist() == [[0, 0]]


def test_a_long_document_is_read_in_windows() -> None:
    """Four passages of three words, six words at once: each but the ends is read where it has most around it."""
    text = "a b c. d e f. g h i. j k l."
    reader = Counting(6)
    document = cut(text, "a", "d", "g", "j")
    vectors = encode_late_chunks(reader, [document])[0]
    assert reader.read == ["a b c. d e f.", "d e f. g h i.", "g h i. j k l."]
    # The first and the last passage have the document's own end beside them; of two windows the first wins a tie.
    assert vectors.tolist() == [[1, 6], [4, 6], [4, 6], [4, 6]]


@given(words=st.integers(1, 60), borders=st.sets(st.integers(1, 59)), room=st.integers(1, 25))
def test_windows_hold_every_passage_and_fit(words: int, borders: set[int], room: int) -> None:
    """All passages are read, no window is larger than the room but for one passage that is, and the window chosen is
    one that holds the passage and has the most on its poorer side."""
    starts = [0, *sorted(border for border in borders if border < words)]
    ends = [*starts[1:], words]
    passages = [(2 * a, 2 * b) for a, b in zip(starts, ends, strict=True)]
    places = np.array([(2 * i, 2 * i + 1) for i in range(words)], dtype=np.int64)
    windows = plan_token_windows_of_passages(places, passages, room)
    chosen = choose_window_with_most_context(windows, len(passages))
    assert {p for w in windows for p in range(w.first, w.last)} == set(range(len(passages)))
    for window in windows:
        assert window.last - window.first == 1 or ends[window.last - 1] - starts[window.first] <= room
    for passage, number in enumerate(chosen):
        margins = [
            min(
                np.inf if w.first == 0 else starts[passage] - starts[w.first],
                np.inf if w.last == len(passages) else ends[w.last - 1] - ends[passage],
            )
            for w in windows
            if w.first <= passage < w.last
        ]
        window = windows[number]
        assert window.first <= passage < window.last
        at = passage - window.first
        assert min(window.ahead[at], window.behind[at]) == max(margins)


def test_minilm_by_its_own_tokens() -> None:
    """Against its tokens of the whole document, put to passages by the tokenizer's own map of characters."""
    pytest.importorskip("onnxruntime")
    encoder = MiniLMEncoder()
    document = cut(DOCUMENT, "The turbine", "It failed", "Nobody", "The canteen")
    [states] = encoder.encode_token_vectors([DOCUMENT])
    encoding = encoder.tokenizer.encode(DOCUMENT)
    expected = []
    for start, end in document.passages:
        tokens = {encoding.char_to_token(place) for place in range(start, end)} - {None}
        mean = states[sorted(token - 1 for token in tokens)].mean(axis=0)  # [CLS] is no state
        expected.append(mean / np.linalg.norm(mean))
    [vectors] = encode_late_chunks(encoder, [document])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    # What "it" is, its vector knows: nearer to the question than the same words alone.
    question = encoder.encode(["Why did the turbine fail?"])[0]
    alone = encoder.encode([DOCUMENT[slice(*document.passages[1])]])[0]
    assert vectors[1] @ question > alone @ question + 0.05


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
class TestSentenceTransformers:
    """Through the library, against transformers itself."""

    @pytest.fixture(scope="class")
    def folder(self, minilm_folder: Path) -> Path:
        pytest.importorskip("sentence_transformers")
        return minilm_folder

    def open(self, folder: Path, **more: Any) -> Any:
        from embassay.systems.encoders.sentence_transformers import SentenceTransformer

        return SentenceTransformer(str(folder), device="cpu", **more)

    def test_vectors_are_means_of_hidden_states(self, folder: Path) -> None:
        """transformers' model on the whole document after the prompt, its offsets, a mean by hand."""
        import torch
        from transformers import AutoModel, AutoTokenizer

        document = cut(DOCUMENT, "The turbine", "It failed", "Nobody", "The canteen")
        [vectors] = encode_late_chunks(self.open(folder, document_prompt="page: "), [document])
        tokenizer = AutoTokenizer.from_pretrained(str(folder))
        read = tokenizer("page: " + DOCUMENT, return_offsets_mapping=True, return_tensors="pt")
        offsets = read.pop("offset_mapping")[0].numpy() - len("page: ")
        with torch.inference_mode():
            states = AutoModel.from_pretrained(str(folder))(**read).last_hidden_state[0].numpy()
        for (start, end), vector in zip(document.passages, vectors, strict=True):
            inside = [i for i, (a, b) in enumerate(offsets) if start <= a < b <= end]
            mean = states[inside].mean(axis=0)
            np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-5)

    def test_what_is_longer_than_the_model_reads(self, folder: Path) -> None:
        """Each passage as if the window around it were the document."""
        text = " ".join(f"Sentence {word} is the one of the {word}." for word in ["fox", "hen", "owl", "elk", "bee"])
        document = cut(text, *re.findall(r"Sentence \w+", text))
        encoder = self.open(folder, max_length=26)
        assert encoder.token_room == 24
        [vectors] = encode_late_chunks(encoder, [document])
        windows = plan_token_windows_of_passages(encoder.locate_text_tokens([text])[0], document.passages, 24)
        assert len(windows) > 1
        chosen = choose_window_with_most_context(windows, 5)
        for row, number in enumerate(chosen):
            window = windows[number]
            start, end = document.passages[window.first][0], document.passages[window.last - 1][1]
            inner = tuple((a - start, b - start) for a, b in document.passages[window.first : window.last])
            [alone] = encode_late_chunks(encoder, [DocumentWithPassages(text[start:end], inner)])
            np.testing.assert_allclose(vectors[row], alone[row - window.first], atol=1e-5)

    def test_a_model_of_another_pooling_says_so(self, folder: Path, tmp_path: Path) -> None:
        shutil.copytree(folder, tmp_path / "first")
        config = tmp_path / "first" / "1_Pooling" / "config.json"
        plain = {key: key == "pooling_mode_cls_token" for key in json.loads(config.read_text()) if "_mode_" in key}
        config.write_text(json.dumps({"word_embedding_dimension": 384, **plain, "pooling_mode_cls_token": True}))
        assert "cls" in explain_no_late_chunks(self.open(tmp_path / "first"))
        assert explain_no_late_chunks(self.open(folder)) == ""


def test_who_makes_none_says_why() -> None:
    """Static vectors know no context, and what is cleaned has other places."""
    assert "minilm" in explain_no_late_chunks(WordLlamaEncoder())
    pytest.importorskip("onnxruntime")
    encoder = MiniLMEncoder()
    assert explain_no_late_chunks(encoder) == ""
    assert "cleans" in explain_no_late_chunks(TextCleaningEncoder(encoder, TextCleanupSteps("unicode"), name="clean"))
