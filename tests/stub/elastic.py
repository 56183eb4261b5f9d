"""A small Elasticsearch: what our adapter asks of one, over real HTTP, as strictly as the real one reads it.

Searches compare all vectors in float32, and scores follow the formulas of Elasticsearch's reference. Like the real one
it finds only what was refreshed, and calls itself by `X-Elastic-Product`.
"""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

MEDIA = "application/vnd.elasticsearch+json"
KINDS = {"hnsw", "int8_hnsw", "flat", "int8_flat"}
SIMILARITIES = {"max_inner_product", "dot_product", "cosine"}


class Refusal(Exception):
    """A status and the reason in Elasticsearch's form."""

    def __init__(self, status: int, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.body = {
            "error": {"root_cause": [{"type": kind, "reason": reason}], "type": kind, "reason": reason},
            "status": status,
        }


class Stored:
    """An index: its mappings, what was sent, and what a search sees of it."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.settings, self.mappings = body.get("settings", {}), body.get("mappings", {})
        self.documents: dict[str, dict[str, Any]] = {}
        self.seen: dict[str, dict[str, Any]] = {}
        self.segments = 0
        self.fields = self.mappings.get("properties", {})
        for name, field in self.fields.items():
            _check_field(name, field)

    def index(self, key: str, document: dict[str, Any]) -> None:
        for name, value in document.items():
            field = self.fields.get(name)
            if field is None and self.mappings.get("dynamic") == "strict":
                raise Refusal(400, "strict_dynamic_mapping_exception", f"mapping set to strict, not [{name}]")
            if field is not None:
                _check_vector(field, value)
        self.documents[key] = document

    def refresh(self) -> None:
        self.seen = dict(self.documents)

    def knn(self, asked: dict[str, Any], size: int) -> list[dict[str, Any]]:
        field = self.fields.get(asked["field"])
        if field is None:
            raise Refusal(
                400, "query_shard_exception", f"failed to create query: field [{asked['field']}] is not there"
            )
        if not asked["k"] <= asked["num_candidates"] <= 10_000:
            raise Refusal(400, "action_request_validation_exception", "[num_candidates] is below [k] or above 10000")
        query = _check_vector(field, asked["query_vector"])
        if not self.seen:
            return []
        rows = np.array([one[asked["field"]] for one in self.seen.values()], dtype=np.float32)
        scores = _scores(rows, query, field["similarity"])
        best = sorted(zip(self.seen, scores.tolist(), strict=True), key=lambda hit: -hit[1])
        return [{"_id": key, "_score": score} for key, score in best[: min(asked["k"], size)]]


class ElasticStub:
    """The server at `url`, a context manager. `user` and `password`, or an API `key`, are wanted where they are given.
    `requests` counts by method and path without names; `fail` maps such a request to the answers that it gets next."""

    def __init__(self, *, user: str = "", password: str = "", key: str = "", product: str = "Elasticsearch") -> None:
        self.product = product
        self.wanted = ""
        if user:
            self.wanted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        if key:
            self.wanted = f"ApiKey {key}"
        self.indices: dict[str, Stored] = {}
        self.requests: Counter[str] = Counter()
        self.bodies: list[Any] = []
        self.fail: dict[str, list[Refusal]] = {}
        self.lock = threading.RLock()
        self.port = 0
        self.connections: set[socket.socket] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ElasticStub:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, on the port of before if there was one."""
        handler = type("Handler", (_Handler,), {"stub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop listening and cut connections; what was stored stays."""
        self._server.shutdown()
        for connection in self.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.connections.clear()
        self._server.server_close()
        self._thread.join(10)

    def answer(self, method: str, path: str, query: dict[str, list[str]], content: bytes) -> Any:
        """The body of an answer; a Refusal otherwise."""
        parts = [unquote(part) for part in path.strip("/").split("/")]
        with self.lock:
            shape = " ".join([method, *(part for part in parts if part.startswith("_"))])
            self.requests[shape] += 1
            if self.fail.get(shape):
                raise self.fail[shape].pop(0)
            if parts[-1] == "_bulk":
                return self._bulk(content, parts[0] if len(parts) > 1 else "")
            body = json.loads(content, parse_constant=_not_json) if content else {}
            self.bodies.append((shape, body))
            return self._one(method, parts, query, body)

    def _one(self, method: str, parts: list[str], query: dict[str, list[str]], body: Any) -> Any:
        name, rest = parts[0], parts[1:]
        if not rest:
            return self._whole(method, name, body)
        if rest[0] in ("_doc", "_create"):
            return self._document(method, name, rest, query, body)
        index = self._known(name)
        if rest[0] == "_refresh":
            index.refresh()
            return {"_shards": {"total": 1, "successful": 1, "failed": 0}}
        if rest[0] == "_forcemerge":
            index.segments = int(query["max_num_segments"][0])
            return {"_shards": {"total": 1, "successful": 1, "failed": 0}}
        if rest[0] == "_count":
            return {"count": len(index.seen), "_shards": {"total": 1, "failed": 0}}
        if rest[0] == "_stats":
            size = sum(len(json.dumps(one)) for one in index.documents.values())
            return {"_all": {"primaries": {"store": {"size_in_bytes": size}}}}
        if rest[0] == "_search":
            unknown = set(body) - {"knn", "size", "_source"}
            if unknown:
                raise Refusal(400, "parsing_exception", f"unknown key {sorted(unknown)}")
            found = index.knn(body["knn"], body.get("size", 10))
            answer = {"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": found}}
            # The client asks for a part of the answer; what is empty is then left out.
            return answer if found else {"timed_out": False, "_shards": {"failed": 0}}
        raise Refusal(400, "illegal_argument_exception", f"no handler found for [{'/'.join(parts)}]")

    def _whole(self, method: str, name: str, body: Any) -> Any:
        if method == "PUT":
            if name in self.indices:
                raise Refusal(400, "resource_already_exists_exception", f"index [{name}] already exists")
            if name != name.lower():
                raise Refusal(400, "invalid_index_name_exception", f"[{name}] must be lowercase")
            self.indices[name] = Stored(body)
            return {"acknowledged": True, "shards_acknowledged": True, "index": name}
        self._known(name)
        if method == "DELETE":
            del self.indices[name]
        return {"acknowledged": True}

    def _document(self, method: str, name: str, rest: list[str], query: dict[str, list[str]], body: Any) -> Any:
        if rest[0] == "_create":
            index = self.indices.setdefault(name, Stored({}))
            if rest[1] in index.documents:
                raise Refusal(409, "version_conflict_engine_exception", f"[{rest[1]}]: document already exists")
            index.index(rest[1], body)
            index.refresh()
            return {"result": "created", "_id": rest[1]}
        index = self._known(name)
        if rest[1] not in index.documents:
            raise Found({"_index": name, "_id": rest[1], "found": False})
        if method == "DELETE":
            del index.documents[rest[1]]
            return {"result": "deleted"}
        return {"_id": rest[1], "found": True, "_source": index.documents[rest[1]]}

    def _bulk(self, content: bytes, name: str) -> Any:
        lines = content.splitlines()
        items = []
        for head, document in zip(lines[::2], lines[1::2], strict=True):
            ((operation, about),) = json.loads(head).items()
            try:
                self._known(about.get("_index", name)).index(
                    about["_id"], json.loads(document, parse_constant=_not_json)
                )
                items.append({operation: {"_id": about["_id"], "status": 201, "result": "created"}})
            except Refusal as refusal:
                items.append({operation: {"_id": about["_id"], "status": 400, "error": refusal.body["error"]}})
        return {"errors": any("error" in next(iter(one.values())) for one in items), "items": items}

    def _known(self, name: str) -> Stored:
        if name not in self.indices:
            raise Refusal(404, "index_not_found_exception", f"no such index [{name}]")
        return self.indices[name]


class Found(Exception):
    """404 with the body that a missing document gets."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.body = body


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    stub: ElasticStub

    def setup(self) -> None:
        super().setup()
        self.stub.connections.add(self.connection)

    def _do(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = urlsplit(self.path)
        status, body = 200, {}
        try:
            self._check_headers(content)
            body = self.stub.answer(self.command, parts.path, parse_qs(parts.query), content)
        except Refusal as refusal:
            status, body = refusal.status, refusal.body
        except Found as found:
            status, body = 404, found.body
        sent = b"" if self.command == "HEAD" else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("X-Elastic-Product", self.stub.product)
        self.send_header("content-type", f"{MEDIA};compatible-with=9")
        self.send_header("content-length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def _check_headers(self, content: bytes) -> None:
        if self.stub.wanted and self.headers.get("authorization") != self.stub.wanted:
            raise Refusal(401, "security_exception", "unable to authenticate for REST request")
        kind = self.headers.get("content-type", "")
        if content and not kind.startswith("application/"):
            raise Refusal(406, "media_type_header_exception", f"Invalid media-type value on header: {kind}")

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _do

    def log_message(self, *_: object) -> None:
        pass


def _not_json(value: str) -> Any:
    raise Refusal(400, "document_parsing_exception", f"Non-standard token '{value}': not allowed")


def _check_field(name: str, field: dict[str, Any]) -> None:
    options = field.get("index_options", {})
    allowed = {"type", "m", "ef_construction"} if str(options.get("type")).endswith("hnsw") else {"type"}
    if (
        set(field) != {"type", "dims", "index", "similarity", "index_options"}
        or field["type"] != "dense_vector"
        or not 1 <= field["dims"] <= 4096
        or field["similarity"] not in SIMILARITIES
        or options.get("type") not in KINDS
        or set(options) - allowed
    ):
        raise Refusal(400, "mapper_parsing_exception", f"Failed to parse mapping for field [{name}]")


def _check_vector(field: dict[str, Any], value: Any) -> np.ndarray[Any, Any]:
    vector = np.array(value, dtype=np.float32)
    if vector.shape != (field["dims"],):
        raise Refusal(
            400, "document_parsing_exception", f"has a different number of dimensions [{len(value)}] than defined"
        )
    length = float(vector @ vector)
    if field["similarity"] == "dot_product" and abs(length - 1) > 1e-3:
        raise Refusal(400, "document_parsing_exception", "[dot_product] can only be used with unit-length vectors")
    if field["similarity"] == "cosine" and length == 0:
        raise Refusal(400, "document_parsing_exception", "[cosine] does not support vectors with zero magnitude")
    return vector


def _scores(rows: np.ndarray[Any, Any], query: np.ndarray[Any, Any], similarity: str) -> np.ndarray[Any, Any]:
    products = rows @ query
    if similarity == "max_inner_product":
        return np.where(products < 0, 1 / (1 - np.minimum(products, 0)), products + 1).astype(np.float32)
    if similarity == "cosine":
        products = products / (np.linalg.norm(rows, axis=1) * np.linalg.norm(query))
    return ((1 + products) / 2).astype(np.float32)
