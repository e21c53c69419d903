"""Batches worked on by real processes: how polite they are, and what becomes of work whose worker stops."""

from __future__ import annotations

import json
import signal
import tempfile
from pathlib import Path

import pytest

from tests.faults.watch import threads, workers
from tests.faults.watch import worker as only_worker
from tests.real.batches import await_end, gaps, status, submit, visits, worker
from tests.real.programs import bearer
from tests.waiting import wait_for
from tests.world.service import Inside
from tests.world.steps import answer, article, hold, pause, stall
from tests.world.world import World

SLOW = [*pause(0.3), *article()]


def test_pages_of_few_hosts_one_at_a_time_with_a_gap_behind_each(world: World, tmp_path: Path) -> None:
    """contract: Batch work: over two workers; the gap is counted from the end, and is what robots.txt asks for."""
    hosts = [world.host(pages={"*": SLOW}) for _ in range(3)]
    slow = world.host(pages={"/robots.txt": answer("User-agent: *\nCrawl-delay: 2\n", "text/plain"), "*": SLOW})
    with Inside(world, tmp_path, {"WEB_CONCURRENCY": "2"}) as sift:
        batches = [submit(sift, *(f"http://{host}/{n}/{m}" for host in (*hosts, slow) for m in (1, 2))) for n in (1, 2)]
        items = [item for batch in batches for item in await_end(sift, batch)]
        assert [item["state"] for item in items] == ["ok"] * 16
        assert {len(visits(world, host)) for host in (*hosts, slow)} == {4}
        assert min(gap for host in hosts for gap in gaps(world, host)) >= 1
        assert min(gaps(world, slow)) >= 2
        wait_for(lambda: len(sift.records("batch")) == 2)
        first, second = sift.records("batch")
        assert {**first, "ms": 0, "ts": ""} == {**second, "ms": 0, "ts": ""}
        assert [*first] == ["ts", "level", "event", "caller", "total", "ok", "failed", "ms"]
        assert (first["total"], first["ok"], first["failed"]) == (8, 8, 0)
        assert not sift.records("internal_error")


def test_batch_is_cancelled_what_runs_is_ended(world: World, tmp_path: Path) -> None:
    """contract: Batch work: the one thread is free for another host long before the page's own deadline."""
    silent, other = world.host(pages={"/": stall()}), world.host(pages={"/": article()})
    with Inside(world, tmp_path, {"SIFT_BATCH_WORKERS": "1"}) as sift:
        batch = submit(sift, f"http://{silent}/")
        wait_for(lambda: status(sift, batch)["status"] == "running")
        following = submit(sift, f"http://{other}/")
        assert sift.request("DELETE", f"/v1/batch/{batch}", None, bearer(sift.tokens["fleet"])).status == 200
        (item,) = await_end(sift, following, seconds=10)
        assert item["state"] == "ok"
        (item,) = await_end(sift, batch)
        assert (item["state"], item["attempts"]) == ("cancelled", 1)


@pytest.mark.parametrize("way", ["stop", "reload"])
def test_worker_stops_what_is_under_way_is_given_back(way: str, world: World, tmp_path: Path) -> None:
    """contract: Batch work: at once, so that the next one need not wait for the lease, and no attempt is used."""
    gate = world.gate()
    host = world.host(pages={"/": [*hold(gate), *article()]})
    with Inside(world, tmp_path) as sift:
        batch = submit(sift, f"http://{host}/")
        world.await_at(gate)
        assert sift.process is not None
        if way == "stop":
            assert sift.stop(within=10) == 0
            world.outside.open(gate)
        else:
            (before,) = workers(sift)
            sift.process.send_signal(signal.SIGHUP)
            wait_for(lambda: before not in workers(sift))
            world.outside.open(gate)
        if way == "reload":
            (item,) = await_end(sift, batch, seconds=10)
            assert (item["state"], item["attempts"]) == ("ok", 1)
    if way == "stop":
        with Inside(world, tmp_path / "again", {"SIFT_STATE_DIR": str(sift.state_dir)}) as again:
            again.tokens = sift.tokens
            (item,) = await_end(again, batch, seconds=10)
            assert (item["state"], item["attempts"]) == ("ok", 1)


def test_service_leaves_the_work_to_another_process(world: World, tmp_path: Path) -> None:
    """contract: Batch work: SIFT_BATCH_WORKERS=0 and `sift worker`, which ends with 0 and gives back."""
    gate = world.gate()
    host, held = world.host(pages={"/": article()}), world.host(pages={"/": [*hold(gate), *article()]})
    with Inside(world, tmp_path, {"SIFT_BATCH_WORKERS": "0"}) as sift:
        before = threads(only_worker(sift))
        batch = submit(sift, f"http://{host}/", f"http://{held}/")
        with worker(world, tmp_path, sift.environ) as process:
            world.await_at(gate)
            wait_for(lambda: status(sift, batch)["ok"] == 1)
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        assert threads(only_worker(sift)) <= before + 2  # requests have threads
        with worker(world, tmp_path, sift.environ):
            world.outside.open(gate)
            items = await_end(sift, batch, seconds=15)
            assert [(item["state"], item["attempts"]) for item in items] == [("ok", 1), ("ok", 1)]
            wait_for(lambda: b'"event": "batch"' in (tmp_path / "worker.log").read_bytes())
    log = (tmp_path / "worker.log").read_bytes()
    assert host.encode() not in log
    assert all(json.loads(line) for line in log.splitlines())


def test_worker_is_killed_another_process_takes_over_after_the_lease(world: World, tmp_path: Path) -> None:
    """contract: Batch work: kill -9 costs the lease of 20 s and an attempt, and nothing else."""
    gate = world.gate()
    host = world.host(pages={"/": [*hold(gate), *article()]})
    with Inside(world, tmp_path, {"SIFT_BATCH_WORKERS": "0"}) as sift:
        batch = submit(sift, f"http://{host}/")
        with worker(world, tmp_path, sift.environ) as killed:
            world.await_at(gate)
            killed.kill()
            killed.wait()
        world.outside.open(gate)
        with worker(world, tmp_path, sift.environ):
            (item,) = await_end(sift, batch)
            assert (item["state"], item["attempts"]) == ("ok", 2)
        assert min(gaps(world, host)) >= 1


def test_busy_hosts_are_tried_again_and_others_are_not(world: World, tmp_path: Path) -> None:
    """contract: Batch work: three attempts at a 503, when its Retry-After says; one where nothing will change."""
    busy = world.host(pages={"/": answer("", status=503, headers=[("Retry-After", "1")])})
    gone = world.host(pages={"/": answer("", status=404)})
    forbidden = world.host(pages={"/robots.txt": answer("User-agent: *\nDisallow: /\n", "text/plain")})
    inside = world.host("10.0.0.1")
    with Inside(world, tmp_path) as sift:
        urls = [f"http://{each}/" for each in (busy, gone, forbidden, inside)]
        found = await_end(sift, submit(sift, *urls, cls="restricted"), "restricted")
        assert [(item["error"], item["hint"], item["attempts"]) for item in found] == [
            ("fetch failed", "status 503", 3),
            ("fetch failed", "status 404", 1),
            ("robots disallow", "", 1),
            ("fetch failed", "unreachable", 1),
        ]
        assert len(visits(world, busy)) == 3
        for each in (busy, gone, forbidden, inside):
            assert each.encode() not in sift.log()


def test_only_batches_obey_robots(world: World, tmp_path: Path) -> None:
    """contract: Robots: SIFT_ROBOTS=batch."""
    host = world.host(pages={"/robots.txt": answer("User-agent: *\nDisallow: /\n", "text/plain"), "/": article()})
    with Inside(world, tmp_path, {"SIFT_ROBOTS": "batch"}) as sift:
        (item,) = await_end(sift, submit(sift, f"http://{host}/", max_age=0))
        assert item["error"] == "robots disallow"
        sift.page(f"http://{host}/")


def test_caller_with_a_few_pages_need_not_wait_for_all_of_another(world: World, tmp_path: Path) -> None:
    """contract: Store, Batch work: turns go round the callers."""
    gate = world.gate()
    many = [world.host(pages={"/": [*hold(gate), *article()]}) for _ in range(12)]
    with Inside(world, tmp_path, {"SIFT_BATCH_WORKERS": "1"}) as sift:
        long = submit(sift, *(f"http://{host}/" for host in many))
        world.await_at(gate)
        short = submit(sift, *(f"http://{world.host(pages={'/': article()})}/" for _ in range(2)), cls="restricted")
        world.outside.open(gate)
        last = max(item["result"]["fetched_at"] for item in await_end(sift, short, "restricted"))
        assert len(await_end(sift, long)) == 12
        order = [hit.header("host") for hit in sorted(world.outside.requests("/"), key=lambda hit: hit.began)]
        assert last
        assert max(at for at, host in enumerate(order) if host not in many) < 8


def test_two_services_on_one_database_are_two_hosts(world: World, tmp_path: Path) -> None:
    """contract: Store, Batch work: never two visits to one host, over hosts; nothing of a batch in any log."""
    from tests.postgres import Server, missing

    if why := missing():
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="sift-pg-") as sockets:
        Path(sockets).chmod(0o777)
        with Server(unix_socket_directories=sockets) as server:
            environ = {"SIFT_STORE_URL": f"postgresql://sift@/sift?host={sockets}&port={server.port}"}
            hosts = [world.host(pages={"*": SLOW}) for _ in range(3)]
            for name in ("one", "two"):
                (tmp_path / name).mkdir()
            with Inside(world, tmp_path / "one", environ) as one, Inside(world, tmp_path / "two", environ) as two:
                batches = [
                    (sift, submit(sift, *(f"http://{host}/canary/{name}/{n}" for host in hosts for n in (1, 2, 3))))
                    for sift, name in ((one, "one"), (two, "two"))
                ]
                for sift, batch in batches:
                    assert {item["state"] for item in await_end(sift, batch)} == {"ok"}
                for host in hosts:
                    assert len(visits(world, host)) == 6
                    assert min(gaps(world, host)) >= 1
                wait_for(lambda: len(one.records("batch") + two.records("batch")) == 2)
                for log in (one.log(), two.log(), server.log.encode()):
                    assert b"canary" not in log
                    assert not [host for host in hosts if host.encode() in log]
