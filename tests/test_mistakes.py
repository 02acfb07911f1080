"""Mistakes at the terminal, of both command lines: the whole of what is said, and nothing else."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polydom_builder import __main__ as builder
from polydom_runtime import __main__ as runtime
from polydom_runtime import write_packed
from tests.runtime.conftest import make_bundle, write

SPACE = """
import numpy as np
from polydom_runtime import Feature, FeatureSpace

space = FeatureSpace([Feature("mean", lambda x: [x.mean()]), Feature("spread", lambda x: [x.std()])], size=len)

def windows():
    return [np.arange(5.0)]
"""
BUILD = "polydom build tones:space --items items.npz --deadline 1ms --out x.bundle"
RUN = "polydom-node run node.bundle tests.runtime.node_space:space --items items.npz"
BUILD_USAGE = "usage: polydom build MODULE:SPACE --items ITEMS --deadline DEADLINE --out OUT\n  ...\n"
RUN_USAGE = "usage: polydom-node run BUNDLE MODULE:SPACE --items ITEMS ...\n"


def of_build(message: str) -> str:
    return f"{BUILD_USAGE}polydom build: {message} For help: polydom build --help\n"


def of_run(message: str) -> str:
    return f"{RUN_USAGE}polydom-node run: {message} For help: polydom-node run --help\n"


MISTAKES: dict[str, str] = {
    "polydom": (
        "usage: polydom COMMAND ...\npolydom: COMMAND must be given. It is missing. For help: polydom --help\n"
    ),
    "polydom buidl tones:space": (
        "usage: polydom COMMAND ...\n"
        f"polydom: COMMAND must be one of {', '.join(builder.COMMANDS)}. Got buidl. Did you mean build? "
        "For help: polydom --help\n"
    ),
    "polydom build tones:space --items items.npz --dealine 5ms --out x.bundle": of_build(
        "There is no option --dealine. Did you mean --deadline?"
    ),
    "polydom build tones:space --items items.npz --out x.bundle": of_build("--deadline must be given. It is missing."),
    "polydom build tones:space --items items.npz --deadline 5 --out x.bundle": of_build(
        "--deadline must be a time with a unit, such as 2ms. Got 5. The units are ms, us, ns, s."
    ),
    "polydom build tones:space --items items.npz --deadline 10ms:1ms --out x.bundle": of_build(
        "--deadline must be rising, from the shortest deadline to the longest. Got 10ms:1ms. Write 1ms:10ms."
    ),
    "polydom build tones:space more --items items.npz --deadline 1ms --out x.bundle": of_build(
        "There must be no more words than the usage shows. Got more. Leave that out."
    ),
    "polydom build tones:space --items items.npz --deadline --out x.bundle": of_build(
        "--deadline must have a value. Got none."
    ),
    f"{BUILD} --cv five": of_build("--cv must be a whole number. Got five."),
    f"{BUILD} --lattice bestfirst": of_build(
        "--lattice must be one of by-gain, best-first, greedy, greedy-acc, greedy-cost. Got bestfirst. Did "
        "you mean best-first?"
    ),
    f"{BUILD} --quantile 99.9%": of_build("--quantile must be a number above 0, at most 1, such as 0.99. Got 99.9%."),
    f"{BUILD} --scoring acuracy": (
        "polydom: The scoring must be the name of a scorer of scikit-learn, such as accuracy, f1_macro or "
        "r2. Got acuracy. Did you mean accuracy?\n"
    ),
    f"{BUILD} --profile rasberry_pi_4b": (
        "polydom: A device must be one of generic_x86_64, raspberry_pi_3b_plus, raspberry_pi_4b, "
        "raspberry_pi_5, raspberry_pi_cm4, raspberry_pi_zero_2w. Got rasberry_pi_4b. Did you mean "
        "raspberry_pi_4b? Choose one, or the path of a .toml file of your device.\n"
    ),
    f"{BUILD} --profile node.bundle/x.costs": (
        "polydom: node.bundle/x.costs must be a readable costs file, with the times of your features on the "
        "device. No such file or directory. Run `polydom-node measure` there; a device profile has no such "
        "times.\n"
    ),
    "polydom build tones:space --items bare.npz --deadline 1ms --out x.bundle": (
        "polydom: HERE/bare.npz must give a label for each item: the array label, or (item, label).\n"
    ),
    "polydom build tones:spaec --items items.npz --deadline 1ms --out x.bundle": (
        "polydom: The module tones must have the name spaec. It does not have it. Did you mean space?\n"
    ),
    "polydom build tonse:space --items items.npz --deadline 1ms --out x.bundle": (
        "polydom: There must be a module tonse in HERE, or an installed one. There is none. Did you mean tones?\n"
    ),
    "polydom build tones.py --items items.npz --deadline 1ms --out x.bundle": (
        "polydom: A reference must be MODULE:NAME, and no path. Got tones.py. Write, for example, tones:NAME.\n"
    ),
    "polydom build tones:windows --items items.npz --deadline 1ms --out x.bundle": (
        "polydom: tones:windows must be a feature space, a FeatureSpace of features. Got a function. Did you "
        "mean tones:space?\n"
    ),
    f"{BUILD} --estimator sklearn.svm:SVCC": (
        "polydom: The module sklearn.svm must have the name SVCC. It does not have it. Did you mean SVC?\n"
    ),
    f"{BUILD} --estimator sklearn.svm:SVC": (
        "polydom: sklearn.svm:SVC must be an estimator with its settings. Got the class SVC. Write estimator "
        "= SVC() in a module of yours, and give MODULE:estimator.\n"
    ),
    f"{BUILD} --prior hihg": (
        "polydom: The prior must be one of label, abstain, high, low. Got hihg. Did you mean high?\n"
    ),
    "polydom evaluate node.bundle tones:space --items items.npz --planned --node python3": (
        "usage: polydom evaluate BUNDLE MODULE:SPACE --items ITEMS ...\n"
        "polydom evaluate: --node must not come with --planned. Leave one of them out. For help: polydom "
        "evaluate --help\n"
    ),
    "polydom simulate pi.costs --costs node.bundle": (
        "polydom: HERE/pi.costs must be a bundle folder. Got a file. Give the path of the folder, or copy it whole.\n"
    ),
    "polydom costs node.bundle": (
        "polydom: HERE/node.bundle must be a readable costs file, with the times of your features on the "
        "device. Is a directory. Run `polydom-node measure` there; a device profile has no such times.\n"
    ),
    "polydom-node runn node.bundle": (
        "usage: polydom-node COMMAND ...\n"
        f"polydom-node: COMMAND must be one of {', '.join(runtime.COMMANDS)}. Got runn. Did you mean run? "
        "For help: polydom-node --help\n"
    ),
    "polydom-node run node.bundle": of_run("MODULE:SPACE, --items must be given. They are missing."),
    f"{RUN} --policy strct": of_run("--policy must be one of anytime, strict. Got strct. Did you mean strict?"),
    f"{RUN} --overrun catchup --period 5ms": of_run(
        "--overrun must be skip, catch-up or latest. Got catchup. Did you mean catch-up?"
    ),
    f"{RUN} --cpu one": of_run("--cpu must be a whole number. Got one."),
    f"{RUN} --quiet=yes": of_run("--quiet must have no value. Got yes. Leave it out."),
    f"{RUN} --quiet --hold": of_run("--hold must not come with --quiet. Leave one of them out."),
    "polydom-node run node.bundle tones:space --items items.npz": (
        "polydom-node: The feature space must have the feature names, in order, of the bundle: mean, spread, "
        "ends. Got mean, spread. Use the module that the bundle was built with, or build again.\n"
    ),
    "polydom-node run no.bundle tones:space --items items.npz": (
        "polydom-node: HERE/no.bundle must be a bundle folder. Got no such folder. Give the path of the "
        "folder, or copy it whole.\n"
    ),
    "polydom-node run pi.costs tones:space --items items.npz": (
        "polydom-node: HERE/pi.costs must be a bundle folder. Got a file. Give the path of the folder, or "
        "copy it whole.\n"
    ),
    "polydom-node run node.bundle tests.runtime.node_space:space --items itmes.npz": (
        "polydom-node: itmes.npz must be a readable file, or MODULE:FUNCTION. No such file or directory. Did "
        "you mean items.npz?\n"
    ),
    "polydom-node certify node.bundle tests.runtime.node_space:space --items items.npz --load cpus:2": (
        "usage: polydom-node certify BUNDLE MODULE:SPACE --items ITEMS ...\n"
        "polydom-node certify: --load must be KIND:PROCESSES, several with commas, of the kinds cpu, memory, "
        "disk, such as cpu:2,memory:1. Got cpus:2. For help: polydom-node certify --help\n"
    ),
    "polydom-node measure tones:space --items raw.npz --out x.costs": (
        "polydom-node: HERE/raw.npz must have the arrays signal and offset. Got X, y. Write one with "
        "polydom_runtime.write_packed, or give MODULE:FUNCTION, a function that returns the items.\n"
    ),
    "polydom-node explain node.bundle tests.runtime.node_space:space --item items.npz": (
        "polydom-node: The item must be written ITEMS#i, such as test.npz#0. Got items.npz.\n"
    ),
    "polydom-node flight node.bundle": (
        "polydom-node: HERE/node.bundle must be a readable flight recording. Is a directory. Give what run "
        "--record wrote.\n"
    ),
}
"""What is said of each line; ``HERE`` is the current folder."""


def prepare(folder: Path) -> None:
    """Fill a folder with a module, a bundle, a costs file and items of several kinds."""
    (folder / "tones.py").write_text(SPACE)
    write(folder / "node.bundle", *make_bundle())
    shutil.copy(Path(__file__).parent / "golden" / "format_1.costs", folder / "pi.costs")
    items = [np.arange(5.0) + i for i in range(24)]
    write_packed(folder / "items.npz", items, ["high", "low"] * 12)
    write_packed(folder / "bare.npz", items)
    np.savez(folder / "raw.npz", X=np.ones((3, 5)), y=np.ones(3))


def main_of(line: str) -> object:
    """Run a line as a shell does, and return its exit code."""
    program, *words = line.split()
    main: Callable[[list[str]], int] = {"polydom": builder.main, "polydom-node": runtime.main}[program]
    sys.argv[0] = program
    try:
        return main(words)
    except SystemExit as e:
        return e.code


@pytest.mark.parametrize(("line", "said"), MISTAKES.items(), ids=MISTAKES.keys())
def test_mistake_is_told_in_plain_words_and_nothing_else_is(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "tones", raising=False)
    monkeypatch.setenv("COLUMNS", "80")

    code = main_of(line)
    told = capsys.readouterr()
    assert (told.err.replace(os.getcwd(), "HERE"), told.out) == (said, "")
    assert code == 2
