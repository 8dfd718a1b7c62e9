import time
from pathlib import Path

import pytest

from conformance.history.records import OperatorEventKind
from conformance.record.logs import OperatorLog

LOG, PANIC = OperatorEventKind.LOG, OperatorEventKind.PANIC


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "operator.log"


def add(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_lines_come_once_and_when_they_are_whole(path: Path) -> None:
    log = OperatorLog(path)
    assert log.read() == []
    add(path, "one\ntw")
    assert [(e.kind, e.text) for e in log.read()] == [(LOG, "one")]
    add(path, "o\n")
    assert [e.text for e in log.read()] == ["two"]


@pytest.mark.parametrize(
    "line",
    [
        "panic: runtime error: invalid memory address or nil pointer dereference",
        "fatal error: concurrent map writes",
        '2026-11-30T06:45:12Z\tERROR\tObserved a panic\t{"controller": "dgd"}',
        "[signal SIGSEGV: segmentation violation code=0x1]",
    ],
)
def test_a_crash_of_a_go_program_is_a_panic(path: Path, line: str) -> None:
    add(path, f"before\n{line}\ngoroutine 1 [running]:\n")
    kinds = [event.kind for event in OperatorLog(path).read()]
    assert kinds == [LOG, PANIC, LOG]


def test_a_line_that_only_speaks_of_panics_is_none(path: Path) -> None:
    add(path, "INFO recovered, no panic: fine\nthis is no fatal error: really\n")
    assert {event.kind for event in OperatorLog(path).read()} == {LOG}


def test_a_line_has_its_own_time_but_none_in_the_future(path: Path) -> None:
    add(
        path,
        "2026-11-30T06:45:12.250Z INFO a\n"
        '{"ts":"2026-11-30T07:45:12.250+01:00"}\n'
        "2026-11-30T06:45:12Z INFO whole seconds\n"
        "2199-01-01T00:00:00.5Z INFO future\n"
        "2026-99-99T00:00:00.5Z INFO nonsense\n"
        "no time\n",
    )
    before = time.time()
    at = [event.at for event in OperatorLog(path).read()]
    exact = 1796021112.25
    assert at[:3] == [min(exact, at[3]), min(exact, at[3]), min(exact + 0.75, at[3])]
    assert all(before <= checkpoint <= time.time() for checkpoint in at[3:])


def test_tokens_in_the_log_are_masked(path: Path) -> None:
    add(path, "Authorization: Bearer abcdefghijklmnop\n-----BEGIN EC PRIVATE KEY-----")
    add(path, "MHcCAQEE-----END EC PRIVATE KEY-----\n")
    text = OperatorLog(path).read()[0].text + "".join(e.text for e in OperatorLog(path).read())
    assert "abcdefghijklmnop" not in text
    assert "MHcCAQEE" not in text
