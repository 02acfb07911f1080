"""No text of a file, and no name of one, controls the terminal that the host prints it on."""

import hashlib
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from polydom_builder.__main__ import main
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.exceptions import ProfileError
from polydom_runtime.frames import frame, frames
from polydom_runtime.measuring.costs_file import load_costs, start_of_frames
from polydom_runtime.records.recorder import FlightRecorder
from tests.builder.board import write_costs
from tests.hostile_texts import HOSTILE, controls, printed, spoil, spoilt_bundle
from tests.runtime.records.test_metrics import ANSWER, Watched, traced

LINES = {
    "inspect": "inspect B",
    "inspect the models": "inspect B --models",
    "inspect of a file": "inspect flight",
    "evaluate": "evaluate B tests.builder.task:space --items flight",
    "evaluate on no items": "evaluate built tests.builder.task:space --items flight",
    "compare bundles": "compare B built",
    "compare costs files": "compare a.costs a.costs --max-time-growth 1.1",
    "compare different kinds": "compare B a.costs",
    "verify": "verify built",
    "verify without a proof": "verify B",
    "costs": "costs a.costs",
    "costs of a file": "costs flight",
    "simulate": "simulate built --costs a.costs --count 10",
    "replay": "replay flight --bundle B",
    "report on a bundle": "report B --out page.html",
    "report on a flight": "report flight --out page.html",
    "report on a device": "report p.toml --out page.html",
    "keygen": "keygen pair",
    "pack": "pack built --out new.tar",
    "pack of a file": "pack flight --out new.tar",
    "sign": "sign built --key flight",
    "build": "build tests.builder.task:space --items flight --profile p.toml --out new --deadline 1ms",
    "unknown option": "costs a.costs --B",
}
"""Command lines, in which names are files in a folder."""


def spoilt_costs(file: Path) -> None:
    """Make a costs file with `HOSTILE` wherever a reader takes it."""
    start = start_of_frames(data := write_costs(file).read_bytes())
    documents: list[Any] = [document for _, document in frames(data, start)]

    def load() -> object:
        content = data[:start] + b"".join(map(frame, documents[:-1]))
        documents[-1]["sha256"] = hashlib.sha256(content).digest()
        file.write_bytes(content + frame(documents[-1]))
        return load_costs(file)

    documents[1]["warnings"] = [1, ["doubts"]]
    assert spoil(documents, load) > 0
    load()


@pytest.fixture(scope="module")
def hostile(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of hostile files, of a hostile name itself."""
    hostile = tmp_path_factory.mktemp("hostile") / HOSTILE
    hostile.mkdir()
    spoilt_bundle(hostile / "B")
    spoilt_costs(hostile / "a.costs")
    shutil.copytree(folder, hostile / "built")
    (hostile / "p.toml").write_text(f"{HOSTILE!a} = 1\n".replace("'", '"').replace("\\x", "\\u00"))
    with closing(FlightRecorder(hostile / "flight", Watched(), 4)) as recorder:
        recorder.add(ANSWER._replace(reason=HOSTILE, error=HOSTILE), traced(), 0)
    return hostile


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_no_command_prints_what_controls_a_terminal(
    line: str, hostile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = ("--costs", "--count", "--bundle", "--key", "--items", "--profile", "--out", "--max-time-growth")
    command, *words = line.split()
    plain = (*kept, "--deadline", "1ms", "10", "1.1", "tests.builder.task:space")
    text = printed(capsys, main, [command, *(word if word in plain else hostile / word for word in words)])

    assert text
    assert controls(text) == []


def test_a_profile_with_hostile_names_is_refused_in_printable_words(hostile: Path) -> None:
    with pytest.raises(ProfileError) as refused:
        DeviceProfile.load(hostile / "p.toml")

    assert controls(str(refused.value).replace(HOSTILE, "")) == []
