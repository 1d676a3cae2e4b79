// Tenon as one more participant beside bench/peers/peer.py, over the C ABI: one model, one shape, one process.
//
//   tenon_worker --model PATH.pt2 --shape BxL [--threads N] [--inputs DIR] [--dump DIR] [--vocabulary N]
//                [--policy now|behind|vm] [--no-cache] [--isa NAME]
//
// Prints one JSON line after the first result, then answers lines as peer.py does:
//   run N   N timed runs -> a JSON list of N times in ms
//   wait    waits until no kernel is pending -> {"tier": .., "compiled_at_ns": ..}
//   quit    ends
// Without --inputs the tokens are those that peer.py draws. "*_at_ns" are CLOCK_MONOTONIC, so that who started the
// process can tell how long it took from there.
#include <tenon.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "npy.h"

namespace {

struct Options {
  std::string model, inputs, dump, isa, policy = "now";
  int64_t batch = 1, length = 16, vocabulary = 30522;
  uint32_t threads = 2;
  bool cache = true;
};

int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

tenon_str_t str(std::string_view text) { return {text.data(), text.size()}; }

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += uint8_t(c) < 32 ? ' ' : c;
  }
  return out;
}

// An error ends the process; its text is the line that the driver waits for.
[[noreturn]] void fail(std::string_view what, std::string_view message) {
  std::printf("{\"error\": \"%s: %s\"}\n", escaped(what).c_str(), escaped(message).c_str());
  std::fflush(stdout);
  std::exit(1);
}

void check(tenon_status_t* status, std::string_view what) {
  if (status == nullptr) return;
  const tenon_str_t message = tenon_status_message(status);
  fail(what, std::string_view(message.data, message.size));
}

Options parse(int argc, char** argv) {
  Options out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--no-cache") {
      out.cache = false;
      continue;
    }
    if (i + 1 == argc) fail("options", std::string("unknown, or without its value: ") + argv[i]);
    const char* value = argv[++i];
    if (name == "--model")
      out.model = value;
    else if (name == "--inputs")
      out.inputs = value;
    else if (name == "--dump")
      out.dump = value;
    else if (name == "--isa")
      out.isa = value;
    else if (name == "--policy")
      out.policy = value;
    else if (name == "--vocabulary")
      out.vocabulary = std::atoll(value);
    else if (name == "--threads")
      out.threads = uint32_t(std::atoi(value));
    else if (name == "--shape") {
      char* end = nullptr;
      out.batch = std::strtoll(value, &end, 10);
      out.length = *end == 'x' ? std::strtoll(end + 1, &end, 10) : 0;
      if (out.batch < 1 || out.length < 1 || *end != '\0') fail("--shape", "expected BATCHxLENGTH, as 1x16");
    } else {
      fail("options", std::string("unknown: ") + argv[i - 1]);
    }
  }
  if (out.model.empty()) fail("options", "--model is missing");
  if (out.policy != "now" && out.policy != "behind" && out.policy != "vm")
    fail("--policy", "expected now, behind or vm");
  return out;
}

// What examples/models/language_models.py draws: torch.randint from a generator seeded by the shape, which is the
// standard's mt19937 modulo the range; and a mask whose later rows end earlier.
std::vector<int64_t> draw(const Options& options, bool mask) {
  std::vector<int64_t> out(size_t(options.batch * options.length));
  std::mt19937 generator(uint32_t(options.batch * 1000 + options.length));
  for (int64_t row = 0; row < options.batch; ++row) {
    const int64_t end = row == 0 ? options.length : std::max<int64_t>(1, options.length - row % options.length);
    for (int64_t at = 0; at < options.length; ++at) {
      int64_t& element = out[size_t(row * options.length + at)];
      element = mask ? at < end : int64_t(generator() % uint64_t(options.vocabulary));
    }
  }
  return out;
}

void write_npy(const std::string& path, const tenon_tensor_t& tensor) {
  if (tensor.dtype != TENON_DTYPE_F32) fail(path, "only f32 outputs are written");
  std::string shape;
  size_t elements = 1;
  for (int32_t axis = tensor.rank; axis-- > 0;) {
    if (tensor.strides != nullptr && tensor.dims[axis] > 1 && tensor.strides[axis] != int64_t(elements))
      fail(path, "not row-major");
    elements *= size_t(tensor.dims[axis]);
  }
  for (int32_t axis = 0; axis < tensor.rank; ++axis) shape += std::to_string(tensor.dims[axis]) + ", ";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) fail(path, std::strerror(errno));
  const unsigned char start[10] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, uint8_t(header.size()), uint8_t(header.size() >> 8)};
  bool good = std::fwrite(start, 1, sizeof start, file) == sizeof start;
  good = std::fwrite(header.data(), 1, header.size(), file) == header.size() && good;
  good = std::fwrite(tensor.data, 4, elements, file) == elements && good;
  good = std::fclose(file) == 0 && good;
  if (!good) fail(path, "could not be written");
}

std::string best_isa() {
  for (const char* name : {"x86-64-v4", "x86-64-v3", "x86-64-v2", "neon"}) {
    if (tenon_has_feature(str(std::string("isa:") + name)) != 0) return name;
  }
  return "?";
}

int64_t counter(const tenon_function_t* function, std::string_view name) {
  int64_t value = 0;
  check(tenon_function_counter(function, str(name), &value), name);
  return value;
}

int64_t counter(tenon_context_t* context, std::string_view name) {
  int64_t value = 0;
  check(tenon_context_counter(context, str(name), &value), name);
  return value;
}

void serve(tenon_context_t* context, tenon_function_t* function, tenon_call_t* call) {
  char line[256];
  std::vector<double> times;
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    long count = 0;
    if (std::strcmp(line, "quit\n") == 0) return;
    if (std::strcmp(line, "wait\n") == 0) {
      while (counter(function, "pending_kernels") > 0) {
        int32_t pending = 0;
        check(tenon_context_poll(context, 1'000'000, &pending), "poll");
        const timespec pause{0, 200'000};
        nanosleep(&pause, nullptr);
      }
      std::printf("{\"tier\": %lld, \"fallbacks\": %lld, \"compiled_at_ns\": %lld}\n",
                  (long long)counter(function, "tier"), (long long)counter(function, "fallbacks"), (long long)now_ns());
    } else if (std::sscanf(line, "run %ld", &count) == 1 && count > 0) {
      times.resize(size_t(count));
      for (double& time : times) {
        const int64_t start = now_ns();
        check(tenon_call_run(call), "run");
        time = double(now_ns() - start) / 1e6;
      }
      for (size_t i = 0; i < times.size(); ++i) std::printf("%s%.6f", i == 0 ? "[" : ", ", times[i]);
      std::printf("]\n");
    } else {
      std::printf("{\"error\": \"expected 'run N', 'wait' or 'quit'\"}\n");
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t main_at = now_ns();
  const Options options = parse(argc, argv);

  tenon_context_options_t context_options = TENON_CONTEXT_OPTIONS_INIT;
  context_options.threads = options.threads;
  context_options.isa = str(options.isa);
  if (!options.cache) context_options.flags |= TENON_CONTEXT_NO_CACHE;
  tenon_context_t* context = nullptr;
  check(tenon_context_create(&context_options, &context), "context");

  tenon_graph_t* graph = nullptr;
  check(tenon_graph_import(context, str("pt2"), str(options.model), &graph), "import");
  const int64_t imported_at = now_ns();
  tenon_compile_options_t compile_options = TENON_COMPILE_OPTIONS_INIT;
  compile_options.miss_policy = options.policy == "now"      ? TENON_MISS_COMPILE_NOW
                                : options.policy == "behind" ? TENON_MISS_COMPILE_BEHIND
                                                             : TENON_MISS_VM;
  if (options.policy == "now") compile_options.flags = TENON_COMPILE_FALLBACK_IS_ERROR;
  tenon_function_t* function = nullptr;
  check(tenon_compile(context, graph, &compile_options, &function), "compile");
  tenon_graph_release(graph);

  const size_t n_inputs = tenon_function_inputs(function);
  const int64_t dims[2] = {options.batch, options.length};
  std::vector<std::vector<int64_t>> drawn(n_inputs);
  std::vector<npy_t> read(n_inputs);
  std::vector<tenon_tensor_t> inputs(n_inputs);
  for (size_t i = 0; i < n_inputs; ++i) {
    inputs[i] = {nullptr, TENON_DTYPE_I64, TENON_DEVICE_CPU, 0, 2, 0, 0, dims, nullptr, nullptr};
    if (options.inputs.empty()) {
      drawn[i] = draw(options, i > 0);
      inputs[i].data = drawn[i].data();
    } else {
      const std::string path = options.inputs + "/in" + std::to_string(i) + ".npy";
      if (npy_read(path.c_str(), "<i8", &read[i]) == 0) fail(path, "is not a row-major array of i64");
      inputs[i].data = read[i].data;
      inputs[i].rank = read[i].rank;
      inputs[i].dims = read[i].dims;
    }
  }
  tenon_call_t* call = nullptr;
  check(tenon_call_create(function, &call), "call");
  for (size_t i = 0; i < n_inputs; ++i) check(tenon_call_bind_input(call, i, &inputs[i]), "bind");

  // "now": all kernels are native before the first run.
  const int64_t compiling_at = now_ns();
  if (options.policy == "now") check(tenon_function_prepare(function, inputs.data(), n_inputs), "prepare");
  const int64_t compiled_at = now_ns();
  check(tenon_call_run(call), "first run");
  const int64_t first_at = now_ns();

  const std::string isa = options.isa.empty() ? best_isa() : options.isa;
  std::printf("{\"peer\": \"tenon\", \"shape\": \"%lldx%lld\", \"threads\": %u, \"isa\": \"%s\", \"policy\": \"%s\", ",
              (long long)options.batch, (long long)options.length, options.threads, isa.c_str(),
              options.policy.c_str());
  std::printf("\"ready\": %.6f, \"first\": %.6f, \"import\": %.6f, \"compiled\": %.6f, ",
              double(compiling_at - main_at) / 1e9, double(first_at - compiling_at) / 1e9,
              double(imported_at - main_at) / 1e9, double(compiled_at - imported_at) / 1e9);
  std::printf(
      "\"tier\": %lld, \"kernels\": %lld, \"compile_ns\": %lld, \"cache_hits\": %lld, \"main_at_ns\": %lld, "
      "\"imported_at_ns\": %lld, \"first_at_ns\": %lld}\n",
      (long long)counter(function, "tier"), (long long)counter(function, "kernels"),
      (long long)counter(function, "compile_ns"), (long long)counter(context, "cache_hits"), (long long)main_at,
      (long long)imported_at, (long long)first_at);
  std::fflush(stdout);

  if (!options.dump.empty()) {
    tenon_tensor_t output;
    check(tenon_call_output(call, 0, &output), "output");
    write_npy(options.dump + "/out_tenon.npy", output);
  }
  serve(context, function, call);

  tenon_call_release(call);
  tenon_function_release(function);
  tenon_context_release(context);
  for (npy_t& array : read) std::free(array.data);
  return 0;
}
