"""Where training runs: a section of a recipe."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from megacpp_assets.contract.errors import SpecError
from megacpp_assets.contract.recipe.key import key, require_allowed, table
from megacpp_assets.contract.recipe.ranges import at_least
from megacpp_assets.contract.sources.urls import shown_url

_SECRET = re.compile(r"passw|token|credential|(?:api|access|private|secret)_?key", re.IGNORECASE)
"""Keys of settings whose values are secrets; a `secret` may be the name of one that a cluster keeps."""


@dataclass(frozen=True, slots=True)
class LaunchRecipe:
    """Where training runs. These keys do not change any byte, and no manifest names them."""

    launcher: str = key(
        "local", "Where training runs.", allowed='"local", "slurm", "kubernetes", "gke_tpu" or "cloud_tpu"'
    )
    attempts: int = key(
        4,
        "Largest number of attempts of a job, the first included. Another attempt starts when a machine is taken away.",
        allowed=at_least(1),
        unit="attempts",
    )
    silence_seconds: int = key(
        1800,
        "A job is cancelled after this time without a heartbeat, or without an answer of the API.",
        allowed=at_least(1),
        unit="seconds",
    )
    look_seconds: float = key(
        1.0, "Shortest time between two requests for the state of a job.", allowed=at_least(0.01), unit="seconds"
    )
    exchange: str = key(
        "",
        'URI of a folder or bucket that this machine and the job both reach; "" for the local launcher.',
        allowed='"", file:///FOLDER or gs://BUCKET/FOLDER, without credentials',
    )
    lease_seconds: int = key(
        300, "A remote job stops if its lease is not renewed for this time.", allowed=at_least(1), unit="seconds"
    )
    nodes: int = key(
        1, "Machines of a training; each runs the same number of processes.", allowed=at_least(1), unit="machines"
    )
    tensorboard: bool = key(
        False, "Write the metrics as event files below tensorboard/ of the data root too.", allowed="true or false"
    )
    peak_teraflops: float = key(
        0.0,
        "Peak of one device in the recipe's dtype, to report utilisation (989 for an H200 in bfloat16); 0 is none.",
        allowed=at_least(0),
        unit="TFLOP/s",
    )
    settings: Mapping[str, str | int] = table(
        dict,
        "Keys of the launcher; the dataclass Settings in launch/launchers/NAME.py lists them.",
        allowed="texts and whole numbers without secrets",
    )

    def __post_init__(self) -> None:
        require_allowed(self, "launch")
        if shown_url(self.exchange) != self.exchange:
            _refuse_secret("exchange", "a URI without credentials", shown_url(self.exchange))
        for name in self.settings:
            if _SECRET.search(name):
                _refuse_secret(f"settings.{name}", "no secret", "a key of that name")
        for name, text in (
            ("exchange", self.exchange),
            *((f"settings.{name}", text) for name, text in self.settings.items()),
        ):
            # A line break would begin a second line of a batch script, a manifest or a startup script.
            if isinstance(text, str) and not text.isprintable():
                expected = "printable characters only, no line break"
                raise SpecError(f"launch.{name}", expected=expected, found=repr(text))


def _refuse_secret(name: str, expected: str, found: str) -> None:
    do = "leave it out and export it where the job runs: a recipe is kept whole in the data root, and shown"
    raise SpecError(f"launch.{name}", expected=expected, found=found, do=do)
