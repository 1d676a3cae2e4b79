// Single elements of constants, for inline data in the text format.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "support/blob.hpp"
#include "support/dtype.hpp"

namespace tenon::graph {

// The text of one element at `bytes` (size_bytes(dtype) of them): "true", "-3", "0.1", "nan".
void append_element(std::string& out, DType dtype, const uint8_t* bytes);
// The inverse; an integer text is fine for a floating element. False when the text is no such number or out of range.
bool write_element(DType dtype, std::string_view text, uint8_t* bytes);

// Half precision from and to float, rounding to nearest even.
float float_of_f16(uint16_t bits);
uint16_t f16_of_float(float value);
float float_of_bf16(uint16_t bits);
uint16_t bf16_of_float(float value);

}  // namespace tenon::graph
