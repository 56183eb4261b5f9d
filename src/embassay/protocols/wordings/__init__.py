"""Texts in other words, whoever wrote them: asked for, kept, evaluated beside the originals, and averaged."""
