"""Tables of options: switches, values, and options that need another one."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

import pytest

from polydom_runtime.commands.options import Group, Needed, Option, add_options, check_options, make_absolute
from polydom_runtime.commands.run_options import LOOP, OPTIONS, PUBLISHING
from polydom_runtime.exceptions import LoopError, PolyDomError

TABLE = (
    Option("file FILE", "a file"),
    Option("--trial N", "a number", int, 3),
    Group("", Option("--quiet", "say nothing"), Option("--no-rehearse", "do not rehearse")),
    Group("more", Option("--policy", "a choice", choices=("a", "b"), needs=Needed("--trial", "the trial", LoopError))),
)


def parsed(*words: str, table: tuple[Option | Group, ...] = TABLE) -> Namespace:
    parser = ArgumentParser()
    add_options(parser, table)
    return parser.parse_args(words)


def test_option_without_a_value_is_a_switch_and_no_turns_something_off() -> None:
    usual = {"file": "f", "trial": 3, "quiet": False, "rehearse": True, "policy": None}

    assert vars(parsed("f")) == usual
    assert vars(parsed("f", "--trial", "5", "--quiet")) == usual | {"trial": 5, "quiet": True}
    assert vars(parsed("f", "--no-rehearse", "--policy", "b")) == usual | {"rehearse": False, "policy": "b"}


def test_options_of_a_group_without_a_title_exclude_each_other() -> None:
    with pytest.raises(SystemExit):
        parsed("f", "--quiet", "--no-rehearse")


def needing() -> list[Option]:
    groups = [option.options if isinstance(option, Group) else (option,) for option in OPTIONS]
    return [option for options in groups for option in options if option.needs]


@pytest.mark.parametrize("option", needing(), ids=lambda option: option.name)
def test_option_that_needs_another_one_is_refused_without_it(option: Option) -> None:
    given = {"--overrun": ["latest"], "--priority": ["9"], "--mqtt-qos": ["2"], "--spin": ["1us"]}
    value = given.get(option.name, [] if "action" in option.settings else ["7"])
    command = ["bundle", "m:space", "--items", "-", option.name]
    arguments = parsed(*command, *value, table=OPTIONS)
    assert option.needs

    with pytest.raises(
        PolyDomError, match=f"^{option.name} must come with {option.needs.name}, .* {option.needs.name} is missing.$"
    ):
        check_options(arguments, OPTIONS)
    setattr(arguments, option.needs.name.lstrip("-"), 1.0)
    check_options(arguments, OPTIONS)


def test_all_options_of_publishing_and_of_a_loop_need_it_but_for_rehearsals() -> None:
    free = {option.name for option in (*LOOP.options, *PUBLISHING.options) if not option.needs}

    assert free == {"--period", "--no-rehearse", "--mqtt"}


def test_names_of_files_are_absolute_and_nothing_else_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the user that is imported later may change the folder of the process."""
    monkeypatch.chdir(tmp_path)
    Path("items.npz").touch()
    options = (
        *(Option("bundle BUNDLE", ""), Option("--items ITEMS", ""), Option("--others ITEMS", "")),
        *(Option("--out NAME.html", "", Path), Option("--metrics FILE", ""), Option("--device NAME.costs|NAME", "")),
        Group(
            "more", Option("--trust KEYS", "", action="append"), Option("--cpu N", "", int), Option("--record FILE", "")
        ),
    )
    parser = ArgumentParser()
    add_options(parser, options)
    words = "link/../a.bundle --items items.npz --others sensor:read --out x.html"
    words += " --metrics - --device pi --trust a --trust b"

    make_absolute(arguments := parser.parse_args([*words.split(), "--cpu", "3"]), options)

    assert vars(arguments) == {
        "bundle": f"{tmp_path}/link/../a.bundle",  # which a link may lead elsewhere
        "items": f"{tmp_path}/items.npz",
        "others": "sensor:read",
        "out": tmp_path / "x.html",
        "metrics": "-",
        "device": "pi",
        "trust": [f"{tmp_path}/a", f"{tmp_path}/b"],
        "cpu": 3,
        "record": None,
    }
