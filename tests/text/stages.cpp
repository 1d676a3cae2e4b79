#include "text/stages.hpp"

#include "artifact/artifact.hpp"
#include "loop/print.hpp"
#include "lower/lower.hpp"
#include "schedule/emit.hpp"
#include "support/format.hpp"

namespace tenon::text {

bool is_stage(std::string_view name) { return name == "lower" || name == "schedule"; }

Result<std::string> run_stage(std::string_view name, graph::Graph& graph) {
  TENON_ASSIGN_OR_RETURN(const auto module, lower::lower(graph));
  if (name == "lower") return loop::print(*module, graph.name());
  TENON_ASSIGN_OR_RETURN(const std::vector<schedule::Launch> launches, schedule::schedule(*module));
  std::string out;
  for (const schedule::Launch& launch : launches) {
    append(out, concat("// ", launch.origin, "\n// buffers"));
    for (size_t index = 0; index < launch.buffers.size(); ++index) {
      const std::string& buffer = module->buffers[launch.buffers[index]].name;
      append(out, concat(" ", launch.written[index] ? "writes " : "reads ", buffer));
    }
    append(out, "\n// sizes");
    for (loop::Expr size : launch.sizes) append(out, concat(" ", graph.pool().print(size)));
    append(out, concat("\n", artifact::print(launch.program)));
  }
  return out;
}

}  // namespace tenon::text
