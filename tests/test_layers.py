"""The layers: which part may import which, as read from the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from sift.guard import url

ROOT = Path(__file__).resolve().parent.parent
EVERYTHING = frozenset({"*"})
# What a part may import of Sift besides itself. A name with a dot allows that module only.
MAY_IMPORT = {
    "__init__": frozenset(),
    "errors": frozenset(),
    "addresses": frozenset(),
    "config": frozenset({"environ", "errors"}),
    "environ": frozenset({"addresses", "errors"}),
    "fields": frozenset(),
    "findings": frozenset(),
    "flight": frozenset(),
    "observe": frozenset(),
    "validation": frozenset({"fields"}),
    "output": frozenset(),
    "health": frozenset({"observe", "search.model"}),
    "metrics": frozenset({"observe", "__init__"}),
    "log": frozenset({"output", "search", "auth"}),
    "search": frozenset({"errors", "fields", "flight", "observe", "validation", "__init__"}),
    "batch": frozenset({"observe", "fetch", "guard", "fields", "validation", "errors"}),
    "store": frozenset({"observe", "search", "batch.model", "batch.protocols", "config", "errors"}),
    "auth": frozenset({"config", "errors", "search.model"}),
    "wire": frozenset({"errors"}),
    "guard": frozenset({"wire.resolver", "errors"}),
    "sources": frozenset({"search", "wire", "config", "errors", "findings", "__init__"}),
    "demo": frozenset({"errors"}),
    "client": frozenset({"batch.ids", "errors", "__init__"}),
    "cli": frozenset(
        {
            *("client", "mcp", "doctor", "findings", "errors", "fields", "auth", "config", "guard", "store.open"),
            *(
                "search.fields",
                "search.domains",
                "search.model",
                "search.urls",
                "fetch.fields",
                "batch.fields",
                "batch.ids",
                "server.work",
                "__init__",
            ),
        }
    ),
    "mcp": frozenset(
        {
            *("client", "errors", "fields", "search.fields", "fetch.fields", "batch.fields", "__init__"),
            *("cli.explained", "cli.refusals", "cli.service", "cli.terminal"),
        }
    ),
    "doctor": frozenset({"auth", "config", "errors", "findings", "server", "sources", "store", "wire", "__init__"}),
    "fetch": frozenset({"guard", "wire", "errors", "fields", "flight", "validation", "__init__"}),
    "api": frozenset({"search", "fetch", "batch", "auth", "log", "observe", "validation", "errors", "__init__"}),
    "__main__": frozenset({"cli"}),
    "app": EVERYTHING,
    "opening": EVERYTHING,
    "server": frozenset({"app", "opening", "auth", "config", "errors", "log", "sources", "store"}),
    "gunicorn_conf": EVERYTHING,
    "run_conf": frozenset({"config", "gunicorn_conf"}),
}
FLASK = {"api", "app"}
NETWORK = {"socket", "ssl", "select", "asyncio", "http.client", "urllib.request", "urllib3", "requests"}
MAY_CONNECT = {"wire", "client"}
GUARDED = {"fetch", "guard", "batch", "api", "search"}
"""What sees URLs of requests."""
CONNECTS_NOWHERE = {
    "sift.search.urls": {"socket"},  # `inet_aton` parses the old spellings of IPv4 addresses
    "sift.guard.url": {"urllib3"},  # its parser is the second one, which must agree
    "sift.store.postgres.connection": {"select"},  # waits for the server that the settings name
    "sift.output": {"socket", "select"},  # the log may go to a socket, systemd's
    "sift.fetch.extract.process": {"select"},  # waits at the pipes of child processes
    "sift.server.listen": {"socket"},
    "sift.server.linger": {"socket"},
}
EXTRACTORS = {"trafilatura", "pypdf", "protego", "lxml"}
VENDORS = ("searxng", "brave", "tavily")


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / "sift").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts), path


MODULES = dict(_modules())
PACKAGES = {name.rpartition(".")[0] for name in MODULES}


@cache
def _imports(module: str) -> frozenset[str]:
    """Return the full names of a module's imports, those inside functions included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            base = node.module or ""
            # `from sift import demo` imports a part, `from sift import __version__` a name of the package itself.
            below = {f"{base}.{alias.name}" for alias in node.names}
            modules = below & (MODULES.keys() | PACKAGES)
            found |= modules or {"sift.__init__" if base == "sift" else base}
    return frozenset(found)


def _part(module: str) -> str:
    return module.split(".")[1]


@pytest.mark.parametrize("module", MODULES)
def test_imports_of_module_stay_within_the_table(module: str) -> None:
    """Data goes down once and comes up once; no part knows one above it."""
    part = _part(module)
    allowed = MAY_IMPORT[part] | {part}
    for name in sorted(_imports(module)):
        if name.split(".")[0] == "sift" and "*" not in allowed:
            inside = name.removeprefix("sift.")
            assert inside.split(".")[0] in allowed or inside in allowed, f"{module} imports {name}"


def test_table_names_every_part_and_no_other() -> None:
    """A new part must be given its place before anything can import it."""
    assert {_part(module) for module in MODULES} == set(MAY_IMPORT)


@pytest.mark.parametrize("module", MODULES)
def test_flask_is_imported_in_the_api_only(module: str) -> None:
    """Nothing below the API knows Flask: `search` and `sources` run in threads that have no request."""
    if _part(module) not in FLASK:
        assert not {name.split(".")[0] for name in _imports(module)} & {"flask", "werkzeug"}


@pytest.mark.parametrize("module", MODULES)
def test_network_is_imported_by_the_wire_and_the_client_only(module: str) -> None:
    """No search can fetch a result page: connections are opened in one place, which is where they are checked."""
    if _part(module) not in MAY_CONNECT:
        barred = NETWORK - CONNECTS_NOWHERE.get(module, set())
        assert not [name for name in _imports(module) if any(f"{name}.".startswith(f"{bar}.") for bar in barred)]


@pytest.mark.parametrize("module", [module for module in MODULES if _part(module) in GUARDED])
def test_whatever_a_request_asks_for_is_connected_to_in_one_place(module: str) -> None:
    """contract: Guard: a second way to the wire would be one past the guard; vendors are the sources' to ask."""
    barred = {f"sift.wire.{name}" for name in ("dial", "pool", "connection", "endpoint", "resolver")}
    if module == "sift.guard.guard":
        barred -= {"sift.wire.resolver"}  # the addresses that it judges
    if module != "sift.fetch.web":
        assert not _imports(module) & barred


def test_guard_imports_no_more_of_urllib3_than_its_parser() -> None:
    """contract: Guard: judging is pure; what could connect is out of its reach."""
    names = {name for name in _imports("sift.guard.url") if name.startswith("urllib3")}
    assert names == {"urllib3.exceptions", "urllib3.util"}
    assert {name for name in vars(url) if getattr(vars(url)[name], "__module__", "").startswith("urllib3")} == {
        "LocationParseError",
        "parse_url",
    }


@pytest.mark.parametrize("module", MODULES)
def test_extractors_are_imported_in_their_room_only(module: str) -> None:
    """contract: Page text. No extractor is safe in the serving process, so none may be loaded by anything else."""
    if not module.startswith("sift.fetch.extract."):
        assert not {name.split(".")[0] for name in _imports(module)} & EXTRACTORS


@pytest.mark.parametrize("module", MODULES)
def test_psycopg_is_imported_in_its_room_only(module: str) -> None:
    """contract: Store. It is an extra: nothing may need it before the settings name a server."""
    if not module.startswith("sift.store.postgres"):
        names = _imports(module) - ({"psycopg"} if module == "sift.store.open" else set())
        assert not {name for name in names if name.startswith("psycopg")}
        top = {name for node in ast.parse(MODULES[module].read_text()).body for name in _names(node)}
        assert not {name for name in top if name.startswith(("psycopg", "sift.store.postgres"))}


@pytest.mark.parametrize("module", MODULES)
def test_prometheus_client_is_imported_by_the_scrape_only(module: str) -> None:
    """contract: Metrics. It is an extra, and nobody but a worker that is scraped should pay for loading it."""
    names = {name.split(".")[0] for name in _imports(module)}
    assert ("prometheus_client" in names) is (module == "sift.metrics.exposition")
    top = {name for node in ast.parse(MODULES[module].read_text()).body for name in _names(node)}
    assert "sift.metrics.exposition" not in top


@pytest.mark.parametrize("module", MODULES)
def test_the_sdk_of_mcp_is_imported_in_its_room_only(module: str) -> None:
    """contract: MCP. It is an extra, and slow to load: no other command waits for it."""
    room = ("sift.mcp.server", "sift.mcp.threads")
    if module not in room:
        assert not {name.split(".")[0] for name in _imports(module)} & {"mcp", "anyio", "uvicorn"}
        top = {name for node in ast.parse(MODULES[module].read_text()).body for name in _names(node)}
        assert not top & {*room}
    if not module.startswith("sift.mcp"):
        top = {name for node in ast.parse(MODULES[module].read_text()).body for name in _names(node)}
        assert not [name for name in top if name.startswith("sift.mcp")]


def _names(node: ast.stmt) -> set[str]:
    """Return what a statement at the top of a module imports."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    return {node.module or ""} if isinstance(node, ast.ImportFrom) else set()


def test_wire_names_no_vendor() -> None:
    """What is special about a vendor on the wire is in that vendor's file."""
    wire = "".join(MODULES[module].read_text().lower() for module in MODULES if _part(module) == "wire")
    assert not [vendor for vendor in VENDORS if vendor in wire]


NAMELESS = [
    *(module for module in MODULES if _part(module) in ("search", "config")),
    *("sift.sources.vendor", "sift.demo", "sift.demo.server", "sift.demo.standin"),
]


@pytest.mark.parametrize("module", NAMELESS)
def test_no_vendor_is_named_outside_its_own_modules(module: str) -> None:
    """Sources are known by their protocol and declarations only: no `if name == …`, not even a vendor's name."""
    text = MODULES[module].read_text().lower()
    assert not [vendor for vendor in VENDORS if vendor in text]


@pytest.mark.parametrize("module", [module for module in MODULES if module.startswith("sift.api.v2")])
def test_v2_imports_nothing_of_v1(module: str) -> None:
    """contract: Firecrawl door: `/v2/search` is frozen; it shares neither the envelope nor the schema of v1."""
    for name in _imports(module):
        assert not name.startswith("sift.api.v1"), name
        assert name != "sift.search.schema"


@pytest.mark.parametrize("module", [module for module in MODULES if module.startswith("sift.api.doors")])
def test_doors_import_nothing_of_v1_and_v2(module: str) -> None:
    """contract: Tavily door: what the doors share is below them all; a door is a form, and no other's neighbour."""
    assert not {name for name in _imports(module) if name.startswith(("sift.api.v1", "sift.api.v2"))}


def test_doors_are_loaded_with_their_first_request() -> None:
    """contract: Operations: an idle worker has no memory for what nobody asked for."""
    others = [module for module in MODULES if not module.startswith("sift.api.doors")]
    assert not [name for module in others for name in _imports(module) if name.startswith("sift.api.doors")]


@pytest.mark.parametrize("module", [module for module in MODULES if _part(module) == "auth"])
def test_auth_knows_no_flag(module: str) -> None:
    """Its callers may be a command, a service or a page; flags are the command's business."""
    tree = ast.parse(MODULES[module].read_text())
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert not [text for text in texts if "--" in text]


def test_contributing_has_the_same_table() -> None:
    """CONTRIBUTING, The house: what each package may import, as it is enforced here."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| package \|.*?\n\n", text, re.DOTALL | re.MULTILINE)
    documented: dict[str, frozenset[str]] = {}
    for row in table.strip().splitlines()[2:]:
        packages, _, imports = (cell.strip() for cell in row.strip("| ").split(" | "))
        common, _, more = imports.partition("; ")
        for package in re.findall(r"`([\w.]+)`", packages):
            names = re.findall(r"`([\w.]+)`", common + (more if more.startswith(f"`{package}` also") else ""))
            documented[package] = EVERYTHING if imports == "everything" else frozenset(names) - {package}
    documented.pop("wsgi.py")
    enforced = {part: allowed - {"__init__"} for part, allowed in MAY_IMPORT.items() if not part.startswith("__")}
    assert documented == enforced
