"""The flags of `sift search`: generated from the fields' descriptions, validated early, listed and completed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from sift.cli.flags import FLAGS, takes
from sift.search.fields import FIELDS

REFUSED = {
    "k below": ("--k", "0"),
    "k above": ("--k", "51"),
    "k fraction": ("--k", "8.5"),
    "score above": ("--min-score", "1.1"),
    "score text": ("--min-score", "high"),
    "score nan": ("--min-score", "nan"),
    "mode": ("--domains-mode", "only"),
    "alias case": ("--time-range", "D"),
    "topic case": ("--topic", "News"),
    "topic empty": ("--topic", ""),
    "start form": ("--start-date", "2026-9-1"),
    "start with time": ("--start-date", "2026-09-01T00:00:00"),
    "end no day": ("--end-date", "2026-02-29"),
    "end digits": ("--end-date", "٢٠٢٦-09-01"),
}


@pytest.mark.parametrize(("flag", "value"), REFUSED.values(), ids=REFUSED)
def test_value_no_request_may_hold_is_refused_before_anything_is_sent(
    call: Any, service: Any, flag: str, value: str
) -> None:
    """A value outside a closed set, a bound or a form is wrong usage, and the flag is named."""
    done = call("search", "x", flag, value)
    assert (done.returncode, done.stdout, service.asked) == (2, "", [])
    assert f"'{flag}'" in done.stderr


def test_value_at_a_bound_is_sent(call: Any, service: Any) -> None:
    """The bounds themselves are allowed, and 0 is sent as given."""
    for flag, k, score in (("--k", "1", "0"), ("-k", "50", "1")):
        assert call("search", "x", flag, k, "--min-score", score).returncode == 0
        assert service.body == {"query": "x", "k": int(k), "min_score": float(score)}


def test_alias_of_a_word_is_accepted_and_sent_in_full(call: Any, service: Any) -> None:
    """The command accepts what the service accepts, though it lists one spelling only."""
    assert call("search", "x", "--time-range", "w").returncode == 0
    assert service.body == {"query": "x", "time_range": "week"}


def test_help_lists_choices_bounds_and_defaults(call: Any) -> None:
    """Help says what a flag takes; rules name flags, never fields."""
    text = " ".join(call("search", "--help").stdout.split())
    for field in FIELDS:
        assert not field.choices or f"{FLAGS[field.name]} [{'|'.join(field.choices)}]" in text
    assert "-k, --k N How many hits to return. [default: (8); 1<=x<=50]" in text
    assert "[0<=x<=1]" in text
    assert "not before --start-date, and not with --time-range" in text
    assert "`" not in text
    assert "_" not in text.replace("SIFT_", "")


def test_every_field_but_the_queries_and_digest_has_a_flag() -> None:
    """Whatever can be asked over HTTP can be asked from a shell; a flag without effect would mislead."""
    assert {field.name for field in FIELDS} - FLAGS.keys() == {"query", "queries", "digest"}


def test_switch_sets_the_opposite_of_the_default(call: Any, service: Any) -> None:
    """A boolean's flag takes no value, and is not sent unless given."""
    assert call("search", '"x"', "--no-rerank", "--exact-match").returncode == 0
    assert service.body == {"query": '"x"', "rerank": False, "exact_match": True}


TAKES = {
    "k": "a whole number from 1 to 50",
    "min_score": "a number from 0 to 1",
    "topic": "general, news or finance",
    "include_domains": "a host name such as openai.com, at most 20",
    "include_domains_mode": "restrict or prefer; only with --include-domain",
    "time_range": "day, week, month or year; not with --start-date or --end-date",
    "end_date": "YYYY-MM-DD; not before --start-date, and not with --time-range",
    "exact_match": 'no value; every query needs a "quoted phrase", and no odd quote',
}


@pytest.mark.parametrize(("name", "words"), TAKES.items(), ids=TAKES)
def test_field_the_service_refuses_is_explained_in_flags(call: Any, service: Any, name: str, words: str) -> None:
    """One line names the flag, what it takes, and the rules between flags."""
    assert takes(name) == words
    service.answers({"error": "invalid search", "hint": name}, 400)
    assert call("search", "x").stderr == f"sift: {FLAGS[name]}: {words}\n"


COMPLETIONS = {
    "topic": ("sift search x --topic ", ["general", "news", "finance"]),
    "range": ("sift search --time-range m", ["month"]),
    "mode": ("sift search --domains-mode ", ["restrict", "prefer"]),
    "format": ("sift fetch x --format ", ["markdown", "text"]),
    "format of a batch": ("sift batch submit --wait --format ", ["markdown", "text"]),
    "results": ("sift batch results x --only ", ["ok", "failed"]),
    "commands": ("sift batch c", ["cancel"]),
    "class": ("sift key new --class ", ["restricted", "fleet"]),
}


@pytest.mark.parametrize(("line", "words"), COMPLETIONS.values(), ids=COMPLETIONS)
def test_shell_completes_the_values_of_a_closed_set(run: Any, line: str, words: list[str]) -> None:
    """The completions of a closed set are exactly the values that are accepted."""
    place = str(len(line.split(" ")) - 1)
    done = run(_SIFT_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=place)
    assert (done.returncode, done.stdout.split()) == (0, [f"plain,{word}" for word in words])


SLOW = ("marshmallow", "requests", "flask", "cachetools", "urllib3", "trafilatura", "sqlite3")


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--help"], ["search", "--help"], ["search", "x", "--topic", "sport"]),
        *(["fetch", "--help"], ["fetch", "x", "--start", "x"], ["guard", "check", "--help"]),
        *(["batch", "--help"], ["batch", "submit", "x", "--top", "0"], ["batch", "status", "x"]),
        *(["store", "import", "--help"],),
    ],
    ids=" ".join,
)
def test_help_and_usage_errors_load_nothing_slow(arguments: list[str]) -> None:
    """Commands that do not ask the service load neither its libraries nor an HTTP client."""
    code = (
        "import sys, sift.cli\n"
        f"sys.argv = ['sift', *{arguments!r}]\n"
        "try:\n    sift.cli.main()\n"
        f"finally:\n    print('loaded:', *{{*{SLOW}}} & {{*sys.modules}})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "Usage: sift" in done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == "loaded:"
