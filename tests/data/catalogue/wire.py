"""A server that speaks as much of the hub's protocol as `datasets` uses: `python wire.py FOLDER [FAULT]`.

The repositories are the folders two levels down. With a FAULT, a part of a path, files whose path contains it are
forbidden, as where a licence must be accepted first.
"""

from __future__ import annotations

import hashlib
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0" * 40


class Hub(BaseHTTPRequestHandler):
    """Repositories, trees, and files with ranges."""

    protocol_version = "HTTP/1.1"
    root: Path
    fault = ""

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        """Like GET, without a body."""
        self.do_GET()

    def do_GET(self) -> None:
        """A repository, its tree, or a file of it."""
        _, *steps = unquote(urlsplit(self.path).path).split("/")
        if steps[:2] == ["api", "datasets"] and (self.root / "/".join(steps[2:4])).is_dir():
            self._about("/".join(steps[2:4]), steps[4:])
        elif steps[0] == "datasets" and steps[3:4] == ["resolve"]:
            self._file(self.root / "/".join(steps[1:3]) / "/".join(steps[5:]))
        else:
            self._answer(404, b"{}")

    def do_POST(self) -> None:
        """Facts on some files."""
        _, *steps = unquote(urlsplit(self.path).path).split("/")
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["paths"]
        found = [one for one in self._entries("/".join(steps[2:4])) if one["path"] in asked]
        self._answer(200, json.dumps(found).encode())

    def _about(self, repo: str, steps: list[str]) -> None:
        if steps[:1] == ["tree"]:
            inside = "/".join(steps[2:])
            found: Any = [one for one in self._entries(repo) if one["path"].startswith(inside)]
        else:
            files = [{"rfilename": one["path"]} for one in self._entries(repo)]
            found = {"id": repo, "sha": COMMIT, "private": False, "gated": False, "tags": [], "siblings": files}
        self._answer(200, json.dumps(found).encode())

    def _entries(self, repo: str) -> list[dict[str, Any]]:
        folder = self.root / repo
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return [
            {"type": "file", "path": str(path.relative_to(folder)), "size": path.stat().st_size, "oid": _tag(path)}
            for path in files
        ]

    def _file(self, path: Path) -> None:
        if self.fault and self.fault in str(path):
            self._answer(403, b"{}")
            return
        if not path.is_file():
            self._answer(404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        body, code, headers = path.read_bytes(), 200, {"ETag": f'"{_tag(path)}"', "Accept-Ranges": "bytes"}
        if self.command == "GET" and (asked := self.headers.get("Range")):
            first, _, last = asked.removeprefix("bytes=").partition("-")
            code, size = 206, len(body)
            body = body[int(first) : int(last or size) + 1]
            headers["Content-Range"] = f"bytes {first}-{int(first) + len(body) - 1}/{size}"
        cut = bool(self.fault) and self.fault in str(path) and self.command == "GET"
        self._answer(code, body, headers, cut=cut)

    def _answer(self, code: int, body: bytes, headers: dict[str, str] | None = None, *, cut: bool = False) -> None:
        self.send_response(code)
        given = {"Content-Length": str(len(body)), "X-Repo-Commit": COMMIT, **(headers or {})}
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _tag(path: Path) -> str:
    return hashlib.sha1(path.read_bytes(), usedforsecurity=False).hexdigest()


def main() -> None:
    """Serve until the process ends; the port is printed."""
    Hub.root, Hub.fault = Path(sys.argv[1]), "".join(sys.argv[2:3])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
