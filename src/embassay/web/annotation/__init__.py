"""The pages on which people annotate a study, and the page of who runs it (spec hume 3).

`app.make_app` makes the app of a `service.Service`; it needs the extra `web`, and the rest of the package does not.
"""
