/* Reads row-major little-endian .npy files, as numpy.save writes them: enough for the examples. */
#ifndef TENON_EXAMPLES_NPY_H
#define TENON_EXAMPLES_NPY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char kind[4]; /* "<i8", "<f4" */
  int32_t rank;
  int64_t dims[8];
  void* data; /* free() it */
} npy_t;

/* 1 on success; else 0, and standard error says why. */
static int npy_read(const char* path, const char* kind, npy_t* out) {
  memset(out, 0, sizeof *out);
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return 0;
  }
  unsigned char start[10];
  char header[4096] = "";
  size_t header_bytes = 0;
  int good = fread(start, 1, sizeof start, file) == sizeof start && memcmp(start, "\x93NUMPY\x01", 7) == 0;
  if (good) {
    header_bytes = start[8] + 256u * start[9];
    good = header_bytes < sizeof header && fread(header, 1, header_bytes, file) == header_bytes;
  }
  const char* descr = good ? strstr(header, "'descr': '") : NULL;
  const char* shape = good ? strstr(header, "'shape': (") : NULL;
  good = descr != NULL && shape != NULL && strstr(header, "'fortran_order': False") != NULL &&
         strncmp(descr + 10, kind, 3) == 0;
  size_t bytes = (size_t)(kind[2] - '0');
  if (good) {
    memcpy(out->kind, kind, 3);
    char* at = (char*)shape + 10;
    while (*at != ')' && *at != '\0' && out->rank < 8) {
      out->dims[out->rank] = strtoll(at, &at, 10);
      bytes *= (size_t)out->dims[out->rank++];
      while (*at == ',' || *at == ' ') ++at;
    }
    out->data = malloc(bytes > 0 ? bytes : 1);
    good = out->data != NULL && fread(out->data, 1, bytes, file) == bytes;
  }
  fclose(file);
  if (!good) {
    fprintf(stderr, "%s: expected a row-major .npy file of %s\n", path, kind);
    free(out->data);
    out->data = NULL;
  }
  return good;
}

#endif
