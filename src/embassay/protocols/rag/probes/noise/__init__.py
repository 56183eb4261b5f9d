"""The noise probe: how far small talk around a question moves it from what it is about (spec rag 5.4)."""
