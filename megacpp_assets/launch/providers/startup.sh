#!/bin/bash
# The startup script of a machine with Docker. It runs the job in a container from an image named by its digest, records
# the end of the job, and deletes the machine, even if nobody waits for the job any more. Nothing listens on a port.
set -u
umask 077
# SETTINGS
STORAGE="${STORAGE_EMULATOR_HOST:-https://storage.googleapis.com}"
METADATA="http://${GCE_METADATA_HOST:-metadata.google.internal}/computeMetadata/v1"

metadata() { curl -sf -m 60 --retry 5 --retry-connrefused -H 'Metadata-Flavor: Google' "$METADATA/$1"; }

# As the machine's service account. The token goes by standard input, so that no command line holds it.
authorized() {
  metadata instance/service-accounts/default/token |
    sed -E 's/.*"access_token": *"([^"]*)".*/header = "Authorization: Bearer \1"/' |
    curl -s -m 60 --retry 5 --retry-all-errors -o /dev/null -K - "$@"
}

leave() {
  code=$?
  trap '' TERM INT
  rm -rf "$SCRATCH"
  # The job says itself how it ended, unless its container never began or was killed.
  case $code in
    0 | 1 | 75) ;;
    *) authorized -X POST -H 'Content-Type: application/octet-stream' \
        -d "{\"code\": $code, \"reason\": \"its container ended without a word of the job\"}" \
        "$STORAGE/upload/storage/v1/b/$BUCKET/o?uploadType=media&ifGenerationMatch=0&name=${ENDED//\//%2F}" ;;
  esac
  authorized -X DELETE "$ITSELF"
}
trap leave EXIT

# A slice of several machines starts each with this script; the first one works.
[ "$(metadata instance/attributes/agent-worker-number || echo 0)" = 0 ] || { trap - EXIT; exit 0; }

mkdir -p "$SCRATCH"
# shellcheck disable=SC2086  # COMMAND is quoted word by word
eval "set -- $COMMAND"
# Privileged, and as root: TPUs are devices of the machine.
docker run --rm --privileged --user 0:0 --network host --read-only --tmpfs /tmp --ipc host \
  --env HOME=/scratch --env TMPDIR=/scratch --volume "$SCRATCH:/scratch" "$IMAGE" "$@" &
child=$!
trap 'kill -TERM $child' TERM INT
wait $child
code=$?
while kill -0 $child 2>/dev/null; do
  wait $child
  code=$?
done
exit $code
