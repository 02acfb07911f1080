"""Faults of the runtime, one or two for each room, from low rooms to high ones."""

from .fault import Fault

PACKAGE = "runtime/polydom_runtime"

RUNTIME_FAULTS = (
    Fault(
        "a bundle without a signature is refused by an error that is not that of an unsound bundle",
        f"{PACKAGE}/exceptions.py",
        "class SignatureError(BundleFormatError):",
        "class SignatureError(PolyDomError, ValueError):",
    ),
    Fault(
        "the 11th to the 19th failure of a feature are reported, too",
        f"{PACKAGE}/causes.py",
        'if str(n).strip("0") != "1":',
        'if str(n)[0] != "1":',
    ),
    Fault(
        "deadlines are kept by a clock that somebody may set",
        f"{PACKAGE}/clock.py",
        "hardware_clock: Clock = time.perf_counter_ns",
        "hardware_clock: Clock = time.time_ns",
    ),
    Fault(
        "with numpy 1, features from the 33rd on do not count in the size of a set",
        f"{PACKAGE}/arrays.py",
        'np.asarray(masks, dtype=np.int64, order="C").view(np.uint8).reshape(-1, 8)',
        'np.asarray(masks, dtype=np.int64, order="C").view(np.uint8).reshape(-1, 8)[:, :4]',
    ),
    Fault(
        "a new file takes the place of the old one before its content is on the disk",
        f"{PACKAGE}/files.py",
        "            stream.flush()\n            os.fsync(stream.fileno())",
        "            stream.flush()",
    ),
    Fault(
        "the largest size that fits a budget does not fit it, by one float",
        f"{PACKAGE}/costs.py",
        "        return low\n",
        "        return high\n",
    ),
    Fault(
        "on the host, a feature may change the item for the features after it",
        f"{PACKAGE}/features.py",
        "    view.flags.writeable = False\n",
        "",
    ),
    Fault(
        "garbage is collected after a loop although the program had switched that off",
        f"{PACKAGE}/pauses.py",
        "        if was_on:\n            gc.enable()",
        "        gc.enable()",
    ),
    Fault(
        "the clock for tests loses a nanosecond where seconds are no exact float",
        f"{PACKAGE}/testing.py",
        "self.now_ns += round(seconds * 1e9)",
        "self.now_ns += int(seconds * 1e9)",
    ),
    Fault(
        "a feature of two numbers may return one, which then counts as both",
        f"{PACKAGE}/stages.py",
        "if self._width > 1 and len(values) != self._width:",
        "if self._width > 2 and len(values) != self._width:",
    ),
    Fault(
        "the steps of a part of the features stay in the order of the whole, unlike those of its space",
        f"{PACKAGE}/unit_times.py",
        "steps = sorted((k for k, mask in enumerate(users) if mask), key=lambda k: users[k] & -users[k])",
        "steps = [k for k, mask in enumerate(users) if mask]",
    ),
    Fault(
        "of a packed file whose signal was cut, the last items are shorter, without an error",
        f"{PACKAGE}/items/packed.py",
        "if (np.diff(offset.astype(np.int64)) < 0).any() or offset[-1] > len(signal):",
        "if (np.diff(offset.astype(np.int64)) < 0).any():",
    ),
    Fault(
        "a confidence is that of the most probable class, and not of the one that was answered",
        f"{PACKAGE}/kernels/score.py",
        "return float(scores.item(label)) if 0 <= label < scores.size else float(scores.max())",
        "return float(scores.max())",
    ),
    Fault(
        "a key that has expired still counts",
        f"{PACKAGE}/trust/trust.py",
        'self._check_day(f"the key {key.name}", key.expires, stated.signed_at)',
        'self._check_day(f"the key {key.name}", stated.expires, stated.signed_at)',
    ),
    Fault(
        "an empty list of trusted keys switches the check of signatures off",
        f"{PACKAGE}/bundles/index_file.py",
        "if trust is not None or VARIABLE in os.environ:",
        "if trust is not None or os.environ.get(VARIABLE):",
    ),
    Fault(
        "a tune changes the time of a model, and not the cost of a whole answer by it",
        f"{PACKAGE}/device/tune.py",
        "return replace(entry, seconds=seconds, cost=cost, engine=engine)",
        "return replace(entry, seconds=seconds, engine=engine)",
    ),
    Fault(
        "the wanted accuracy is reached in the easiest regime only",
        f"{PACKAGE}/policy/abstention.py",
        "return max(thresholds)",
        "return min(thresholds)",
    ),
    Fault(
        "the node works towards a set whose last feature may never start",
        f"{PACKAGE}/policy/anytime.py",
        "        thresholds = np.maximum(thresholds, self._guarded(before, masks, seconds, wanted, rank[at]))\n",
        "",
    ),
    Fault(
        "plans add up times of a bundle whose costs are no sums",
        f"{PACKAGE}/prediction.py",
        'return "strict" if bundle.is_greedy or not bundle.adds_up else asked',
        'return "strict" if bundle.is_greedy else asked',
    ),
    Fault(
        "an explanation says that sets fit the time in which the item still waited",
        f"{PACKAGE}/explaining/alternatives.py",
        "there_was = found.deadline_ns - found.answer.waited_ns",
        "there_was = found.deadline_ns",
    ),
    Fault(
        "an item that waits uses up the time that its energy budget allows",
        f"{PACKAGE}/predictor.py",
        "course.start = min(arrived + self._deadline_ns - self._budget_ns, start)",
        "course.start = arrived",
    ),
    Fault(
        "two processes may measure into the same file",
        f"{PACKAGE}/measuring/journal.py",
        "fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)",
    ),
    Fault(
        "a capped clock is called throttling, and the other way round",
        f"{PACKAGE}/diagnosis/machine_findings.py",
        '("undervoltage", "clock capped", "throttled", "soft temperature limit")',
        '("undervoltage", "throttled", "clock capped", "soft temperature limit")',
    ),
    Fault(
        "who subscribes after a node was lost never hears that it is offline",
        f"{PACKAGE}/publishing/sender.py",
        '"offline", max(self._qos, 1), retain=True)',
        '"offline", max(self._qos, 1), retain=False)',
    ),
    Fault(
        "one more of the earlier recordings stays than is stated",
        f"{PACKAGE}/records/ring_file.py",
        "for number in numbers[: 1 - KEPT]:",
        "for number in numbers[:-KEPT]:",
    ),
    Fault(
        "a watchdog that could not be reached has to wait for a whole interval",
        f"{PACKAGE}/loop/watchdogs.py",
        "self._due = now + self._interval if all(told) else now",
        "self._due = now + self._interval",
    ),
    Fault(
        "the supervisor itself runs the model in which its worker hangs",
        f"{PACKAGE}/supervision/fallback.py",
        "models.out = {link.model, *failing}",
        "models.out = {*failing}",
    ),
    Fault(
        "the seed of a certificate is ignored",
        f"{PACKAGE}/certification/certify.py",
        "shuffle = random.Random(seed).shuffle",
        "shuffle = random.Random(0).shuffle",
    ),
    Fault(
        "an install removes the release before the current one if that cannot be read now",
        f"{PACKAGE}/updates/retention.py",
        "stay = {current, *earlier[-1:], *islice(",
        "stay = {current, *islice(",
    ),
    Fault(
        "work in the background begins by an offer of time that is over",
        f"{PACKAGE}/following/pace.py",
        "self._left, self._wanted = 0.0, True",
        "self._wanted = True",
    ),
    Fault(
        "the precision of two classes is that of the second one, and not of class 1",
        f"{PACKAGE}/commands/scores.py",
        "return float(found[self._numbers[1]])",
        "return float(found[1])",
    ),
    Fault(
        "python -m polydom_runtime always ends with the code 0",
        f"{PACKAGE}/__main__.py",
        "    sys.exit(main())",
        "    main()",
        ("tests/runtime/commands/test_node_command.py",),
    ),
    Fault(
        "any kernel is taken, since rounding explains every answer",
        f"{PACKAGE}/bundles/agreement.py",
        "if wrong.any() else ENGINES",
        "if wrong.all() else ENGINES",
        ("tests/builder/training/test_agreeing_engines.py",),
    ),
)
