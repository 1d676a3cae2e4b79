// Prints the scalar operations of one body as statements. Operations that do not depend on the vector axis become scalars
// and come first; the others become vectors of VL lanes, for a full vector or for `count` lanes.
#pragma once

#include <string>
#include <vector>

#include "artifact/kernel_program.hpp"
#include "target/target_info.hpp"

namespace tenon::codegen::cpu {

// How a C++ type is spelled, as a scalar and as a vector. Values of type bool are bool and VI32 masks.
const char* scalar_type(DType dtype);   // in registers
const char* memory_type(DType dtype);   // in memory
const char* vector_type(DType dtype);

struct BodyNames {
  std::string prefix = "v";                 // of values
  std::vector<std::string> axes;            // expression of each axis' value; of the vector axis the first lane's
  int32_t vector_axis = -1;                 // -1: all is uniform
  std::string accumulator;                  // of a hook; a vector
};

class BodyPrinter {
 public:
  BodyPrinter(const artifact::KernelProgram& program, const target::TargetInfo& target, const std::vector<artifact::BodyOp>& body,
              BodyNames names);

  bool varies(int32_t value) const { return varies_[size_t(value)]; }
  // Statements that define the uniform values that are needed.
  void print_uniform(std::string& out, const std::string& indent) const;
  // Statements that define the varying ones. `count` "": full vectors.
  void print_varying(std::string& out, const std::string& indent, const std::string& count) const;
  // A value as a vector (uniform ones are broadcast) or as a scalar.
  std::string vector(int32_t value) const;
  std::string scalar(int32_t value) const;
  // Stores a value (as a vector, or a scalar when there is no vector axis).
  void print_store(std::string& out, const std::string& indent, int32_t parameter, const artifact::Address& address, int32_t value,
                   const std::string& count) const;
  void print_store_text(std::string& out, const std::string& indent, int32_t parameter, const artifact::Address& address,
                        const std::string& vector_value, DType dtype, const std::string& count) const;
  std::string size(const artifact::SizeValue& value) const;

 private:
  std::string name(int32_t value) const;
  std::string uniform_expression(const artifact::BodyOp& op) const;
  std::string varying_expression(const artifact::BodyOp& op, const std::string& count) const;
  std::string varying_load(const artifact::BodyOp& op, const std::string& count) const;
  std::string uniform_offset(const artifact::Address& address) const;   // without the vector axis and varying parts
  const artifact::SizeValue* vector_step(const artifact::Address& address) const;
  bool address_varies(const artifact::Address& address) const;

  const artifact::KernelProgram& program_;
  const target::TargetInfo& target_;
  const std::vector<artifact::BodyOp>& body_;
  BodyNames names_;
  std::vector<bool> varies_;
};

}  // namespace tenon::codegen::cpu
