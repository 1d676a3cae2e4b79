#include "runtime/package.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/hand_made.hpp"
#include "runtime/native_kernel.hpp"

namespace tenon::tests {
namespace {

using namespace tenon::artifact;

// y = (x gathered from a weight) with a state beside it: all that a package has to carry.
Artifact gather_artifact() {
  ArtifactBuilder b;
  const uint32_t index = b.input("ids", DType::kI64, 1);
  ConstantDecl table;
  table.name = table.key = "table";
  table.dims = {8, 5};
  table.strides = {1, 8};
  table.form = ConstantDecl::Form::kContiguous;
  const uint32_t weight = b.weight(table);
  const SizeRegister count = b.dim(0, 0), rows = b.constant(8), columns = b.constant(5);
  const uint32_t y = b.output("y", DType::kF32, {count, columns});
  const uint32_t n = b.state("n", DType::kF32, {2}, 1), z = b.output("z", DType::kF32, {b.constant(2)});
  b.a.sites = {{"aten.embedding", "index out of range"}};
  b.launch(gather_program("g"), {index, weight, y}, {count, columns, rows}, "aten.embedding");
  b.copy(z, n, b.constant(8));
  return std::move(b.a);
}

struct Package : testing::Test {
  Env& env = posix_env();
  std::string folder = *env.make_temp_directory("/tmp");
  std::string path = join_path(folder, "f.tenon");
  FakeCompiler fake;
  std::shared_ptr<runtime::Context> context = make_context(1);
  ~Package() override { remove_tree(env, folder); }

  std::shared_ptr<runtime::Function> make() {
    std::vector<float> table(40);
    for (size_t i = 0; i < 40; ++i) table[i] = float(i);
    const float initial[] = {4, 5};
    return make_function(context, gather_artifact(), fake,
                         {Blob::copy_of({reinterpret_cast<const char*>(table.data()), 160}),
                          Blob::copy_of({reinterpret_cast<const char*>(initial), 8})});
  }
  void expect_works(runtime::Function& function) {
    HostTensor ids(DType::kI64, {2}), y(DType::kF32, {2, 5}), z(DType::kF32, {2});
    ids.i64()[0] = 3;
    ids.i64()[1] = 7;
    const tenon_tensor_t in = ids.tensor();
    tenon_tensor_t out[] = {y.tensor(), z.tensor()};
    const Status status = function.run(0, {&in, 1}, out);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int j = 0; j < 5; ++j) EXPECT_EQ(y.f32()[5 + j], float(j * 8 + 7));
    EXPECT_EQ(z.f32()[1], 5);
  }
};

TEST_F(Package, RunsAgainInAnotherContextWithoutACompiler) {
  auto function = make();
  EXPECT_EQ(save_package(*function, env, path).code(), Code::kFailedPrecondition);  // nothing to save yet
  expect_works(*function);
  ASSERT_TRUE(save_package(*function, env, path).ok());
  auto other = make_context(1);
  auto loaded = load_package(other, env, path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)->interface().inputs[0].name, "ids");
  expect_works(**loaded);
  EXPECT_EQ(other->weights().private_bytes(), 0);  // used from the mapping
  // What no entry takes is an error that says why.
  HostTensor wrong(DType::kI64, {2, 2});
  const tenon_tensor_t in = wrong.tensor();
  tenon_tensor_t out[2] = {};
  EXPECT_EQ((*loaded)->run(0, {&in, 1}, out).code(), Code::kInvalidArgument);
}

TEST_F(Package, CarriesNativeKernels) {
  auto function = make_function(context, fixed_pointwise_artifact(2, 3), fake);
  HostTensor x(DType::kF32, {2, 3}), y(DType::kF32, {2, 3});
  const tenon_tensor_t in = x.tensor();
  tenon_tensor_t out = y.tensor();
  ASSERT_TRUE(function->run(0, {&in, 1}, {&out, 1}).ok());
  const std::vector<uint8_t> image = compile_image(
      "extern \"C\" __attribute__((visibility(\"default\"))) void k0(const tenon_kernel_args* a, long first, long "
      "last, void*) {\n"
      "  for (long i = first * 3; i < last * 3; ++i) ((float*)a->buffers[1])[i] = 42;\n}\n");
  const uint32_t programs[] = {0};
  const std::string symbols[] = {"k0"};
  ASSERT_TRUE(function->entries()[0]->executable->install(image, programs, symbols).ok());
  ASSERT_TRUE(save_package(*function, env, path).ok());
  auto loaded = load_package(make_context(1), env, path);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  ASSERT_TRUE((*loaded)->run(0, {&in, 1}, {&out, 1}).ok());
  EXPECT_EQ(y.f32()[5], 42);
  int64_t tier = 0;
  EXPECT_TRUE((*loaded)->counter("tier", &tier));
  EXPECT_EQ(tier, 1);
}

TEST_F(Package, DamageIsDataLossNeverACrash) {
  auto function = make();
  expect_works(*function);
  ASSERT_TRUE(save_package(*function, env, path).ok());
  const std::string whole = *env.read_file(path);
  const std::string broken = join_path(folder, "broken");
  for (size_t size = 0; size < whole.size(); size += 37) {
    ASSERT_TRUE(env.write_file(broken, whole.substr(0, size), false).ok());
    EXPECT_FALSE(load_package(context, env, broken).ok()) << size;
  }
  for (size_t at = 0; at < whole.size(); at += 11) {
    std::string bytes = whole;
    bytes[at] = char(bytes[at] ^ 0x41);
    ASSERT_TRUE(env.write_file(broken, bytes, false).ok());
    auto loaded = load_package(context, env, broken);  // weights are not checked; all else is
    if (!loaded.ok()) {
      EXPECT_EQ(loaded.status().code(), Code::kDataLoss) << at << loaded.status().message();
    }
  }
  EXPECT_EQ(load_package(context, env, join_path(folder, "absent")).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace tenon::tests
