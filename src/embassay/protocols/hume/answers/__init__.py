"""Where the answers of a study are kept while people give them: a SQLite file in its folder, or a PostgreSQL server."""
