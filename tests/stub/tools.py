"""An MCP server with tools that search: `python tools.py` speaks over its standard streams."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

sys.path.insert(0, str(Path(__file__).parents[1]))

from stub.retrieving import DOCUMENTS, find, find_served

server = MCPServer("search")


@server.tool()
def search(query: str, k: int = 2) -> list[str]:
    """Ids of documents."""
    return find(query, k)


@server.tool(structured_output=False)
def search_texts(needle: str, top_k: int = 2) -> str:
    """Documents as JSON in a text."""
    return json.dumps([{"id": name, "text": DOCUMENTS[name]} for name in find(needle, top_k)])


@server.tool()
def search_served(query: str, k: int = 2) -> list[dict[str, str | float]]:
    """Passages of the file that $SERVED names."""
    found = find_served(Path(os.environ["SERVED"]), query, k)
    return [{"id": name, "score": score} for name, score in found]


@server.tool()
def failing(query: str) -> list[str]:
    """Always fails."""
    raise ToolError(f"no index for {query}")


@server.tool()
def ambiguous(left: str, right: str) -> list[str]:
    """Has no argument that is the question."""
    return [left, right]


if __name__ == "__main__":
    server.run("stdio")
