/* y = relu(2 x + 1), compiled and run. explained.c is the same program with words. */
#include <stdio.h>
#include <tenon.h>
#define STR(text) ((tenon_str_t){text, sizeof(text) - 1})
#define OK(call) if ((status = (call)) != NULL) return (int)tenon_status_code(status)

int main(void) {
  tenon_status_t* status;
  tenon_context_t* context; tenon_graph_t* graph; tenon_function_t* function;
  OK(tenon_context_create(NULL, &context));
  OK(tenon_graph_parse(context, STR("graph @f(%x: f32[n, 2]) -> (y: f32[n, 2]) on cpu where n in [1, 64] {\n"
                                    "  %0 = aten.mul.Scalar(%x, 2.0) : f32[n, 2]\n"
                                    "  %1 = aten.add.Scalar(%0, 1.0) : f32[n, 2]\n"
                                    "  %2 = aten.relu(%1) : f32[n, 2]\n"
                                    "  return %2\n}\n"), &graph));
  OK(tenon_compile(context, graph, NULL, &function));
  float x[6] = {-3, -1, 0, 1, 2, 3}, y[6];
  int64_t dims[2] = {3, 2};
  tenon_tensor_t in = {x, TENON_DTYPE_F32, TENON_DEVICE_CPU, 0, 2, 0, 0, dims, NULL, NULL}, out = in;
  out.data = y;
  OK(tenon_function_run(function, NULL, &in, 1, &out, 1));
  for (int i = 0; i < 6; ++i) printf("%g ", y[i]);
  printf("\n");
  tenon_function_release(function); tenon_graph_release(graph); tenon_context_release(context);
  return 0;
}
