"""Print the pages, or write them."""

import sys

from reference_pages.pages import FOLDER, PAGES

if __name__ == "__main__":
    for name, made in PAGES.items():
        if "--write" in sys.argv:
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / name).write_text(made(), encoding="utf-8")
        else:
            print(made())
