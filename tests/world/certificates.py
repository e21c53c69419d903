"""Throw-away certificate authorities, and the certificates that the servers show."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.world.namespace import program

LITERALS = ("8.8.4.4", "2606:4700::844")
"""The addresses that have a certificate."""
DOMAIN = "example.org"
_CONFIG = """
[ca]
default_ca = world
[world]
database = {directory}/index.txt
new_certs_dir = {directory}
serial = {directory}/serial
default_md = sha256
policy = names
copy_extensions = copy
unique_subject = no
x509_extensions = leaf
[names]
commonName = supplied
[leaf]
basicConstraints = critical,CA:FALSE
authorityKeyIdentifier = keyid
"""
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
_NAMES = f"DNS:*.{DOMAIN}"
LEAVES = {
    "good": ("system", _NAMES, ""),
    "certifi": ("certifi", _NAMES, ""),
    "expired": ("system", _NAMES, "20210101000000Z"),
    "unknown": ("stranger", _NAMES, ""),
    "wrong": ("system", "DNS:elsewhere.example.net", ""),
    "literal": ("system", ",".join(f"IP:{address}" for address in LITERALS), ""),
}
"""Each certificate: its authority, its names, and when it ended."""


def make(directory: Path) -> None:
    """Make `<authority>.pem` for each authority, and `leaf-<name>.pem`, with its key, for each certificate."""
    for authority in ("system", "certifi", "stranger"):
        _openssl(
            *("req", "-x509", *_KEY, "-days", "2", "-subj", f"/CN=only for tests: {authority}"),
            *("-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign"),
            *("-keyout", f"{directory}/{authority}.key", "-out", f"{directory}/{authority}.pem"),
        )
    (directory / "ca.cnf").write_text(_CONFIG.format(directory=directory))
    (directory / "index.txt").write_text("")
    (directory / "serial").write_text("01\n")
    for name, (authority, names, end) in LEAVES.items():
        key, request, certificate = (directory / f"leaf-{name}.{part}" for part in ("key", "csr", "crt"))
        _openssl(
            *("req", "-new", *_KEY, "-subj", f"/CN={name}", "-addext", f"subjectAltName={names}"),
            *("-keyout", f"{key}", "-out", f"{request}"),
        )
        period = ("-startdate", "20200101000000Z", "-enddate", end) if end else ("-days", "2")
        _openssl(
            *("ca", "-batch", "-notext", "-config", f"{directory}/ca.cnf", *period, "-in", f"{request}"),
            *("-cert", f"{directory}/{authority}.pem", "-keyfile", f"{directory}/{authority}.key"),
            *("-out", f"{certificate}"),
        )
        (directory / f"leaf-{name}.pem").write_bytes(key.read_bytes() + certificate.read_bytes())


def _openssl(*arguments: str) -> None:
    subprocess.run([program("openssl"), *arguments], check=True, capture_output=True)
