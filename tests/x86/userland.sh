#!/usr/bin/env bash
# Put an emulator of x86-64 processors into a folder. Needs no root and leaves the machine as it is.
#
#   userland.sh FOLDER PYTHON NUMPY_SETS
#
# FOLDER/run is this Python on the processor that QEMU_CPU names. Exit code 77, as automake's for a skipped test, where
# there can be none.
set -euo pipefail

skip() {
  printf '\nSKIPPED: emulated x86-64 tests did NOT run: %s\n\n' "$1" >&2
  exit 77
}

[ "$(uname -sm)" = "Linux x86_64" ] || skip "they need Linux on x86-64, this is $(uname -sm)"
for tool in apt-get dpkg-deb; do
  [ "$(command -v $tool)" ] || skip "there is no $tool: this must be a Debian system"
done

folder=$(realpath -m "$1") python=$2 numpy_sets=$3
emulator=$folder/qemu-x86_64-static

if [ ! -x "$emulator" ]; then
  apt=$folder/apt
  mkdir -p "$apt"/{lists,cache/archives}/partial
  touch "$apt/status"
  fetch() {  # apt-get with a state of its own
    apt-get -qq -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
      -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 "$@"
  }
  fetch update || true  # a list in the middle of a change of its mirror is left out; what is missing shows below
  (cd "$apt" && fetch download qemu-user-static) || skip "the emulator cannot be downloaded"
  # Of all the emulators only this one is needed; it is a static binary.
  dpkg-deb --fsys-tarfile "$apt"/qemu-user-static_*.deb |
    tar -x -C "$folder" --strip-components=3 ./usr/bin/qemu-x86_64-static || skip "the emulator's package has changed"
  rm -rf "$apt"
fi

cat >"$folder/run" <<RUN
#!/bin/sh
# The emulator sorts wrongly with the AVX2 code of numpy, so numpy runs its oldest code; all other libraries choose by
# the processor that they see.
export NPY_DISABLE_CPU_FEATURES="$numpy_sets" PYTHONDONTWRITEBYTECODE=1
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
case "\$QEMU_CPU" in  # without what no program here uses, since the emulator warns that it has none of it
  Haswell) QEMU_CPU=Haswell,-pcid,-x2apic,-tsc-deadline,-hle,-invpcid,-rtm ;;
esac
exec "$emulator" -cpu "\$QEMU_CPU" "$python" "\$@"
RUN
chmod +x "$folder/run"
QEMU_CPU=Nehalem "$folder/run" -c 'import numpy, onnxruntime' || skip "the emulator cannot run Python"
