"""The Items page: what happened on single texts, system A beside system B."""
