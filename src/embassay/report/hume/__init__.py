"""The pages of a HUME run."""
