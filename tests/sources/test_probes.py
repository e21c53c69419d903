"""Asking vendors at no cost (contract: Doctor)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from sift.config import SourceConfig
from sift.doctor.vendors import ask_vendor
from sift.errors import SourceError
from sift.findings import Finding
from sift.sources import DECLARED, VENDORS, probe_of
from sift.sources.probes.tavily import usage_url
from sift.wire.look import Seen

KEY = "zebra-key"
SEARXNG = SourceConfig("searxng", "http://zebra.example/searx/", timeout=3.0)
BRAVE = SourceConfig("brave_llm", "https://zebra.example/res/v1/llm/context", KEY)
TAVILY = SourceConfig("tavily", "https://zebra.example/search", KEY, daily_cap=30)
SIFTS = {"error": "unauthorized", "hint": ""}


def page(status: int = 200) -> Seen:
    return Seen(status, "text/html", b"<html>zebra</html>")


def said(body: Any, status: int = 200) -> Seen:
    return Seen(status, "application/json", json.dumps(body).encode())


NO_QUERY = said({"error": "No query"}, 400)
FOUR = said(
    {
        "engines": [
            {"enabled": True, "categories": ["general"], "time_range_support": True},
            {"enabled": True, "categories": ["general", "news"], "time_range_support": False},
            {"enabled": False, "categories": ["general"], "time_range_support": True},
        ]
    }
)


class Web:
    """Answers by path; records what was asked. The answer may be an error."""

    def __init__(self, answers: Mapping[str, Seen | SourceError]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, Mapping[str, str], float]] = []

    def get(self, url: str, headers: Mapping[str, str], *, deadline: float) -> Seen:
        self.asked.append((url, headers, deadline))
        answer = self.answers.get(url.partition("zebra.example")[2], page(404))
        if isinstance(answer, SourceError):
            raise answer
        return answer


def asked(source: SourceConfig, answers: Mapping[str, Seen | SourceError]) -> list[Finding]:
    """Return what is found, which holds nothing of a key, a URL or a vendor's words."""
    (declared,) = [each for each in DECLARED if each.name == source.name]
    web = Web(answers)
    found = ask_vendor(source, declared.variable("URL"), probe_of(source.name), 100.0, web.get, clock=lambda: 90.0)
    assert {each.check for each in found} == {source.name}
    assert all(bool(each.cure) == (each.level != "ok") for each in found)
    assert "zebra" not in str(found)
    assert {deadline for _, _, deadline in web.asked} == {min(100.0, 90.0 + source.timeout)}
    assert not any("q=" in url for url, _, _ in web.asked)
    return found


def searxng(search: Seen | SourceError, **more: Seen | SourceError) -> list[Finding]:
    return asked(SEARXNG, {"/searx/search?format=json": search} | more)


@pytest.mark.parametrize("module", VENDORS)
def test_every_vendor_can_be_asked_at_no_cost(module: str) -> None:
    """contract: Doctor: each vendor names what asks it, by its module, which no service loads."""
    assert callable(probe_of(VENDORS[module].settings.name))


def test_vendor_without_a_probe_is_a_warning() -> None:
    """contract: Doctor: a new vendor may have none."""
    assert [each.level for each in ask_vendor(BRAVE, "SIFT_BRAVE_URL", None, 1.0)] == ["warn"]


def test_searxng_with_json_tells_its_engines() -> None:
    """contract: Doctor: 400 without a query means that JSON is on; only enabled engines count."""
    found = searxng(NO_QUERY, **{"/searx/config": FOUR})
    assert [(each.level, each.what) for each in found] == [
        ("ok", "it answers, and its JSON format is on"),
        ("ok", "2 engines are enabled, 1 for general topics with dates"),
    ]


def test_searxng_without_json_names_the_setting() -> None:
    """contract: Doctor: no JSON format: 403, and the cure is in settings.yml."""
    (found,) = searxng(page(403))
    assert (found.level, found.what) == ("fail", "its JSON format is off")
    assert "search.formats: [html, json]" in found.cure


def test_searxng_at_the_root_makes_the_path_wrong() -> None:
    """contract: Doctor: wrong path: the instance is at the root of the same address."""
    (found,) = searxng(page(404), **{"/search?format=json": NO_QUERY})
    assert (found.level, found.cure) == ("fail", "take the path out of SIFT_SEARXNG_URL")


@pytest.mark.parametrize("answer", [page(404), page(200), said({"x": 1}, 404)])
def test_page_at_the_root_makes_the_path_wrong(answer: Seen) -> None:
    """contract: Doctor: wrong path: a page answers at the root, and no SearXNG."""
    (found,) = searxng(answer, **{"/": page()})
    assert found.what == "wrong path: a page answers, and no SearXNG"
    assert "SIFT_SEARXNG_URL" in found.cure


def test_no_page_at_the_root_is_something_else() -> None:
    """contract: Doctor: another program is there."""
    (found,) = searxng(said({}, 404), **{"/": said({})})
    assert found.what == "it answers http 404, which is not the vendor's answer"


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (page(429), "its limiter refuses Sift"),
        (page(401), "it wants a password, and Sift has none to send"),
        (page(302), "it redirects elsewhere (http 302)"),
        (page(502), "it answers http 502"),
        (said(SIFTS, 401), "Sift itself answers there"),
        (said(SIFTS, 404), "Sift itself answers there"),
        (said(SIFTS | {"x": 1}, 403), "Sift itself answers there"),
    ],
)
def test_other_answers_of_searxng_are_told_apart(answer: Seen, what: str) -> None:
    """contract: Doctor: each has a cure of its own."""
    (found,) = searxng(answer)
    assert (found.level, found.what) == ("fail", what)


@pytest.mark.parametrize(
    ("config", "level", "what"),
    [
        (said({"engines": []}), "fail", "no engine is enabled"),
        (said({"engines": [{"enabled": False}]}), "fail", "no engine is enabled"),
        (page(404), "warn", "it does not say which engines it has"),
        (
            said({"engines": [{"enabled": True, "time_range_support": False}]}),
            "warn",
            "1 engine is enabled, and none knows dates",
        ),
        (said({"engines": [{"enabled": True}]}), "ok", "1 engine is enabled"),
    ],
)
def test_engines_of_searxng_are_judged(config: Seen, level: str, what: str) -> None:
    """contract: Doctor: without engines nothing is found, without dates nothing by time_range."""
    found = searxng(NO_QUERY, **{"/searx/config": config})
    assert [(each.level, each.what) for each in found[1:]] == [(level, what)]


def test_limiter_of_searxng_is_a_warning() -> None:
    """contract: Doctor: it allows four JSON answers an hour."""
    limited = said({**FOUR.json(), "limiter": {"enabled": True}})
    assert [each.level for each in searxng(NO_QUERY, **{"/searx/config": limited})] == ["ok", "ok", "warn"]


@pytest.mark.parametrize(
    ("body", "status", "level"),
    [
        ({"error": {"code": "VALIDATION"}}, 422, "ok"),
        ({"errors": [{"code": "VALIDATION"}]}, 422, "ok"),
        ({"error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}, 422, "fail"),
        ({"error": {"code": "SUBSCRIPTION_NOT_FOUND"}}, 404, "fail"),
        ({"error": {"code": "QUOTA_LIMITED"}}, 429, "warn"),
        ({"error": {"code": "RATE_LIMITED"}}, 429, "warn"),
        ({"error": {"code": "zebra"}}, 403, "fail"),
        ({"error": {"code": "zebra"}}, 422, "fail"),
        ({"error": ["zebra"]}, 422, "fail"),
        ({"grounding": {}}, 200, "fail"),
        ({}, 503, "fail"),
    ],
)
def test_brave_judges_the_key_before_it_misses_the_query(body: Any, status: int, level: str) -> None:
    """contract: Doctor: dead key: 422 by the key; a good one misses the query."""
    (found,) = asked(BRAVE, {"/res/v1/llm/context": said(body, status)})
    assert found.level == level
    if "TOKEN" in str(body):
        assert (found.what, "SIFT_BRAVE_API_KEY" in found.cure) == ("the key is wrong or was revoked", True)


def usage(used: Any, limit: Any, plan: Any = 0, plan_limit: Any = 1000, **more: Any) -> Seen:
    account = {"current_plan": "zebra", "plan_usage": plan, "plan_limit": plan_limit, **more}
    return said({"key": {"usage": used, "limit": limit}, "account": account})


@pytest.mark.parametrize(
    ("answer", "level", "what"),
    [
        (
            usage(12, 1000),
            "ok",
            "the key is good, 12 of 1000 credits of the key used, 0 of 1000 credits of the plan used",
        ),
        (usage(0, None), "ok", "the key is good, 0 of 1000 credits of the plan used"),
        (usage(None, None, None, None), "ok", "the key is good"),
        (usage(True, "9", -1, [9]), "ok", "the key is good"),
        (usage(980, 1000), "warn", "fewer are left than SIFT_TAVILY_DAILY_CAP allows a day"),
        (usage(0, 1000, 990), "warn", "fewer are left than SIFT_TAVILY_DAILY_CAP allows a day"),
        (usage(0, None, 1000, 1000, paygo_usage=0, paygo_limit=500), "ok", "the key is good"),
        (usage(1000, 1000), "fail", "none is left"),
        (usage(0, None, 1200), "fail", "none is left"),
        (said({"detail": {"error": "zebra"}}, 401), "fail", "the key is wrong or was revoked"),
        (said({"detail": {"error": "zebra"}}, 429), "warn", "asked too often to tell"),
        (page(200), "fail", "it answers http 200, which is not the vendor's answer"),
        (page(404), "fail", "it answers http 404, which is not the vendor's answer"),
        (said(SIFTS, 401), "fail", "Sift itself answers there"),
    ],
)
def test_tavily_tells_what_is_left(answer: Seen, level: str, what: str) -> None:
    """contract: Doctor: the key's and the plan's credits are compared with the daily cap."""
    (found,) = asked(TAVILY, {"/usage": answer})
    assert found.level == level
    assert what in found.what


def test_tavily_that_may_never_be_called_is_a_warning() -> None:
    """contract: Doctor: a cap of 0 switches it off."""
    never = SourceConfig("tavily", TAVILY.url, KEY, daily_cap=0)
    assert [each.level for each in asked(never, {"/usage": usage(1, 10)})] == ["warn", "ok"]


@pytest.mark.parametrize(
    ("url", "beside"),
    [
        ("https://api.tavily.com/search", "https://api.tavily.com/usage"),
        ("http://h:1/tavily/search/?x=1", "http://h:1/tavily/usage"),
    ],
)
def test_tavilys_usage_is_beside_its_search(url: str, beside: str) -> None:
    """contract: Doctor: at the same host, as a proxy for Tavily may be set."""
    assert usage_url(url) == beside


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (SourceError("timeout"), "no answer in time"),
        (SourceError("unreachable", detail="refused"), "the connection was refused"),
        (SourceError("unreachable", detail="name"), "its host name cannot be resolved"),
        (SourceError("unreachable", detail="certificate"), "its certificate is not trusted"),
        (SourceError("unreachable", detail="tls"), "no TLS connection could be made"),
        (SourceError("unreachable", detail="reset"), "the connection was closed"),
        (SourceError("unreachable"), "no usable answer (unreachable)"),
        (SourceError("bad response"), "no usable answer (bad response)"),
    ],
)
def test_vendor_that_gives_no_answer_is_told_by_its_kind(error: SourceError, what: str) -> None:
    """contract: Doctor: what was found before stays, and the cure names the variable."""
    found = searxng(NO_QUERY, **{"/searx/config": error})
    assert [each.level for each in found] == ["ok", "fail"]
    assert found[1].what == what
    assert "SIFT_SEARXNG_URL" in found[1].cure
