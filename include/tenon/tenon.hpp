// Tenon's C++20 API: everything is inline over the C API of tenon.h; works with -fno-exceptions and -fno-rtti.
#pragma once

#include "context.hpp"
