"""What lies where on this machine is nobody's business: absolute paths are cut out of all that a run says."""

from __future__ import annotations

import hashlib
import re

# A stroke that begins a path (not one within a name, a relative path or an address), and folders after it.
_PATH = re.compile(r"(?<![\w/.…~-])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\'\"()]+[/\\])+(?=[^\s/\\'\"])")
_MARK = 4


def without_paths(text: str) -> str:
    """The text with the folders of absolute paths left out.

    >>> without_paths("No such file: '/srv/ann/models/e5/config.json'"), without_paths("st:org/model")
    ("No such file: '…/config.json'", 'st:org/model')
    """
    return _PATH.sub("…/", text)


def shown_name(system: str) -> str:
    """A system's name as it is shown. One with an absolute path gets a mark of it, for another folder's model of the
    same name is another system.

    >>> shown_name("st:org/model"), shown_name("openai:m?base_url=http://localhost:8000/v1")
    ('st:org/model', 'openai:m?base_url=http://localhost:8000/v1')
    >>> shown_name("st:/srv/ann/models/e5")
    'st:…/e5 [f45a]'
    """
    short = without_paths(system)
    if short == system:
        return system
    return f"{short} [{hashlib.sha256(system.encode('utf-8', 'replace')).hexdigest()[:_MARK]}]"
