"""The command polydom."""

import argparse
import importlib
import json
import re
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from polydom_builder import GreedySearch, PolyDomSearch
from polydom_builder.__main__ import COMMANDS, main, parser
from polydom_builder.commands.arguments import deadlines
from polydom_builder.commands.build import search_for
from polydom_builder.exceptions import BusyMachineWarning, TrainingError
from polydom_runtime import Predictor, load_bundle
from polydom_runtime.__main__ import main as node_main
from polydom_runtime.commands.options import add_options
from polydom_runtime.items.packing import write_packed
from polydom_runtime.measuring.cost_samples import Pauses
from polydom_runtime.measuring.costs_file import load_costs
from polydom_runtime.measuring.journal import write_costs
from tests.builder import task
from tests.builder.searches import LOGISTIC, fit, search
from tests.builder.shared_memory import shared_memory
from tests.runtime.bundles.test_model_entry import write_two_models_of_one_set
from tests.runtime.conftest import make_bundle, write

SPACE = "tests.builder.task:space"
CACHED = ["--cv", "2", "--cache", str(shared_memory())]


@pytest.fixture
def items(tmp_path: Path) -> Path:
    write_packed(tmp_path / "items.npz", *task.items(90))
    return tmp_path / "items.npz"


@pytest.mark.parametrize("source", ["FILE", "tests.builder.task:pairs"])
def test_build_writes_a_bundle(
    source: str, items: Path, board_costs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With costs that are measured here, and with those of a board."""
    out, cache = tmp_path / "built.bundle", tmp_path / "cache"
    command = ["build", SPACE, "--items", source.replace("FILE", str(items)), "--deadline", "1s", "--out", str(out)]
    device = ["--profile", str(board_costs)] if source != "FILE" else []
    named = ["--name", "bats", "--bundle-version", "1.2", "--built-by", "Ada"]
    few = ["--alpha", "1.5", "--cv", "2", "--max-trainings", "5", "--busy"]  # another program may run
    assert main([*command, *few, "--cache", str(cache), *device, *named]) == 0

    said = capsys.readouterr().out
    assert "an index of " in said
    assert "\nexpected answers hot (items back to back)" in said
    assert re.search(r"\nhot +1 s  0\.", said)
    predictor = Predictor.load(out, task.space)
    assert predictor.deadline == 1.0
    identity = predictor.bundle.identity
    assert (identity.name, identity.version, identity.builder) == ("bats", "1.2", "Ada")


@pytest.mark.parametrize("lattice", ["best-first", "greedy-acc"])
def test_build_with_confidence_lets_the_node_abstain(
    lattice: str, items: Path, board_costs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [SPACE, "--items", str(items), "--deadline", "1s"]
    command = [*given, "--out", str(tmp_path / "sure"), "--profile", str(board_costs), "--lattice", lattice]
    assert main(["build", *command, *CACHED, "--max-trainings", "6", "--confidence"]) == 0
    capsys.readouterr()
    assert node_main(["run", str(tmp_path / "sure"), *given, "--abstain-below", "0.999", "--quiet"]) == 0

    assert json.loads(capsys.readouterr().out)["summary"]["abstained"] == 90


@pytest.mark.parametrize(("prior", "number"), [("abstain", 3), ("loud", 1)])
def test_build_takes_the_answer_where_no_model_is_in_time(
    prior: str, number: int, items: Path, board_costs: Path, tmp_path: Path
) -> None:
    given = [SPACE, "--items", str(items), "--deadline", "1s", "--out", str(tmp_path / "x"), "--prior", prior]
    assert main(["build", *given, "--profile", str(board_costs), *CACHED, "--max-trainings", "6"]) == 0

    assert load_bundle(tmp_path / "x").prior.number == number


def test_times_of_a_busy_machine_are_refused_before_the_training_or_said_first(
    items: Path, board_costs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = "the machine was busy: the measurement got 25 % of a processor"
    samples = load_costs(board_costs)
    costs = replace(samples, pauses=Pauses.of(1.0, [3.0]), machine={**samples.machine, "warnings": [busy]})
    write_costs(tmp_path / "busy.costs", costs)
    given = [SPACE, "--items", str(items), "--deadline", "1s", "--out", str(tmp_path / "x"), *CACHED]
    command = ["build", *given, "--profile", str(tmp_path / "busy.costs"), "--max-trainings", "6"]

    with monkeypatch.context() as without:
        without.setattr(PolyDomSearch, "_find", lambda search: pytest.fail("It was trained."))
        assert main(command) == 2
    refused = capsys.readouterr().err
    with pytest.warns(BusyMachineWarning, match=busy):
        assert main([*command, "--busy"]) == 0
    said = capsys.readouterr().out

    assert f"{busy[1:]}. Measure again on an idle machine, or give --busy." in refused
    assert said.startswith(f"warning: {busy}\n")
    assert load_bundle(tmp_path / "x").times.origin.notes == (busy,)


def test_build_hands_over_groups_and_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signals, labels = task.items(90)
    groups = [k // 9 for k in range(90)]
    weights = [k / 2 for k in range(90)]
    write_packed(tmp_path / "items.npz", signals, labels, groups, weights)
    given: list[Any] = []

    def fit(self: Any, items: Any, labels: Any, groups: Any, costs: Any, sample_weight: Any) -> None:
        given.extend((groups, sample_weight))
        raise TrainingError("Seen.")

    monkeypatch.setattr(PolyDomSearch, "fit", fit)
    command = ["build", SPACE, "--items", str(tmp_path / "items.npz"), "--deadline", "1s"]
    assert main([*command, "--out", str(tmp_path / "x.bundle")]) == 2

    assert given == [groups, weights]


NEEDED = {"--items": "x.npz", "--deadline": "1s", "--out": "x.bundle", "--estimator": "tests.builder.searches:LOGISTIC"}
OF_ANY_SEARCH: dict[str, tuple[str, str, Any]] = {
    "--deadline": ("1ms:10ms", "deadline", (0.001, 0.01)),
    "--estimator": ("lines=tests.builder.searches:LOGISTIC", "estimator", {"lines": LOGISTIC}),
    "--scoring": ("f1_macro", "scoring", "f1_macro"),
    "--cv": ("7", "cv", 7),
    "--sizes": ("10:500", "size_range", (10.0, 500.0)),
    "--max-features": ("8", "limits__max_features", 8),
    "--max-trainings": ("9", "limits__max_trainings", 9),
    "--max-seconds": ("60", "limits__max_seconds", 60.0),
    "--quantile": ("0.9", "quantile", 0.9),
    "--confidence": ("", "answers__confidence", True),
    "--jobs": ("2", "n_jobs", 2),
    "--cache": ("kept", "memory", "kept"),
}
"""A value of each option on the command line, and the parameter of the search that it is for, with its value."""

OF_A_PROMISE: dict[str, tuple[str, str, Any]] = {
    "--alpha": ("1.1", "promise__alpha", 1.1),
    "--tolerance": ("auto", "promise__tolerance", "auto"),
    "--max-models": ("3", "limits__max_models", 3),
    "--max-memory": ("20MB", "limits__max_memory", "20MB"),
    "--slowdown": ("3", "node__slowdown", 3.0),
    "--early-stop": ("0.01", "answers__early_stop", 0.01),
    "--correction": ("none", "noise__correction", None),
}
OF_NO_SEARCH = {"--items", "--out", "--sign", "--costs-of-errors", "--profile"}
OF_NO_SEARCH |= {"--busy", "--prior", "--lattice", "--name", "--bundle-version", "--built-by", "--help"}


def search_of(changes: dict[str, str]) -> PolyDomSearch | GreedySearch:
    """Return the search that a command line asks for; an option without a value is a switch."""
    words = [f"{name}={value}" if value else name for name, value in (NEEDED | changes).items()]
    return search_for(parser(["build"]).parse_args(["build", SPACE, *words]), task.space)


def asked(**changes: str) -> dict[str, Any]:
    """Return the parameters of the search that a command line asks for, those in records by the names of both."""
    found: dict[str, Any] = search_of(changes).get_params(deep=False)
    records = {name: value for name, value in found.items() if is_dataclass(value)}
    fields = {f"{name}__{field}": x for name, value in records.items() for field, x in vars(value).items()}
    return {name: value for name, value in found.items() if name not in records} | fields


@pytest.mark.parametrize("lattice", ["best-first", "greedy"])
def test_each_option_of_a_build_reaches_its_parameter_of_the_search_and_no_other(lattice: str) -> None:
    options = OF_ANY_SEARCH | (OF_A_PROMISE if lattice == "best-first" else {})
    usual = asked(**{"--lattice": lattice})

    for option, (text, name, value) in options.items():
        assert usual[name] != value
        assert asked(**{"--lattice": lattice, option: text}) == usual | {name: value}, option


@pytest.mark.parametrize(
    ("words", "kind", "is_proven"),
    [
        ({}, PolyDomSearch, False),
        ({"--lattice": "by-gain"}, PolyDomSearch, False),
        ({"--lattice": "best-first"}, PolyDomSearch, True),
        ({"--tolerance": "auto"}, PolyDomSearch, True),
        ({"--lattice": "greedy"}, GreedySearch, False),
    ],
)
def test_lattice_and_slacks_choose_the_search(words: dict[str, str], kind: type[object], is_proven: bool) -> None:
    found = search_of(words)

    assert isinstance(found, kind)
    assert (getattr(found, "promise", None) is not None) == is_proven


def test_every_option_of_a_build_is_known_to_reach_the_search_or_not_to_be_for_it() -> None:
    command = argparse.ArgumentParser()
    add_options(command, importlib.import_module("polydom_builder.commands.build").OPTIONS)

    named = {max(action.option_strings, key=len) for action in command._actions if action.option_strings}
    assert named <= OF_ANY_SEARCH.keys() | OF_A_PROMISE.keys() | OF_NO_SEARCH
    assert OF_ANY_SEARCH.keys() | OF_A_PROMISE.keys() <= named


def some_weighted() -> list[Any]:
    return [("x", "a", None, 1.0), ("x", "b"), ("x", "b", 4)]


def test_build_needs_weights_for_all_items_or_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source = "tests.builder.commands.test_command:some_weighted"
    command = ["build", SPACE, "--items", source, "--deadline", "1s", "--out", str(tmp_path / "x.bundle")]

    assert main(command) == 2
    assert "must give a group for each item, or for none. Got none for 2." in capsys.readouterr().err


@pytest.mark.parametrize(
    "changes",
    [
        {"--items": "no_such_file.npz"},
        {"--items": "tests.runtime.test_items:labelled"},
        {"--deadline": "0s"},
        {"--alpha": "0.5"},
        {"--max-memory": "20 parsecs"},
        {"--max-memory": "10B"},
        {"--estimator": "sklearn.linear_model:NoSuchModel"},
        {"--out": "/proc/no/such.bundle"},
    ],
    ids=lambda c: next(iter(c)) + next(iter(c.values())),
)
def test_user_errors_are_one_line_and_exit_code_2(
    changes: dict[str, str], items: Path, board_costs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = {"--items": str(items), "--deadline": "1s", "--out": str(tmp_path / "x.bundle"), "--alpha": "2"}
    arguments |= {"--profile": str(board_costs), "--cv": "2", "--max-trainings": "4"}
    pairs = [word for pair in (arguments | changes).items() for word in pair]

    assert main(["build", SPACE, *pairs]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("polydom: ")


def test_malformed_deadline_is_a_usage_error() -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["build", SPACE, "--items", "x.npz", "--deadline", "soon", "--out", "x"])
    assert deadlines("1ms:4ms") == (0.001, 0.004)


def test_verify_command_tells_a_sound_bundle_from_an_altered_proof(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fit(search(tolerance=0.1)).export(tmp_path / "b")
    fit(search(tolerance=0.1, alpha=1.2)).export(tmp_path / "other")

    assert main(["verify", str(tmp_path / "b")]) == 0
    assert "all as promised" in capsys.readouterr().out
    (tmp_path / "b" / "proof.npz").write_bytes((tmp_path / "other" / "proof.npz").read_bytes())
    assert main(["verify", str(tmp_path / "b")]) == 1
    assert "alpha" in capsys.readouterr().out
    (tmp_path / "b" / "proof.npz").unlink()
    assert main(["verify", str(tmp_path / "b")]) == 2


def test_command_builds_greedy_and_limited_bundles(
    board_costs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    common = ["build", "tests.builder.task:space", "--items", "tests.builder.task:pairs", "--deadline", "20ms:40ms"]
    common += [*CACHED, "--quantile", "0.9", "--profile", str(board_costs)]

    assert main([*common, "--lattice", "greedy-cost", "--out", str(tmp_path / "greedy")]) == 0
    assert "an index of 1 sequences" in capsys.readouterr().out
    assert main([*common, "--lattice", "greedy", "--max-trainings", "6", "--out", str(tmp_path / "one-by-one")]) == 0
    assert "the search scored 6 sets (32 sets are possible, with the empty one)" in capsys.readouterr().out
    limited = ["--max-trainings", "5", "--tolerance", "0.05", "--sizes", "8:1500", "--max-features", "4"]
    limited += ["--correction", "none", "--scoring", "balanced_accuracy"]
    assert main([*common, *limited, "--out", str(tmp_path / "limited")]) == 0
    said = capsys.readouterr().out
    assert "the search scored 5 sets (8 sets are possible, with the empty one)" in said
    assert "an index of 1 feature set, " in said
    assert {None} == {model.estimate for model in load_bundle(tmp_path / "limited").models}
    assert main(["inspect", str(tmp_path / "greedy")]) == 0


def test_command_tells_sets_that_the_search_scored_from_prefixes_that_only_the_export_trained(
    board_costs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    task = ["tests.builder.task:space", "--items", "tests.builder.task:pairs", "--deadline", "20ms:40ms", *CACHED]
    few = ["--profile", str(board_costs), "--quantile", "0.9", "--max-trainings", "2", "--correction", "none"]

    assert main(["build", *task, *few, "--out", str(tmp_path / "few")]) == 0

    said, bundle = capsys.readouterr().out, load_bundle(tmp_path / "few")
    assert [len(bundle.models[k].order) for k in bundle.stored.shipped] == [4]  # the search scored sets of 0 and 5
    assert "an index of 1 feature set (1 of them trained by the export alone, as prefixes), 4 models" in said
    assert "the search scored 2 sets (32 sets are possible, with the empty one)" in said


LIMITS = ("--max-models=3", "--max-memory=1kB")
OPTIONS = ("--alpha=1.1", "--tolerance=auto", "--slowdown=3", "--early-stop=0.01", "--correction=none", *LIMITS)


@pytest.mark.parametrize("option", OPTIONS)
def test_options_of_the_promise_are_refused_with_a_search_that_makes_none(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = ["tests.builder.task:space", "--items", "tests.builder.task:pairs", "--deadline", "20ms:40ms"]

    assert main(["build", *task, "--lattice", "greedy", option, "--out", str(tmp_path / "b")]) == 2
    assert f"{option.partition('=')[0]} must be with a search that promises" in capsys.readouterr().err


def test_inspect_shows_candidates_costs_and_staircase(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(folder)]) == 0
    text = capsys.readouterr().out
    assert main(["inspect", str(folder), "--json", "--deadline", "100us"]) == 0
    document = json.loads(capsys.readouterr().out)["result"]

    assert "staircase at 50 µs" in text
    assert "expected answers hot (items back to back)" in text
    assert "hot: the shortest deadline for more than the prior: " in text
    assert pytest.approx(50e-6) in [row["deadline"] for row in document["outlook"]["hot"]]
    assert "staircase at 400 µs" in text
    assert list(document["staircases"]) == ["100 µs"]
    assert document["candidates"][0]["features"] == []
    assert all(len(c["weights"]) == 6 for c in document["candidates"])
    prior, *others = document["candidates"]
    assert (prior["measured"], prior["interval"]) == (None, None)
    for c in others:
        low, high = c["interval"]
        assert low < c["accuracy"] < high
        assert f"  {c['accuracy']:.3f}  {low:.3f} to {high:.3f}  {c['cost']}" in text
        assert c["accuracy"] <= c["measured"]


def test_build_says_what_limits_left_out_and_inspect_shows_what_models_buy(
    board_costs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    common = ["build", "tests.builder.task:space", "--items", "tests.builder.task:pairs", "--deadline", "100us:40ms"]
    common += [*CACHED, "--quantile", "0.9", "--profile", str(board_costs), "--out", str(tmp_path / "b")]

    assert main([*common, "--max-models", "2", "--max-memory", "1MB"]) == 0
    said = capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "b"), "--models"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert main(["inspect", str(tmp_path / "b"), "--json"]) == 0

    price = "models were left out to keep 2 models and 1 MB and the device's memory of 1074 MB: the mean score over"
    assert price in said
    assert price in table[-2]
    assert table[0] == "models, bytes of their files, mean score over 32 sizes and 16 deadlines, if chosen well"
    assert [int(line.split()[0]) for line in table[2:5]] == [1, 2, 2]
    assert table[4].endswith("  shipped") or table[3].endswith("  shipped")
    document = json.loads(capsys.readouterr().out)["result"]["models"]
    assert (
        document["shipped"]["models"],
        document["limits"],
    ) == (2, {"max_models": 2, "max_bytes": 10**6, "memory_bytes": 1 << 30})
    assert document["left out"]


def test_inspect_says_where_nothing_is_stated_of_models_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(write(tmp_path / "b", *make_bundle())), "--models"]) == 0

    assert capsys.readouterr().out == "models: it is not stated whether models were left out\n"


@pytest.mark.parametrize("number", ["0", "two", "-1", "1.5"])
def test_a_number_of_models_that_is_none_is_a_usage_error(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["build", SPACE, "--items", "x.npz", "--deadline", "1s", "--out", "x", f"--max-models={number}"])

    assert f"must be a whole number of at least 1. Got {number}." in capsys.readouterr().err


def test_inspect_names_the_estimators_of_candidates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(write_two_models_of_one_set(tmp_path / "two.bundle"))
    assert main(["inspect", folder]) == 0
    text = capsys.readouterr().out
    assert main(["inspect", folder, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["result"]

    assert "mean+spread+ends of lines\n" in text
    assert "mean+spread+ends of trees\n" in text
    assert [c.get("estimator") for c in document["candidates"]] == [None, "lines", "trees", "lines", "trees"]


def test_inspect_says_what_the_bundle_is(capsys: pytest.CaptureFixture[str]) -> None:
    golden = str(Path(__file__).parents[2] / "golden" / "format_1.bundle")
    assert main(["inspect", golden]) == 0
    text = capsys.readouterr().out
    assert main(["inspect", golden, "--json"]) == 0

    assert text.startswith("bundle: golden 1.2\nbuilt: 2026-01-31T12:00:00Z, by The team\n")
    promise = "with 95 % certainty, no set that fits is better than the chosen one by more than 0.02 at any size"
    assert f"promise: {promise}" in text
    document = json.loads(capsys.readouterr().out)["result"]
    assert document["promise"].startswith(promise)
    identity = document["identity"]
    assert (identity["name"], identity["data"], len(identity["sha256"])) == ("golden", "1" * 64, 64)


def test_inspect_refuses_a_deadline_that_is_too_short(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(folder), "--deadline", "1us"]) == 2
    assert capsys.readouterr().err.startswith("polydom: The deadline must be at least 5 µs")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_describes_each_of_its_arguments(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = argparse.ArgumentParser()
    add_options(command, importlib.import_module(f"polydom_builder.commands.{name}").OPTIONS)

    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    said = "".join(capsys.readouterr().out.split())
    for argument in command._actions:
        assert argument.help
        assert "".join(argument.help.split()) in said
