"""Two cheap probes that say why retrieval fails: does similarity tell names apart, and does it survive small talk?"""
