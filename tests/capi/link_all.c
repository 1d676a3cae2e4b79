/* Compiled as C11, linked against the shared library: every function of functions.inc is there, under its name and in the
 * table, and both are the same. */
#include <stdio.h>
#include <string.h>

#include "tenon_api.h"

typedef struct {
  const char* name;
  tenon_any_fn direct;
  size_t offset;
} row_t;

int header_compiles_without_exceptions(void);

int main(void) {
  const row_t rows[] = {
#define TENON_FUNCTION(since, type, name, parameters) {#name, (tenon_any_fn)&name, offsetof(tenon_api_t, name)},
#include "functions.inc"
#undef TENON_FUNCTION
  };
  const tenon_api_t* api = tenon_get_api(TENON_API_VERSION);
  size_t i, failures = 0;
  if (api == NULL || api->n_functions != sizeof rows / sizeof rows[0]) {
    printf("the table is missing or of another length\n");
    return 1;
  }
  for (i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    tenon_any_fn listed;
    memcpy(&listed, (const char*)api + rows[i].offset, sizeof listed);
    if (listed != rows[i].direct) {
      printf("%s differs between the table and the symbol\n", rows[i].name);
      ++failures;
    }
  }
  if (tenon_get_api(TENON_API_VERSION + 1) != NULL || tenon_get_api(1u << 16) != NULL) {
    printf("a version that does not exist is supported\n");
    ++failures;
  }
  failures += header_compiles_without_exceptions() != 0;
  return failures == 0 ? 0 : 1;
}
