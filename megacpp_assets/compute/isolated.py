"""One batch in a process of its own: what it crashes, limits or changes ends with it, and it dies with its parent.

A pickled (function, batch) comes in, a pickled (value, failure) goes out; never an exception for what the batch did.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys

from megacpp_assets.compute.lifetime import die_with_parent


def run_isolated(task: bytes, timeout_s: float) -> bytes:
    """Run the pickled (function, batch) of `task` in a fresh interpreter; the pickled (value, failure reason or None).

    The reasons are those of `Outcome.failure`. Not `multiprocessing`: a Dask worker under its nanny is daemonic, and a
    daemonic process may not have such children.
    """
    with subprocess.Popen(
        [sys.executable, "-m", __name__, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        start_new_session=True,
    ) as process:
        try:
            answer, _ = process.communicate(task, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            # The whole session, and before the process is reaped: until then its number cannot be another's.
            os.killpg(process.pid, signal.SIGKILL)
            return _failed(f"timeout: no answer in {timeout_s:g} s")
        except BaseException:
            # Interrupted: what the batch has started goes too.
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode or not answer:
        return _failed(f"crash: worker ended with exit code {process.returncode}")
    return answer


def _failed(reason: str) -> bytes:
    return pickle.dumps((None, reason))


def _serve(parent: int) -> None:
    """Be the fresh interpreter: task from standard input, answer to what was standard output."""
    die_with_parent(parent)
    # Parsers print on standard output at will: the answer has a descriptor of its own, which no child inherits.
    answers = os.dup(1)
    os.dup2(2, 1)
    answer = _answer(sys.stdin.buffer.read())
    with os.fdopen(answers, "wb") as stream:
        stream.write(answer)
    # Not through the exit handlers of whatever native library the batch has loaded: the work is done.
    os._exit(0)


def _answer(task: bytes) -> bytes:
    try:
        function, batch = pickle.loads(task)  # noqa: S301 - written by our own client, as multiprocessing would
        return pickle.dumps((function(batch), None), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001 - the boundary that records a failed batch
        return _failed(f"error: {type(error).__name__}: {error}")


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
