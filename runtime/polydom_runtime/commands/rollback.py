"""``polydom-node rollback``: make an earlier release the current one."""

from argparse import Namespace

from polydom_runtime.delivery.rollback import SHORTEST, roll_back

from .bundle_options import TRUST, loader_of
from .options import Option
from .outcome import Outcome
from .terminal import say, show

OPTIONS = (
    Option("--into ROOT", "the folder of releases", required=True),
    Option(
        "--to DIGEST",
        f"the digest of the release to use, or its first {SHORTEST} or more characters (default: the last sound "
        "release before the current one)",
    ),
    TRUST,
)


def run(arguments: Namespace) -> Outcome:
    """Roll back, and say to which release."""
    done = roll_back(arguments.into, to=arguments.to, load=loader_of(arguments))
    for digest, fault in done.passed_over.items():
        say(f"passed over {digest}: {fault}")
    show(f"{arguments.into}: {done.digest} is the current release now")
    return Outcome({"root": arguments.into, **done._asdict()})
