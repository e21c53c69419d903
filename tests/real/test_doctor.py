"""The installed `sift doctor` beside a real service, a real searx, and stand-ins that judge keys (contract: Doctor)."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from sift import __version__, demo
from sift.store.sheet import Totals
from sift.store.sqlite.ledger import SqliteLedger
from tests.calls import drip
from tests.postgres import Server
from tests.real.programs import SEARX_EXAMPLES, SIFT, Searx, free_port, new_key, run_sift
from tests.service import ROOT, Service
from tests.vendors import KEYS, Behaviour, Seen, Vendors, for_all, reply, usual

CANARY = "zebra"
USAGE = {"key": {"usage": 12, "limit": 1000}, "account": {"plan_usage": 12, "plan_limit": 1000}}
ENGINES = {"engines": [{"enabled": True, "categories": ["general"], "time_range_support": True}]}
needs_searx = pytest.mark.skipif(
    not (shutil.which("searx-run") and SEARX_EXAMPLES.is_dir()), reason="searx is not installed (Debian: searx)"
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a process as another user")


def searxng(connection: socket.socket, seen: Seen) -> object:
    """Answer as an instance with JSON: without a query, 400."""
    answer = usual("searxng") if "q" in seen.parameters else reply({"error": "No query"}, 400)
    return answer(connection, seen)


def brave(connection: socket.socket, seen: Seen) -> object:
    """Judge the key first, then miss the query."""
    if seen.headers.get("x-subscription-token") != KEYS["brave_llm"]:
        return reply({"error": {"code": "SUBSCRIPTION_TOKEN_INVALID"}}, 422)(connection, seen)
    answer = usual("brave_llm") if "q" in seen.parameters else reply({"error": {"code": "VALIDATION"}}, 422)
    return answer(connection, seen)


def tavily(connection: socket.socket, seen: Seen) -> object:
    """Judge the key; tell the usage."""
    if seen.headers.get("authorization") != f"Bearer {KEYS['tavily']}":
        return reply({"detail": {"error": "Unauthorized"}}, 401)(connection, seen)
    return (usual("tavily") if seen.method == "POST" else reply(USAGE))(connection, seen)


BESIDE = ("", "search")  # what is at the root of the stand-ins' address
JUDGES: dict[str, Behaviour] = {"searxng": searxng, "brave_llm": brave, "tavily": tavily}


class Setup:
    """A sound set-up of a test's own: settings, a state directory with a key, vendors."""

    def __init__(self, path: Path, vendors: Vendors) -> None:
        self.path = path
        self.state = path / "state"
        self.token = new_key(self.state, f"{CANARY}-caller", "fleet")
        self.environ = vendors.environ | {"SIFT_STATE_DIR": str(self.state), "SIFT_BIND": f"127.0.0.1:{free_port()}"}

    def doctor(self, *arguments: str, **changes: str) -> CompletedProcess[str]:
        """Run the doctor; nothing secret may be printed, and no other file than these may be left."""
        done = run_sift("doctor", *arguments, environ=self.environ | changes, home=self.path)
        printed = done.stdout + done.stderr
        assert CANARY not in printed
        assert not [key for key in KEYS.values() if key in printed]
        assert self.token not in printed
        return done

    def found(self, *arguments: str, **changes: str) -> list[dict[str, str]]:
        """Return what the doctor finds."""
        done = self.doctor("--json", *arguments, **changes)
        answer = json.loads(done.stdout)
        has_failed = any(each["level"] == "fail" for each in answer["checks"])
        assert (answer["ok"], done.returncode, done.stderr) == (not has_failed, int(has_failed), "")
        return list(answer["checks"])

    def failed(self, *arguments: str, **changes: str) -> list[tuple[str, str, str]]:
        """Return the check, the words and the cure of whatever failed."""
        found = self.found(*arguments, **changes)
        return [(each["check"], each["what"], each["cure"]) for each in found if each["level"] == "fail"]


@pytest.fixture
def vendors(vendors: Vendors) -> Vendors:
    """Return vendors that judge keys and queries."""
    vendors.behaviour.update(JUDGES | {beside: reply({}, 404) for beside in BESIDE})
    vendors.description = ENGINES
    return vendors


@pytest.fixture
def setup(tmp_path: Path, vendors: Vendors) -> Setup:
    return Setup(tmp_path, vendors)


def test_sound_set_up_has_nothing_to_cure(setup: Setup, vendors: Vendors) -> None:
    """contract: Doctor: each vendor is asked once or twice, without a query; no credit is counted."""
    with Service(setup.path, setup.environ | {"SIFT_AUTH": "keys"}) as service:
        done = setup.doctor(SIFT_URL=service.url, SIFT_TOKEN=setup.token)
        assert service.records() == []
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split(None, 2) for line in done.stdout.splitlines()]
    assert [(level, check) for level, check, _ in lines] == [
        *(("ok", each) for each in ("settings", "state", "ledger", "keys", "files", "auth", "service")),
        *(("ok", each) for each in ("searxng", "searxng", "brave_llm", "tavily")),
    ]
    assert lines[6][2] == f"Sift {__version__} answers, with 3 sources"
    assert sorted((seen.vendor, seen.method, seen.target, seen.body) for seen in vendors.seen) == [
        ("brave_llm", "GET", "/brave_llm/res/v1/llm/context", b""),
        ("searxng", "GET", "/searxng/search?format=json", b""),
        ("tavily", "GET", "/tavily/usage", b""),
    ]


def test_search_shows_the_share_of_every_source(setup: Setup, vendors: Vendors) -> None:
    """contract: Doctor: `--search` asks one query, through the service."""
    vendors.behaviour["brave_llm"] = reply(b"", 500)
    with Service(setup.path, setup.environ | {"SIFT_AUTH": "keys"}) as service:
        found = setup.found("--search", SIFT_URL=service.url, SIFT_TOKEN=setup.token)
        assert [record["q_len"] for record in service.records()] == [len("python documentation")]
    shares = [(each["level"], each["what"].partition(" in ")[0]) for each in found if each["check"] == "search"]
    assert shares == [
        ("ok", "3 hits"),
        ("ok", "searxng: 2 hits"),
        ("fail", "brave_llm: http 500"),
        ("ok", "tavily: 2 hits"),
    ]
    assert len([seen for seen in vendors.seen if "q" in seen.parameters or seen.method == "POST"]) == 3


# --- the six broken set-ups ------------------------------------------------------------------------------------------


def test_no_json_format_is_cured_in_searxngs_settings(setup: Setup, vendors: Vendors) -> None:
    """contract: Doctor: as SearXNG answers; Debian's searx has no such setting, and always offers JSON."""
    vendors.behaviour["searxng"] = reply(b"<!doctype html>", 403, [("Content-Type", "text/html; charset=utf-8")])
    ((check, what, cure),) = setup.failed()
    assert (check, what) == ("searxng", "its JSON format is off")
    assert "search.formats: [html, json]" in cure


@needs_searx
def test_wrong_path_is_cured_in_the_url(setup: Setup, tmp_path: Path) -> None:
    """contract: Doctor: a real instance at the root, and settings that look below it, or above."""
    with Searx(tmp_path, demo.start("searxng")) as searx:
        sound = setup.found(SIFT_SEARXNG_URL=searx.url)
        wrong = [setup.failed(SIFT_SEARXNG_URL=f"{searx.url}/{path}") for path in ("searxng", "search")]
    assert [(each["level"], each["what"]) for each in sound if each["check"] == "searxng"] == [
        ("ok", "it answers, and its JSON format is on"),
        ("ok", "1 engine is enabled, 1 for general topics with dates"),
    ]
    at_root = ("searxng", "wrong path: SearXNG is at the root of that address", "take the path out of SIFT_SEARXNG_URL")
    assert wrong == [[at_root], [at_root]]


def test_dead_keys_are_cured_by_new_ones(setup: Setup) -> None:
    """contract: Doctor: each vendor says so at no cost."""
    failed = setup.failed(SIFT_BRAVE_API_KEY=f"{CANARY}-dead", SIFT_TAVILY_API_KEY=f"{CANARY}-dead")
    assert [(check, what) for check, what, _ in failed] == [
        ("brave_llm", "the key is wrong or was revoked"),
        ("tavily", "the key is wrong or was revoked"),
    ]
    assert "SIFT_BRAVE_API_KEY" in failed[0][2]
    assert "SIFT_TAVILY_API_KEY" in failed[1][2]


def test_wide_key_file_is_cured_by_its_mode(setup: Setup) -> None:
    """contract: Doctor: the command that helps is printed as it is to be typed."""
    keys = setup.state / "keys.json"
    keys.chmod(0o644)
    assert setup.failed() == [
        ("keys", "the key file has mode 0644 and must not be wider than 0600", f"chmod 600 {keys}")
    ]
    subprocess.run(["sh", "-c", setup.failed()[0][2]], check=True)
    assert setup.failed() == []


def test_no_state_directory_is_cured_by_making_it(setup: Setup, tmp_path: Path) -> None:
    """contract: Doctor: one that is missing, and one that cannot be."""
    (tmp_path / "file").touch()
    missing, broken = tmp_path / "none", tmp_path / "file" / "state"
    made = [each for each in setup.found(SIFT_STATE_DIR=str(missing)) if each["level"] != "ok"]
    assert [(each["level"], each["check"]) for each in made[:2]] == [("warn", "state"), ("fail", "keys")]
    who = pwd.getpwuid(os.geteuid()).pw_name if os.geteuid() else "USER"
    assert made[0]["cure"] == f"install -d -m 700 -o {who} {missing}"
    assert "sift key new" in made[1]["cure"]
    assert not missing.exists()
    failed = setup.failed(SIFT_STATE_DIR=str(broken))
    assert [check for check, _, _ in failed] == ["state", "ledger", "keys"]
    assert "install -d -m 700" in failed[0][2]
    assert "SIFT_STATE_DIR" in failed[0][2]


def test_auth_off_on_every_address_is_cured_by_either(setup: Setup) -> None:
    """contract: Doctor: a key or loopback."""
    ((check, _, cure),) = setup.failed(SIFT_AUTH="off", SIFT_BIND=f"0.0.0.0:{free_port()}")
    assert check == "auth"
    assert "SIFT_AUTH=keys" in cure
    assert "SIFT_BIND=127.0.0.1" in cure


# --- what else can be wrong ------------------------------------------------------------------------------------------


def test_env_file_goes_above_the_environment(setup: Setup, tmp_path: Path) -> None:
    """contract: Doctor: as in a unit, whose Environment= its EnvironmentFile= overrides."""
    path = tmp_path / f"{CANARY}.env"
    path.write_text(f"# of the unit\nSIFT_THREADS=no\nSIFT_BRAVE_API_KEY='{CANARY} x'\nnonsense {CANARY}\n")
    failed = setup.failed("--env-file", str(path), SIFT_THREADS="8")
    assert [(check, what.partition(" must ")[0].partition(" holds ")[0]) for check, what, _ in failed] == [
        ("env file", "line 4 is no NAME=value"),
        ("settings", "SIFT_BRAVE_API_KEY"),
        ("settings", "SIFT_THREADS"),
    ]


def test_env_file_that_is_missing_is_wrong_usage(setup: Setup, tmp_path: Path) -> None:
    """contract: Doctor: exit code 2."""
    done = setup.doctor("--env-file", str(tmp_path / "none"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--env-file" in done.stderr


def test_source_that_is_sift_itself_is_not_asked(setup: Setup, vendors: Vendors) -> None:
    """contract: Doctor: by its address; and where only the answer tells, by that."""
    bind = setup.environ["SIFT_BIND"]
    ((check, what, _),) = setup.failed(SIFT_SEARXNG_URL=f"http://{bind}")
    assert (check, what) == ("searxng", "SIFT_SEARXNG_URL is the address of Sift itself")
    assert not vendors.calls("searxng")
    with Service(setup.path, setup.environ | {"SIFT_AUTH": "keys"}) as service:
        ((check, what, _),) = setup.failed(SIFT_SEARXNG_URL=service.url)
    assert (check, what) == ("searxng", "Sift itself answers there")


def test_service_that_refuses_the_token_fails(setup: Setup) -> None:
    """contract: Doctor: a revoked key, and no service where SIFT_URL names one."""
    with Service(setup.path, setup.environ | {"SIFT_AUTH": "keys"}) as service:
        refused = setup.failed(SIFT_URL=service.url, SIFT_TOKEN=f"sift_abcdefgh_{CANARY}{'x' * 38}")
    gone = setup.failed(SIFT_URL=service.url)
    foreign = setup.failed(SIFT_URL=setup.environ["SIFT_BRAVE_URL"])
    assert [failed[0][1] for failed in (refused, gone)] == [
        "it answers, and refuses SIFT_TOKEN",
        "no service: the connection was refused: nothing listens at that address",
    ]
    assert "not Sift" in foreign[0][1]


def test_few_open_files_are_seen(setup: Setup) -> None:
    """contract: Doctor: the hard limit against SIFT_THREADS."""
    command = f"ulimit -n 120; exec {SIFT} doctor --json"
    environ = {"PATH": os.environ["PATH"], "HOME": str(setup.path), **setup.environ}
    done = subprocess.run(["bash", "-c", command], env=environ, capture_output=True, text=True, timeout=60, check=False)
    (found,) = [each for each in json.loads(done.stdout)["checks"] if each["check"] == "files"]
    assert (found["level"], found["what"]) == ("warn", "120 open files are enough for 12 of 64 threads")


def test_damaged_ledger_and_wrong_clock_are_seen(setup: Setup) -> None:
    """contract: Doctor: a day that is still to come was counted; then the file is torn."""
    path = setup.state / "ledger.sqlite3"
    ledger = SqliteLedger(path, {"tavily": 9}, now=lambda: 4_000_000_000.0)
    ledger.book_usage(Totals("sheet", "2096-10-02", {"searxng": (1, 0, 0, 0)}))
    ledger.close()
    assert [each["level"] for each in setup.found() if each["check"] in ("ledger", "clock")] == ["ok", "warn"]
    path.write_bytes(b"no database" * 999)
    ((check, _, cure),) = setup.failed()
    assert check == "ledger"
    assert f"move {path}* away" in cure


def test_store_of_several_hosts_is_asked(setup: Setup, postgres: Server) -> None:
    """contract: Doctor, Store: reachable and fit; an address with a password is not shown."""
    with_store = setup.found(SIFT_STORE_URL=postgres.room())
    assert [(each["level"], each["what"]) for each in with_store if each["check"] == "store"] == [
        ("ok", "the database answers, and is fit")
    ]
    ((check, _, cure),) = setup.failed(SIFT_STORE_URL=f"postgresql://sift:{CANARY}@127.0.0.1:{free_port()}/{CANARY}")
    assert check == "store"
    assert "SIFT_STORE_URL" in cure


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_vendor_that_hangs_is_bounded(setup: Setup, vendors: Vendors, release: Any, name: str, start: bytes) -> None:
    """contract: Doctor: within the source's timeout, whether it is silent or drips; the others are told."""
    vendors.behaviour[name] = drip(release, start, b" " if start else b"")
    assert [failed[:2] for failed in setup.failed(**for_all("TIMEOUT", "0.3"))] == [(name, "no answer in time")]


@pytest.mark.parametrize("as_json", [True, False])
def test_nothing_secret_is_printed_whatever_fails(
    setup: Setup, vendors: Vendors, tmp_path: Path, as_json: bool
) -> None:
    """contract: Doctor: keys, a key in a URL, a path outside the state directory, a vendor's words, a caller's name."""
    arguments = ["--search", *(["--json"] if as_json else [])]
    outside = tmp_path / CANARY / "keys.json"
    secret = {
        "SIFT_BRAVE_API_KEY": f"{CANARY}-1",
        "SIFT_TAVILY_API_KEY": f"{CANARY}-2",
        "SIFT_TAVILY_URL": f"{setup.environ['SIFT_TAVILY_URL']}?api_key={CANARY}",
        "SIFT_BRAVE_URL": f"{setup.environ['SIFT_BRAVE_URL']}?key={CANARY}",
        "SIFT_KEYS_FILE": str(outside),
        "SIFT_TOKEN": f"{CANARY}-3",
    }
    words: list[Behaviour] = [
        reply({"error": CANARY, "errors": [{"code": CANARY}], "detail": CANARY}, 400),
        reply(CANARY.encode(), 200, [("Content-Type", "text/html")]),
        reply(b"", 302, [("Location", f"http://{CANARY}/")]),
        reply({"key": {"usage": CANARY}, "engines": CANARY, "limiter": {CANARY: 1}}, 200),
        reply(b"[" * 100_000, 422),
        lambda connection, seen: connection.sendall(CANARY.encode()),
    ]
    for behaviour in words:
        vendors.behaviour = dict.fromkeys((*JUDGES, *BESIDE), behaviour)
        assert setup.doctor(*arguments, **secret).returncode == 1
    for broken in (
        {"SIFT_URL": f"http://{CANARY}:{CANARY}@h"},
        {"SIFT_URL": f"http://h:{CANARY}"},
        {"SIFT_TOKEN": f"{CANARY} x"},
        {"SIFT_BRAVE_URL": f"ftp://{CANARY}"},
        {"SIFT_STORE_URL": f"postgresql://u:{CANARY}@127.0.0.1:1/d"},
        {"SIFT_STORE_URL": f"mysql://{CANARY}"},
        {"SIFT_SEARXNG_URL": f"http://{CANARY}.invalid"},
        {"SSL_CERT_FILE": f"/{CANARY}", "SIFT_URL": f"https://{CANARY}.invalid"},
    ):
        assert setup.doctor(*arguments, **secret | broken).returncode == 1


# --- as which user ---------------------------------------------------------------------------------------------------


@pytest.fixture
def shared() -> Iterator[Path]:
    """Return a directory that every user may enter, unlike those of pytest."""
    path = Path(tempfile.mkdtemp(prefix="sift-doctor-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def as_nobody(shared: Path, vendors: Vendors) -> Callable[..., list[dict[str, str]]]:
    """Return a function that runs the doctor as `nobody`, or as root, on a state directory in the shared one."""
    user = pwd.getpwnam("nobody")
    ids: dict[str, Any] = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    python = _python(ids)
    environ = {
        **vendors.environ,
        "PATH": os.environ["PATH"],
        "HOME": str(shared),
        "PYTHONPATH": os.pathsep.join((str(ROOT), sysconfig.get_path("purelib"))),
        "SIFT_STATE_DIR": str(shared / "s"),
    }

    def run(*, root: bool = False) -> list[dict[str, str]]:
        done = subprocess.run(
            [python, "-m", "sift", "doctor", "--json"],
            env=environ,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **({} if root else ids),
        )
        assert done.stderr == ""
        return list(json.loads(done.stdout)["checks"])

    return run


def _python(ids: dict[str, Any]) -> str:
    """Return a Python of this version that another user can run, with the packages of this one; skip without."""
    version = f"python3.{sys.version_info.minor}"
    for program in (sys.executable, f"/usr/bin/{version}"):
        with suppress(OSError):
            if subprocess.run([program, "-c", "import sqlite3"], cwd="/", check=False, **ids).returncode == 0:
                return program
    pytest.skip(f"no {version} that another user may run")


def _state(shared: Path, owner: str, keys_owner: str) -> Path:
    """Make a state directory with a ledger and a key file, whose owners are these."""
    state = shared / "s"
    new_key(state, "bot", "fleet")
    ledger = SqliteLedger(state / "ledger.sqlite3", {"tavily": 9})
    ledger.spent("tavily")
    ledger.close()
    for path, user in ((state, owner), (state / "ledger.sqlite3", owner), (state / "keys.json", keys_owner)):
        shutil.chown(path, user)
    return state


def _of(found: list[dict[str, str]], *checks: str) -> list[tuple[str, str, str]]:
    return [(each["level"], each["what"], each["cure"]) for each in found if each["check"] in checks]


@needs_root
@pytest.mark.parametrize("root", [True, False])
def test_key_file_that_the_services_user_cannot_read_fails(
    as_nobody: Callable[..., list[dict[str, str]]], shared: Path, root: bool
) -> None:
    """S60: root made it, and the service cannot read it. Whoever runs the doctor is told, and told the cure."""
    state = _state(shared, "nobody", "root")
    ((level, what, cure),) = _of(as_nobody(root=root), "keys")
    assert level == "fail"
    assert what.startswith("the key file belongs to user root and cannot be read by user nobody")
    assert cure == f"chown nobody {state / 'keys.json'}; run sift key as that user"
    subprocess.run(["sh", "-c", cure.partition(";")[0]], check=True)
    assert [level for level, _, _ in _of(as_nobody(root=root), "keys")] == ["ok"]


@needs_root
def test_root_leaves_no_file_that_the_service_cannot_use(
    as_nobody: Callable[..., list[dict[str, str]]], shared: Path
) -> None:
    """contract: Doctor: root looks with the rights of the service's user, and so makes nothing that is root's."""
    state = _state(shared, "nobody", "nobody")
    found = as_nobody(root=True)
    assert [level for level, _, _ in _of(found, "state", "ledger", "clock", "keys")] == ["ok"] * 4
    assert {path.owner() for path in state.iterdir() if not path.name.endswith(".lock")} == {"nobody"}


@needs_root
def test_ledger_of_another_user_fails(as_nobody: Callable[..., list[dict[str, str]]], shared: Path) -> None:
    """contract: Doctor: capped sources would be skipped, as nothing can be counted."""
    state = _state(shared, "nobody", "nobody")
    shutil.chown(state / "ledger.sqlite3", "root")
    ((level, _, cure),) = _of(as_nobody(root=True), "ledger")
    assert (level, cure) == ("fail", f"chown nobody {state / 'ledger.sqlite3'}*")


@needs_root
def test_stranger_is_told_as_whom_to_run(as_nobody: Callable[..., list[dict[str, str]]], shared: Path) -> None:
    """contract: Doctor: who may not look at the files learns nothing of them, and says so."""
    _state(shared, "root", "root").chmod(0o700)
    found = as_nobody()
    ((level, what, cure),) = _of(found, "state", "ledger", "keys")
    assert level == "fail"
    assert what.endswith("belongs to user root, and this is user nobody")
    assert cure.startswith("run this as user root")


def test_service_loads_nothing_of_it() -> None:
    """contract: Doctor: its memory is the command's alone."""
    program = (
        "import sys, wsgi, sift.server.worker;"
        "print([name for name in sys.modules if name.startswith(('sift.doctor', 'sift.sources.probes', 'sift.findings',"
        " 'sift.wire.look', 'sift.store.sqlite.inspect', 'sift.cli'))])"
    )
    environ = {"PATH": os.environ["PATH"], "SIFT_DEMO": "on", "SIFT_AUTH": "off", "HOME": "/nonexistent"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
