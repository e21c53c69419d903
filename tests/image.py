"""`make image-check`: build the image on a base made here, without a registry of images, and ask a service in it.

Needs root, and Debian's buildah and debootstrap. Packages come from wherever this machine's apt and pip have them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.real.programs import free_port
from tests.service import ROOT
from tests.waiting import wait_for

SUITE = "bookworm"
PACKAGES = "python3,python3-venv,ca-certificates"
# Where pip may be told of an index or a certificate of this machine's.
SETTINGS = ("/etc/pip.conf", "/etc/xdg/pip", str(Path.home() / ".config/pip"), "/etc/ssl/certs")
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Buildah:
    """buildah with a store of its own, which needs no kernel module, and no namespace but what chroot is."""

    def __init__(self, store: Path) -> None:
        self.options = ["buildah", "--root", str(store / "root"), "--runroot", str(store / "run")]
        self.options += ["--storage-driver", "vfs"]

    def __call__(self, *arguments: str) -> str:
        """Run a command and return what it prints."""
        done = subprocess.run([*self.options, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        return done.stdout.strip()


def base(buildah: Buildah, place: Path) -> None:
    """Make the image `base`: Debian with its Python."""
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(place)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    container = buildah("from", "scratch")
    buildah("copy", "--quiet", container, str(place), "/")
    buildah("commit", "--quiet", container, "localhost/base")


def build(buildah: Buildah) -> None:
    """Build the image `sift` on it."""
    mounts = [f"--volume={path}:{path}:ro" for path in SETTINGS if Path(path).exists()]
    what = ["--build-arg", "PYTHON=localhost/base", "--file", "deploy/Dockerfile", "--tag", "sift", "."]
    buildah("build", "--quiet", "--isolation", "chroot", "--format", "docker", *mounts, *what)


def serve(buildah: Buildah) -> dict[str, object]:
    """Run the image as it says of itself, with demo sources; return a search's answer."""
    container, port = buildah("from", "localhost/sift"), free_port()
    config = json.loads(buildah("inspect", container))["Docker"]["config"]
    settings = {"SIFT_DEMO": "on", "SIFT_AUTH": "off", "SIFT_BIND": f"127.0.0.1:{port}"}
    environ = [f"--env={name}={value}" for name, value in settings.items()]
    run = [*buildah.options, "run", "--isolation", "chroot", *environ, f"--user={config['User']}", container, "--"]
    assert config["Healthcheck"]
    with subprocess.Popen([*run, *config["Cmd"]]) as process:
        try:
            wait_for(lambda: is_healthy(port), 30)
            owner = subprocess.run(
                [*run, "stat", "-c", "%u %a", "/var/lib/sift"], stdout=subprocess.PIPE, text=True, check=True
            )
            assert owner.stdout.split() == ["10001", "700"], owner.stdout
            body = json.dumps({"query": "context manager"}).encode()
            with DIRECT.open(f"http://127.0.0.1:{port}/v1/search", body, timeout=20) as answer:
                found: dict[str, object] = json.load(answer)
                return found
        finally:
            stop(process)


def is_healthy(port: int) -> bool:
    """Return whether the service answers."""
    try:
        return bool(DIRECT.open(f"http://127.0.0.1:{port}/healthz", timeout=2).status == 200)
    except (OSError, urllib.error.URLError):
        return False


def stop(process: subprocess.Popen[bytes]) -> None:
    """End the service: buildah passes no signal on, so the service itself gets it."""
    for pid in below(process.pid):
        if b"gunicorn" in Path(f"/proc/{pid}/cmdline").read_bytes():
            subprocess.run(["kill", str(pid)], check=False)
            break
    process.wait(30)


def below(pid: int) -> Sequence[int]:
    """Return the processes below one, the nearest first."""
    children = [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*children, *(each for child in children for each in below(child))]


def main() -> int:
    """Make everything in a directory that is removed, and say what answered."""
    missing = [name for name in ("buildah", "debootstrap") if shutil.which(name) is None]
    if missing:
        print(f"make image-check needs {' and '.join(missing)} (Debian's packages)", file=sys.stderr)
        return 1
    with TemporaryDirectory(prefix="sift-image-") as directory:
        buildah = Buildah(Path(directory))
        base(buildah, Path(directory) / "base")
        build(buildah)
        answer = serve(buildah)
        results = answer["results"]
        assert isinstance(results, list)
        assert results
        print(f"the image serves: {len(results)} hits, sources {answer['sources_ok']}")
        buildah("rm", "--all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
