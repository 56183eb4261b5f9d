"""Language models as annotators: the same items, the same words (spec hume 8.1)."""
