#!/bin/sh
# Prints the newest supported Python of this machine, nothing if it has none.
#
# Each is started, not only looked up: pyenv has a `python3.13` in PATH that fails where 3.13 is not selected.
for name in python3.13 python3.12 python3.11 python3; do
    if "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
        echo "$name"
        exit
    fi
done
