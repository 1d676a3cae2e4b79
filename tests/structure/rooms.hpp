// The table of rooms: which folder may include which, and which third parties.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tenon::tests {

struct Room {
  std::vector<std::string> may_use;  // rooms, and what those may use; "tenon.h" is the C API's header
  std::set<std::string> headers;     // first parts of third party headers: "rapidjson" stands for <rapidjson/...>
};

// By folder. docs/architecture.md has the reasons.
inline const std::map<std::string, Room>& rooms() {
  static const std::map<std::string, Room> kRooms = {
      {"src/support", {{}, {"xxhash.h"}}},
      {"src/artifact", {{"src/support", "src/target"}, {"flatbuffers", "xxhash.h"}}},
      {"src/target", {{"src/support"}, {}}},
      {"src/device", {{"src/artifact", "src/target"}, {"cuda.h"}}},
      {"src/extern_kernels", {{"src/device"}, {"oneapi", "cublasLt.h", "cudnn.h"}}},
      // Texts that generated code pastes and that the runtime compiles as the vm's built-in kernels.
      {"src/codegen/templates", {{"src/artifact", "src/target"}, {}}},
      {"src/runtime", {{"src/extern_kernels", "src/codegen/templates", "tenon.h"}, {}}},
      {"src/symbolic", {{"src/artifact"}, {}}},
      {"src/graph", {{"src/symbolic", "src/target"}, {}}},
      {"src/ops", {{"src/graph"}, {}}},
      {"src/passes", {{"src/ops"}, {}}},
      {"src/autodiff", {{"src/ops"}, {}}},
      {"src/import", {{"src/ops"}, {"rapidjson", "minizip", "zlib.h"}}},
      {"src/import_onnx", {{"src/ops"}, {"google"}}},
      {"src/loop", {{"src/symbolic"}, {"absl"}}},
      {"src/lower", {{"src/ops", "src/loop"}, {}}},
      {"src/schedule", {{"src/loop", "src/target", "src/codegen/templates"}, {}}},
      {"src/codegen", {{"src/schedule"}, {}}},
      {"src/toolchain", {{"src/artifact", "src/target"}, {"nvrtc.h"}}},
      {"src/compile",
       {{"src/passes", "src/autodiff", "src/import", "src/lower", "src/codegen", "src/toolchain",
         "src/runtime/compiler_interface.hpp"},
        {}}},
      {"capi", {{"src/runtime", "tenon.h"}, {"dlpack"}}},
      {"include/tenon", {{"tenon.h"}, {}}},
      {"src/executor_tbb", {{"tenon.h"}, {"oneapi", "tbb"}}},
      {"src/torch", {{"include/tenon", "tenon.h"}, {"torch", "ATen", "c10"}}},
      {"src/cli", {{"include/tenon", "tenon.h"}, {"CLI", "fmt", "filesystem", "fstream", "iostream", "sstream"}}},
  };
  return kRooms;
}

}  // namespace tenon::tests
