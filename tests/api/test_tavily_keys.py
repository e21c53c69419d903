"""Who is calling through Tavily's door, by a header or by the body (contract: Callers, Tavily door)."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sift.api.body import MAX_BODY, Again, key_in_body, read_body
from sift.app import create_app
from sift.auth.caller import Caller
from tests.api.fetching import PAGE, FakeFetcher
from tests.fakes import FakeSource, engine_of, out, page, services_of

GOOD = "sift_good"
REFUSAL = {"detail": {"error": "sift: missing or invalid API key"}}
BODIES: Mapping[str, dict[str, Any]] = {
    "/tavily/search": {"query": "words"},
    "/tavily/extract": {"urls": "https://canary-host.com/"},
}


class Door:
    """An application with one key.

    refused: the addresses of refused attempts. lines: what was logged.
    """

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.lines: list[bytes] = []
        self.source = FakeSource("s1", out(page(1)))
        callers = {f"Bearer {GOOD}": Caller("one", "restricted")}
        fetcher = FakeFetcher(PAGE)
        services = services_of(engine_of(self.source), callers=callers, lines=self.lines, fetcher=fetcher)
        self.client = create_app(services=replace(services, refused=self.refused.append)).test_client()

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """Post a body, bytes as they are."""
        return self.client.post(path, data=body if isinstance(body, bytes) else json.dumps(body), headers=headers)


class Counted(io.BytesIO):
    """Counts the bytes that are read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.count = 0

    def read(self, size: int | None = -1) -> bytes:
        found = super().read(size)
        self.count += len(found)
        return found


@pytest.mark.parametrize("path", BODIES)
def test_key_in_the_body_is_as_good_as_a_header(path: str) -> None:
    """contract: Tavily door: clients from before 2025 send no header."""
    door = Door()
    assert door.post(path, {**BODIES[path], "api_key": GOOD}).status_code == 200
    assert door.post(path, BODIES[path], Authorization=f"Bearer {GOOD}").status_code == 200
    assert door.refused == []
    assert {json.loads(line)["caller"] for line in door.lines} == {"one"}


@pytest.mark.parametrize("path", [*BODIES, "/tavily/unknown"])
@pytest.mark.parametrize("key", [None, "", "sift_bad", GOOD + "x", 5, [GOOD], {"a": GOOD}, "\ud800", "\x00", "é"])
def test_wrong_key_in_the_body_is_refused_and_counted(path: str, key: object) -> None:
    """contract: Callers: whatever the reason, the same 401, and the throttle hears of it."""
    door = Door()
    reply = door.post(path, {**BODIES.get(path, {}), "api_key": key})
    assert (reply.status_code, reply.json) == (401, REFUSAL)
    assert reply.headers["WWW-Authenticate"] == 'Bearer realm="sift"'
    assert len(door.refused) == 1
    assert (door.source.calls, door.lines) == ([], [])


@pytest.mark.parametrize("header", ["Bearer sift_bad", "", "Basic eDp5", GOOD])
def test_header_counts_alone_even_when_the_body_has_a_key(header: str) -> None:
    """contract: Tavily door: the body is read for a key only when there is no header."""
    reply = Door().post("/tavily/search", {"query": "words", "api_key": GOOD}, Authorization=header)
    assert (reply.status_code, reply.json) == (401, REFUSAL)


@pytest.mark.parametrize("path", ["/v1/search", "/v2/search", "/v1/fetch", "/", "/tavily", "//tavily/search"])
def test_key_in_the_body_opens_no_other_path(path: str) -> None:
    """contract: Callers: everywhere else the key is checked before any of the body is read."""
    assert Door().post(path, {"query": "words", "api_key": GOOD}).status_code == 401


@pytest.mark.parametrize(
    "body", [b"", b"[1]", b'{"api_key": "sift_good"', b"[" * 50_000, b'{"api_key": ' + b"9" * 5000]
)
def test_body_that_holds_no_key_is_refused_as_one_without(body: bytes) -> None:
    """contract: Callers: who is not known learns nothing of what is wrong with a body."""
    reply = Door().post("/tavily/search", body)
    assert (reply.status_code, reply.json) == (401, REFUSAL)


def test_unknown_path_and_method_with_a_key_in_the_body() -> None:
    """contract: Tavily door: the form of the answer is told to callers alone."""
    door = Door()
    assert door.post("/tavily/crawl", {"api_key": GOOD}).status_code == 404
    assert door.client.put("/tavily/search", data=json.dumps({"api_key": GOOD})).status_code == 405
    assert door.client.get("/tavily/search").status_code == 401


def test_request_of_a_foreign_page_is_refused_before_its_body_is_read() -> None:
    """contract: Origins: the key in the body is not looked at."""
    door = Door()
    reply = door.post("/tavily/search", {"query": "words", "api_key": GOOD}, Origin="https://evil.example")
    assert (reply.status_code, door.refused) == (403, [])


def environ(content: bytes, length: int | None) -> tuple[dict[str, Any], Counted]:
    """Return the environ of a body, without a length one that comes in chunks."""
    stream = Counted(content)
    how = {"wsgi.input_terminated": True} if length is None else {"CONTENT_LENGTH": str(length)}
    return {"wsgi.input": stream, **how}, stream


def body_of(size: int) -> bytes:
    """Return a body of so many bytes that begins with a key."""
    return b'{"api_key": "sift_good"}'.ljust(size)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(("size", "found", "read"), [(50, GOOD, 50), (MAX_BODY, GOOD, MAX_BODY)])
def test_body_can_be_read_again(size: int, found: str, read: int, chunked: bool) -> None:
    """contract: Tavily door: what was read for the key is not lost."""
    made, stream = environ(body_of(size), None if chunked else size)
    assert key_in_body(made) == found
    assert stream.count == read
    assert read_body(made) == body_of(size)


def test_no_more_than_64_kib_are_read_for_a_key() -> None:
    """contract: Tavily door: of a body that is longer by its own word, nothing; of one in chunks, the beginning."""
    made, stream = environ(body_of(MAX_BODY + 1), MAX_BODY + 1)
    assert (key_in_body(made), stream.count) == (None, 0)
    made, stream = environ(b'{"x": "' + b"y" * 2 * MAX_BODY + b'", "api_key": "sift_good"}', None)
    assert (key_in_body(made), stream.count) == (None, MAX_BODY)


def test_stream_that_could_block_forever_is_not_read() -> None:
    """contract: Callers: no length, and no server that ends the stream."""
    stream = Counted(body_of(50))
    assert (key_in_body({"wsgi.input": stream}), stream.count) == (None, 0)


@pytest.mark.parametrize("size", range(1, 9))
def test_stream_of_which_the_beginning_was_read_comes_whole(size: int) -> None:
    """contract: Tavily door: in pieces of any size."""
    stream = Again(b"abc", io.BytesIO(b"defg"))
    pieces = list(iter(lambda: stream.read(size), b""))
    assert b"".join(pieces) == b"abcdefg"
    assert all(len(piece) == size for piece in pieces[:-1])
