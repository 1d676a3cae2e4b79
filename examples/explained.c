/* y = relu(2 x + 1) with Tenon's C API, step by step. terse.c is the same program without words. */
#include <stdio.h>
#include <string.h>

#include <tenon.h>

static tenon_str_t str(const char* text) {
  tenon_str_t out = {text, strlen(text)};
  return out;
}

/* Fallible functions return NULL, or a status that the caller releases. The message is for people; programs look at the
 * code (Abseil's numbers) and at the fields: "operator", "input", "expected", "found" and so on. */
static int failed(tenon_status_t* status, const char* step) {
  if (status == NULL) return 0;
  tenon_str_t message = tenon_status_message(status);
  tenon_str_t found = tenon_status_field(status, str("found"));
  fprintf(stderr, "%s: code %d: %.*s", step, tenon_status_code(status), (int)message.size, message.data);
  if (found.size > 0) fprintf(stderr, " (found %.*s)", (int)found.size, found.data);
  fprintf(stderr, "\n");
  tenon_status_release(status);
  return 1;
}

/* Builds the program: a graph of PyTorch's operators, under PyTorch's names. Nothing is computed here. */
static int build(tenon_graph_t* graph) {
  /* A named size. One compiled program serves every n from 1 to 64; another size is an error, not a recompilation. */
  tenon_dim_t n;
  if (failed(tenon_graph_symbol(graph, str("n"), 1, 64, 1, &n), "symbol")) return 0;

  /* Values are plain numbers of one graph. */
  tenon_dim_t dims[2] = {n, 2};
  tenon_type_t type = {0};
  type.dtype = TENON_DTYPE_F32;
  type.device_kind = TENON_DEVICE_CPU;
  type.rank = 2;
  type.dims = dims;
  tenon_value_t x, doubled, shifted, y;
  if (failed(tenon_graph_input(graph, str("x"), &type, &x), "input")) return 0;

  /* Tensor arguments go in the list of values; all others are attributes under the name that PyTorch's schema gives. */
  double two = 2.0, one = 1.0;
  tenon_attr_t times = {0}, plus = {0};
  times.name = str("other");
  times.kind = TENON_ATTR_F64;
  times.count = 1;
  times.values = &two;
  plus = times;
  plus.values = &one;
  if (failed(tenon_graph_node(graph, str("aten.mul.Scalar"), &x, 1, &times, 1, &doubled, 1), "mul")) return 0;
  if (failed(tenon_graph_node(graph, str("aten.add.Scalar"), &doubled, 1, &plus, 1, &shifted, 1), "add")) return 0;
  if (failed(tenon_graph_node(graph, str("aten.relu"), &shifted, 1, NULL, 0, &y, 1), "relu")) return 0;
  if (failed(tenon_graph_output(graph, str("y"), y), "output")) return 0;
  return !failed(tenon_graph_verify(graph), "verify");
}

/* For every function that writes text: it comes in chunks. */
static void print_chunk(void* user, tenon_str_t chunk) { fwrite(chunk.data, 1, chunk.size, (FILE*)user); }

int main(void) {
  /* NULL options: the machine's cores, a cache in $HOME/.cache/tenon, the system's compiler. */
  tenon_context_t* context = NULL;
  tenon_graph_t* graph = NULL;
  tenon_function_t* function = NULL;
  tenon_call_t* call = NULL;
  int result = 1;
  if (failed(tenon_context_create(NULL, &context), "context")) goto done;
  if (failed(tenon_graph_create(context, str("f"), &graph), "graph") || !build(graph)) goto done;
  if (failed(tenon_graph_print(graph, print_chunk, stdout), "print")) goto done;

  /* A function is the cache of compiled programs for this graph; it may be run from many threads at once. */
  if (failed(tenon_compile(context, graph, NULL, &function), "compile")) goto done;

  /* A call holds one caller's bindings. Its second and later runs allocate nothing. */
  if (failed(tenon_call_create(function, &call), "call")) goto done;
  float x[6] = {-3, -1, 0, 1, 2, 3}, y[6];
  int64_t dims[2] = {3, 2};
  tenon_tensor_t in = {0};
  in.data = x; /* read in place at run */
  in.dtype = TENON_DTYPE_F32;
  in.device_kind = TENON_DEVICE_CPU;
  in.rank = 2;
  in.dims = dims; /* strides NULL: row-major */
  tenon_tensor_t out = in;
  out.data = y; /* filled in place */
  if (failed(tenon_call_bind_input(call, 0, &in), "bind input")) goto done;
  if (failed(tenon_call_bind_output(call, 0, &out), "bind output")) goto done;
  if (failed(tenon_call_run(call), "run")) goto done;
  for (int i = 0; i < 6; ++i) printf("%g ", y[i]);
  printf("\n");

  /* What was compiled: the guards that choose it (also "plan", "source", "passes", "misses"). */
  if (failed(tenon_function_explain(function, str("guards"), print_chunk, stdout), "explain")) goto done;
  result = 0;
done:
  /* Everything may be released in any order, and NULL is fine. */
  tenon_call_release(call);
  tenon_function_release(function);
  tenon_graph_release(graph);
  tenon_context_release(context);
  return result;
}
