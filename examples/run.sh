#!/usr/bin/env bash
# From a fresh clone to sentence embeddings: installs what is needed, builds, embeds real sentences with a trained model
# from C, and prints how alike they are, how far the numbers are from LibTorch's, and how much faster they come.
# Ends with a status other than 0 when a number is off by more than 1e-5.
# Environment: TENON_BUILD, the build folder (build/release); TENON_DEPS, see third_party/install.sh.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly kThreads=2 kRounds=8 kRuns=8
build=${TENON_BUILD:-build/release}
export PYTHONDONTWRITEBYTECODE=1

fail() { printf 'run.sh: %s\n' "$*" >&2; exit 1; }

third_party/install.sh --build --models
deps=$(third_party/install.sh --print-deps)
python=$deps/venv/bin/python
cmake --preset release -B "$build" > /dev/null
cmake --build "$build" -j 2 --target example_embed tenon_program

model=$deps/models/minilm_sdpa.pt2
if [ ! -f "$model" ]; then "$python" examples/models/export_minilm.py; fi
files=$(mktemp -d)
trap 'rm -rf "$files"' EXIT
"$python" examples/models/tokenize_sentences.py --file examples/sentences.txt \
  --ids "$files/ids.npy" --mask "$files/mask.npy" --reference "$files/reference.npy"

# embed RUNS: one process, the model loaded anew.
embed() {
  "$build/examples/embed" "$model" "$files/ids.npy" "$files/mask.npy" "$files/reference.npy" \
    examples/sentences.txt $kThreads "$1"
}
printf '\n'
embed 0

# Speed: LibTorch's eager mode and Tenon take turns, so that what else the machine does falls on both; the fastest run of
# each counts. LibTorch keeps its process; the shape is the sentences'.
shape=$("$python" -c 'import sys, numpy; print("x".join(map(str, numpy.load(sys.argv[1]).shape)))' "$files/ids.npy")
coproc EAGER { exec "$python" bench/peers/peer.py --model minilm --peer eager --threads $kThreads --shape "$shape"; }
read -r _ <&"${EAGER[0]}" || fail "bench/peers/peer.py did not start"
for ((round = 0; round < kRounds; ++round)); do
  printf 'run %d\n' $kRuns >&"${EAGER[1]}"
  read -r times <&"${EAGER[0]}" || fail "bench/peers/peer.py ended early"
  tr -d '[] ' <<< "$times" | tr ',' '\n' >> "$files/eager"
  embed $kRuns | sed -nE 's/^fastest of .*: ([0-9.]+) ms$/\1/p' >> "$files/tenon"
done
printf 'quit\n' >&"${EAGER[1]}"
wait "$EAGER_PID" 2>/dev/null || true
eager=$(sort -g "$files/eager" | head -1)
tenon=$(sort -g "$files/tenon" | head -1)
awk -v eager="$eager" -v tenon="$tenon" -v shape="$shape" -v threads=$kThreads 'BEGIN {
  printf "ids of %s, %d threads, fastest runs: LibTorch eager %.3f ms, Tenon %.3f ms: %.2f times as fast\n",
    shape, threads, eager, tenon, eager / tenon }'
