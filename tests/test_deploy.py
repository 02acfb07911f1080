"""The pages about deployment: their commands and scripts are run, their units and rules are compared with the code."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

import polydom_builder.__main__
import polydom_runtime.__main__
from polydom_builder.bundling.packing import pack
from polydom_builder.signing.sign import sign_folder
from polydom_builder.signing.signing_key import SigningKey, make_keys
from polydom_runtime import load_bundle
from polydom_runtime.bundles.promise import Identity
from polydom_runtime.delivery.following_predictor import Reloads
from polydom_runtime.delivery.releases import current_digest
from polydom_runtime.learning.margin import Margin
from polydom_runtime.learning.summary import LearningSummary, MovedUnit
from polydom_runtime.records.metrics import Metrics
from polydom_runtime.records.metrics_files import prometheus_text
from tests.bundle_parts import changed
from tests.runtime.conftest import make_bundle, write

DEPLOY = Path(__file__).parents[1] / "docs" / "deploy"
UNITS = ("polydom-node.service", "polydom-install@.service")

PROGRAMS = {"polydom": polydom_builder.__main__, "polydom-node": polydom_runtime.__main__}

SENSOR = """
import numpy as np

def items():
    return [np.arange(8.0)] * 3
"""


class Machine:
    """A folder that stands for a machine: paths of the pages are below it, and systemd only writes down its orders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("var/lib/polydom", "etc/polydom", "run/systemd/system", "bin"):
            (folder / name).mkdir(parents=True)
        (folder / "bin" / "systemctl").write_text(f'#!/bin/sh\necho "$@" >> {folder}/orders\n')
        (folder / "bin" / "systemctl").chmod(0o755)

    def here(self, text: str) -> str:
        """Return a text of the pages with the paths of this machine."""
        return re.sub(r"(?<![\w.])/(var|etc|run)/", rf"{self.folder}/\1/", text)

    def run(self, script: str, *arguments: str, **environment: str) -> None:
        """Run a script of the pages."""
        env = {**os.environ, **environment, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-c", self.here(script), "sh", *arguments], cwd=self.folder, env=env, check=True)

    @property
    def orders(self) -> list[str]:
        return (self.folder / "orders").read_text().splitlines()

    @property
    def root(self) -> Path:
        return self.folder / "var" / "lib" / "polydom" / "releases"

    @property
    def delivered(self) -> Path:
        return self.folder / "var" / "cache" / "polydom" / "vibration.tar"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "machine")


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with two versions of a bundle and the module of the sensor."""
    monkeypatch.delenv("POLYDOM_PASSPHRASE", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sensor", raising=False)
    bundle, models = make_bundle()
    for version in ("6", "7"):
        write(tmp_path / f"vibration-{version}", changed(bundle, identity=Identity("vibration", version)), models)
    (tmp_path / "sensor.py").write_text((DEPLOY.parents[1] / "tests/runtime/node_space.py").read_text() + SENSOR)
    return tmp_path


@pytest.fixture
def packed(desk: Path) -> Path:
    """Return the packed and signed bundle; its public key is beside it."""
    sign_folder(desk / "vibration-7", SigningKey.from_file(make_keys(desk / "lab")[0]))
    pack(desk / "vibration-7", desk / "vibration.tar")
    return desk / "vibration.tar"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DEPLOY / page).read_text(), flags=re.DOTALL)


def commands(text: str) -> list[list[str]]:
    """Return the words of each line of a shell block."""
    lines = (shlex.split(line, comments=True) for line in text.replace("\\\n", " ").splitlines())
    return [words for words in lines if words]


def unit(name: str) -> dict[str, str]:
    """Return the section Service of a unit; the lines of a name that is there twice are put together."""
    values: dict[str, str] = {}
    section = (DEPLOY / name).read_text().partition("[Service]")[2].partition("[Install]")[0]
    for key, value in re.findall(r"^(\w+)=(.*)$", re.sub(r"\\\n\s*", "", section), re.MULTILINE):
        values[key] = f"{values[key]} {value}" if key in values else value
    return values


def started(name: str, **specifiers: str) -> list[str]:
    """Return the words that a unit starts, without env."""
    command = unit(name)["ExecStart"].removeprefix("/usr/bin/env ")
    return shlex.split(re.sub("%(.)", lambda found: specifiers[found[1]], command))


def test_the_way_of_the_overview_leads_to_the_node_and_back(
    desk: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command is run as it is written; but for the build, whose words are read only."""
    host, node = map(commands, blocks("README.md", "sh"))
    assert [words[1] for words in host] == ["keygen", "build", "compare", "sign", "pack"]
    assert [words[1] for words in node] == ["install", "run", "status", "rollback"]

    for program, *words in host:
        if words[0] == "build":
            PROGRAMS[program].parser(words).parse_args(words)
        else:
            assert PROGRAMS[program].main(words) == 0
    shutil.copy("lab.pub", machine.folder / "etc/polydom/lab.pub")
    sign_folder(desk / "vibration-6", SigningKey.from_file("lab.key"))
    monkeypatch.setenv("POLYDOM_TRUST", "lab.pub")
    assert PROGRAMS["polydom-node"].main(["install", "vibration-6", "--into", str(machine.root)]) == 0
    current = []
    for program, *words in node:
        assert PROGRAMS[program].main([machine.here(word) for word in words]) == 0
        current.append(current_digest(machine.root))

    old, new = (load_bundle(f"vibration-{version}").sha256 for version in "67")
    assert [new, new, new, old] == current


@pytest.mark.parametrize("page", sorted(page.name for page in DEPLOY.glob("*.md")))
def test_commands_of_the_pages_have_words_that_exist(page: str) -> None:
    for line in commands("".join(blocks(page, "sh"))):
        program, *words = line[3:] if line[:2] == ["sudo", "-u"] else line
        if (name := Path(program).name) in PROGRAMS and "..." not in words:
            PROGRAMS[name].parser(words).parse_args(words)


needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd")


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_systemd_finds_no_fault_in_a_unit(name: str) -> None:
    done = subprocess.run(["systemd-analyze", "verify", DEPLOY / name], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


def allowed(filter_name: str) -> set[str]:
    """Return the system calls of a filter of systemd, which may name others."""
    command = ["systemd-analyze", "syscall-filter", filter_name]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    names = [line.strip() for line in listed.stdout.splitlines()[1:] if "#" not in line]
    return {call for name in names for call in (allowed(name) if name.startswith("@") else [name])}


@needs_systemd
@pytest.mark.parametrize("name", UNITS)
def test_unit_lets_the_node_fork_share_memory_and_keep_time(name: str) -> None:
    """A call that a filter forbids would end the process."""
    workers = {"clone3", "memfd_create", "pidfd_open", "pidfd_send_signal", "prctl", "socketpair", "mmap"}
    in_time = {"mlockall", "sched_setaffinity", "sched_setscheduler", "setpriority"}

    assert workers | in_time | {"flock", "symlink", "rename"} <= allowed(unit(name)["SystemCallFilter"])


def test_command_of_the_service_is_one_that_exists() -> None:
    program, *words = started("polydom-node.service")

    arguments = PROGRAMS[program].parser(words).parse_args(words)
    assert arguments.follow
    assert (
        arguments.bundle,
        arguments.metrics_prometheus,
    ) == ("/var/lib/polydom/releases/current", "/run/polydom/sensor.prom")


def test_units_agree_about_user_folders_and_keys() -> None:
    node, install = map(unit, UNITS)

    for key in ("User", "StateDirectory", "WorkingDirectory", "Environment", "ProtectSystem", "NoNewPrivileges"):
        assert install[key].removesuffix(" TMPDIR=/var/tmp") == node[key]
    assert "POLYDOM_TRUST=/etc/polydom/lab.pub" in node["Environment"].split()


def test_install_unit_makes_the_delivered_bundle_the_current_one(
    packed: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.delivered.parent.mkdir(parents=True)
    shutil.copy(packed, machine.delivered)
    monkeypatch.setenv("POLYDOM_TRUST", "lab.pub")
    program, *words = started("polydom-install@.service", i="vibration")

    assert PROGRAMS[program].main([machine.here(word) for word in words]) == 0
    assert load_bundle("vibration-7").sha256 == current_digest(machine.root)


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="needs dpkg-deb")
def test_debian_package_delivers_and_starts_the_install(
    packed: Path, machine: Machine, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    (command,) = (words for words in commands("".join(blocks("delivery.md", "sh"))) if "make-deb.sh" in words)
    for name in ("1.deb", "2.deb"):
        subprocess.run([command[0], DEPLOY / command[1], *command[2:]], check=True, stdout=subprocess.DEVNULL)
        shutil.move("polydom-bundle-vibration_7_all.deb", name)

    assert Path("1.deb").read_bytes() == Path("2.deb").read_bytes()
    assert Path("1.deb").read_bytes()[8:26] == b"debian-binary   0 "
    fields = subprocess.run(["dpkg-deb", "-f", "1.deb"], capture_output=True, text=True, check=True).stdout
    assert [line.partition(": ")[2] for line in fields.splitlines()] == [
        "polydom-bundle-vibration",
        "7",
        "all",
        "Ann Lee <ann@example.org>",
        "Poly-Dom bundle vibration",
    ]
    subprocess.run(["dpkg-deb", "-x", "1.deb", machine.folder], check=True)
    subprocess.run(["dpkg-deb", "-e", "1.deb", desk / "control"], check=True)
    machine.run((desk / "control" / "postinst").read_text(), "configure", "")
    assert packed.read_bytes() == machine.delivered.read_bytes()
    assert machine.orders == ["start polydom-install@vibration"]
    (machine.folder / "run/systemd/system").rmdir()
    machine.run((desk / "control" / "postinst").read_text(), "configure", "")
    assert machine.orders == ["start polydom-install@vibration"]


@pytest.mark.parametrize("name", ["install.sh", "polydom"])
def test_scripts_of_rauc_and_mender_deliver_and_start_the_install(packed: Path, machine: Machine, name: str) -> None:
    (script,) = (text for text in blocks("delivery.md", "sh") if text.startswith(f"#!/bin/sh\n# {name}\n"))
    files = machine.folder / "given" / "files"
    files.mkdir(parents=True)
    shutil.copy(packed, files)

    if name == "polydom":
        machine.run(script, "SupportsRollback", str(files.parent))
        assert not machine.delivered.exists()
    machine.run(script, "ArtifactInstall", str(files.parent), RAUC_BUNDLE_MOUNT_POINT=str(files))
    assert packed.read_bytes() == machine.delivered.read_bytes()
    assert machine.orders == ["start polydom-install@vibration"]


def test_manifest_of_rauc_names_the_script_and_no_images() -> None:
    (text,) = blocks("delivery.md", "ini")
    manifest = configparser.ConfigParser()
    manifest.read_string(text)

    assert {"update", "bundle", "handler"} == set(manifest.sections())
    assert manifest["handler"]["filename"] == "install.sh"


def rules() -> list[dict[str, str | dict[str, str]]]:
    (group,) = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"]
    found: list[dict[str, str | dict[str, str]]] = group["rules"]
    return found


@pytest.fixture
def written() -> dict[str, set[str]]:
    """Return the labels of each metric that a node writes."""
    bundle, _ = make_bundle()
    moved = MovedUnit("hot", "mean", 1, 4.0, 0.0, 4e-5, 4.0)
    learning = LearningSummary.of(Margin(0.01), (moved,))
    watched = SimpleNamespace(
        bundle=bundle,
        deadline=0.01,
        failures={},
        out=frozenset(),
        reloads=Reloads(),
        learning=lambda: learning,
    )
    text = prometheus_text(Metrics(watched), {"node": "sensor"})
    metrics: dict[str, set[str]] = {}
    for name, pairs in re.findall(r"^(\w+)\{(.*)\} ", text, re.MULTILINE):
        metrics.setdefault(name, {"instance"}).update(re.findall(r'(\w+)="', pairs))
        metrics[name] |= {f"cause={cause}" for cause in re.findall('cause="(.*?)"', pairs)}
    return metrics


def test_alerts_ask_for_metrics_and_labels_that_a_node_writes(written: dict[str, set[str]]) -> None:
    for rule in rules():
        expression, annotations = str(rule["expr"]), rule["annotations"]
        metrics = re.findall(r"\b(polydom_\w+)(?:\{(.*?)\})?", expression)
        told = set(re.findall(r"\$labels\.(\w+)", str(annotations)))

        assert metrics or "node_textfile" in expression
        for name, chosen in metrics:
            assert {*told, *re.findall(r"(\w+)!?=", chosen)} <= written[name], rule["alert"]


def test_alerts_ask_for_outcomes_that_exist() -> None:
    outcomes = re.findall('outcome="(\\w+)"', str(rules()))

    assert outcomes == ["refused", "sent_back"]
    assert set(outcomes) <= set(Reloads._fields)


def test_alerts_ask_for_causes_that_exist(written: dict[str, set[str]]) -> None:
    causes = re.findall('cause="([a-z ]+)"', str(rules()))

    assert causes == ["beyond the margin"]
    assert {f"cause={cause}" for cause in causes} <= written["polydom_late_total"]


def test_alerts_look_at_the_file_that_the_service_writes() -> None:
    (pattern,) = re.findall(r'file=~"(.*?)"', str(rules()[2]["expr"]))
    _, *words = started("polydom-node.service")
    file = Path(words[words.index("--metrics-prometheus") + 1])

    for name in (str(file), file.name):
        assert re.fullmatch(pattern.replace("\\\\", "\\"), name)


def test_metrics_that_are_explained_are_written(written: dict[str, set[str]]) -> None:
    explained = re.findall(r"^\| `(polydom_\w+)` \|", (DEPLOY / "watching.md").read_text(), re.MULTILINE)

    assert len(explained) == 5
    assert {*explained} <= written.keys()


def test_every_alert_is_explained() -> None:
    explained = re.findall(r"^\| `(Polydom\w+)` \|", (DEPLOY / "watching.md").read_text(), re.MULTILINE)

    assert [rule["alert"] for rule in rules()] == explained
