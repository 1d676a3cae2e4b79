#include "runtime/native_kernel.hpp"

#include <map>

#include "support/env.hpp"
#include "support/format.hpp"

namespace tenon::tests {

std::vector<uint8_t> compile_image(const std::string& text) {
  static std::map<std::string, std::vector<uint8_t>> made;
  std::vector<uint8_t>& image = made[text];
  if (!image.empty()) return image;
  Env& env = posix_env();
  const auto folder = env.make_temp_directory("/tmp");
  TENON_CHECK(folder.ok());
  const std::string source = join_path(*folder, "kernel.cpp"), object = join_path(*folder, "kernel.so");
  const auto abi = env.read_file(std::string(TENON_SOURCE_DIR) + "/src/artifact/kernel_abi.h");
  TENON_CHECK(abi.ok());
  const size_t pragma = abi->find("#pragma once");
  TENON_CHECK(env.write_file(source, concat(abi->substr(0, pragma), abi->substr(pragma + 12), text), false).ok());
  ProcessSpec spec;
  spec.arguments = {"/usr/bin/g++",
                    "-O1",
                    "-fPIC",
                    "-shared",
                    "-nostdlib",
                    "-fno-exceptions",
                    "-fno-asynchronous-unwind-tables",
                    "-fvisibility=hidden",
                    "-fno-tree-loop-distribute-patterns",
                    "-ffp-contract=off",
                    "-o",
                    object,
                    source,
                    "-lgcc"};
  spec.environment = {"PATH=/usr/bin:/bin"};
  const auto result = run_process(env, spec);
  TENON_CHECK(result.ok() && result->exited && result->exit_code == 0);
  const auto bytes = env.read_file(object);
  TENON_CHECK(bytes.ok());
  image.assign(bytes->begin(), bytes->end());
  remove_tree(env, *folder);
  return image;
}

}  // namespace tenon::tests
