#include "schedule/emit.hpp"
#include "schedule/epilogue.hpp"
#include "schedule/group.hpp"

namespace tenon::schedule {

Result<std::vector<Launch>> schedule(Module& module) {
  drop_dead_statements(module);
  absorb_epilogues(module);
  const std::vector<Group> groups = group_statements(module);
  // A buffer needs memory when the program hands it out or another kernel reads it.
  std::vector<bool> outside(module.buffers.size(), false);
  std::vector<int> writer(module.buffers.size(), -1);
  for (BufferId buffer : module.outputs) outside[buffer] = true;
  for (const auto& [target, buffer] : module.write_backs) outside[buffer] = true;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (uint32_t statement : groups[g].statements) {
      for (BufferId buffer : writes(module.statements[statement])) writer[buffer] = int(g);
    }
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    for (uint32_t statement : groups[g].statements) {
      for (BufferId buffer : reads(module, module.statements[statement])) {
        if (writer[buffer] != int(g)) outside[buffer] = true;
      }
    }
  }
  std::vector<Launch> launches;
  for (const Group& group : groups) {
    TENON_ASSIGN_OR_RETURN(Launch launch, group.is_template ? emit_template(module, group) : emit_nests(module, group, outside));
    launches.push_back(std::move(launch));
  }
  return launches;
}

}  // namespace tenon::schedule
