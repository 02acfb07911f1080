"""A fault that is planted into a copy of the code, to see whether a test finds it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of the code that a user would meet as a bug.

    Parameters
    ----------
    name : str
        What is wrong, in plain English.
    file : str
        From the root of the repository, such as ``runtime/polydom_runtime/costs.py``.
    right : str
        A text that occurs once in the file.
    wrong : str
        What takes its place.
    tests : tuple of str
        More paths of tests that belong to the room of the fault.
    """

    name: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...] = ()

    @property
    def room(self) -> str:
        """The package and the folder or file at its top, such as ``runtime/policy``."""
        package, _, *parts = Path(self.file).parts
        return f"{package}/{parts[0].removesuffix('.py')}"

    def near(self, root: Path) -> list[str]:
        """Return the tests that are nearest: the doctests of the file, the test file of its name, and `tests`."""
        package, _, *parts = Path(self.file).parts
        *folders, name = parts
        mirrored = "/".join(("tests", package, *folders, f"test_{name}"))
        return [self.file, *[mirrored] * (root / mirrored).is_file(), *self.tests]

    def around(self, root: Path) -> list[str]:
        """Return the tests of its room: the folder that mirrors it; of a file at the top, the tests beside folders."""
        package, _, *parts = Path(self.file).parts
        folder = Path("tests", package, *parts[:1])
        if len(parts) > 1 and (root / folder).is_dir():
            return [str(folder)]
        return sorted(str(file.relative_to(root)) for file in (root / "tests" / package).glob("test_*.py"))

    def problem(self, root: Path) -> str:
        """Return why it cannot be planted into a tree; empty if it can."""
        path = root / self.file
        if not path.is_file():
            return "there is no such file"
        text = path.read_text()
        if (count := text.count(self.right)) != 1:
            return f"the text occurs {count} times"
        try:
            compile(text.replace(self.right, self.wrong), self.file, "exec")
        except SyntaxError as e:
            return f"the result is no Python: {e}"
        return ""
