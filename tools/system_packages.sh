#!/bin/sh
# Installs the system packages that this machine lacks, as root on Debian; elsewhere prints the one line to run.
#
# Usage: tools/system_packages.sh run|test. Where nothing is missing it does nothing and prints nothing. Status 1 if a
# package without which nothing works is still missing at the end; whatever else is missing is named, with what is left
# out for it. A new package is one line of look().
set -eu
exec >&2

caller=${1:?"usage: $0 run|test"}
cd "$(dirname "$0")/.."
python=${PYTHON:-$(tools/newest_python.sh)}
python=${python:-python3}

# package NEED NAME "WHAT IS LEFT OUT WITHOUT IT" PROOF…: the package is there if the command PROOF succeeds. NEED is
# `all` where nothing works without it, `part` for a part of the line, `test` for tests alone (`make run` never asks).
package() {
    need=$1 name=$2 left_out=$3
    shift 3
    if [ "$need" = test ] && [ "$caller" = run ]; then return; fi
    if "$@" >/dev/null 2>&1; then return; fi
    missing="$missing $name"
    if [ "$need" = all ]; then stopping="$stopping $name"; fi
    reasons="$reasons  $name: without it $left_out
"
}

look() {
    missing='' stopping='' reasons=''
    base=$(python_package)
    package all "$base" "nothing can be set up: Python 3.11, 3.12 or 3.13 is needed" python_has \
        'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))'
    package all "$base-venv" "no environment can be made" python_has 'import ensurepip'
    package all "$base-dev" "nothing native can be built" \
        python_has 'import sysconfig; open(sysconfig.get_path("include") + "/Python.h")'
    package all g++ "nothing native can be built and no C++ library header be read" command -v g++
    package all git "no repository can be read" command -v git
    package part bubblewrap "\`megacpp run --configure\` is refused and the tests of its sandbox are skipped" \
        command -v bwrap
    package test mesa-vulkan-drivers "the tests of the tokenizer's GPU kernels are skipped" \
        has_file "${VULKAN_DRIVERS:-/usr/share/vulkan/icd.d}"/lvp_icd.*
    package test chromium "the tests of the UI in a browser are skipped" command -v chromium
    package test postgresql "the tests of Dagster on a Postgres server fail" \
        has_file "${POSTGRES_SERVERS:-/usr/lib/postgresql}"/*/bin/initdb
}

has_file() { [ -e "$1" ]; }

# Asked before the environment is made only: later it has its own.
python_has() { [ -e .venv/.installed ] || "$python" -c "$1"; }

# Debian and Ubuntu split their own Python into python3, python3-venv and python3-dev, whatever its version is. The
# packages of any other Python have its version in their names. A Python that is too old is left beside python3.11.
python_package() {
    own=$(version python3)
    case ${python##*/}:$own in
        python:* | "python$own":* | python3:3.1[123] | python3:) echo python3 ;;
        python3:*) echo python3.11 ;;
        *) echo "${python##*/}" ;;
    esac
}

version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true; }

install() {
    echo "Installing system packages:$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    # shellcheck disable=SC2086 - one word a package
    apt-get install -y -qq -o DPkg::Lock::Timeout=300 $missing >/dev/null || echo "apt-get could not install them."
}

look
if [ -z "$missing" ]; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    install
    look
    if [ -z "$missing" ]; then exit 0; fi
fi
printf 'This machine lacks system packages:\n%s' "$reasons"
echo "To install them (elsewhere than on Debian under that system's names): sudo apt-get install -y$missing"
[ -z "$stopping" ]
