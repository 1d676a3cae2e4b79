#!/usr/bin/env bash
# Installs what is needed, builds everything and runs every test; the summary comes last.
# Environment: TENON_BUILD, the build folder (build/release); TENON_DEPS, see third_party/install.sh.
# Arguments go to ctest, for instance: tests/run.sh -R graph/
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=${TENON_BUILD:-build/release}
export PYTHONDONTWRITEBYTECODE=1

third_party/install.sh --build --models
models=$(third_party/install.sh --print-deps)/models
if [ ! -f "$models/minilm_sdpa.pt2" ] || [ ! -f "$models/minilm_eager.pt2" ] || [ ! -f "$models/minilm_decomposed.pt2" ]; then
  "$models/../venv/bin/python" examples/models/export_minilm.py
fi
cmake --preset release -B "$build"
cmake --build "$build" -j 2
ctest --test-dir "$build" --output-on-failure -j 2 "$@"
