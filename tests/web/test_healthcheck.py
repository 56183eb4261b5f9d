"""Whether a container is well, told from outside of its server."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from embassay.web.healthcheck import find_port_in_serve_command, main


@pytest.mark.parametrize(
    ("line", "port"),
    [
        ("/usr/bin/python /opt/embassay/bin/embassay serve /runs", 8760),
        ("/sbin/docker-init -- embassay --debug serve /runs --port 9000", 9000),
        ("embassay hume serve study --port=81", 81),
        ("embassay hume serve study", 8000),
        ("embassay hume links study", None),
        ("embassay sage run -s bm25 --out serve", None),
        ("embassay serve /runs --port", 8760),
        ("sleep 1", None),
        ("", None),
    ],
)
def test_where_a_command_serves(line: str, port: int | None) -> None:
    """By its words: the two commands that serve, at the port they were told or their own."""
    assert find_port_in_serve_command(line.split()) == port


def test_well_ill_and_not_serving(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 while it answers 200, 1 with the reason when it does not, 0 where nothing is served."""

    class Answers(BaseHTTPRequestHandler):
        status = 200

        def do_GET(self) -> None:
            self.send_response(self.status if self.path == "/health" else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    line = tmp_path / "cmdline"
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        line.write_bytes(f"embassay\0serve\0/runs\0--port\0{server.server_port}\0".encode())
        assert main(line) == 0
        Answers.status = 503
        assert main(line) == 1
        server.shutdown()
        thread.join()
    assert main(line) == 1
    assert capsys.readouterr().err.count(f"port {server.server_port}") == 2
    line.write_bytes(b"embassay\0sage\0run\0")
    assert main(line) == 0
