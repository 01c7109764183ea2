"""`tfprof.record` without any framework: what it refuses, and what it leaves alone."""

import json
import subprocess
import sys

import pytest

import tfprof


def test_a_block_without_a_framework_writes_nothing(tmp_path):
    with pytest.raises(tfprof.Error, match="nothing ran that can be recorded .no framework was loaded."):
        with tfprof.record(tmp_path / "run"):
            pass
    assert list(tmp_path.iterdir()) == []


def test_the_exception_of_the_program_comes_first(tmp_path, capsys):
    with pytest.raises(ZeroDivisionError):
        with tfprof.record(tmp_path / "run"):
            1 / 0
    assert "was not kept" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_not_overwritten(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="not a recording; name another directory"):
        with tfprof.record(tmp_path):
            pass
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_recording_with_other_files_beside_it_is_kept(tmp_path):
    (tmp_path / "recording.json").write_text(json.dumps({"files": ["../notes.txt"]}))
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(FileExistsError, match="holds other files"):
        with tfprof.record(tmp_path):
            pass
    assert (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"steps": 0}, "steps: expected a whole number, at least 1"), ({"warmup": -1}, "warmup: expected a whole number")],
)
def test_wrong_numbers(tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        tfprof.record(tmp_path / "run", **settings)


def test_two_recordings_at_once(tmp_path):
    with pytest.raises(RuntimeError, match="is open; close it first"):
        with tfprof.record(tmp_path / "a"):
            with tfprof.record(tmp_path / "b"):
                pass
    # Afterwards, another can begin.
    with pytest.raises(tfprof.Error):
        with tfprof.record(tmp_path / "c"):
            pass


def run_script(tmp_path, *words):
    command = [sys.executable, "-m", "tfprof", "run", *words]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)


def test_a_script_runs_as_it_would_alone(tmp_path):
    (tmp_path / "helper.py").write_text("WORD = 'found'")
    (tmp_path / "script.py").write_text("import sys, helper; print(sys.argv, __name__, helper.WORD)")
    done = run_script(tmp_path, "script.py", "--steps", "3")
    assert done.stdout == "['script.py', '--steps', '3'] __main__ found\n"
    assert done.returncode == 1
    assert "nothing ran that can be recorded" in done.stderr
    assert not (tmp_path / "tfprof-run").exists()


def test_a_missing_script(tmp_path):
    done = run_script(tmp_path, "nothing.py")
    assert (done.returncode, done.stderr) == (1, "tfprof: nothing.py: no such script\n")


def test_directories_with_one_profile_open_as_ever(tmp_path):
    # The list of a recording names files, not paths.
    (tmp_path / "recording.json").write_text(json.dumps({"files": ["../a.xplane.pb", "/b.xplane.pb"]}))
    with pytest.raises(tfprof.Error, match="nothing to read in this directory"):
        tfprof.open(tmp_path)
