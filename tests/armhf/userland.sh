#!/usr/bin/env bash
# Make an armhf Debian userland with Python, numpy and msgpack in one folder. Needs no root and leaves the machine as it
# is.
#
#   userland.sh FOLDER REQUIREMENT...
#
# The requirements must be wheels of Python code only. The rest is as in ../aarch64/userland.sh.
set -euo pipefail

skip() {
  printf '\nSKIPPED: armhf tests did NOT run: %s\n\n' "$1" >&2
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
libraries=$folder/usr/lib/arm-linux-gnueabihf
key=$({ cat "$0" && printf "%s\n" "$folder" "$@"; } | sha256sum)

fetch() {  # apt-get with a state of its own, for both architectures
  apt-get -qq -o APT::Architecture=amd64 -o APT::Architectures::=amd64 -o APT::Architectures::=armhf \
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
    tar -x -C "$folder" --strip-components=3 ./usr/bin/qemu-arm-static || skip "the emulator's package has changed"
  fetch install --download-only --no-install-recommends python3:armhf python3-numpy:armhf python3-msgpack:armhf \
    python3-cryptography:armhf || skip "Python and numpy for armhf cannot be downloaded"
  for package in "$apt"/cache/archives/*.deb; do dpkg-deb -x "$package" "$folder"; done
  rm -rf "$apt"

  local version
  version=$(readlink "$python") version=${version#python}
  "${PYTHON:-python3}" -m pip --quiet --disable-pip-version-check install --target "$packages" --no-compile --no-deps \
    --no-warn-conflicts --only-binary :all: --implementation py --abi none --platform any \
    --python-version "$version" "$@" || skip "the wheels cannot be installed"

  write_run >"$folder/run"
  chmod +x "$folder/run"
  echo "$key" >"$folder/.ready"
}

write_run() {
  cat <<RUN
#!/bin/sh
# The emulator finds libraries below QEMU_LD_PREFIX before it looks on the host.
export QEMU_LD_PREFIX="$folder" QEMU_CPU="\${QEMU_CPU:-cortex-a7}" OPENBLAS_NUM_THREADS=1
# Debian chooses a BLAS by links that only an installation makes.
export LD_LIBRARY_PATH="$libraries/blas:$libraries/lapack"
export PYTHONPYCACHEPREFIX="$folder/pycache" PYTHONDONTWRITEBYTECODE=
register='mount -t binfmt_misc none "$folder/binfmt" && printf %s "$(arm_binaries)" >"$folder/binfmt/register"'
alone="unshare --user --map-root-user --mount"
if \$alone sh -c "\$register" 2>/dev/null; then
  exec \$alone sh -c "\$register"' && exec "\$0" "\$@"' "$python" "\$@"
fi
exec "$python" "\$@"  # with what the machine has registered
RUN
}

arm_binaries() {  # how the kernel recognises them: ELF, 32 bits, little endian, executable, ARM
  printf '%s' ':arm:M::\x7f\x45\x4c\x46\x01\x01\x01' '\x00\x00\x00\x00\x00\x00\x00\x00\x00' '\x02\x00\x28\x00' \
    ':\xff\xff\xff\xff\xff\xff\xff' '\x00\xff\xff\xff\xff\xff\xff\xff\xff' '\xfe\xff\xff\xff' \
    ":$folder/qemu-arm-static:F"
}

[ "$(cat "$folder/.ready" 2>/dev/null)" = "$key" ] || make_userland "$@"
"$folder/run" -c 'import subprocess, sys; subprocess.run([sys.executable, "-c", ""], check=True)' ||
  skip "the kernel cannot start armhf binaries: needs user namespaces and Linux 6.7, or qemu-arm in binfmt_misc"
