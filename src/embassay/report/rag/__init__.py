"""The pages of RAG evaluation."""
