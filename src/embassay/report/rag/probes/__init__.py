"""The pages of the two probes, and what they print."""
