"""Other wordings of texts: who writes them, what is accepted, and how they are kept."""
