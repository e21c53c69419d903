"""The extractor with children of all kinds (contract: Page text). These children are real processes."""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sift.errors import ExtractError
from sift.fetch.extract.extractor import Extractor
from sift.fetch.extract.model import MEMORY, NOT_INSTALLED, TIMEOUT, Document, Extract, RobotsRules
from sift.fetch.extract.process import Limits, command_line
from sift.fetch.extract.sandbox import offered
from tests.fetch.extract.children import RUBBISH, command
from tests.fetch.extract.samples import ARTICLE, SLOW, html, pdf
from tests.waiting import wait_for

HAS_EXTRA = Extractor(1).takes_pdf and "trafilatura" in Extractor(1).version
needs_extra = pytest.mark.skipif(not HAS_EXTRA, reason="the extras `fetch` and `pdf` are not installed")
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")


def soon(seconds: float = 60) -> float:
    return time.monotonic() + seconds


def gone(pid: int) -> bool:
    """Return whether a process has ended, though perhaps nobody has asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("Z", "X")
    except OSError:
        return True


@pytest.fixture
def make() -> Iterator[Callable[..., Extractor]]:
    """Return a maker of extractors, which are closed when the test is over."""
    made: list[Extractor] = []

    def make(children: int = 1, **options: Any) -> Extractor:
        made.append(Extractor(children, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture(scope="module")
def shared() -> Iterator[Extractor]:
    with closing(Extractor(2)) as extractor:
        yield extractor


def read(extractor: Extractor, document: Document, seconds: float = 60) -> Extract:
    return extractor.extract(document, "markdown", deadline=soon(seconds))


@needs_extra
def test_page_is_read_by_trafilatura_in_a_child(shared: Extractor) -> None:
    """contract: Page text. What the child finds comes back whole."""
    found = shared.extract(html(ARTICLE), "markdown", html=True, deadline=soon())
    assert (found.extractor, found.title, found.author, found.lang) == ("trafilatura", "The title", "Ann Author", "en")
    assert found.published_date == "2024-05-06"
    assert found.content.startswith("# The title")
    assert found.html.startswith("<html>")
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("kind", "body", "extractor", "content"),
    [
        ("text/plain", b"a   b\n", "plain", "a   b"),
        ("text/markdown", b"# T\n", "plain", "# T"),
        ("text/csv", b"a,b\n", "plain", "a,b"),
        ("application/json", b'{"a":  1}', "plain", '{"a":  1}'),
        ("application/rss+xml", b"<rss><channel><item><title>T</title></item></channel></rss>", "plain", "## T"),
    ],
)
def test_each_type_goes_to_what_reads_it(
    shared: Extractor, kind: str, body: bytes, extractor: str, content: str
) -> None:
    """contract: Page text. All of it in the child: decoding, too, costs the service nothing."""
    found = read(shared, html(body, kind))
    assert (found.extractor, found.content) == (extractor, content)


@needs_extra
def test_pdf_is_read_in_a_child(shared: Extractor) -> None:
    """contract: Page text. With the extra `pdf`."""
    found = read(shared, html(pdf(2), "application/pdf"))
    assert (found.extractor, found.content) == ("pdf", "This is page 1\n\nThis is page 2")


@needs_extra
def test_xml_that_is_a_page_is_read_as_one(shared: Extractor) -> None:
    """contract: Page text. XHTML may come as XML."""
    assert read(shared, html(ARTICLE.replace("<!doctype html>", ""), "application/xml")).extractor == "trafilatura"


def test_document_without_any_text_to_be_had_fails_and_its_child_stays(shared: Extractor) -> None:
    """contract: Page text. A broken PDF is no reason to start anew."""
    read(shared, html("x", "text/plain"))
    before = shared.pids
    with pytest.raises(ExtractError):
        read(shared, html(b"%PDF-1.7 broken", "application/pdf"))
    assert shared.pids == before


def test_robots_are_judged_in_a_child(shared: Extractor) -> None:
    """contract: Robots. A robots.txt is as hostile as any page."""
    body = b"User-agent: *\nDisallow: /private\nCrawl-delay: 2"
    site = "https://site.example"
    assert shared.robots(body, "Sift/1.0", f"{site}/x", deadline=soon()) == RobotsRules(allowed=True, delay=2.0)
    assert not shared.robots(body, "Sift/1.0", f"{site}/private", deadline=soon()).allowed


def test_robots_that_cost_a_child_its_life_fail(make: Callable[..., Extractor]) -> None:
    """contract: Robots. There is no second way to read them."""
    with pytest.raises(ExtractError):
        make(command=command("die")).robots(b"", "Sift/1.0", "https://site.example/", deadline=soon())


def test_nothing_starts_before_the_first_document(make: Callable[..., Extractor]) -> None:
    """contract: Page text. A service that nobody asks for pages has no child."""
    extractor = make(4)
    assert extractor.pids == []
    read(extractor, html("x", "text/plain"))
    assert len(extractor.pids) == 1


def test_child_is_kept_for_the_next_document(make: Callable[..., Extractor]) -> None:
    """contract: Page text. A start would cost more than most pages."""
    extractor = make(4, command=command("pid"))
    assert len({read(extractor, html("x")).content for _ in range(5)}) == 1


def test_many_threads_share_few_children(make: Callable[..., Extractor]) -> None:
    """contract: Page text. Never more children than that, and each document has its own answer."""
    extractor = make(2)

    def one(number: int) -> str:
        return read(extractor, html(f"document {number}", "text/plain")).content

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(one, range(64))) == [f"document {number}" for number in range(64)]
    assert 1 <= len(extractor.pids) <= 2
    pids = make(2, command=command("pid"))
    with ThreadPoolExecutor(16) as pool:
        assert len(set(pool.map(lambda _: read(pids, html("x")).content, range(64)))) <= 2


def test_children_without_work_end_but_for_one(make: Callable[..., Extractor]) -> None:
    """contract: Page text. What a burst has started does not stay for ever."""
    extractor = make(3, command=command("pid"), idle=0.05)
    barrier = threading.Barrier(3)

    def one(_: int) -> str:
        barrier.wait(20)
        return read(extractor, html("x")).content

    with ThreadPoolExecutor(3) as pool:
        pids = [int(each) for each in pool.map(one, range(3))]
    wait_for(lambda: len(extractor.pids) == 1)
    wait_for(lambda: sum(gone(pid) for pid in set(pids)) == len(set(pids)) - 1)


@pytest.mark.parametrize("behaviour", RUBBISH)
def test_child_that_dies_or_answers_rubbish_costs_its_page_the_fallback(
    make: Callable[..., Extractor], behaviour: str
) -> None:
    """contract: Page text. What a child says is checked; one that cannot be trusted is replaced."""
    extractor = make(command=command(behaviour))
    found = read(extractor, html("x"))
    assert (found.extractor, found.warnings) == ("builtin", (MEMORY,))
    assert extractor.pids == [int(found.content)]  # the one that did the fallback; the other is gone


def test_child_out_of_processor_time_costs_its_page_the_fallback(make: Callable[..., Extractor]) -> None:
    """contract: Page text. `timeout`, whichever limit it was."""
    assert read(make(command=command("overrun")), html("x")).warnings == (TIMEOUT,)


@pytest.mark.parametrize("behaviour", ["hang", "never begin"])
def test_child_that_overruns_its_time_is_killed(make: Callable[..., Extractor], behaviour: str, tmp_path: Path) -> None:
    """contract: Page text. Wall time, for getting ready as for the job."""
    extractor = make(command=command(behaviour, str(tmp_path / "mark")), limits=Limits(wall=0.2, load=2))
    found = read(extractor, html("x"))
    assert found.warnings == (TIMEOUT,)
    assert extractor.pids == [int(found.content)]


@pytest.mark.parametrize("behaviour", ["exit", "exit at once", "flood at once"])
def test_child_that_ends_before_it_has_begun_is_replaced_once(make: Callable[..., Extractor], behaviour: str) -> None:
    """contract: Page text. Children that cannot start are an error, and no endless one."""
    extractor = make(command=command(behaviour))
    with pytest.raises(ExtractError):
        read(extractor, html("x", "text/plain"))
    assert extractor.pids == []


def test_program_that_cannot_be_started_is_an_error(make: Callable[..., Extractor], tmp_path: Path) -> None:
    """contract: Page text. As on a host that is out of processes."""
    with pytest.raises(ExtractError):
        read(make(command=[str(tmp_path / "absent")]), html("x"))


@linux
def test_child_that_is_killed_from_outside_costs_its_own_page_alone(
    make: Callable[..., Extractor], tmp_path: Path
) -> None:
    """contract: Page text. As the kernel does when the host is out of memory."""
    mark = tmp_path / "mark"
    extractor = make(2, command=command("hang", str(mark)))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(read, extractor, html("x"))
        wait_for(mark.exists)
        (pid,) = extractor.pids
        os.kill(pid, 9)
        assert waiting.result(20).warnings == (MEMORY,)
    assert gone(pid)


@linux
def test_child_that_died_while_it_was_idle_is_not_noticed(make: Callable[..., Extractor]) -> None:
    """contract: Page text. The next document gets a new one."""
    extractor = make()
    read(extractor, html("x", "text/plain"))
    (pid,) = extractor.pids
    os.kill(pid, 9)
    wait_for(lambda: gone(pid))
    assert read(extractor, html("y", "text/plain")).content == "y"
    assert extractor.pids != [pid]


@pytest.mark.parametrize("behaviour", ["hang", "never begin"])
def test_deadline_ends_the_job_and_its_child(make: Callable[..., Extractor], behaviour: str, tmp_path: Path) -> None:
    """contract: Page text. When the caller's time is over there is nobody left to fall back for."""
    extractor = make(command=command(behaviour, str(tmp_path / "mark")))
    with pytest.raises(TimeoutError):
        read(extractor, html("x"), 0.5)
    assert extractor.pids == []


def test_deadline_ends_the_wait_for_a_child(make: Callable[..., Extractor], tmp_path: Path) -> None:
    """contract: Page text. The page that has the child is not disturbed."""
    mark = tmp_path / "mark"
    extractor = make(command=command("hang", str(mark)), limits=Limits(wall=60))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(read, extractor, html("x"))
        wait_for(mark.exists)
        with pytest.raises(TimeoutError):
            read(extractor, html("y"), 0.05)
        assert not first.done()
        extractor.close()
        assert isinstance(first.exception(20), ExtractError)


@needs_extra
@pytest.mark.parametrize(
    ("limits", "page", "cause"),
    [
        # The builtin extractor stops at 2.5 seconds, on a slow machine too.
        (Limits(wall=4), SLOW, TIMEOUT),
        (Limits(cpu=3, wall=60), SLOW, TIMEOUT),
        (Limits(memory=192 << 20, cpu=60, wall=60), b"<b>a</b>" * 250_000, MEMORY),
    ],
    ids=["wall", "processor", "memory"],
)
def test_page_beyond_a_limit_gets_the_builtin_extractor(
    make: Callable[..., Extractor], limits: Limits, page: bytes, cause: str
) -> None:
    """contract: Page text. The limits hold for real pages in a real child; the next page is none the worse for it."""
    extractor = make(limits=limits)
    found = read(extractor, html(page))
    assert (found.extractor, found.warnings[:1]) == ("builtin", (cause,))
    assert found.content
    assert read(extractor, html("<p>next")).content == "next"


@needs_extra
@pytest.mark.parametrize(
    "page",
    [
        b"<b>a</b>" * 22_000,
        b"<p>" + b"<i><b><a href=x>" * 44_000,
        b"<div>" * 43_000,
        b"<div>" * 20_000 + b"text" + b"</div>" * 20_000,
        b"<table><tr><td>" * 20_000,
        b"<!-- >" * 100_000,
        b"<" * 700_000,
        b"\0\xff\xfe" * 70_000,
        b"<script>" + b"</script " * 200_000,
        b"<script " * 250_000,
        b"<p>" + b" " * 2_000_000 + b"x",
    ],
    ids=[
        "bold",
        "mixed",
        "deep",
        "deep with an end",
        "tables",
        "comments",
        "less",
        "binary",
        "script ends",
        "scripts",
        "blanks",
    ],
)
def test_hostile_page_is_read_within_the_limits(shared: Extractor, page: bytes) -> None:
    """contract: Page text. Known to cost other extractors 450 MiB or 20 seconds; some text or none, but an answer."""
    assert read(shared, html(page)).extractor in ("trafilatura", "builtin")


def test_html_over_2_mib_goes_to_the_builtin_extractor(make: Callable[..., Extractor]) -> None:
    """contract: Page text. Too much for a tree in memory."""
    found = read(make(), html(b"<p>" + b"word " * 500_000))
    assert (found.extractor, found.warnings) == ("builtin", (MEMORY,))
    assert found.content.count("word") == 500_000


def test_child_that_a_page_has_blown_up_is_not_kept(make: Callable[..., Extractor]) -> None:
    """contract: Page text. What a page took does not stay taken."""
    extractor = make(fat=1)
    read(extractor, html("x", "text/plain"))
    assert extractor.pids == []


def test_page_without_the_extra_gets_the_builtin_extractor(make: Callable[..., Extractor]) -> None:
    """contract: Page text. And says what is missing."""
    standard = [place for place in sys.path if "site-packages" not in place]
    found = read(make(command=command_line(Limits(), standard)), html(ARTICLE))
    assert (found.extractor, found.warnings, found.title) == ("builtin", (NOT_INSTALLED,), "The title")
    assert found.content.startswith("# The title")


@linux
def test_child_knows_nothing_of_the_service(make: Callable[..., Extractor], tmp_path: Path) -> None:
    """contract: Page text. No setting, no key, no file; and nobody can see which page it reads."""
    environ = {"SIFT_BRAVE_API_KEY": "secret", "AWS_SECRET": "secret", "HOME": "/secret", "LD_LIBRARY_PATH": "/lib"}
    kept = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(kept, True)
    try:
        extractor = make(environ=environ)
        read(extractor, html(ARTICLE))
    finally:
        os.close(kept)
    (pid,) = extractor.pids
    proc = Path(f"/proc/{pid}")
    assert {each.partition(b"=")[0] for each in proc.joinpath("environ").read_bytes().split(b"\0") if each} == {
        *(b"LD_LIBRARY_PATH", b"LC_ALL", b"MALLOC_ARENA_MAX")
    }
    assert b"site.example" not in proc.joinpath("cmdline").read_bytes() + proc.joinpath("comm").read_bytes()
    files = [str(each.readlink()) for each in proc.joinpath("fd").iterdir()]
    assert all(each.startswith("pipe:") or each == "/dev/null" for each in files)
    assert str(proc.joinpath("cwd").readlink()) == "/"


@linux
def test_child_runs_where_and_how_it_is_told(make: Callable[..., Extractor]) -> None:
    """contract: Page text. On the service's CPUs, behind its searches, with the memory it may have."""
    cpu = min(os.sched_getaffinity(0))
    extractor = make(cpus={cpu})
    read(extractor, html("x", "text/plain"))
    (pid,) = extractor.pids
    assert os.sched_getaffinity(pid) == {cpu}
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)
    assert resource.prlimit(pid, resource.RLIMIT_AS) == (768 << 20, 768 << 20)
    if offered():  # the sandbox itself is tested by what it denies
        assert "NoNewPrivs:\t1" in Path(f"/proc/{pid}/status").read_text()
    assert resource.prlimit(pid, resource.RLIMIT_FSIZE) == (0, 0)
    assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)


def test_version_names_what_extracts() -> None:
    """contract: Page text. An extract in the cache is that of a version."""
    version = Extractor(1).version
    assert version.startswith("sift ")
    assert ("trafilatura 2." in version) is HAS_EXTRA
