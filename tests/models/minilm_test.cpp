// A trained sentence model, exported three ways: what it answers, how near to float64, for all sizes, with one compiled
// program.
#include <gtest/gtest.h>

#include "models/model_files.hpp"

namespace tenon::tests {
namespace {

constexpr int64_t kWidth = 384;
// Of the pairs (1-2), (1-3), (1-4), (2-3), (2-4), (3-4) of examples/sentences.txt.
constexpr double kCosines[] = {0.7553, -0.1050, 0.1419, -0.0610, 0.0622, 0.0224};

// Kernels are compiled once for all the tests of a run.
struct Models : ::testing::Test {
  static void SetUpTestSuite() { cache_ = new TemporaryFolder; }
  static void TearDownTestSuite() {
    delete cache_;
    cache_ = nullptr;
  }
  void SetUp() override {
    if (!models_are_there()) GTEST_SKIP();  // already a failure
  }
  static Context context(uint32_t threads = 2) {
    ContextOptions options;
    options.threads = threads;
    options.cache_directory = cache_->path();
    return Context::create(options).or_die();
  }
  static TemporaryFolder* cache_;
};
TemporaryFolder* Models::cache_ = nullptr;

HostArray embed(Function& function, const HostArray& ids, const HostArray& mask, uint32_t threads = 0) {
  const std::vector<Tensor> in = {ids.tensor(), mask.tensor()};
  auto out = function.run(in, threads);
  EXPECT_TRUE(out.ok()) << text(out.status());
  return out.ok() ? copy_of((*out)[0]) : HostArray();
}

class Variants : public Models, public ::testing::WithParamInterface<const char*> {};

TEST_P(Variants, AnswerLikeLibTorchAndAsNearToFloat64) {
  auto context = Models::context();
  auto function = model(context, GetParam());
  ASSERT_TRUE(function.ok()) << text(function.status());
  const HostArray ids = data_i64("ids"), mask = data_i64("mask"), eager = data_f32("eager32"), exact = data_f64("eager64");
  const HostArray found = embed(*function, ids, mask);
  ASSERT_EQ(found.dims, eager.dims);
  size_t pair = 0;
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = i + 1; j < 4; ++j, ++pair) {
      double cosine = 0;
      for (int64_t k = 0; k < kWidth; ++k) cosine += double(found.as<float>()[i * kWidth + k]) * found.as<float>()[j * kWidth + k];
      EXPECT_NEAR(cosine, kCosines[pair], 1e-3) << i + 1 << "-" << j + 1;
    }
  }
  double ours = 0, theirs = 0, apart = 0, spread = 0;
  for (int64_t i = 0; i < found.elements(); ++i) {
    const double f = found.as<float>()[i], e = eager.as<float>()[i], x = exact.as<double>()[i];
    ours = std::max(ours, std::abs(f - x));
    theirs = std::max(theirs, std::abs(e - x));
    apart = std::max(apart, std::abs(f - e));
    spread = std::max(spread, std::abs(x));
  }
  RecordProperty("error_of_float64", std::to_string(ours / spread));
  RecordProperty("error_of_eager", std::to_string(theirs / spread));
  EXPECT_LE(ours, 2 * theirs) << "relative to the spread: " << ours / spread << ", LibTorch eager " << theirs / spread;
  EXPECT_LT(apart, 1e-5 * spread + 1e-6);
  EXPECT_EQ(function->counter("tier").or_die(), 1);
  EXPECT_EQ(function->counter("fallbacks").or_die(), 0);

  // Another token is another answer: by far more than any tolerance here.
  HostArray other = ids;
  other.as<int64_t>()[2] += 1;
  const HostArray moved = embed(*function, other, mask);
  double distance = 0, rest = 0;
  for (int64_t i = 0; i < moved.elements(); ++i) {
    double& where = i < kWidth ? distance : rest;
    where = std::max(where, std::abs(double(moved.as<float>()[i]) - found.as<float>()[i]));
  }
  EXPECT_GT(distance, 1e-2 * spread);
  EXPECT_EQ(rest, 0) << "a row's answer is no other row's business";
}

TEST_P(Variants, AFullyMaskedRowIsWhatLibTorchGives) {
  auto context = Models::context();
  auto function = model(context, GetParam());
  ASSERT_TRUE(function.ok()) << text(function.status());
  const HostArray expected = data_f32(std::string("masked_") + GetParam());
  const HostArray found = embed(*function, data_i64("masked_ids"), data_i64("masked_mask"));
  ASSERT_EQ(found.dims, expected.dims);
  for (int64_t i = 0; i < found.elements(); ++i) {
    ASSERT_NEAR(found.as<float>()[i], expected.as<float>()[i], 2e-6) << "row " << i / kWidth << ", element " << i % kWidth;
  }
  for (int64_t i = kWidth; i < 2 * kWidth; ++i) EXPECT_EQ(found.as<float>()[i], 0);
}

INSTANTIATE_TEST_SUITE_P(Minilm, Variants, ::testing::Values("sdpa", "eager", "decomposed"));

TEST_F(Models, ThreadsDoNotChangeABit) {
  const HostArray ids = data_i64("ids"), mask = data_i64("mask");
  std::vector<HostArray> answers;
  for (uint32_t threads : {1u, 2u, 3u}) {
    auto context = Models::context(threads);
    auto function = model(context, "sdpa").or_die();
    answers.push_back(embed(function, ids, mask));
    answers.push_back(embed(function, ids, mask, 1));
  }
  for (const HostArray& answer : answers) EXPECT_EQ(answer.bytes, answers[0].bytes);
}

TEST_F(Models, TheGuardsAreTheGoldenOnes) {
  auto context = Models::context();
  auto function = model(context, "sdpa").or_die();
  (void)embed(function, data_i64("ids"), data_i64("mask"));
  const std::string path = TENON_SOURCE_DIR "/tests/models/data/minilm_sdpa.guards.txt";
  const std::string found = function.explain("guards").or_die();
  if (std::getenv("TENON_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << found;
  std::ifstream file(path);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(found, golden) << "TENON_UPDATE_GOLDEN=1 writes " << path;
}

// One size and the mask that keeps `kept` tokens of each row.
struct Batch {
  HostArray ids, mask;
  Batch(int64_t batch, int64_t length, std::mt19937& random) : ids(DType::kI64, {batch, length}), mask(DType::kI64, {batch, length}) {
    for (int64_t row = 0; row < batch; ++row) {
      const int64_t kept = row % 3 == 0 ? length : 1 + int64_t(random() % uint64_t(length));
      for (int64_t i = 0; i < length; ++i) {
        ids.as<int64_t>()[row * length + i] = i < kept ? 1000 + int64_t(random() % 29000) : 0;
        mask.as<int64_t>()[row * length + i] = i < kept;
      }
    }
  }
  // Row `row` alone, without its padding.
  std::pair<HostArray, HostArray> alone(int64_t row) const {
    const int64_t length = ids.dims[1];
    int64_t kept = 0;
    while (kept < length && mask.as<int64_t>()[row * length + kept] != 0) ++kept;
    std::pair<HostArray, HostArray> out{HostArray(DType::kI64, {1, kept}), HostArray(DType::kI64, {1, kept})};
    std::memcpy(out.first.bytes.data(), ids.as<int64_t>() + row * length, size_t(kept) * 8);
    std::memcpy(out.second.bytes.data(), mask.as<int64_t>() + row * length, size_t(kept) * 8);
    return out;
  }
};

int64_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return 0;
}

// Random sizes in 1..64 x 1..512: the largest first, so that memory may only stay. TENON_LONG_TESTS=1: 200 of all sizes.
TEST_F(Models, OneProgramServesAllSizes) {
  const bool all = std::getenv("TENON_LONG_TESTS") != nullptr;
  const size_t count = all ? 200 : 40;
  const int64_t most_tokens = all ? 64 * 512 : 2048;
  std::mt19937 random(11);
  std::vector<std::pair<int64_t, int64_t>> sizes = {{64, most_tokens / 64}, {most_tokens / 512, 512}, {1, 1}, {1, 512}, {64, 1}, {2, 1}, {1, 2}};
  while (sizes.size() < count) {
    const int64_t batch = 1 + int64_t(random() % 64), length = 1 + int64_t(random() % 512);
    if (batch * length <= most_tokens) sizes.push_back({batch, length});
  }
  auto context = Models::context();
  auto function = model(context, "sdpa").or_die();
  auto on_vm = model(context, "sdpa", MissPolicy::kVm).or_die();
  for (const auto& [batch, length] : {std::pair<int64_t, int64_t>{64, 16}, {2, 512}}) {  // the largest that the vm gets
    const Batch both(batch, length, random);
    (void)embed(on_vm, both.ids, both.mask);
  }
  int64_t arena = 0, resident = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto [batch, length] = sizes[i];
    const Batch both(batch, length, random);
    const HostArray answer = embed(function, both.ids, both.mask);
    ASSERT_EQ(answer.dims, (std::vector<int64_t>{batch, kWidth})) << batch << " x " << length;
    // A row by itself, without padding: the same sums in another order.
    for (const int64_t row : {int64_t(0), batch - 1}) {
      const auto [ids, mask] = both.alone(row);
      const HostArray single = embed(function, ids, mask);
      ASSERT_EQ(single.elements(), kWidth);
      for (int64_t k = 0; k < kWidth; ++k) {
        ASSERT_NEAR(answer.as<float>()[row * kWidth + k], single.as<float>()[k], 3e-6)
            << batch << " x " << length << ", row " << row << ", element " << k;
      }
    }
    if (i % 4 == 0 && batch * length <= 1024) {
      const HostArray slow = embed(on_vm, both.ids, both.mask);
      EXPECT_EQ(slow.bytes, answer.bytes) << "vm and compiled code differ at " << batch << " x " << length;
    }
    if (i == 11) {
      arena = context.counter("arena_bytes").or_die();
      resident = resident_kib();
    }
  }
  EXPECT_LE(function.counter("entries").or_die(), 3) << function.explain("misses").or_die();
  EXPECT_EQ(function.counter("fallbacks").or_die(), 0);
  EXPECT_EQ(function.counter("tier").or_die(), 1);
  EXPECT_EQ(on_vm.counter("tier").or_die(), 0);
  EXPECT_EQ(function.counter("evictions").or_die(), 0);
  EXPECT_LE(context.counter("arena_bytes").or_die(), arena) << "memory grew after the largest sizes";
  if (std::strlen(TENON_SANITIZED) == 0) {
    EXPECT_LT(resident_kib() - resident, 8 * 1024) << "KiB more than after the largest sizes";
  }
}

TEST_F(Models, ThreeVariantsAgree) {
  auto context = Models::context();
  std::mt19937 random(3);
  const Batch both(7, 19, random);
  std::vector<HostArray> answers;
  for (const char* variant : {"sdpa", "eager", "decomposed"}) {
    auto function = model(context, variant).or_die();
    answers.push_back(embed(function, both.ids, both.mask));
    ASSERT_EQ(answers.back().elements(), 7 * kWidth);
  }
  for (int64_t i = 0; i < 7 * kWidth; ++i) {
    ASSERT_NEAR(answers[0].as<float>()[i], answers[1].as<float>()[i], 2e-6);
    ASSERT_NEAR(answers[0].as<float>()[i], answers[2].as<float>()[i], 2e-6);
  }
}

}  // namespace
}  // namespace tenon::tests
