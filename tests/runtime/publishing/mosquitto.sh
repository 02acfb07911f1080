#!/usr/bin/env bash
# Print the command of a mosquitto broker. Where none is installed, Debian's is unpacked into one folder; that needs no
# root and leaves the machine as it is.
#
#   mosquitto.sh FOLDER
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
if [ "$(command -v mosquitto)" ]; then
  command -v mosquitto
  exit
fi
fail() {
  echo "The tests of MQTT need a broker. There is no mosquitto, and $1. Install it: apt-get install mosquitto" >&2
  exit 1
}
for tool in apt-get dpkg-deb; do [ "$(command -v $tool)" ] || fail "no $tool to get it with"; done
folder=$(realpath -m "$1")
if [ ! -e "$folder/run" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"/{lists,cache/archives}/partial
  # With a state of its own; what is installed on the machine is not fetched again.
  fetch() {
    apt-get -qq -o Dir::State="$folder" -o Dir::State::lists="$folder/lists" -o Dir::State::status=/var/lib/dpkg/status \
      -o Dir::Cache="$folder/cache" -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)" \
      -o Debug::NoLocking=1 "$@" >&2
  }
  fetch update || true  # a list in the middle of a change of its mirror is left out; what is missing shows below
  fetch install --download-only --no-install-recommends mosquitto || fail "its packages cannot be downloaded"
  for package in "$folder"/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder"; done
  libraries=$(find "$folder" -name '*.so.*' -printf '%h\n' | sort -u | paste -sd:)
  printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s/usr/sbin/mosquitto" "$@"\n' "$libraries" "$folder" >"$folder/run.new"
  chmod +x "$folder/run.new"
  mv "$folder/run.new" "$folder/run"
fi
echo "$folder/run"
