"""The exit codes of all commands."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What the end of a command means; after signal n the code is `AFTER_SIGNAL` + n, such as 130 after Ctrl-C."""

    DONE = 0
    """Done, and nothing is wrong with what was looked at."""

    WRONG = 1
    """Done, and something is wrong: what the command looked at, or what it was given to answer."""

    ERROR = 2
    """Not done: a fault of the command line, a file, the machine or the user's code, in one line on standard error."""

    OPEN = 3
    """Done, without a verdict: neither proven nor refuted."""

    AFTER_SIGNAL = 128
    NOT_READ = 141
    """The reader of the output has gone."""
