"""Requests that callers should not send, and the checks that every answer to them must pass."""

from __future__ import annotations

import json
import socket
from typing import Any

from hypothesis import strategies as st

from tests.service import Reply, Service

FIELDS = [
    *(
        "query",
        "queries",
        "k",
        "rerank",
        "digest",
        "explain",
        "include_domains",
        "exclude_domains",
        "include_domains_mode",
    ),
    *("time_range", "start_date", "end_date", "topic", "min_score", "exact_match", "limit", "caller_class"),
]
VALID: dict[str, Any] = {
    "query": 'some "exact words"',
    "k": 5,
    "rerank": True,
    "digest": False,
    "explain": True,
    "include_domains": ["docs.example"],
    "exclude_domains": ["shared.example"],
    "include_domains_mode": "prefer",
    "time_range": "week",
    "topic": "news",
    "min_score": 0.5,
    "exact_match": True,
    "limit": 5,
}
CONTENT_TYPES = [
    *("application/json", "text/plain", "", "application/x-www-form-urlencoded", "application/json; charset=utf-16"),
    *("multipart/form-data; boundary=x", "multipart/form-data", "application/json; charset=\xff", ";;;", "a" * 2000),
]

# All planes of Unicode, lone surrogates, NUL and other control characters.
texts = st.text(st.characters(), max_size=40) | st.sampled_from(
    [
        "",
        " ",
        "\0",
        "a\0b",
        "\ud800",
        "\udfff\ud800",
        "\u202e",
        "𝔘🏴󠁧󠁢",
        "a" * 1501,
        "🎈" * 1500,
        "\u00a0",
        '"',
        '""',
        '"x',
        "!!g x",
        "1e999",
    ]
)
numbers = (
    st.integers()
    | st.floats()
    | st.sampled_from([-1, 0, 51, 10**30, -(10**30), 10**400, 1e308, -0.0, 5e-324, float("nan"), float("inf")])
)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(FIELDS) | texts


def encode(pairs: list[tuple[str, Any]], *, ascii_only: bool) -> bytes:
    """Encode an object with possibly repeated names; NaN, infinities and lone surrogates are kept."""
    fields = (
        f"{json.dumps(name, ensure_ascii=ascii_only)}: {json.dumps(value, ensure_ascii=ascii_only)}"
        for name, value in pairs
    )
    return ("{" + ", ".join(fields) + "}").encode("utf-8", "surrogatepass")


# One wrong value in an otherwise valid request, or an arbitrary object.
objects = st.builds(
    encode,
    st.builds(lambda name, value: [*(VALID | {name: value}).items()], names, values)
    | st.builds(lambda name, value: [*VALID.items(), (name, value)], names, values)
    | st.lists(st.tuples(names, values), max_size=8),
    ascii_only=st.booleans(),
)
documents = st.builds(lambda value: json.dumps(value).encode(), values)
encodings = st.builds(
    lambda body, name: body.decode("utf-8", "replace").encode(name, "replace"),
    objects,
    st.sampled_from(["utf-16", "utf-32", "latin-1", "utf-8-sig", "cp037", "utf-7"]),
)
cuts = st.builds(lambda body, where: body[: int(len(body) * where)], objects, st.floats(0, 1))
spliced = st.builds(
    lambda body, at, piece: body[: int(len(body) * at)] + piece + body[int(len(body) * at) :],
    objects,
    st.floats(0, 1),
    st.binary(max_size=8),
)
extremes = st.sampled_from(
    [
        b"[" * 60_000,
        b'{"a":' * 12_000,
        b'{"query": "a", "x": ' + b"[" * 101 + b"]" * 101 + b"}",
        b"[" * 101 + b'\\"' * 32_000,
        b'"' * 65_000,
        b'{"k": ' + b"9" * 60_000 + b"}",
        b'{"query": "a", "min_score": 0.' + b"3" * 60_000 + b"}",
        b'{"query": "a", "min_score": 1e-99999999}',
        b'{"query": "a", "' + b"k" * 60_000 + b'": 1}',
        b'{"query": "a", ' + b", ".join(b'"q%d": 1' % n for n in range(5000)) + b"}",
        b'{"query": "a", "include_domains": [' + b", ".join(b'"h%d.example"' % n for n in range(3000)) + b"]}",
        b'{"queries": [' + b", ".join([b'"a"'] * 15_000) + b"]}",
        b'{"query": "' + b"\\u0300" * 1500 + b'"}',
        b'{"query": "' + b"a" * 64_000 + b'"}',
        b'{"query": "a"}' + b" " * 65_000,
        b'{"query": "a"}' + b" " * 200_000,
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
        bytes(65_536),
        bytes(65_537),
    ]
)
bodies = objects | documents | encodings | cuts | spliced | st.binary(max_size=200) | extremes


def check(path: str, answer: Reply) -> None:
    """Assert what holds for every answer: status 200, 400 or 413, and JSON in the version's format."""
    assert answer.status in (200, 400, 413), answer
    assert answer.headers["content-type"] == "application/json"
    parsed = answer.json()
    assert b"Traceback" not in answer.body
    if path == "/v2/search":
        assert parsed["success"] is (answer.status == 200)
        assert isinstance(parsed["data"]["web"] if answer.status == 200 else parsed["error"], list | str)
    elif answer.status == 200:
        assert parsed.keys() - {"explain"} == {
            "queries",
            "results",
            "sources_ok",
            "sources_failed",
            "warnings",
            "cached",
            "sizes",
        }
    else:
        assert set(parsed) == {"error", "hint"}
        assert parsed["error"] in ("invalid json", "invalid query", "invalid search", "request too large")


def exchange(service: Service, data: bytes, *, half_close: bool = False, within: float = 20) -> bytes:
    """Send bytes on a new connection, then nothing more; return everything that comes back."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=within) as connection:
        connection.sendall(data)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
        return answer


def head(path: str, *headers: str, method: str = "POST") -> bytes:
    """Return a request head that asks for the connection to be closed."""
    lines = [f"{method} {path} HTTP/1.1", "Host: sift", "Connection: close", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def parse(answer: bytes) -> Reply:
    """Parse an answer, skipping interim ones; its body must not be chunked."""
    start, _, rest = answer.partition(b"\r\n\r\n")
    while start.startswith(b"HTTP/1.1 100"):
        start, _, rest = rest.partition(b"\r\n\r\n")
    first, *lines = start.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Reply(int(first.split()[1]), headers, rest)
