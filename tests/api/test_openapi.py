"""`GET /openapi.json`: the document, and the service beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from sift.api.openapi import DOCUMENT
from sift.app import create_app
from sift.errors import SourceError
from sift.fetch.model import Failed
from sift.health import SourceHealth
from sift.search.model import Skip
from tests.api.batches import App, AwayJobs
from tests.api.fetching import FakeFetcher, page
from tests.fakes import FakeSource, engine_of, out, raw
from tests.openapi.document import document, text
from tests.openapi.routes import PAGE, TEXT

SPEC: dict[str, Any] = json.loads(DOCUMENT.read_text("utf-8"))
TOOLS = {"search", "fetch", "batch", "batch_status", "batch_results"}
GONE = "https://example.org/gone"
OPEN = page(title="A guide", lang="en", description="", author="", content=TEXT["content"], url=PAGE, warnings=())


class Operation(NamedTuple):
    """One operation of the document."""

    path: str
    method: str
    spec: dict[str, Any]

    @property
    def takes_body(self) -> bool:
        return "requestBody" in self.spec

    @property
    def examples(self) -> dict[str, Any]:
        """Return the bodies that are shown, by name."""
        content = self.spec["requestBody"]["content"]["application/json"]
        return {name: each["value"] for name, each in content["examples"].items()}

    def bodies(self, status: str) -> dict[str, Any]:
        """Return the answers that are shown for a status, by name."""
        content = self.spec["responses"][status].get("content", {}).get("application/json", {})
        return {name: each["value"] for name, each in content.get("examples", {}).items()}

    def check(self, answer: Any) -> None:
        """Raise unless an answer is as described: status, type and body."""
        response = self.spec["responses"][str(answer.status_code)]
        assert list(response["content"]) == [answer.mimetype]
        if answer.mimetype == "application/json":
            conform(response["content"]["application/json"]["schema"], answer.get_json())


def conform(schema: dict[str, Any], value: object) -> None:
    """Raise unless a value is as a schema of the document says."""
    Draft202012Validator({**schema, "components": SPEC["components"]}).validate(value)


OPERATIONS = {
    f"{method.upper()} {path}": Operation(path, method, spec)
    for path, methods in SPEC["paths"].items()
    for method, spec in methods.items()
}


class Stage:
    """A service with one source, pages and batches. The batch `id` is through, one page of two could not be had."""

    def __init__(self, directory: Path) -> None:
        hit = raw(PAGE, "How it is done.", title="A guide")
        self.fetcher = FakeFetcher(OPEN)
        health = SourceHealth()
        self.batches = App(
            directory,
            fetcher=lambda: self.fetcher,
            source_status=lambda name: health.status(name, None),
            usage=lambda days: [{"day": "2026-01-01", "sources": []}],
            scrape=lambda: (b"x 1\n", "text/plain; version=0.0.4"),
            page=True,
        )
        _app(self, engine=engine_of(FakeSource("searxng", out(hit)), caching=False))
        self.id = self.batches.submitted(PAGE, GONE)
        self.batches.open(title="A guide", lang="en", description="", content=TEXT["content"], url=PAGE, warnings=())
        self.batches.fail("fetch failed", "status 404")

    def send(self, operation: Operation, body: object = None, **how: Any) -> Any:
        """Send a request to an operation."""
        query = how.pop("query", "")
        path = operation.path.replace("{id}", how.pop("id", self.id)) + query
        return self.batches.request(operation.method.upper(), path, body, **how)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.batches.close()


def test_document_is_the_one_that_is_made() -> None:
    """contract: OpenAPI: a field, limit or error that changes changes the document: `make openapi`."""
    assert DOCUMENT.read_text("utf-8") == text()


def test_document_is_valid() -> None:
    """contract: OpenAPI: it is OpenAPI 3.1, and each schema is a JSON Schema."""
    assert document()["openapi"].startswith("3.1.")
    validate(SPEC)
    for schema in SPEC["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_document_is_answered_to_any_key_as_it_is_kept(stage: Stage) -> None:
    """contract: OpenAPI: class `restricted` suffices; nobody gets it without a key."""
    for caller in ("fleet", "restricted"):
        answer = stage.batches.get("/openapi.json", caller)
        assert (answer.status_code, answer.mimetype, answer.data) == (200, "application/json", DOCUMENT.read_bytes())
    assert stage.batches.get("/openapi.json", "nobody").status_code == 401


def test_every_route_is_in_the_document_and_no_other(stage: Stage) -> None:
    """contract: OpenAPI: a route that is added, renamed or dropped is so in the document."""
    rules = {
        f"{method} {rule.rule.replace('<', '{').replace('>', '}')}"
        for rule in stage.batches.app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert rules == set(OPERATIONS)


def test_only_what_agents_should_have_is_a_tool() -> None:
    """contract: OpenAPI: Open WebUI makes a tool of each operation that has an id."""
    ids = [operation.spec["operationId"] for operation in OPERATIONS.values() if "operationId" in operation.spec]
    assert sorted(ids) == sorted(TOOLS)


def test_examples_name_no_host_that_exists() -> None:
    """contract: OpenAPI: every host is one that is kept for examples, and no key is shown."""
    hosts = set(re.findall(r"(?:https?|ftp)://([^/\"]+)", text()))
    assert hosts == {"example.org", "sift.example.org"}
    assert not re.search("sift_[A-Za-z2-7]{8}_", text())


@pytest.mark.parametrize("name", sorted(name for name, each in OPERATIONS.items() if each.takes_body))
def test_every_example_is_sent_and_answered_as_documented(name: str, stage: Stage) -> None:
    """contract: OpenAPI: the same status, and a body with the same keys that is as its schema says."""
    operation = OPERATIONS[name]
    schema = operation.spec["requestBody"]["content"]["application/json"]["schema"]
    wanted = next(iter(operation.spec["responses"]))
    shown = operation.bodies(wanted)
    assert operation.examples
    for example, body in operation.examples.items():
        conform(schema, body)
        answer = stage.send(operation, body)
        assert str(answer.status_code) == wanted, answer.get_json()
        operation.check(answer)
        assert answer.get_json().keys() == shown[example].keys()


@pytest.mark.parametrize("name", sorted(name for name, each in OPERATIONS.items() if not each.takes_body))
def test_every_route_without_a_body_answers_as_documented(name: str, stage: Stage) -> None:
    """contract: OpenAPI: with the parameters that are shown, a body with the keys that are shown."""
    operation = OPERATIONS[name]
    shown = [each for each in operation.spec.get("parameters", ()) if each["in"] == "query" and "example" in each]
    query = "&".join(f"{each['name']}={each['example']}" for each in shown)
    answer = stage.send(operation, query=f"?{query}")
    operation.check(answer)
    assert answer.status_code == 200
    for body in operation.bodies("200").values():
        assert answer.get_json().keys() == body.keys()


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_example_of_an_answer_is_as_its_schema_says(name: str) -> None:
    """contract: OpenAPI: what is shown is what is described."""
    for response in OPERATIONS[name].spec["responses"].values():
        for content in response.get("content", {}).values():
            for example in content.get("examples", {}).values():
                conform(content["schema"], example["value"])


Trigger = Callable[[Stage, Operation], Any]


def _valid(operation: Operation) -> Any:
    """Return a body that is taken, None for a route without one."""
    return next(iter(operation.examples.values())) if operation.takes_body else None


def _app(stage: Stage, **services: Any) -> App:
    """Return the stage's application with other parts."""
    app = stage.batches
    found = app.app.extensions["sift"]
    app.app = create_app(services=replace(found, **services))
    return app


def _no_key(stage: Stage, operation: Operation) -> Any:
    return stage.send(operation, _valid(operation), caller="nobody")


def _foreign(stage: Stage, operation: Operation) -> Any:
    return stage.send(operation, _valid(operation), Sec_Fetch_Site="cross-site")


def _restricted(stage: Stage, operation: Operation) -> Any:
    return stage.send(operation, _valid(operation), caller="restricted")


def _no_json(stage: Stage, operation: Operation) -> Any:
    return stage.send(operation, b"[]")


def _too_large(stage: Stage, operation: Operation) -> Any:
    return stage.send(operation, b" " * (513 * 1024))


def _with(**changes: Any) -> Trigger:
    def send(stage: Stage, operation: Operation) -> Any:
        return stage.send(operation, {**_valid(operation), **changes})

    return send


def _asking(query: str) -> Trigger:
    return lambda stage, operation: stage.send(operation, query=query)


def _page(state: str, hint: str = "") -> Trigger:
    def send(stage: Stage, operation: Operation) -> Any:
        stage.fetcher.outcome = Failed(state, hint)  # type: ignore[arg-type]
        return stage.send(operation, _valid(operation))

    return send


def _source(step: Any) -> Trigger:
    def send(stage: Stage, operation: Operation) -> Any:
        _app(stage, engine=engine_of(FakeSource("searxng", step), caching=False))
        return stage.send(operation, _valid(operation))

    return send


def _spent(stage: Stage, operation: Operation) -> Any:
    source = FakeSource("tavily", out(PAGE))
    source.skipped = Skip("daily cap", 60.0)
    _app(stage, engine=engine_of(source, caching=False))
    return stage.send(operation, _valid(operation))


def _no_pages(stage: Stage, operation: Operation) -> Any:
    _app(stage, fetcher=None, jobs=None)
    return stage.send(operation, _valid(operation))


def _away(stage: Stage, operation: Operation) -> Any:
    _app(stage, jobs=AwayJobs)
    return stage.send(operation, _valid(operation))


def _unknown(stage: Stage, operation: Operation) -> Any:
    return stage.send(operation, id=f"b_{'a' * 26}")


def _reused(stage: Stage, operation: Operation) -> Any:
    key = operation.spec["parameters"][0]["name"].replace("-", "_")
    stage.send(operation, _valid(operation), **{key: "one"})
    return stage.send(operation, {"urls": ["https://example.org/another"]}, **{key: "one"})


def _repeated(stage: Stage, operation: Operation) -> Any:
    stage.send(operation, _valid(operation), Idempotency_Key="one")
    return stage.send(operation, _valid(operation), Idempotency_Key="one")


def _many(stage: Stage, operation: Operation) -> Any:
    for _ in range(10):
        stage.send(operation, _valid(operation))
    return stage.send(operation, _valid(operation))


def _not_ready(stage: Stage, operation: Operation) -> Any:
    _app(stage, ready=lambda: False)
    return stage.send(operation)


def _without(**services: Any) -> Trigger:
    def send(stage: Stage, operation: Operation) -> Any:
        _app(stage, **services)
        return stage.send(operation)

    return send


def _raise(*_: object) -> Any:
    raise RuntimeError


def _fault(stage: Stage, operation: Operation) -> Any:
    """Break what the route needs. Reading the key is what all have in common."""
    _app(stage, identify=_raise)
    return stage.send(operation, _valid(operation))


TRIGGERS: dict[str, tuple[Trigger, ...]] = {
    "invalid json": (_no_json,),
    "invalid query": (_with(query=7, queries=None),),
    "invalid search time_range": (_with(time_range="decade"),),
    "invalid search": (_with(limit=0), _with(max_results=99)),
    "invalid fetch": (_with(url=7), _with(urls=[])),
    "invalid fetch max_chars": (_with(max_chars=7),),
    "invalid batch urls": (_with(urls=[]),),
    "invalid batch wait": (_asking("?wait=99"),),
    "invalid batch purge": (_asking("?purge=9"),),
    "invalid batch limit": (_asking("?limit=999"),),
    "invalid batch": (_with(urls=[]), _asking("?limit=999")),
    "invalid usage days": (_asking("?days=0"),),
    "unauthorized": (_no_key,),
    "sift": (_no_key, _no_pages),
    "forbidden": (_foreign,),
    "forbidden origin": (_foreign,),
    "forbidden class": (_restricted,),
    "internal error": (_fault,),
    "request too large": (_too_large,),
    "url not allowed scheme": (_page("url not allowed", "scheme"),),
    "url not allowed": (_page("url not allowed", "scheme"),),
    "robots disallow": (_page("robots disallow"),),
    "unsupported content type": (_page("unsupported content type"),),
    "fetch failed status 404": (_page("fetch failed", "status 404"),),
    "fetch failed": (_page("fetch failed", "status 404"),),
    "fetch timeout": (_page("fetch timeout"),),
    "busy": (_page("busy"), _away),
    "not found": (_unknown, _no_pages, _without(scrape=None), _without(page=False)),
    "idempotency mismatch": (_reused,),
    "rate limited batch": (_many,),
    "rate limited": (_many,),
    "usage unavailable": (_without(usage=lambda days: None),),
    "metrics unavailable": (_without(scrape=lambda: None),),
    "search unavailable": (_source(SourceError("timeout")), _spent),
    "not ready": (_not_ready,),
    "queued": (_repeated,),
}
"""What brings each error about, by its words and its hint; of several one that suits the route."""


def _errors() -> list[tuple[str, str, Any]]:
    return [
        (name, status, body)
        for name, operation in OPERATIONS.items()
        for status in list(operation.spec["responses"])[1:]
        for body in operation.bodies(status).values()
    ]


def _words(body: dict[str, Any]) -> str:
    """Return what tells an error from the others of its status."""
    if "detail" in body:
        return str(body["detail"]["error"]).partition(":")[0]
    if "success" in body:
        return str(body["error"]).partition(":")[0]
    return f"{body.get('error', body.get('status'))} {body.get('hint', '')}".strip()


@pytest.mark.parametrize(("name", "status", "body"), _errors())
def test_every_documented_error_is_answered_as_it_is_shown(
    name: str, status: str, body: dict[str, Any], tmp_path: Path
) -> None:
    """contract: OpenAPI: none is documented that does not occur, and each is byte for byte what is shown."""
    operation = OPERATIONS[name]
    seen = []
    for trigger in TRIGGERS[_words(body)]:
        stage = Stage(tmp_path / str(len(seen)))
        try:
            answer = trigger(stage, operation)
        except (KeyError, TypeError):  # made for routes of another kind
            continue
        finally:
            stage.batches.close()
        seen.append((str(answer.status_code), answer.get_json()))
        if str(answer.status_code) == status:
            operation.check(answer)
            if "id" in body or answer.get_json() == body:
                return
    raise AssertionError(seen)
