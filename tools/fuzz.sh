#!/bin/sh
# Runs all property tests with new random examples until the time is over or one fails.
#
# Usage: tools/fuzz.sh PYTHON MINUTES. Status 1 if a test failed: pytest prints the smallest example that fails. Add it to
# the test as an @example, so that `make test` tries it in every run. Hypothesis keeps it in .hypothesis until then.
set -u
python=$1 minutes=$2
end=$(($(date +%s) + 60 * minutes))
passes=0
while left=$((end - $(date +%s))); [ "$left" -gt 0 ]; do
    timeout --foreground --signal=INT "$left" "$python" -m pytest -n "$(nproc)" --dist loadfile \
        -m "hypothesis and not campaign" --hypothesis-profile=fuzz
    status=$?
    # 124: the time is over. 2 with no time left: pytest was interrupted by it.
    if [ "$status" = 124 ] || { [ "$status" = 2 ] && [ "$(date +%s)" -ge "$end" ]; }; then break; fi
    if [ "$status" != 0 ]; then exit 1; fi
    passes=$((passes + 1))
done
echo "$passes whole passes in $minutes minutes, no failure"
