"""Many fetches at once: equal ones, too many of a caller, and searches beside them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.waiting import wait_for
from tests.world.service import Inside
from tests.world.steps import article, hold
from tests.world.world import World


def test_equal_fetches_are_made_once(sift: Inside, world: World) -> None:
    """contract: Shared searches, Fetch: whoever asks meanwhile gets the same answer."""
    gate = world.gate()
    host = world.host(pages={"/": [*hold(gate), *article()]})
    with ThreadPoolExecutor(3) as pool:
        before = len(sift.records("fetch"))
        running = [pool.submit(sift.page, f"http://{host}/", timeout=30) for _ in range(3)]
        world.await_at(gate)
        sift.page(f"http://{world.host(pages={'/': article()})}/")  # comes behind the three
        world.outside.open(gate)
        pages = [each.result() for each in running]
    assert len(world.outside.requests("/", host=host)) == 1
    assert len({page["fetched_at"] for page in pages}) == 1
    kinds = sorted(record["cache"] for record in sift.records("fetch")[before:])
    assert kinds.count("miss") == 2
    assert set(kinds) <= {"miss", "shared", "hit"}


def test_fetch_with_time_left_does_not_share_the_end_of_a_hasty_one(sift: Inside, world: World) -> None:
    """contract: Fetch: whoever waited for an equal fetch that ran out of time goes on by itself."""
    gate = world.gate()
    host = world.host(pages={"/": [*hold(gate), *article()]})
    with ThreadPoolExecutor(2) as pool:
        hasty = pool.submit(sift.fetch, f"http://{host}/", timeout=1)
        world.await_at(gate)
        patient = pool.submit(sift.fetch, f"http://{host}/", timeout=30)
        assert hasty.result().status == 504
        world.await_at(gate, 2)  # the first one's server still waits, too
        world.outside.open(gate)
        assert patient.result().status == 200


def test_few_threads_are_not_all_taken_by_fetches(world: World, tmp_path: Path) -> None:
    """contract: Fetch: search is never held up, however few threads there are."""
    gate = world.gate()
    with Inside(world, tmp_path, {"SIFT_THREADS": "4"}) as sift, ThreadPoolExecutor(8) as pool:
        running = []
        for cls in ("fleet", "restricted"):
            hosts = [world.host(pages={"/": [*hold(gate), *article()]}) for _ in range(4)]
            running += [pool.submit(sift.fetch, f"http://{host}/", cls, timeout=30) for host in hosts]
        world.await_at(gate)
        token = {"Authorization": f"Bearer {sift.tokens['fleet']}"}
        body = json.dumps({"query": "anything"}).encode()
        try:
            assert sift.request("POST", "/v1/search", body, token, timeout=10).status == 200
        finally:
            world.outside.open(gate)
        assert {each.result().status for each in running} <= {200, 503}


def held(world: World, pool: ThreadPoolExecutor, sift: Inside, gate: str, cls: str, count: int) -> list[Any]:
    """Start fetches that do not end before the gate is opened, and wait until they are under way."""
    there = world.outside.waiting(gate)
    hosts = [world.host(pages={"/": [*hold(gate), *article()]}) for _ in range(count)]
    running = [pool.submit(sift.fetch, f"http://{host}/", cls, timeout=30) for host in hosts]
    world.await_at(gate, there + count)
    return running


def test_caller_who_takes_too_many_places_is_told_to_wait(sift: Inside, world: World) -> None:
    """contract: Fetch: four of sixteen; others still fetch, and search is never held up."""
    gate = world.gate()
    with ThreadPoolExecutor(8) as pool:
        running = held(world, pool, sift, gate, "fleet", 4)
        busy = sift.fetch(f"http://{world.host()}/")
        assert (busy.status, busy.json()) == (503, {"error": "busy", "hint": ""})
        assert busy.headers["retry-after"] == "1"
        assert sift.fetch(f"http://{world.host(pages={'/': article()})}/", "restricted").status == 200
        token = {"Authorization": f"Bearer {sift.tokens['fleet']}"}
        assert sift.post("/v1/search", {"query": "anything"}, token).status == 200
        world.outside.open(gate)
        assert [each.result().status for each in running] == [200] * 4
    assert sift.fetch(f"http://{world.host(pages={'/': article()})}/").status == 200


def test_all_places_taken_nobody_gets_one(world: World, tmp_path: Path) -> None:
    """contract: Fetch: SIFT_FETCH_PLACES bounds a process; a caller has a quarter of them, at least one."""
    gate = world.gate()
    with Inside(world, tmp_path, {"SIFT_FETCH_PLACES": "2"}) as sift, ThreadPoolExecutor(8) as pool:
        running = held(world, pool, sift, gate, "fleet", 1)
        assert sift.fetch(f"http://{world.host()}/").status == 503
        running += held(world, pool, sift, gate, "restricted", 1)
        assert sift.fetch(f"http://{world.host()}/", "restricted").status == 503
        world.outside.open(gate)
        assert [each.result().status for each in running] == [200] * 2
        wait_for(lambda: sift.fetch(f"http://{world.host(pages={'/': article()})}/").status == 200)
