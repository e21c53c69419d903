"""Tavily's own SDK in two versions, langchain-tavily, LiteLLM, and what Open WebUI and LibreChat send.

contract: Tavily door.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.real.clients import Client, installed
from tests.real.conftest import Running
from tests.real.programs import readme_block
from tests.service import ROOT, Service
from tests.vendors import BODIES, NAMES, hit, reply, searxng_body

OLD = "0.5.0"
"""Of early 2025: it sends its key in the body, and `days` with every search."""
LANGCHAIN = "0.2.18"
HERE = Path(__file__)
PAGE = "https://docs.python.org/3/reference/compound_stmts.html"
INSIDE = "http://169.254.169.254/latest/meta-data/"
LITELLM = ROOT / ".venv-peers/bin/python"


def door(service: Service) -> str:
    """Return the base URL for clients."""
    return f"{service.url}/tavily"


@pytest.fixture(scope="module", params=[OLD, "newest"])
def sdk(request: pytest.FixtureRequest) -> Iterator[Client]:
    """Run each version in turn; the newest comes with the `test` extra."""
    driver = HERE.with_name("tavily_driver.py")
    if request.param == "newest":
        try:
            importlib.metadata.version("tavily-python")
        except importlib.metadata.PackageNotFoundError:
            pytest.skip("tavily-python is not installed")
        found = Client(driver)
    else:
        found = Client(driver, installed("tavily-python", request.param))
        assert found.version == request.param
    yield found
    found.close()


@pytest.fixture(scope="module")
def langchain() -> Iterator[Client]:
    """Run langchain-tavily."""
    found = Client(HERE.with_name("langchain_driver.py"), installed("langchain-tavily", LANGCHAIN))
    yield found
    found.close()


@pytest.fixture(scope="module")
def litellm() -> Iterator[Client]:
    """Run the LiteLLM of the benchmark."""
    if not LITELLM.exists():
        pytest.skip(".venv-peers is not there (tests/bench/peers.py says how to make it)")
    found = Client(HERE.with_name("litellm_driver.py"), python=str(LITELLM))
    yield found
    found.close()


Search = Callable[..., dict[str, Any]]


@pytest.fixture
def search(sdk: Client, running: Running) -> Search:
    """Return a function that searches the shared service with this SDK."""

    def ask(key: str = running.tokens.restricted, **arguments: Any) -> dict[str, Any]:
        return sdk.call(url=door(running.service), key=key, arguments=arguments)

    return ask


def test_sdk_finds_hits(search: Search, fresh: Callable[[], str]) -> None:
    """contract: Tavily door: the key goes in the body with the old SDK, in a header with the new."""
    query = fresh()
    answer = search(query=query, max_results=2)["answer"]
    assert (answer["query"], answer["answer"], answer["images"]) == (query, None, [])
    assert [each["url"] for each in answer["results"]] == [
        "https://shared.example/page",
        "https://searxng.example/page",
    ]
    assert [each["title"] for each in answer["results"]] == ["Shared", "From searxng"]
    assert [each["content"] for each in answer["results"]] == ["Text."] * 2
    assert [each["score"] for each in answer["results"]] == pytest.approx([61 / 62, 1 / len(NAMES)])


def test_sdk_filters_reach_every_source(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Tavily door: domains are enforced, and vendors that can are told of dates."""
    asked = {"topic": "news", "days": 3, "include_domains": ["shared.example"], "search_depth": "advanced"}
    answer = search(query=fresh(), **asked)["answer"]
    assert [each["url"] for each in answer["results"]] == ["https://shared.example/page"]
    assert "search_depth ignored" in answer["warnings"]
    assert "days ignored" not in answer["warnings"]
    (sent,) = [seen.json() for seen in running.vendors.calls("tavily")]
    assert (sent["topic"], sent["include_domains"], len(sent["start_date"])) == ("news", ["shared.example"], 10)


def test_sdk_limits_and_empty_lists(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Tavily door: 5 hits unless asked, 20 at most, and nothing found is a success."""
    running.vendors.behaviour["searxng"] = reply(searxng_body([hit(f"https://h{n}.example/") for n in range(40)]))
    query = fresh()
    lengths = [len(search(query=query, **more)["answer"]["results"]) for more in ({}, {"max_results": 20})]
    assert lengths == [5, 20]
    for name in NAMES:
        running.vendors.behaviour[name] = reply(BODIES[name]([]))
    assert search(query=fresh())["answer"]["results"] == []


def test_sdk_wrong_key_error_that_names_sift(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Tavily door: the newest SDK shows Sift's words, the old one has its own."""
    found = search("tvly-of-the-cloud", query=fresh())
    assert found["error"] == "InvalidAPIKeyError"
    assert found["message"] in ("sift: missing or invalid API key", "The provided API key is invalid.")
    assert b"tvly-of-the-cloud" not in running.service.log()


def test_sdk_bad_request_error_with_its_reason(search: Search, fresh: Callable[[], str]) -> None:
    """contract: Tavily door: the message of the newest SDK names the field, the old one knows the status alone."""
    found = search(query=fresh(), max_results=21)
    assert (found["error"], found["message"].partition(" for url")[0]) in (
        ("BadRequestError", "invalid search: max_results"),
        ("HTTPError", "400 Client Error: BAD REQUEST"),
    )


def test_sdk_all_sources_failed_error(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Unavailable: never an empty success."""
    for name in NAMES:
        running.vendors.behaviour[name] = reply(b"", 500)
    found = search(query=fresh())
    assert (found["error"], "503" in found["message"]) == ("HTTPError", True)


def test_sdk_extracts_pages_and_names_those_that_failed(sdk: Client, tmp_path: Path) -> None:
    """contract: Tavily door: a demo page needs no network."""
    with Service(tmp_path, {"SIFT_DEMO": "on"}) as service:
        call = {"url": door(service), "key": "any", "method": "extract"}
        found = sdk.call(**call, arguments={"urls": [INSIDE, PAGE]})["answer"]
        alone = sdk.call(**call, arguments={"urls": PAGE})["answer"]
    assert [each["url"] for each in found["results"]] == [PAGE]
    assert "async def" in found["results"][0]["raw_content"]
    assert found["failed_results"] == [{"url": INSIDE, "error": "url not allowed: address"}]
    assert alone["results"] == found["results"]
    assert service.log().count(b'"event": "fetch"') == 3


def test_fetching_is_off_extract_is_unknown(sdk: Client, tmp_path: Path) -> None:
    """contract: Tavily door: a JSON 404, which the SDK raises; searches go on."""
    with Service(tmp_path, {"SIFT_DEMO": "on", "SIFT_FETCH": "off"}) as service:
        reached = sdk.call(url=door(service), key="any", arguments={"query": "generator expression"})
        found = sdk.call(url=door(service), key="any", method="extract", arguments={"urls": PAGE})
        answer = service.post("/tavily/extract", {"urls": PAGE})
    assert reached["answer"]["results"]
    assert (found["error"], "404" in found["message"]) == ("HTTPError", True)
    assert answer.status == 404
    assert answer.json()["detail"]["error"].startswith("sift: no such endpoint")


def test_langchain_searches_and_reads_errors(langchain: Client, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Tavily door: as the tool of an agent."""
    call = {"url": door(running.service), "key": running.tokens.restricted}
    made_with = {"max_results": 3, "topic": "general", "include_answer": True}
    asked = {"query": fresh(), "time_range": "week", "include_domains": ["shared.example"]}
    answer = langchain.call(**call, made_with=made_with, arguments=asked)["answer"]
    assert [each["url"] for each in answer["results"]] == ["https://shared.example/page"]
    assert "include_answer ignored" in answer["warnings"]
    asked = {"query": fresh(), "include_domains": ["*.com"]}
    failed = langchain.call(**call, made_with=made_with, arguments=asked)
    assert failed["message"] == "Error 400: invalid search: include_domains"


def test_langchain_extracts(langchain: Client, tmp_path: Path) -> None:
    """contract: Tavily door: as the tool of an agent."""
    with Service(tmp_path, {"SIFT_DEMO": "on"}) as service:
        call = {"url": door(service), "key": "any", "tool": "extract", "made_with": {}}
        answer = langchain.call(**call, arguments={"urls": [PAGE, INSIDE]})["answer"]
    assert "async def" in answer["results"][0]["raw_content"]
    assert answer["failed_results"][0]["error"] == "url not allowed: address"


def test_litellm_searches(litellm: Client, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Tavily door: through LiteLLM's one form for all providers."""
    call = {"url": door(running.service), "key": running.tokens.restricted}
    asked = {"query": fresh(), "max_results": 3, "search_domain_filter": ["shared.example"]}
    (found,) = litellm.call(**call, arguments=asked)["results"]
    assert (found["url"], found["title"], found["snippet"]) == ("https://shared.example/page", "Shared", "Text.")


def test_what_open_webui_sends(running: Running, fresh: Callable[[], str]) -> None:
    """contract: Tavily door: its search has the key in the body, its loader a header and one URL as a string."""
    key = running.tokens.restricted
    found = running.service.post("/tavily/search", {"query": fresh(), "api_key": key})
    assert (found.status, len(found.json()["results"])) == (200, 1 + len(NAMES))
    asked = {"urls": INSIDE, "extract_depth": "basic"}
    found = running.service.post("/tavily/extract", asked, {"Authorization": f"Bearer {key}"})
    assert (found.status, found.json()["results"]) == (200, [])
    assert found.json()["failed_results"] == [{"url": INSIDE, "error": "url not allowed: address"}]


def test_what_librechat_sends(running: Running, fresh: Callable[[], str]) -> None:
    """contract: Tavily door: safe search, a topic, images and favicons, which are named, and change nothing."""
    header = {"Authorization": f"Bearer {running.tokens.restricted}"}
    asked = {
        "query": fresh(),
        "search_depth": "basic",
        "topic": "news",
        "max_results": 8,
        "safe_search": True,
        "time_range": "day",
        "include_images": True,
        "include_answer": False,
    }
    answer = running.service.post("/tavily/search", asked, header).json()
    assert answer["results"][0]["url"] == "https://shared.example/page"
    assert (answer["images"], answer["answer"]) == ([], None)
    assert {"safe_search ignored", "include_images ignored"} <= set(answer["warnings"])
    asked = {"urls": [INSIDE], "extract_depth": "basic", "include_images": False, "include_favicon": True, "timeout": 5}
    answer = running.service.post("/tavily/extract", asked, header).json()
    assert [each["url"] for each in answer["failed_results"]] == [INSIDE]


def as_printed(block: str, running: Running) -> str:
    """Return a block of the README for the shared service and a key of its own."""
    return block.replace("https://sift.example", running.service.url).replace("sift_…", running.tokens.fleet)


@pytest.mark.parametrize("client", ["tavily", "langchain_tavily"])
def test_python_blocks_of_the_readme_work_as_printed(client: str, running: Running) -> None:
    """README, Use with Tavily's clients: address and key are all that is replaced."""
    block = as_printed(readme_block("python", f"from {client} "), running)
    running.vendors.behaviour["searxng"] = reply(searxng_body([hit("https://docs.python.org/3/", "The title")]))
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    if client == "langchain_tavily":
        environ["PYTHONPATH"] = str(installed("langchain-tavily", LANGCHAIN))
    # The page is not one of this host's: what matters is the answer's form.
    block = block.replace("https://docs.python.org/3/reference/datamodel.html", INSIDE)
    done = subprocess.run([sys.executable, "-c", block], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "https://docs.python.org/3/" in done.stdout


def test_litellm_block_of_the_readme_works_as_printed(
    litellm: Client, running: Running, fresh: Callable[[], str]
) -> None:
    """README, Use with Tavily's clients: what LiteLLM's proxy passes on of its configuration."""
    ((tool,),) = yaml.safe_load(as_printed(readme_block("yaml", "search_provider: tavily"), running)).values()
    named = tool["litellm_params"]
    assert (named["search_provider"], named["api_key"]) == ("tavily", "os.environ/SIFT_TOKEN")
    found = litellm.call(url=named["api_base"], key=running.tokens.fleet, arguments={"query": fresh()})
    assert found["results"]


def test_litellm_block_for_perplexity_works_as_printed(
    litellm: Client, running: Running, fresh: Callable[[], str]
) -> None:
    """README, Use with Open WebUI and LiteLLM: its Perplexity client speaks v1."""
    ((tool,),) = yaml.safe_load(as_printed(readme_block("yaml", "search_provider: perplexity"), running)).values()
    named = tool["litellm_params"]
    arguments = {"query": fresh(), "max_results": 3}
    found = litellm.call(
        url=named["api_base"], key=running.tokens.fleet, arguments=arguments, provider=named["search_provider"]
    )
    assert found["results"]


def test_urls_of_the_other_blocks_are_those_of_the_door(running: Running) -> None:
    """README, Use with Tavily's clients: Open WebUI adds /search and /extract, LibreChat nothing."""
    base = re.search(r"^TAVILY_API_BASE_URL=(.*)$", readme_block("bash", "WEB_SEARCH_ENGINE=tavily"), re.MULTILINE)
    whole = re.findall(r"_URL=(.*)$", readme_block("bash", "TAVILY_SEARCH_URL="), re.MULTILINE)
    assert base is not None
    assert [f"{base[1]}/search", f"{base[1]}/extract"] == whole
    for url in whole:
        reply = running.service.post(url.removeprefix("https://sift.example"), {}, running.fleet)
        assert reply.status == 400  # there, and in want of a query or URLs
