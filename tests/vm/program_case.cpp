#include "vm/program_case.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "artifact/artifact.hpp"
#include "runtime/vm/vm.hpp"
#include "support/format.hpp"
#include "vm/evaluator.hpp"

namespace tenon::tests {

using namespace tenon::artifact;

int ProgramCase::add_buffer(DType dtype, size_t elements, bool written, std::mt19937_64& random) {
  program.parameters.push_back({ParameterKind::kBuffer, dtype, written, {}});
  std::vector<char> bytes(elements * size_bytes(dtype));
  for (size_t i = 0; i < elements; ++i) {
    const double x = double(random() % 4001) / 20 - 100;
    Scalar value{dtype, x, 0};
    if (dtype == DType::kF32) value.real = float(x);
    if (dtype == DType::kBool) value.integer = int64_t(random() % 2);
    else if (!is_floating(dtype)) value.integer = int64_t(x);
    else if (dtype == DType::kF16) value.integer = int64_t((random() % 0x5c00) | (random() % 2 << 15));
    else if (dtype == DType::kBF16) value.integer = int64_t((random() % 0x4300) | (random() % 2 << 15));
    write_element(bytes.data() + i * size_bytes(dtype), value);
  }
  memory.push_back(std::move(bytes));
  return int(program.parameters.size()) - 1;
}

SizeValue ProgramCase::size(int64_t value, std::mt19937_64& random) {
  if (random() % 2) return {value, -1};
  sizes.push_back(value);
  program.size_count = uint32_t(sizes.size());
  return {0, int32_t(sizes.size()) - 1};
}

BodyOp load_op(DType dtype, int parameter, Address address) {
  BodyOp op;
  op.op = ScalarOp::kLoad;
  op.dtype = dtype;
  op.parameter = parameter;
  op.address = std::move(address);
  return op;
}

BodyOp value_op(ScalarOp op, DType dtype, int a, int b, int c) {
  BodyOp out;
  out.op = op;
  out.dtype = dtype;
  out.a = a;
  out.b = b;
  out.c = c;
  return out;
}

BodyOp constant_op(DType dtype, double value) {
  BodyOp out = value_op(ScalarOp::kConstant, dtype);
  out.bits = dtype == DType::kF32   ? int64_t(std::bit_cast<uint32_t>(float(value)))
             : dtype == DType::kF64 ? std::bit_cast<int64_t>(value)
                                    : int64_t(value);
  return out;
}

std::vector<target::TargetInfo> host_targets() {
  std::vector<target::TargetInfo> out;
  for (target::Isa isa : {target::Isa::kX86V2, target::Isa::kX86V3, target::Isa::kX86V4, target::Isa::kNeon}) {
    if (target::host_runs(isa)) out.push_back(target::make_target(isa));
  }
  return out;
}

std::string compare_with_evaluator(const ProgramCase& test, const target::TargetInfo& target, double tolerance) {
  const KernelProgram& p = test.program;
  auto made = runtime::vm::Program::prepare(p, target);
  if (!made.ok()) return std::string(made.status().message());
  long tiles = 1;
  for (const SizeValue& extent : p.outer) tiles *= extent.is_constant() ? extent.constant : test.sizes[extent.slot];

  auto ours = test.memory, expected = test.memory;
  std::vector<void*> buffers;
  long failure[3] = {}, expected_failure[3] = {};
  for (auto& bytes : expected) buffers.push_back(bytes.data());
  tenon_kernel_args args{buffers.data(), test.sizes.data(), expected_failure};
  evaluate(p, args, target.has_fma);

  buffers.clear();
  for (auto& bytes : ours) buffers.push_back(bytes.data());
  args = {buffers.data(), test.sizes.data(), failure};
  const size_t scratch_bytes = (made->scratch_bytes(test.sizes.data()) + 63) / 64 * 64;
  std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, scratch_bytes), &std::free);
  std::memset(scratch.get(), 0x7b, scratch_bytes);
  for (long at = 0; at < tiles;) {
    const long next = std::min(tiles, at + 1 + at % 3);
    made->run(&args, at, next, scratch.get());
    at = next;
  }
  if (std::memcmp(failure, expected_failure, sizeof failure) != 0) {
    return concat("failure ", failure[0], " ", failure[1], " ", failure[2], " instead of ", expected_failure[0], " ",
                  expected_failure[1], " ", expected_failure[2]);
  }
  if (failure[0] != 0) return "";
  for (size_t i = 0; i < ours.size(); ++i) {
    const DType dtype = p.parameters[i].dtype;
    const size_t width = size_bytes(dtype);
    for (size_t at = 0; at < ours[i].size(); at += width) {
      if (std::memcmp(&ours[i][at], &expected[i][at], width) == 0) continue;
      const Scalar a = read_element(dtype, &ours[i][at]), b = read_element(dtype, &expected[i][at]);
      if (dtype == DType::kF32 || dtype == DType::kF64) {
        if (std::isnan(a.real) && std::isnan(b.real)) continue;
        if (tolerance > 0 && std::fabs(a.real - b.real) <= tolerance * std::max(1.0, std::fabs(b.real))) continue;
        return concat("%", i, "[", at / width, "] is ", a.real, " instead of ", b.real, " on ", name(target.isa), "\n", print(p));
      }
      return concat("%", i, "[", at / width, "] is ", a.integer, " instead of ", b.integer, " on ", name(target.isa), "\n", print(p));
    }
  }
  return "";
}

}  // namespace tenon::tests
