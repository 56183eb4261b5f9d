"""The Items page: what happened on single texts, system A beside system B."""

from embassay.report.items.page import ItemPage, item_page, items_of

__all__ = ["ItemPage", "item_page", "items_of"]
