"""A fleet of 64 hosts, and its partial as the processes of this machine make it."""

from __future__ import annotations

import os
import pathlib
import sys

import hosts
import pytest

import tfprof

CORPUS = pathlib.Path(os.environ.get("TFPROF_CORPUS", pathlib.Path(__file__).parents[2] / "corpus"))


@pytest.fixture(scope="session")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return [str(path) for path in hosts.write(CORPUS, tmp_path_factory.mktemp("fleet"))]


@pytest.fixture(scope="session")
def expected(paths: list[str]) -> bytes:
    """The partial of the fleet, merged one after the other in this process."""
    native = sys.modules["tfprof._native"]
    return native.merge([native.part([path]) for path in paths])


@pytest.fixture(scope="session")
def damaged(paths: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str], bytes]:
    """The fleet with three hosts missing and two damaged, the names of the five, and the partial of the others."""
    directory = tmp_path_factory.mktemp("damaged")
    given, bad = list(paths), []
    for at in (3, 17, 40):
        given[at] = str(directory / f"missing-{at}.xplane.pb")
        bad.append(given[at])
    for at in (8, 21):
        given[at] = str(directory / f"damaged-{at}.xplane.pb")
        pathlib.Path(given[at]).write_bytes(b"\x00\xff not a trace" * 9)
        bad.append(given[at])
    native = sys.modules["tfprof._native"]
    rest = native.merge([native.part([path]) for path in given if path not in bad])
    return given, bad, rest


def check_damaged(engine: object, damaged: tuple[list[str], list[str], bytes]) -> None:
    """Missing and damaged hosts are named; the others are right."""
    given, bad, rest = damaged
    with pytest.warns(tfprof.DataWarning):
        found = tfprof.fleet(given, engine)
    assert len(found.lost) == len(bad)
    for path in bad:
        assert any(path in sentence for sentence in found.lost), (path, found.lost)
        assert any(path in sentence for sentence in found.warnings), (path, found.warnings)
    with pytest.raises(tfprof.MissingData, match="59 of 64 files"):
        tfprof.fleet(given, engine, require_hosts=60)
    native = sys.modules["tfprof._native"]
    without = native.merge([rest, *[native.lost(path, reason) for path, reason in found.reasons.items()]])
    assert found.part == without
