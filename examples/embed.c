/* Embeds sentences with a trained model, from C: imports a .pt2 file, compiles it, runs it on token ids, prints how alike
 * the sentences are and how far the result is from LibTorch's.
 *
 *   embed MODEL.pt2 ids.npy mask.npy reference.npy [SENTENCES.txt [THREADS [RUNS]]]
 *
 * ids, mask: i64[batch, length]; reference: f32[batch, width], what LibTorch computes. Ends with status 1 when an element
 * differs by more than 1e-5. examples/run.sh makes the files. */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <time.h>

#include <tenon.h>

#include "npy.h"

/* Every function that can fail gives NULL or a status, which the caller releases. */
static void check(tenon_status_t* status, const char* what) {
  if (status == NULL) return;
  tenon_str_t message = tenon_status_message(status);
  fprintf(stderr, "%s: status %d: %.*s\n", what, tenon_status_code(status), (int)message.size, message.data);
  tenon_status_release(status);
  exit(2);
}

static tenon_str_t str(const char* text) {
  tenon_str_t out = {text, strlen(text)};
  return out;
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

/* The library reads the caller's memory in place: a tensor is a pointer, a type and sizes. */
static tenon_tensor_t lend(const npy_t* array, int32_t dtype) {
  tenon_tensor_t tensor = {0};
  tensor.data = array->data;
  tensor.dtype = dtype;
  tensor.device_kind = TENON_DEVICE_CPU;
  tensor.rank = array->rank;
  tensor.dims = array->dims;
  return tensor;
}

static void print_table(const float* rows, int64_t count, int64_t width, const char* sentences_path) {
  FILE* sentences = sentences_path != NULL ? fopen(sentences_path, "r") : NULL;
  printf("cosine similarity\n");
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < count; ++j) {
      double dot = 0, left = 0, right = 0;
      for (int64_t k = 0; k < width; ++k) {
        dot += (double)rows[i * width + k] * rows[j * width + k];
        left += (double)rows[i * width + k] * rows[i * width + k];
        right += (double)rows[j * width + k] * rows[j * width + k];
      }
      printf(" %8.4f", dot / sqrt(left * right));
    }
    char line[512] = "";
    if (sentences != NULL && fgets(line, sizeof line, sentences) != NULL) line[strcspn(line, "\n")] = '\0';
    printf("   %lld %s\n", (long long)i + 1, line);
  }
  if (sentences != NULL) fclose(sentences);
}

int main(int argc, char** argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: %s MODEL.pt2 ids.npy mask.npy reference.npy [SENTENCES.txt [THREADS [RUNS]]]\n", argv[0]);
    return 2;
  }
  npy_t ids, mask, reference;
  if (!npy_read(argv[2], "<i8", &ids) || !npy_read(argv[3], "<i8", &mask) || !npy_read(argv[4], "<f4", &reference)) return 2;
  const int runs = argc > 7 ? atoi(argv[7]) : 50;

  /* A context holds what the host may replace: memory, threads, cache, log. Its options start from an INIT macro. */
  tenon_context_options_t options = TENON_CONTEXT_OPTIONS_INIT;
  options.threads = argc > 6 ? (uint32_t)atoi(argv[6]) : 2;
  tenon_context_t* context;
  check(tenon_context_create(&options, &context), "context");

  /* The file's program becomes a graph; sizes that it exported as dynamic stay symbols. */
  double start = now_ms();
  tenon_graph_t* graph;
  check(tenon_graph_import(context, str("pt2"), str(argv[1]), &graph), argv[1]);
  tenon_function_t* function;
  check(tenon_compile(context, graph, NULL, &function), "compile");
  tenon_graph_release(graph); /* the function keeps what it needs */
  double loaded = now_ms();

  /* prepare compiles for these sizes and waits. Without it the first run answers at once, by interpreted kernels, and the
   * compiled ones are swapped in when they are ready: the results are the same to the last bit. */
  tenon_tensor_t inputs[2] = {lend(&ids, TENON_DTYPE_I64), lend(&mask, TENON_DTYPE_I64)};
  check(tenon_function_prepare(function, inputs, 2), "prepare");
  double ready = now_ms();

  /* An output without memory is allocated and comes with an owner; here it is the caller's, so nothing is allocated. */
  npy_t embedded = reference;
  size_t elements = 1;
  for (int32_t axis = 0; axis < embedded.rank; ++axis) elements *= (size_t)embedded.dims[axis];
  embedded.data = calloc(elements, sizeof(float));
  if (embedded.data == NULL) return 2;
  tenon_tensor_t output = lend(&embedded, TENON_DTYPE_F32);
  check(tenon_function_run(function, NULL, inputs, 2, &output, 1), "run");

  const float *found = embedded.data, *expected = reference.data;
  double worst = 0;
  for (size_t i = 0; i < elements; ++i) {
    double difference = fabs((double)found[i] - expected[i]);
    if (!(difference <= worst)) worst = difference; /* a NaN counts too */
  }
  print_table(found, embedded.dims[0], embedded.dims[1], argc > 5 ? argv[5] : NULL);
  printf("largest difference from LibTorch: %.2e\n", worst);
  printf("load %.0f ms, compile %.0f ms\n", loaded - start, ready - loaded);

  double best = INFINITY;
  for (int run = 0; run < runs; ++run) {
    start = now_ms();
    check(tenon_function_run(function, NULL, inputs, 2, &output, 1), "run");
    double time = now_ms() - start;
    if (time < best) best = time;
  }
  if (runs > 0) printf("fastest of %d runs with %u threads: %.3f ms\n", runs, options.threads, best);

  /* Nothing falls back silently: "tier" is 1 when all kernels are compiled, "fallbacks" counts those that are not. */
  int64_t tier, fallbacks;
  check(tenon_function_counter(function, str("tier"), &tier), "counter");
  check(tenon_function_counter(function, str("fallbacks"), &fallbacks), "counter");
  printf("tier %lld, fallbacks %lld\n", (long long)tier, (long long)fallbacks);

  tenon_function_release(function);
  tenon_context_release(context);
  free(embedded.data);
  free(ids.data);
  free(mask.data);
  free(reference.data);
  if (!(worst <= 1e-5)) {
    fprintf(stderr, "the difference is above 1e-5\n");
    return 1;
  }
  return 0;
}
