"""RAG: does the set of K passages in the prompt hold the decisive evidence, and what would mend it if not?"""
