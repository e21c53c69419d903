"""The files of numbers, compared with those of the installed prometheus_client."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from prometheus_client.mmap_dict import MmapedDict, mmap_key

from sift.metrics.families import SEARCHES, UP
from sift.metrics.sheet import Sheet

LABELS = ({"cache": "hit"}, {"cache": "a longer one"}, {"b": "é", "a": "two"})


def read(path: Path) -> dict[str, tuple[float, float]]:
    """Return what prometheus_client reads in a file."""
    return {key: (value, at) for key, value, at, _ in MmapedDict.read_all_values_from_file(str(path))}


def test_file_is_read_by_prometheus_client_as_it_was_written(tmp_path: Path) -> None:
    """contract: Metrics: key, value and time of each series, whatever the length of its key."""
    sheet = Sheet()
    places = [sheet.add(SEARCHES, labels, value=float(number), at=9.0) for number, labels in enumerate(LABELS)]
    numbers = sheet.open(tmp_path / "counter_0.db", keeps=False)
    numbers[places[1]] += 0.5
    names = [
        mmap_key("sift_searches", SEARCHES.name, list(each), list(each.values()), SEARCHES.help) for each in LABELS
    ]
    assert read(tmp_path / "counter_0.db") == dict(zip(names, [(0.0, 9.0), (1.5, 9.0), (2.0, 9.0)], strict=True))
    assert [path.name for path in tmp_path.iterdir()] == ["counter_0.db"]


def test_file_is_the_one_that_prometheus_client_writes(tmp_path: Path) -> None:
    """contract: Metrics: byte for byte, as far as it is used."""
    ours, theirs = tmp_path / "ours.db", tmp_path / "theirs.db"
    sheet, file = Sheet(), MmapedDict(str(theirs))
    for labels in LABELS:
        sheet.add(UP, labels, value=3.0, at=4.0)
        file.write_value(mmap_key(UP.name, UP.name, list(labels), list(labels.values()), UP.help), 3.0, 4.0)
    file.close()
    sheet.open(ours, keeps=False)
    assert theirs.read_bytes().startswith(ours.read_bytes())


def test_file_of_another_worker_goes_on_unless_its_series_are_others(tmp_path: Path) -> None:
    """contract: Metrics: what a worker that died has counted is not lost; gauges begin anew."""
    path = tmp_path / "counter_0.db"

    def opened(*, keeps: bool, more: bool = False) -> memoryview[float]:
        sheet = Sheet()
        for labels in LABELS if more else LABELS[:2]:
            sheet.add(SEARCHES, labels)
        return sheet.open(path, keeps=keeps)

    place = Sheet().add(SEARCHES, LABELS[0])
    opened(keeps=True)[place] = 7.0
    assert opened(keeps=True)[place] == 7.0
    assert opened(keeps=True, more=True)[place] == 0.0
    opened(keeps=True, more=True)[place] = 8.0
    assert opened(keeps=False, more=True)[place] == 0.0


def test_number_outlives_the_process_that_is_killed(tmp_path: Path) -> None:
    """contract: Metrics: nothing has to be written back for the others to see it."""
    code = (
        "import os, signal, sys; from pathlib import Path; from sift.metrics.families import UP\n"
        "from sift.metrics.sheet import Sheet\n"
        "sheet = Sheet(); place = sheet.add(UP, {}); numbers = sheet.open(Path(sys.argv[1]), keeps=False)\n"
        "numbers[place] += 5; os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = tmp_path / "counter_0.db"
    done = subprocess.run([sys.executable, "-c", code, path], check=False, timeout=60, env={**os.environ})
    assert done.returncode == -9
    assert [value for value, _ in read(path).values()] == [5.0]
