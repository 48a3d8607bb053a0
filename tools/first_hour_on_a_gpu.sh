#!/bin/sh
# Runs on a card what tests without one cannot: steps in order of value, one JSON line a figure, within 30 minutes.
#
# Usage: tools/first_hour_on_a_gpu.sh [cuda|cpu] [STEP…]. Without a device it is cuda where torch finds a card; on cpu the
# same steps run at toy size. A step gets at most 10 minutes, and no more than what is left of the 30. One that fails or
# is cut off prints a line with its status, and the next one runs. Status 1 if any failed.
set -u
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
export PYTHONPATH=".:benchmarks" CUBLAS_WORKSPACE_CONFIG=":4096:8" # the latter is read when a card is first used
device=${1:-$("$python" -c 'import torch; print("cuda" if torch.cuda.is_available() else "cpu")')}
[ $# -gt 0 ] && shift
[ $# -gt 0 ] || set -- card masks losses throughput lengths compiled resume group tokenizer
end=$(($(date +%s) + 1800)) failed=0
for step in "$@"; do
    left=$((end - $(date +%s)))
    [ "$left" -gt 600 ] && left=600
    if [ "$left" -lt 1 ]; then
        echo "{\"step\": \"$step\", \"failed\": \"no time left\"}"
        failed=1
        continue
    fi
    timeout "$left" "$python" tools/first_hour.py "$step" "$device" || {
        status=$?
        echo "{\"step\": \"$step\", \"failed\": \"status $status\"}"
        failed=1
    }
done
exit $failed
