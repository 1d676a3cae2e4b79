#!/usr/bin/env bash
# Measures Tenon, beside its peers where there are some. docs/performance.md says how and shows figures.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: bench/run.sh BENCH [OPTION...]
  cpu-models   inference of MiniLM, BERT-base and GPT-2 against the peers
  start        first result, cold compile, warm start
  overhead     a call, a guard check, the compile pipeline
  all          the three of them
Options:
  --quick          fewer rounds: to see that it works
  --rounds N       rounds of each measurement
  --threads N      of Tenon and of the peers (2)
  --models A,B     minilm, bert_base, gpt2
  --peers A,B      eager, torch.compile, torch.compile-frozen, onnxruntime, openvino; '' for none
  --cases A,B      only these rows
  --isa NAME       Tenon's instruction set level, as x86-64-v3
  --build DIR      a build folder to use as it is, instead of building build/release
JSON lines go to standard output, a table and progress to standard error.
TEXT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
fail() { printf '%s\n' "run.sh: $*" >&2; exit 1; }

[ $# -gt 0 ] || { usage >&2; exit 2; }
case $1 in
  cpu-models | start | overhead) benches=("$1") ;;
  all) benches=(overhead start cpu-models) ;;
  -h | --help) usage; exit 0 ;;
  *) usage >&2; fail "unknown benchmark $1" ;;
esac
shift
build= options=()
while [ $# -gt 0 ]; do
  case $1 in
    --quick) options+=("$1"); shift ;;
    --build) [ $# -gt 1 ] || fail "$1 needs a value"; build=$2; shift 2 ;;
    --rounds | --threads | --models | --peers | --cases | --isa)
      [ $# -gt 1 ] || fail "$1 needs a value"
      options+=("$1=$2"); shift 2 ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; fail "unknown option $1" ;;
  esac
done

deps=$("$root/third_party/install.sh" --print-deps)
"$root/third_party/install.sh" --peers --models >&2
python=$deps/venv/bin/python models=$deps/models

[ -f "$models/minilm_sdpa.pt2" ] || "$python" "$root/examples/models/export_minilm.py" >&2
for name in bert_base gpt2; do
  [ -f "$models/$name.pt2" ] || "$python" "$root/examples/models/export_lm.py" "$name" >&2
done
[ -f "$models/bert_base_1x128.pt2" ] ||
  "$python" "$here/peers/export_static.py" 1x128 "$models/bert_base_1x128.pt2" >&2

if [ -z "$build" ]; then
  build=$root/build/release
  (cd "$root" && cmake --preset release) >&2
  cmake --build "$build" --target tenon_bench >&2
fi
for program in tenon_worker tenon_overhead tenon_guard_check tenon_calibrate; do
  [ -x "$build/bench/$program" ] || fail "$build/bench/$program is missing"
done

export PYTHONDONTWRITEBYTECODE=1
for bench in "${benches[@]}"; do
  "$python" "$here/${bench//-/_}.py" --programs "$build/bench" --models-folder "$models" "${options[@]}"
done
