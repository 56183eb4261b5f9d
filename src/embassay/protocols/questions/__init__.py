"""Questions that a language model writes about passages: drawn, written, checked by a second call, kept at once."""
