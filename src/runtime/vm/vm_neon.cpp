// Block loops and matrix kernels of one level; compiled with that level's flags.
#define TENON_VM_TABLE kVmNeon

#include "codegen/templates/builtin.cpp.inc"
#include "runtime/vm/vm_blocks.inc"
