"""The name probe: one right passage among impostors, under a base condition and ten ablations (spec rag 5.1-5.3)."""
