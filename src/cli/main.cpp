// tenon: runs, explains and times tensor programs from the command line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "commands.hpp"

namespace {

using namespace tenon::cli;

constexpr int kFailed = 1, kBadCommandLine = 2, kFileTrouble = 3;

constexpr const char* kFooter = R"(Exit status:
  0  done
  1  the model could not be loaded, compiled or run; the message has the status, and its fields a line each
  2  the command line is wrong
  3  a file could not be read or written

Examples:
  tenon run minilm.pt2 --input ids=ids.npy --input mask=mask.npy --output embedding.npy
  tenon run minilm.pt2 --dim ids.0=8 --dim ids.1=32 --fill ones --repeat 100 --time --threads 2
  tenon run mlp.graph --dim batch=8 --policy vm --output-dir out
  tenon run minilm.pt2 --dim ids.0=1 --dim ids.1=16 --save minilm.tenon
  tenon explain minilm.pt2 --what interface
  tenon explain minilm.pt2 --dim ids.0=1 --dim ids.1=16 --what guards,plan,source
)";

int report(const tenon::Status& status) {
  if (status.ok()) return 0;
  fmt::print(stderr, "tenon: {}: {}\n", tenon::code_name(status.code()), status.message());
  for (const char* key : {"operator", "value", "input", "expected", "found", "guard", "pass", "file", "entry"}) {
    if (const std::string_view field = status.field(key); !field.empty()) fmt::print(stderr, "  {}: {}\n", key, field);
  }
  const tenon::Code code = status.code();
  const bool file = code == tenon::Code::kNotFound || code == tenon::Code::kUnavailable || code == tenon::Code::kDataLoss;
  return file ? kFileTrouble : kFailed;
}

void add_model_options(CLI::App& command, ModelOptions& options, bool positional) {
  command.add_option(positional ? "model" : "--model", options.path, "a .pt2 archive, a .tenon package, or a graph as text")->required();
  command.add_option("--threads", options.threads, "threads, the caller's included; 0: one a core")->capture_default_str();
  command.add_option("--policy", options.policy, "when no compiled entry fits: compile now, compile behind while the vm answers, or vm only")
      ->check(CLI::IsMember({"now", "behind", "vm"}))
      ->capture_default_str();
  command.add_option("--isa", options.isa, "x86-64-v2, x86-64-v3, x86-64-v4, neon; left out: the best of this machine");
  command.add_option("--cache-dir", options.cache_directory, "where compiled kernels are kept; left out: $TENON_CACHE_DIR, else the user's cache");
  command.add_flag("--no-cache", options.no_cache, "compile everything anew");
  command.add_option("--disable-passes", options.disabled_passes, "names with commas between, for looking for bugs");
}

void add_input_options(CLI::App& command, ModelOptions& options) {
  command.add_option("--input", options.inputs, "NAME=FILE.npy, or FILE.npy for the first input without a file");
  command.add_option("--dim", options.dims, "SYMBOL=SIZE or INPUT.AXIS=SIZE, for inputs without a file");
  command.add_option("--fill", options.fill, "what inputs without a file hold; random: floats in [-1, 1), whole numbers 0 or 1")
      ->check(CLI::IsMember({"random", "zeros", "ones"}))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "of --fill random")->capture_default_str();
  command.add_flag("--quiet", options.quiet, "no progress bar and no list of outputs");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compiles tensor programs to fused native code and runs them.", "tenon");
  app.require_subcommand(1);
  app.footer(kFooter);

  RunOptions run;
  CLI::App* run_app = app.add_subcommand("run", "run a model once, or --repeat N times");
  add_model_options(*run_app, run.model, true);
  add_input_options(*run_app, run.model);
  run_app->add_option("--output", run.outputs, "NAME=FILE.npy, or FILE.npy for the first output without a file");
  run_app->add_option("--output-dir", run.output_directory, "write every output to DIR/NAME.npy");
  run_app->add_option("--repeat", run.repeat, "timed runs after the first")->check(CLI::NonNegativeNumber);
  run_app->add_flag("--time", run.time, "print times and counters");
  run_app->add_option("--save", run.save, "write a package of what was compiled, to run without the compiler");
  run_app->footer(kFooter);

  ExplainOptions explain;
  CLI::App* explain_app = app.add_subcommand("explain", "show what a model became");
  add_model_options(*explain_app, explain.model, true);
  add_input_options(*explain_app, explain.model);
  explain_app->add_option("--what", explain.what, "interface, graph, guards, plan, source, counters, passes, misses; commas between")
      ->delimiter(',')
      ->check(CLI::IsMember({"interface", "graph", "guards", "plan", "source", "counters", "passes", "misses"}));
  explain_app->footer(kFooter);

  BenchWorkerOptions worker;
  CLI::App* worker_app = app.add_subcommand("bench-worker", "a timed worker driven over standard input: 'run N', 'quit' (see bench/)");
  add_model_options(*worker_app, worker.model, false);
  worker_app->add_option("--shape", worker.shape, "sizes of the inputs' axes, BATCHxLENGTH");
  worker_app->add_option("--inputs", worker.directory, "folder with NAME.npy, or in0.npy, in1.npy ...");
  worker_app->add_option("--fill", worker.model.fill, "what inputs hold without --inputs")->check(CLI::IsMember({"random", "zeros", "ones"}));

  app.add_subcommand("version", "print the versions of the program and the library");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadCommandLine;
  }
  if (run_app->parsed()) return report(run_command(run));
  if (explain_app->parsed()) {
    if (explain.what.empty()) explain.what = {"interface", "graph", "guards", "plan", "source", "counters"};
    return report(explain_command(explain));
  }
  if (worker_app->parsed()) return report(bench_worker_command(worker));
  const uint32_t api = tenon_api_version();
  fmt::print("tenon {}, C API {}.{}{}\n", TENON_VERSION, api >> 16, api & 0xffff,
             tenon::has_feature("compiler") ? "" : ", without the compiler library");
  return 0;
}
