#!/usr/bin/env bash
# Make an arm64 Debian userland with Python and wheels in one folder. Needs no root and leaves the machine as it is.
#
#   userland.sh FOLDER REQUIREMENT...
#
# FOLDER/run is the emulated Python; QEMU_CPU says which processor it sees. A finished FOLDER is used again until this
# script or the requirements change. Exit code 77, as automake's for a skipped test, where there can be no userland.
set -euo pipefail

skip() {
  printf '\nSKIPPED: aarch64 tests did NOT run: %s\n\n' "$1" >&2
  exit 77
}

[ "$(uname -sm)" = "Linux x86_64" ] || skip "the emulator is set up on Linux on x86-64 only, this is $(uname -sm)"
for tool in apt-get dpkg-deb unshare; do
  [ "$(command -v $tool)" ] || skip "there is no $tool: this must be a Debian system"
done
for sources in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list ""; do
  [ ! -s "$sources" ] || break
done
[ "$sources" ] || skip "there are no package sources of Debian in /etc/apt"

folder=$(realpath -m "$1")
shift
apt=$folder/apt
python=$folder/usr/bin/python3
packages=$folder/usr/lib/python3/dist-packages
key=$({ cat "$0" && printf "%s\n" "$folder" "$@"; } | sha256sum)

fetch() {  # apt-get with a state of its own, for both architectures
  apt-get -qq -o APT::Architecture=amd64 -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 \
    -o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" \
    -o Dir::Etc::sourcelist="$sources" -o Dir::Etc::sourceparts=- \
    -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 "$@"
}

make_userland() {
  [ ! -e "$folder" ] || [ -e "$folder/.started" ] || skip "$folder holds something else, remove it"
  rm -rf "$folder"
  mkdir -p "$apt"/{lists,cache/archives}/partial "$folder"/{binfmt,proc}
  touch "$folder/.started" "$apt/status"

  fetch update || true  # a list in the middle of a change of its mirror is left out; what is missing shows below
  (cd "$apt" && fetch download qemu-user-static) || skip "the emulator cannot be downloaded"
  # Of all the emulators only this one is needed; it is a static binary.
  dpkg-deb --fsys-tarfile "$apt"/qemu-user-static_*.deb |
    tar -x -C "$folder" --strip-components=3 ./usr/bin/qemu-aarch64-static || skip "the emulator's package has changed"
  fetch install --download-only --no-install-recommends python3:arm64 libstdc++6:arm64 ||
    skip "Python for arm64 cannot be downloaded"
  for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder"; done
  rm -rf "$apt"

  local version
  version=$(readlink "$python") version=${version#python}
  "${PYTHON:-python3}" -m pip --quiet --disable-pip-version-check install --target "$packages" --no-compile \
    --no-warn-conflicts --only-binary :all: --implementation cp --python-version "$version" \
    --platform manylinux2014_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_28_aarch64 "$@" ||
    skip "the wheels cannot be installed"

  write_cpuinfo >"$folder/proc/cpuinfo"
  write_run >"$folder/run"
  chmod +x "$folder/run"
  echo "$key" >"$folder/.ready"
}

# onnxruntime reads the processor's part number here and crashes on the host's file, which has none.
write_cpuinfo() {
  for core in 0 1 2 3; do
    printf '%s\t: %s\n' processor $core Features "fp asimd evtstrm crc32 cpuid" "CPU implementer" 0x41 \
      "CPU architecture" 8 "CPU variant" 0x0 "CPU part" 0xd08 "CPU revision" 3
    echo
  done
}

write_run() {
  cat <<RUN
#!/bin/sh
# The emulator finds libraries and /proc/cpuinfo below QEMU_LD_PREFIX before it looks on the host.
export QEMU_LD_PREFIX="$folder" QEMU_CPU="\${QEMU_CPU:-cortex-a72}"
# Compiling is slow under emulation, so it is done once, and not into folders that the host uses.
export PYTHONPYCACHEPREFIX="$folder/pycache" PYTHONDONTWRITEBYTECODE=
# Without an interpreter for arm64 binaries the kernel could not start the children of the emulated Python. A user
# namespace has its own register of them (from Linux 6.7 on), so that the machine's stays as it is.
register='mount -t binfmt_misc none "$folder/binfmt" && printf %s "$(arm64_binaries)" >"$folder/binfmt/register"'
alone="unshare --user --map-root-user --mount"
if \$alone sh -c "\$register" 2>/dev/null; then
  exec \$alone sh -c "\$register"' && exec "\$0" "\$@"' "$python" "\$@"
fi
exec "$python" "\$@"  # with what the machine has registered
RUN
}

arm64_binaries() {  # how the kernel recognises them: ELF, 64 bits, little endian, executable, AArch64
  printf '%s' ':aarch64:M::\x7f\x45\x4c\x46\x02\x01\x01' '\x00\x00\x00\x00\x00\x00\x00\x00\x00' '\x02\x00\xb7\x00' \
    ':\xff\xff\xff\xff\xff\xff\xff' '\x00\xff\xff\xff\xff\xff\xff\xff\xff' '\xfe\xff\xff\xff' \
    ":$folder/qemu-aarch64-static:F"
}

[ "$(cat "$folder/.ready" 2>/dev/null)" = "$key" ] || make_userland "$@"
"$folder/run" -c 'import subprocess, sys; subprocess.run([sys.executable, "-c", ""], check=True)' ||
  skip "the kernel cannot start arm64 binaries: needs user namespaces and Linux 6.7, or qemu-aarch64 in binfmt_misc"
