"""The README's blocks for programs that speak MCP: each is read as its program reads it, and what it says is done.

contract: MCP.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from tests.real.clients import Client
from tests.real.conftest import Running
from tests.real.programs import SIFT
from tests.real.test_mcp import Server, environ_of
from tests.service import ROOT


class Local(NamedTuple):
    """A command that a program starts, and what it adds to the environment."""

    command: list[str]
    env: Mapping[str, str]


SECTION = re.search(r"^## Use over MCP\n(.*?)^## ", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)
assert SECTION


@pytest.fixture(scope="module")
def sdk() -> Iterator[Client]:
    """Run the newest SDK's client."""
    found = Client(Path(__file__).with_name("mcp_driver.py"))
    yield found
    found.close()


def block(language: str, behind: str, running: Running) -> str:
    """Return the first block of a language behind some words, for the shared service and this installation."""
    assert SECTION
    found = re.search(rf"^```{language}\n(.*?)^```$", SECTION[1].partition(behind)[2], re.DOTALL | re.MULTILINE)
    assert found
    text = found[1].replace("https://sift.example", running.service.url).replace("sift_…", running.tokens.fleet)
    return text.replace("/opt/sift-mcp/bin/sift", SIFT)


def from_json(text: str) -> Local:
    """Read what Claude Desktop and Cursor read."""
    server = json.loads(text)["mcpServers"]["sift"]
    return Local([server["command"], *server["args"]], server["env"])


def from_yaml(text: str) -> Local:
    """Read what Hermes reads."""
    server = yaml.safe_load(text)["mcp_servers"]["sift"]
    return Local([server["command"], *server["args"]], server["env"])


def from_shell(text: str) -> Local:
    """Read what Claude Code is told."""
    words = shlex.split(text)
    assert words[:4] == ["claude", "mcp", "add", "sift"]
    end = words.index("--")
    given = dict(
        word.split("=", 1) for flag, word in zip(words[4:end:2], words[5:end:2], strict=True) if flag == "--env"
    )
    return Local(words[end + 1 :], given)


@pytest.mark.parametrize(
    ("program", "language", "read"),
    [
        ("Claude Desktop, in", "json", from_json),
        ("Claude Code:", "bash", from_shell),
        ("Cursor, in", "json", from_json),
        ("Hermes, in", "yaml", from_yaml),
    ],
)
def test_program_that_starts_the_command_gets_the_tools(
    sdk: Client, running: Running, tmp_path: Path, program: str, language: str, read: Any
) -> None:
    """README, Use over MCP: address, key and place of the command are all that is replaced."""
    local: Local = read(block(language, program, running))
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **local.env}
    call = ["sift_search", {"query": program}]
    found = sdk.call(calls=[call], command=local.command, env=env, errlog=str(tmp_path / "stderr"))
    assert not found["answers"][0]["isError"]


def test_programs_that_connect_get_the_tools(sdk: Client, running: Running) -> None:
    """README, Use over MCP: Open WebUI and LibreChat, against the server as it is started there."""
    served = shlex.split(block("bash", "serves Streamable HTTP", running))
    assert served[:3] == [f"SIFT_URL={running.service.url}", SIFT, "mcp"]
    assert served[3:] == ["--http", "127.0.0.1:8790"]
    name, _, value = shlex.split(block("bash", "Open WebUI (or", running))[0].partition("=")
    (webui,) = json.loads(value)
    assert (name, webui["type"], webui["auth_type"]) == ("TOOL_SERVER_CONNECTIONS", "mcp", "bearer")
    chat = yaml.safe_load(block("yaml", "LibreChat, in", running))
    server = chat["mcpServers"]["sift"]
    assert server["type"] == "streamable-http"
    assert server["url"] == webui["url"] == f"http://{chat['mcpSettings']['allowedAddresses'][0]}/mcp"
    headers = {key: text.replace("${SIFT_TOKEN}", running.tokens.fleet) for key, text in server["headers"].items()}
    assert headers == {"Authorization": f"Bearer {webui['key']}"}
    with Server(environ_of(running.service)) as started:
        found = sdk.call(calls=[["sift_search", {"query": "x"}]], url=started.url, headers=headers)
    assert not found["answers"][0]["isError"]
