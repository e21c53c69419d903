"""The wiring: which starts are refused, and with which message."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sift.app import MAKE_A_KEY, create_app
from sift.config import Config
from sift.errors import ConfigError
from sift.opening import cpus_of_children
from sift.sources import DECLARED
from tests.auth.keyfiles import ENTRY, put


@pytest.mark.parametrize("content", [None, [], [ENTRY | {"disabled": True}]], ids=["absent", "no key", "no usable key"])
def test_start_without_a_usable_key_names_the_command_that_makes_one(tmp_path: Path, content: object) -> None:
    """contract: Settings: one line tells the operator which file is wrong and what to do."""
    path = tmp_path / "keys.json"
    if content is not None:
        put(path, content)
    environ = {"SIFT_KEYS_FILE": str(path), "SIFT_STATE_DIR": str(tmp_path), "SIFT_DEMO": "on"}
    with pytest.raises(ConfigError) as refusal:
        create_app(Config.from_env(environ, DECLARED))
    assert re.fullmatch(rf"SIFT_KEYS_FILE: .*; this command makes a key: {re.escape(MAKE_A_KEY)}", str(refusal.value))


def test_start_with_a_key_file_that_is_not_usable_does_not_advise_to_make_a_key(tmp_path: Path) -> None:
    """contract: Settings: `sift key` refuses such a file as well, so its command is no remedy."""
    put(tmp_path / "keys.json", b"")
    environ = {"SIFT_STATE_DIR": str(tmp_path), "SIFT_DEMO": "on"}
    with pytest.raises(ConfigError) as refusal:
        create_app(Config.from_env(environ, DECLARED))
    assert str(refusal.value).endswith("keys.json' is malformed")


def test_worker_keeps_to_a_cpu_its_children_run_on_the_others() -> None:
    """contract: Page text: as long as there is another one."""
    own = frozenset(os.sched_getaffinity(0))
    other = max(own) + 1
    assert cpus_of_children(own | {other}) == {other}
    assert cpus_of_children(own) == own


DEMO = """
import os, sys
os.environ.update(SIFT_DEMO='on', SIFT_AUTH='off', SIFT_STATE_DIR='/nonexistent')
from sift.app import create_app
client = create_app().test_client()
def loaded(*names): return [name for name in names if name in sys.modules]
"""


def run(script: str) -> str:
    """Return what a program prints that has the demo's client, and `loaded`, which names the modules that are there."""
    command = [sys.executable, "-W", "error", "-c", DEMO + script]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


def test_nothing_that_opens_pages_is_loaded_before_the_first_page() -> None:
    """contract: Fetch: a service that opens none spares its memory."""
    printed = run(
        "names = 'sift.fetch', 'sift.guard', 'sift.batch.model', 'sift.batch.protocols'\n"
        "print(loaded(*names))\n"
        "print(client.post('/v1/fetch', json={'url': 'ftp://a.com/'}).json, loaded('sift.fetch', 'sift.guard'))\n"
    )
    assert printed == "[]\n{'error': 'url not allowed', 'hint': 'scheme'} ['sift.fetch', 'sift.guard']\n"


@pytest.mark.parametrize(
    ("request_", "modules"),
    [
        ("client.post('/v1/plan', json={'query': 'json'})", ["sift.api.v1.plan", "sift.search.plan"]),
        ("client.get('/v1/usage')", ["sift.api.v1.usage"]),
        (
            "client.post('/v1/search', json={'query': 'json', 'explain': True})",
            ["sift.search.explain", "sift.search.explanation"],
        ),
    ],
    ids=["plan", "usage", "explain"],
)
def test_what_a_plain_search_does_without_is_loaded_when_it_is_asked_for(request_: str, modules: list[str]) -> None:
    """contract: Operations: a service that is never asked for a plan, a usage or an explanation spares their memory."""
    plain = "client.post('/v1/search', json={'query': 'json'})"
    printed = run(
        f"names = {modules}\nprint({plain}.status_code, loaded(*names))\nprint({request_}.status_code, loaded(*names))"
    )
    assert printed == f"200 []\n200 {modules}\n"


def test_encodings_are_not_guessed_so_nothing_is_loaded_that_guesses_them() -> None:
    """contract: HTTP calls: vendors send JSON, which is UTF-8; whoever else wants to guess can."""
    printed = run(
        "names = 'charset_normalizer', 'chardet'\n"
        "print(client.post('/v1/search', json={'query': 'json'}).status_code, loaded(*names))\n"
        "import charset_normalizer; print(loaded('charset_normalizer'))"
    )
    assert printed == "200 []\n['charset_normalizer']\n"


def test_door_is_loaded_with_its_first_request_and_opens_no_page_for_a_search() -> None:
    """contract: Tavily door: a service that nobody asks through it spares its memory."""
    script = (
        "import os, sys; os.environ.update(SIFT_DEMO='on', SIFT_AUTH='off', SIFT_STATE_DIR='/nonexistent')\n"
        "from sift.app import create_app\n"
        "client = create_app().test_client()\n"
        "def loaded(part): return any(name.startswith(part) for name in sys.modules)\n"
        "client.post('/v1/search', json={'query': 'generator'}), client.post('/tavily/x', json={})\n"
        "print(loaded('sift.api.doors'))\n"
        "print(client.post('/tavily/search', json={'query': 'generator'}).status, loaded('sift.fetch'))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "False\n200 OK False\n"


def test_nothing_of_batches_is_loaded_before_the_first_batch() -> None:
    """contract: Batch: a service that takes none spares its memory."""
    script = (
        "import os, sys; os.environ.update(SIFT_DEMO='on', SIFT_AUTH='off', SIFT_STATE_DIR='/nonexistent')\n"
        "from sift.app import create_app\n"
        "client = create_app().test_client()\n"
        "prefixes = 'sift.batch.', 'sift.api.batch', 'sift.api.v1.batch', 'sift.api.v2.batch'\n"
        "def loaded(): return sorted(name for name in sys.modules if name.startswith(prefixes))\n"
        "print(loaded())\n"
        "print(client.post('/v1/batch', json={'urls': ['ftp://a.com/']}).json, len(loaded()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    first, second = done.stdout.splitlines()
    assert first == "['sift.batch.watch']"  # which notices the first one
    assert second.startswith("{'error': 'invalid batch', 'hint': 'urls'}")
    assert not second.endswith(" 1")
