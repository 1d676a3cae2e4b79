/* The calling convention of every kernel, generated or built in. Generated code pastes this text (it includes nothing),
 * so it must stay plain C without includes. A kernel makes no threads, allocates nothing and calls nothing outside its image: the executor splits
 * [0, tiles) among workers, each call does the tiles [first, last) and may use `scratch` (64-byte aligned, of the size
 * that the plan states, contents undefined at entry, private to the worker during the call). */
#pragma once

typedef struct tenon_kernel_args {
  void* const* buffers;   /* one pointer a parameter, in the kernel's parameter order */
  const long* sizes;      /* size parameters (extents, strides, offsets in elements), in the kernel's order */
  long* failure;          /* [0] site + 1 of the first failed index check (0: none), [1] the index, [2] its bound */
} tenon_kernel_args;

typedef void (*tenon_kernel_fn)(const tenon_kernel_args* args, long first, long last, void* scratch);
