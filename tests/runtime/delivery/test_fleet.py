"""A fleet takes an update while processes are killed, disks fail and the power goes."""

import errno
import os
import random
import shutil
from pathlib import Path

import pytest

from polydom_runtime.bundles.bundle import Bundle
from polydom_runtime.delivery.install import install
from polydom_runtime.exceptions import UpdateError
from tests.draws import draws
from tests.runtime.delivery.disk import Disk, failing, kill
from tests.runtime.delivery.nodes import current_in, installed

NODES, STEPS = draws(160, 1000), 45
"""The number of nodes, and one that is above the calls that an install makes."""


def test_no_node_of_a_fleet_ends_without_a_sound_release(tmp_path: Path, bundles: list[Bundle]) -> None:
    """Without a fault it has the new one, otherwise the old or the new one; after another try, all have the new one."""
    choose = random.Random(1)
    old, new = bundles[1].sha256, bundles[2].sha256
    start = tmp_path / "start"
    start.mkdir()
    installed(start / "root", bundles[1])
    found: list[tuple[str, str]] = []
    for number in range(NODES):
        kind = ("none", "kill", "power", "error")[number % 4]
        node = tmp_path / "node"
        shutil.copytree(start, node, symlinks=True, copy_function=os.link)  # no file is changed where it is
        left = updated(node, kind, choose, bundles[2])
        found.append((kind, current_in(left / "root")))
        if found[-1] != (kind, new):
            install(bundles[2], left / "root")
            assert new == current_in(left / "root")
        shutil.rmtree(tmp_path / "left", ignore_errors=True)
        shutil.rmtree(node)

    assert {new} == {digest for kind, digest in found if kind == "none"}
    for kind in ("kill", "power", "error"):
        assert {old, new} == {digest for k, digest in found if k == kind}, kind


def updated(node: Path, kind: str, choose: random.Random, bundle: Bundle) -> Path:
    """Install a bundle on a node with a fault at a random step, and return the folder that is left."""
    if kind == "none":
        install(bundle, node / "root", keep=2)
        return node
    fault = failing(choose.choice([errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])) if kind == "error" else kill
    with pytest.MonkeyPatch.context() as patch:
        disk = Disk(node, patch, watched=kind == "power")
        try:
            with disk.struck(choose.randrange(STEPS), fault, after=choose.random() < 0.5, lasting=kind == "error"):
                install(bundle, node / "root", keep=2)
        except UpdateError:
            assert kind == "error"
        left = disk.after_power_cut(node.with_name("left"), choose) if kind == "power" else node
    disk.close()
    return left
