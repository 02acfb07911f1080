"""Answers for other programs: MQTT, by a process of its own."""
