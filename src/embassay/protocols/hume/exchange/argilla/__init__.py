"""Argilla 2: settings and records to load there, and exported records read back."""
