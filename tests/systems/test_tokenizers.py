"""The encoders' own tokenizers, by name."""

import pytest

from embassay.systems import TOKENIZERS
from embassay.text import open_tokenizer


@pytest.mark.parametrize("name", ["wordllama", pytest.param("minilm", marks=pytest.mark.minilm)])
def test_an_encoder_s_tokenizer_has_its_name_and_covers_the_text(name):
    """As many pieces as ids, and joined they are the text; the identity says which vocabulary it is."""
    assert name in TOKENIZERS
    tokenizer = open_tokenizer(name)
    text = "Adeline Voss, 34: l'été was unreadable!  "
    assert len(tokenizer.pieces(text)) == len(tokenizer.encode(text)) > 8
    assert b"".join(tokenizer.pieces(text)) == text.encode()
    assert tokenizer.identity.startswith(f"{name}/")
