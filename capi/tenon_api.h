/* The functions of tenon.h as a table, for hosts that load the library with dlopen and for plugins:
 *   const tenon_api_t* (*get)(uint32_t) = dlsym(library, "tenon_get_api");
 *   const tenon_api_t* api = get(TENON_API_VERSION);
 * The table of an older version is a prefix of a newer one's. */
#ifndef TENON_API_H
#define TENON_API_H

#include "tenon.h"

struct tenon_api {
  uint32_t version;     /* TENON_API_VERSION of the library */
  uint32_t n_functions; /* that follow */
#define TENON_FUNCTION(since, type, name, parameters) type (*name) parameters;
#include "functions.inc"
#undef TENON_FUNCTION
};

#endif /* TENON_API_H */
