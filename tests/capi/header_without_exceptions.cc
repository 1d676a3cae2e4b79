#include "tenon_api.h"

extern "C" int header_compiles_without_exceptions(void) {
  tenon_context_options_t options = TENON_CONTEXT_OPTIONS_INIT;
  tenon_allocator_t allocator = TENON_ALLOCATOR_INIT;
  return options.struct_size == sizeof options && allocator.struct_size == sizeof allocator &&
                 TENON_DIM_IS_SYMBOLIC(TENON_DIM_AUTO + 2) && !TENON_DIM_IS_SYMBOLIC(-1) &&
                 !TENON_DIM_IS_SYMBOLIC(TENON_DIM_PENDING)
             ? 0
             : 1;
}
