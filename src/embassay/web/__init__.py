"""Pages that are served: annotation. Needs the extra `web`."""
