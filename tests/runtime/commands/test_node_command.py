"""The command polydom-node, in this process and in the node's own environment."""

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polydom_runtime.__main__ import COMMANDS, main
from polydom_runtime.bundles.model_entry import Estimate
from polydom_runtime.bundles.promise import Assumption
from polydom_runtime.commands.options import add_options
from polydom_runtime.device.calibration import reference_models
from polydom_runtime.device.device_profile import DeviceProfile
from polydom_runtime.device.probe import probe
from polydom_runtime.items.packing import write_packed
from polydom_runtime.learning.learned_file import read_learned
from polydom_runtime.measuring import unit_bench
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.prediction import Prediction
from polydom_runtime.predictor import Predictor
from tests.bundle_parts import changed
from tests.runtime.bundles.test_model_entry import write_two_models_of_one_set
from tests.runtime.conftest import make_bundle, write

SPACE = "tests.runtime.node_space:space"


known_probe, known_models = cache(probe), cache(reference_models)


@pytest.fixture(autouse=True)
def short_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure shortly, and try onnxruntime and make the reference models once for all tests."""
    monkeypatch.setattr(unit_bench, "CHUNK_SECONDS", 0.02)
    monkeypatch.setattr(unit_bench, "reference_models", known_models)
    monkeypatch.setattr("polydom_runtime.commands.measure.probe", known_probe)
    monkeypatch.setattr("polydom_runtime.diagnosis.doctor.probe", known_probe)


@pytest.fixture
def items(tmp_path: Path) -> Path:
    write_packed(tmp_path / "items.npz", [np.arange(n, dtype=np.float32) for n in (3, 40, 900)], ["yes", "no", "no"])
    return tmp_path / "items.npz"


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_run_prints_an_answer_a_line_and_a_summary(
    bundle_folder: Path, items: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(bundle_folder), SPACE, "--items", str(items), "--deadline", "3600s"]) == 0

    *answers, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [a["label"] for a in answers] == ["yes", "yes", "yes"]
    assert [a["features"] for a in answers] == [["mean", "spread", "ends"]] * 3
    summary = last["summary"]
    assert (summary["items"], summary["missed"], summary["oversized"]) == (3, 0, 0)
    assert summary["accuracy"] == pytest.approx(1 / 3)
    assert summary["reasons"] == {"planned": 3}


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
def test_answers_that_are_held_back_are_printed_at_the_end(
    bundle_folder: Path, items: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed_by_then = []
    run = Predictor.predict_one

    def predict_one(self: Predictor, item: Any, *, arrived_ns: int | None = None) -> Prediction:
        printed_by_then.append(capsys.readouterr().out)
        return run(self, item, arrived_ns=arrived_ns)

    monkeypatch.setattr(Predictor, "predict_one", predict_one)
    command = ["run", str(bundle_folder), SPACE, "--items", str(items), "--deadline", "3600s", "--hold"]
    assert main(command) == 0

    assert set(printed_by_then) == {""}
    *answers, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [a["item"] for a in answers] == [0, 1, 2]
    assert last["summary"]["items"] == 3


@pytest.mark.filterwarnings("ignore:The bundle was built for deadlines")
@pytest.mark.parametrize("hold", [(), ("--hold",)])
def test_run_prints_one_document(
    hold: tuple[str, ...], bundle_folder: Path, items: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", str(bundle_folder), SPACE, "--items", str(items), "--deadline", "3600s", "--json", *hold]
    assert main(command) == 0

    result = json.loads(capsys.readouterr().out)["result"]
    assert result["summary"]["items"] == 3
    assert [a["label"] for a in result["answers"] or ()] == (["yes"] * 3 if hold else [])
    assert main([*command, "--metrics-json", "-"]) == 2
    assert json.loads(capsys.readouterr().out)["error"]["type"] == "RecordingError"


def test_info_says_what_is_inside(bundle_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(bundle_folder)]) == 0
    said = capsys.readouterr().out

    assert "mean, spread, ends" in said
    assert "100 µs to 200 µs" in said
    assert "plans use the worst case of each feature's time" in said
    assert "times measured: hot; cold was never measured\n" in said
    assert "hot: the shortest deadline for more than the prior: not replayed" in said


def test_info_counts_the_models_of_each_estimator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(write_two_models_of_one_set(tmp_path / "two.bundle"))]) == 0
    said = capsys.readouterr().out

    assert "estimators: 2 models of lines, 2 models of trees\n" in said


def test_info_says_what_was_chosen_and_what_deadlines_buy(capsys: pytest.CaptureFixture[str]) -> None:
    golden = Path(__file__).parents[2] / "golden" / "format_1.bundle"
    assert main(["info", str(golden)]) == 0
    said = capsys.readouterr().out

    assert (
        "hot, at 100 µs: plans use the worst case of each feature's time; a feature starts only if the 0.9 quantile"
        in said
    )
    assert "hot, at 200 µs: plans use the 0.8 quantile" in said
    assert "times measured: hot; rehearsed after 20 ms asleep, cold after 50 ms asleep" in said
    assert "  hot          200 µs  0.800  0.2 %        0.800       0.2 %   25 %  spread+mean" in said
    assert ", cold (after 50 ms asleep); promised is at most 0.5 % late:" in said


def test_info_has_a_line_for_the_deadline_of_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    golden = Path(__file__).parents[2] / "golden" / "format_1.bundle"
    assert main(["info", str(golden), "--deadline", "150us"]) == 0
    said = capsys.readouterr().out

    assert re.search(r"^  hot +150 µs +0.500 to 0.800 .*\(between the lines beside it\)$", said, re.MULTILINE)


@pytest.mark.parametrize(
    ("changes", "score", "promise"),
    [
        (
            {"scoring": "f1_macro", "tolerance": 0.01, "assumption": Assumption(0.01, 19, 2, 0.0305)},
            "f1_macro",
            "no set that fits scores more than the one chosen, as far as the tolerance holds; the tolerance of 0.01 "
            "does not hold for 2 of 19 pairs of trained sets, which differ by up to 0.0305; sets that were not trained "
            "may be better by as much: a tolerance of 0.031 would hold",
        ),
        (
            {},
            "not stated",
            "no set that fits scores more than the one chosen, as far as the tolerance holds; it is not stated whether "
            "the tolerance of 0 does",
        ),
    ],
)
def test_info_says_what_is_promised_about_which_score(
    changes: dict[str, Any], score: str, promise: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle, models = make_bundle()
    assert main(["info", str(write(tmp_path / "b", changed(bundle, **changes), models))]) == 0
    said = capsys.readouterr().out.splitlines()

    assert f"score: {score}" in said
    assert f"promise: {promise}" in said


def test_info_says_how_certain_the_best_score_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, models = make_bundle()
    entries = tuple(m._replace(estimate=Estimate(m.accuracy + 0.02, m.accuracy - 0.1, 0.95)) for m in bundle.models)

    for name, one in (("old.bundle", bundle), ("new.bundle", replace(bundle, models=entries))):
        assert main(["info", str(write(tmp_path / name, one, models))]) == 0

    old, new = (line for line in capsys.readouterr().out.splitlines() if line.startswith("best model: "))
    assert old == "best model: 0.900, as measured, although it was chosen for this score; no interval is stated"
    assert new == (
        "best model: 0.900; on new items of the same kind 0.800 to 0.950, with 90 % confidence; measured 0.920, with "
        "the luck of a model that was chosen for this score"
    )


def test_info_says_what_the_bundle_is(capsys: pytest.CaptureFixture[str]) -> None:
    golden = Path(__file__).parents[2] / "golden" / "format_1.bundle"

    assert main(["info", str(golden)]) == 0

    assert capsys.readouterr().out.splitlines()[:6] == [
        "bundle: golden 1.2",
        "built: 2026-01-31T12:00:00Z, by The team",
        f"SHA-256 of the index: {(golden / 'index.sha256').read_text().split()[0]}",
        f"SHA-256 of the data: {'1' * 64}",
        f"fingerprint of the features' code: 2:{'2' * 64}",
        "libraries: polydom-builder 0.2.0, scikit-learn 1.7.2",
    ]


def test_info_says_what_a_bundle_does_not_state(bundle_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(bundle_folder)]) == 0

    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["bundle: no name", "built: not stated"]
    assert said[5] == "libraries: not stated"


def test_info_says_that_greedy_promises_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle, models = make_bundle()
    greedy = changed(bundle, sequences=((0, 1, 2),), shipped=(), intervals=(), median_size=10.0)

    assert main(["info", str(write(tmp_path / "greedy.bundle", greedy, models))]) == 0
    assert "promise: none about the score, since the search was a greedy one\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "no_such_folder"],
        ["run", "BUNDLE", "tests.runtime.node_space:nothing", "--items", "ITEMS"],
        ["run", "BUNDLE", "tests.runtime.node_space:other", "--items", "ITEMS"],
        ["run", "BUNDLE", SPACE, "--items", "no_such_file.npz"],
        ["run", "BUNDLE", SPACE, "--items", "ITEMS", "--deadline", "1ns"],
        ["tune", "BUNDLE", SPACE, "--items", "ITEMS", "--seconds", "0.1"],
    ],
)
def test_user_errors_are_one_line_and_exit_code_2(
    arguments: list[str], bundle_folder: Path, items: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {"BUNDLE": str(bundle_folder), "ITEMS": str(items)}

    assert main([paths.get(a, a) for a in arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("polydom-node: ")
    assert error.count("\n") == 1


def measured(items: Path, out: Path, *more: str) -> int:
    short = ("--seconds", "0.1", "--period", "1ms")
    return main(["measure", SPACE, "--items", str(items), "--out", str(out), *short, *more])


@pytest.mark.onnxruntime
def test_measure_writes_costs_and_a_profile_of_this_machine(
    items: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, profile = tmp_path / "here.costs", tmp_path / "here.toml"
    assert measured(items, out, "--profile-out", str(profile)) == 0

    samples = load_costs(out)
    assert samples.sizes.tolist() == [3.0, 40.0, 900.0]
    assert samples.machine["onnx"]["opset"] >= 17
    assert set(DeviceProfile.load(profile).calibration) <= set(samples.kernels)
    assert {q.provenance for q in DeviceProfile.load(profile).calibration.values()} == {"measured"}
    assert "3 sizes from 3 to 900" in capsys.readouterr().out
    assert set(samples.items) == {"hot", "rehearsed", "cold"}
    assert samples.pauses.watched > 0.0
    assert DeviceProfile.load(profile).cold_seconds is not None


def test_measure_sleeps_for_a_period(items: Path, tmp_path: Path) -> None:
    assert measured(items, tmp_path / "here.costs", "--period", "3ms") == 0
    assert load_costs(tmp_path / "here.costs").items["cold"].asleep == 0.003
    assert measured(items, tmp_path / "other.costs", "--period", "61s") == 2


def test_measure_goes_on_after_a_kill(items: Path, tmp_path: Path) -> None:
    """Nothing of what a killed process has written is lost."""
    out, part = tmp_path / "here.costs", tmp_path / "here.costs.part"
    command = [sys.executable, "-m", "polydom_runtime", "measure", SPACE, "--items", str(items), "--out", str(out)]
    command += ["--seconds", "600", "--quantile", "0.99999", "--period", "1ms"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not (part.exists() and part.stat().st_size > 40_000):
            time.sleep(0.02)
        process.kill()
    before = part.read_bytes()

    assert measured(items, out) == 2
    assert measured(items, out, "--resume") == 0
    assert out.read_bytes().startswith(before[:40_000])
    assert load_costs(out).n_rounds > 10


def test_measure_refuses_a_range_that_the_items_do_not_cover(
    items: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measured(items, tmp_path / "here.costs", "--sizes", "3:5000") == 2
    assert "cover the sizes 3 to 5000" in capsys.readouterr().err


def test_tune_writes_what_it_learned_and_run_and_info_use_it(
    bundle_folder: Path, items: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tune, file = ["tune", str(bundle_folder), SPACE, "--items", str(items)], tmp_path / "pi.learned"
    assert main([*tune, "--out", str(file), "--seconds", "0.2", "--period", "1ms"]) == 0
    said = capsys.readouterr().out
    assert "learned on" in said
    assert f"--learned {file}" in said
    assert read_learned(file).circumstances.period == 0.001

    assert main(["info", str(bundle_folder), "--learned", str(file)]) == 0
    assert "learned on" in capsys.readouterr().out
    run = ["run", str(bundle_folder), SPACE, "--items", str(items), "--deadline", "200us", "--learned", str(file)]
    assert main(run) == 0
    assert "answers showed here" in json.loads(capsys.readouterr().out.splitlines()[-1])["summary"]["costs"]
    assert main([*run, "--supervised"]) == 0
    assert "answers showed here" in json.loads(capsys.readouterr().out.splitlines()[-1])["summary"]["costs"]


def test_run_writes_what_it_learned_and_begins_with_it_the_next_time(
    bundle_folder: Path, items: Path, tmp_path: Path
) -> None:
    file = tmp_path / "node.learned"
    run = ["run", str(bundle_folder), SPACE, "--items", str(items), "--deadline", "200us", "--learned", str(file)]
    assert main(run) == 0
    assert not file.exists()  # back to back there is no slack

    assert main([*run, "--period", "5ms"]) == 0
    first = read_learned(file)
    assert main([*run, "--period", "5ms"]) == 0
    second = read_learned(file)

    assert first.learned.answers > 0
    assert second.learned.answers > first.learned.answers
    assert first.learned.began == second.learned.began
    assert second.circumstances.period == 0.005


def test_learned_file_of_no_use_is_said_and_replaced(
    bundle_folder: Path, items: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "node.learned"
    file.write_bytes(b"cut")
    run = ["run", str(bundle_folder), SPACE, "--items", str(items), "--deadline", "200us", "--learned", str(file)]

    assert main([*run, "--period", "5ms"]) == 0
    assert caplog.records[0].getMessage().startswith(f"plans begin with the shipped times. {file}")
    assert read_learned(file).learned.answers > 0


def test_tune_file_stands_beside_its_bundle_unless_told_otherwise(bundle_folder: Path, items: Path) -> None:
    assert main(["tune", str(bundle_folder), SPACE, "--items", str(items), "--seconds", "0.2", "--period", "1ms"]) == 0
    assert bundle_folder.with_suffix(".learned").is_file()


def test_doctor_prints_findings_and_its_exit_code_tells(
    bundle_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["doctor", "--bundle", str(bundle_folder), "--json"])
    findings = {f["check"]: f for f in json.loads(capsys.readouterr().out)["result"]["findings"]}

    assert code == int(any(f["level"] == "problem" for f in findings.values()))
    assert "all 3 models run" in findings["bundle"]["found"]


@pytest.mark.parametrize("fate", ["import os; os.kill(os.getpid(), 4)", "raise ImportError('no such wheel')"])
def test_doctor_survives_an_onnxruntime_that_does_not(fate: str, tmp_path: Path) -> None:
    (tmp_path / "onnxruntime.py").write_text(fate)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))}
    done = subprocess.run(
        [sys.executable, "-m", "polydom_runtime", "doctor"], env=environment, capture_output=True, text=True
    )

    assert done.returncode == 1
    problem = done.stdout.splitlines()[0]
    assert "onnxruntime" in problem
    assert "SIGILL" in problem or "no such wheel" in problem


def test_help_imports_neither_onnxruntime_nor_a_command() -> None:
    script = (
        "import contextlib, sys\n"
        "from polydom_runtime.__main__ import main\n"
        "with contextlib.suppress(SystemExit): main(['--help'])\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    *text, modules = done.stdout.splitlines()
    loaded = set(modules.split())

    assert all(any(line.startswith(f"    {name} ") for line in text) for name in COMMANDS)
    assert "onnxruntime" not in loaded
    assert not loaded & {f"polydom_runtime.commands.{name}" for name in COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_describes_each_of_its_arguments(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = argparse.ArgumentParser()
    add_options(command, importlib.import_module(f"polydom_runtime.commands.{name.replace('-', '_')}").OPTIONS)

    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    said = "".join(capsys.readouterr().out.split())
    for argument in command._actions:
        assert argument.help
        assert "".join(argument.help.split()) in said


def node_python() -> str:
    """Return the Python of an environment with nothing but the runtime's wheel, which the Makefile makes."""
    default = Path(__file__).parents[3] / ".venv-node" / "bin" / "python"
    return os.environ.get("POLYDOM_NODE_PYTHON", str(default))


def test_node_environment_holds_the_three_dependencies_only() -> None:
    script = (
        "import importlib.metadata as m, importlib.util as u;"
        "print(sorted(d.name.lower() for d in m.distributions() if d.name.lower() not in ('pip', 'setuptools')));"
        "print([n for n in ('sklearn', 'skl2onnx', 'onnx', 'scipy', 'polydom_builder') if u.find_spec(n)])"
    )
    done = subprocess.run([node_python(), "-c", script], capture_output=True, text=True, check=True, cwd="/")
    installed, forbidden = map(eval, done.stdout.splitlines())

    pulled_in = {"flatbuffers", "packaging", "protobuf", "coloredlogs", "humanfriendly", "sympy", "mpmath"}
    assert set(installed) - pulled_in == {"numpy", "onnxruntime", "msgpack", "polydom-runtime"}
    assert forbidden == []


def test_node_environment_runs_a_bundle(bundle_folder: Path, items: Path) -> None:
    command = [node_python(), "-m", "polydom_runtime", "run", str(bundle_folder), "node_space:space"]
    done = subprocess.run(
        [*command, "--items", str(items), "--deadline", "3600s"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
    )

    assert json.loads(done.stdout.splitlines()[-1])["summary"]["items"] == 3


def test_importing_the_runtime_imports_nothing_else() -> None:
    """Not even onnxruntime, which takes half of the memory of a small node: only a model that needs it does."""
    modules = "polydom_runtime, polydom_runtime.__main__, polydom_runtime.measuring.measure"
    script = f"import sys, {modules}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}

    assert {"numpy", "msgpack"} <= loaded
    assert not loaded & {"onnxruntime", "sklearn", "scipy", "skl2onnx", "onnx", "joblib", "tqdm", "polydom_builder"}
