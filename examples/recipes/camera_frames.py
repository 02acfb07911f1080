"""Items from a camera: always the newest frame, with the time of its arrival. Needs picamera2 on the Pi.

    polydom-node run my.bundle my_module:space --items camera_frames:items --period 40ms

A thread takes the frames, since a camera waits; the loop never does. Frames that nobody asked for in time are left out.
"""

from collections.abc import Iterator
from threading import Thread
from typing import Any, Protocol

from polydom_runtime import Arrived, hardware_clock


class Camera(Protocol):
    """The part of picamera2 that is used."""

    def capture_array(self) -> Any: ...  # noqa: D102


def open_camera() -> Camera:
    """Return the camera of a Pi, started."""
    from picamera2 import Picamera2

    camera = Picamera2()
    camera.configure(camera.create_video_configuration({"format": "RGB888", "size": (320, 240)}))
    camera.start()
    return camera  # type: ignore[no-any-return]


class NewestFrame:
    """The newest frame of a camera, each at most once: an iterator for a loop.

    If the camera fails, its error is raised in the loop, which counts it.
    """

    def __init__(self, camera: Camera) -> None:
        self._camera = camera
        self._newest: Arrived | Exception | None = None
        Thread(target=self._take, daemon=True).start()

    def __iter__(self) -> Iterator[Arrived | None]:
        return self

    def __next__(self) -> Arrived | None:
        newest, self._newest = self._newest, None
        if isinstance(newest, Exception):
            raise newest
        return newest

    def _take(self) -> None:
        try:
            while True:
                frame = self._camera.capture_array()
                self._newest = Arrived(frame.mean(axis=2), hardware_clock())  # grey
        except Exception as e:
            self._newest = e


def items() -> NewestFrame:
    """Return the frames of the camera."""
    return NewestFrame(open_camera())
