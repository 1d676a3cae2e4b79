// A function as one file: its interface, and every entry with compiled kernels and weights in the form that it uses
// them in. Weights are 64-byte aligned in the file and used from its mapping. A loaded function cannot make new
// entries.
#pragma once

#include <memory>
#include <string>

#include "runtime/function.hpp"
#include "support/env.hpp"

namespace tenon::runtime {

// FAILED_PRECONDITION: there is no entry yet (prepare the function first).
Status save_package(const Function& function, Env& env, const std::string& path);
// DATA_LOSS: it is no package, or damaged (the index and the programs are checksummed, weights are not read).
Result<std::shared_ptr<Function>> load_package(const std::shared_ptr<Context>& context, Env& env,
                                               const std::string& path);

}  // namespace tenon::runtime
