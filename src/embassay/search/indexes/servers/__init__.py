"""Indexes inside a database server, built there once and found again by the content of the vectors."""
