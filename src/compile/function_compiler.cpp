#include "compile/function_compiler.hpp"

#include <mutex>

#include "compile/pipeline.hpp"
#include "compile/vm_evaluator.hpp"
#include "graph/print.hpp"
#include "support/format.hpp"

namespace tenon::compile {

namespace {

runtime::FunctionInterface describe(const graph::Graph& graph) {
  runtime::FunctionInterface out;
  std::vector<symbolic::SymbolId> order;
  for (const graph::GraphSymbol& symbol : graph.symbols()) {
    if (symbol.kind != graph::DimKind::kDeclared) continue;
    order.push_back(symbol.symbol);
    out.symbols.push_back({std::string(graph.pool().symbol_name(symbol.symbol)), symbol.min, symbol.max, symbol.divisor});
  }
  auto tensor = [&](std::string name, const graph::Type& type) {
    runtime::FunctionInterface::Tensor made;
    made.name = std::move(name);
    made.dtype = type.dtype;
    made.scalar = type.is_scalar();
    made.known = !type.pending;
    made.auto_dtype = made.auto_rank = type.pending;
    for (symbolic::Expr e : type.dims) {
      runtime::FunctionInterface::Dim dim;
      if (auto constant = graph.pool().as_constant(e)) {
        dim.fixed = *constant;
      } else {
        dim.automatic = true;
        if (graph.pool().kind(e) == symbolic::Kind::kSymbol) {
          for (size_t i = 0; i < order.size(); ++i) {
            if (order[i] == graph.pool().symbol_of(e)) {
              dim.symbol = int32_t(i);
              dim.automatic = false;
            }
          }
        }
      }
      made.dims.push_back(dim);
    }
    return made;
  };
  for (const graph::Input& input : graph.inputs()) out.inputs.push_back(tensor(input.name, graph.type(input.value)));
  for (const graph::Output& output : graph.outputs()) {
    if (const auto* ref = std::get_if<graph::ValueRef>(&output.argument)) {
      out.outputs.push_back(tensor(output.name, graph.type(ref->id)));
    } else {
      runtime::FunctionInterface::Tensor literal;
      literal.name = output.name;
      literal.scalar = true;
      out.outputs.push_back(std::move(literal));
    }
  }
  for (const graph::State& state : graph.states()) out.states.push_back(tensor(graph.value(state.value).name, graph.type(state.value)));
  return out;
}

class FunctionCompilerImpl final : public runtime::FunctionCompiler {
 public:
  FunctionCompilerImpl(Services& services, const graph::Graph& graph, const runtime::CompileOptions& options)
      : services_(services), options_(options), graph_(graph.clone()), interface_(describe(*graph_)) {}

  const runtime::FunctionInterface& interface() const override { return interface_; }

  Status specialize(const runtime::CallSignature& signature, runtime::Specialization* out) override {
    const std::lock_guard lock(mutex_);
    const int64_t start = services_.env().now_ns();
    PipelineOptions options;
    options.target = services_.host().target;
    options.auto_dims = options_.auto_dims;
    options.disabled_passes = options_.disabled_passes;
    options.env = &services_.env();
    VmEvaluator evaluator(services_);
    options.evaluator = &evaluator;
    if (auto directory = services_.env().variable("TENON_DEBUG"); directory && !directory->empty()) {
      options.dump_directory = *directory;
      options.verify = true;
    }
    auto result = run_pipeline(*graph_, signature, history_, options);
    if (!result.ok()) return std::move(result).status();
    out->artifact = artifact::write(result->assembled.artifact);
    out->sources = std::move(result->assembled.sources);
    out->pipeline_ns = services_.env().now_ns() - start;
    last_ = std::move(result->assembled.artifact);
    steps_ = std::move(result->steps);
    return {};
  }

  Status start_kernels(std::span<const uint8_t> bytes, std::unique_ptr<runtime::KernelBuild>* out) override {
    auto read = artifact::read(bytes);
    if (!read.ok()) return std::move(read).status();
    *out = build_kernels(*read, services_.kernel_options());
    return {};
  }

  Status initial_state(size_t index, Blob* out) override {
    if (index >= graph_->states().size()) return out_of_range(concat("state ", index, " of ", graph_->states().size()));
    *out = graph_->states()[index].initial;
    return {};
  }

  Status explain(std::string_view what, runtime::WriteFn write, void* user) override {
    const std::lock_guard lock(mutex_);
    std::string text;
    if (what == "graph") {
      text = graph::print(*graph_);
    } else if (what == "passes") {
      for (const StepRecord& step : steps_) {
        append(text, concat(step.name, ": ", double(step.time_ns / 1000) / 1000, " ms", step.changed ? "" : " (unchanged)", "\n"));
      }
    } else if (what == "source") {
      text = print_sources(last_, services_.host().target);
    } else {
      return not_found(concat("nothing to explain under the name `", what, "`")).with("found", what);
    }
    write(user, {text.data(), text.size()});
    return {};
  }

 private:
  Services& services_;
  const runtime::CompileOptions options_;
  std::mutex mutex_;
  std::unique_ptr<graph::Graph> graph_;
  const runtime::FunctionInterface interface_;
  DimHistory history_;
  artifact::Artifact last_;
  std::vector<StepRecord> steps_;
};

}  // namespace

std::unique_ptr<runtime::FunctionCompiler> make_function_compiler(Services& services, const graph::Graph& graph,
                                                                  const runtime::CompileOptions& options) {
  return std::make_unique<FunctionCompilerImpl>(services, graph, options);
}

}  // namespace tenon::compile
