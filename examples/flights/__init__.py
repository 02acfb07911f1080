"""Faults of an aircraft from its telemetry: channels at three rates, a deadline, and a recording of the answers."""
