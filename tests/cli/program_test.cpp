#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "npy_file.hpp"
#include "program.hpp"

namespace {

using namespace tenon;
using namespace tenon::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kGraph =
    "graph @mlp(%x: f32[batch, 2], %k: i64[batch]) -> (y: f32[batch, 2], s: f32[batch]) on cpu where batch in [1, 64] {\n"
    "  %0 = aten.mul.Scalar(%x, 2.0) : f32[batch, 2]\n"
    "  %1 = aten.sum.dim_IntList(%0, [1]) : f32[batch]\n"
    "  %2 = aten.add.Tensor(%1, %k) : f32[batch]\n"
    "  return %0, %2\n"
    "}\n";

class Program : public ::testing::Test {
 protected:
  std::string folder_ = (std::filesystem::path(::testing::TempDir()) /
                         (std::string("cli_") + ::testing::UnitTest::GetInstance()->current_test_info()->name())).string();
  std::string model_ = folder_ + "/mlp.graph";
  Program() {
    std::filesystem::create_directories(folder_);
    std::ofstream(model_) << kGraph;
  }
  ~Program() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
};

TEST_F(Program, RunsFromFilesToFiles) {
  float x[] = {1, 2, 3, 4};
  int64_t k[] = {100, 200};
  ASSERT_TRUE(cli::write_npy(file("x.npy"), Tensor::of(x, {2, 2})).ok());
  ASSERT_TRUE(cli::write_npy(file("k.npy"), Tensor::of(k, {2})).ok());
  for (const char* policy : {"now", "behind", "vm"}) {
    const Ran ran = run_program({"run", model_, "--input", file("x.npy"), "--input", "k=" + file("k.npy"), "--output", "s=" + file("s.npy"),
                                 "--output", file("y.npy"), "--policy", policy, "--no-cache"});
    ASSERT_EQ(ran.exit_status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("y f32[2, 2] = 2 4 6 8"));
    cli::Array s = cli::read_npy(file("s.npy")).or_die(), y = cli::read_npy(file("y.npy")).or_die();
    EXPECT_THAT(s.tensor().values<float>(), ElementsAre(106, 214));
    EXPECT_THAT(y.tensor().values<float>(), ElementsAre(2, 4, 6, 8));
  }
}

TEST_F(Program, SizesComeFromSymbolsAxesOrOtherInputs) {
  EXPECT_THAT(run_program({"run", model_, "--dim", "batch=3", "--policy", "vm"}).out, HasSubstr("y f32[3, 2]"));
  EXPECT_THAT(run_program({"run", model_, "--dim", "x.0=5", "--policy", "vm"}).out, HasSubstr("s f32[5]"));
  int64_t k[] = {1, 1, 1, 1};
  ASSERT_TRUE(cli::write_npy(file("k.npy"), Tensor::of(k, {4})).ok());
  EXPECT_THAT(run_program({"run", model_, "--input", "k=" + file("k.npy"), "--fill", "ones", "--policy", "vm"}).out,
              HasSubstr("s f32[4] = 5 5 5 5\n"));
}

TEST_F(Program, RandomInputsDependOnTheSeedAlone) {
  const auto out = [&](const char* seed, const char* policy) {
    return run_program({"run", model_, "--dim", "batch=3", "--seed", seed, "--policy", policy}).out;
  };
  EXPECT_EQ(out("1", "vm"), out("1", "now"));
  EXPECT_NE(out("1", "vm"), out("2", "vm"));
}

TEST_F(Program, ErrorsNameStatusAndFields) {
  const Ran large = run_program({"run", model_, "--dim", "batch=65"});
  EXPECT_EQ(large.exit_status, 1);
  EXPECT_THAT(large.err, StartsWith("tenon: INVALID_ARGUMENT: "));
  EXPECT_THAT(large.err, HasSubstr("\n  found: 65\n"));
  const Ran missing = run_program({"run", model_});
  EXPECT_EQ(missing.exit_status, 1);
  EXPECT_THAT(missing.err, HasSubstr("--dim batch=SIZE"));
  EXPECT_EQ(run_program({"run", model_, "--dim", "batch=two"}).exit_status, 1);
  EXPECT_THAT(run_program({"run", model_, "--dim", "length=2"}).err, HasSubstr("size batch in [1, 64]"));
  std::ofstream(file("broken.graph")) << "graph @f(%x: f32[2]) -> (y: f32[2]) on cpu {\n  %0 = aten.nothing(%x) : f32[2]\n  return %0\n}\n";
  const Ran broken = run_program({"run", file("broken.graph")});
  EXPECT_EQ(broken.exit_status, 1);
  EXPECT_THAT(broken.err, HasSubstr("aten.nothing"));
}

TEST_F(Program, ExitStatusesTellTheKindOfFailure) {
  EXPECT_EQ(run_program({"run", file("absent.pt2")}).exit_status, 3);
  EXPECT_EQ(run_program({"run", model_, "--input", file("absent.npy")}).exit_status, 3);
  EXPECT_EQ(run_program({"run", model_, "--dim", "batch=1", "--output", folder_ + "/none/y.npy"}).exit_status, 3);
  EXPECT_EQ(run_program({"run"}).exit_status, 2);
  EXPECT_EQ(run_program({"run", model_, "--policy", "never"}).exit_status, 2);
  EXPECT_EQ(run_program({"no-such-command"}).exit_status, 2);
  const Ran help = run_program({"--help"});
  EXPECT_EQ(help.exit_status, 0);
  EXPECT_THAT(help.out, HasSubstr("Examples:"));
  EXPECT_THAT(help.out, HasSubstr("Exit status:"));
  EXPECT_THAT(run_program({"version"}).out, StartsWith("tenon 0."));
}

TEST_F(Program, ExplainsWhatWasCompiled) {
  const Ran all = run_program({"explain", model_, "--dim", "batch=3"});
  EXPECT_EQ(all.exit_status, 0) << all.err;
  for (const char* part : {"input k: i64[batch]", "aten.sum.dim_IntList", "requires batch <= 64", "TENON_KERNEL", "kernels ", "==== plan"}) {
    EXPECT_THAT(all.out, HasSubstr(part));
  }
  // The graph and the interface need no sizes, the guards do.
  EXPECT_THAT(run_program({"explain", model_, "--what", "graph"}).out, StartsWith("graph @mlp("));
  EXPECT_THAT(run_program({"explain", model_, "--what", "interface"}).out, StartsWith("input x: f32[batch, 2]\n"));
  EXPECT_EQ(run_program({"explain", model_, "--what", "guards"}).exit_status, 1);
}

TEST_F(Program, APackageRunsLikeItsModel) {
  const Ran first = run_program({"run", model_, "--dim", "batch=3", "--save", file("mlp.tenon")});
  ASSERT_EQ(first.exit_status, 0) << first.err;
  const Ran second = run_program({"run", file("mlp.tenon"), "--dim", "batch=3"});
  EXPECT_EQ(second.out, first.out) << second.err;
}

TEST_F(Program, TimesRuns) {
  const Ran ran = run_program({"run", model_, "--dim", "batch=3", "--repeat", "5", "--time", "--threads", "1", "--quiet"});
  EXPECT_THAT(ran.out, HasSubstr("5 runs with 1 thread(s): fastest "));
  EXPECT_THAT(ran.out, HasSubstr("hits 6;"));
  EXPECT_THAT(ran.out, Not(HasSubstr("f32[3, 2]")));
}

TEST_F(Program, AWorkerAnswersLineByLine) {
  ASSERT_TRUE(run_program({"run", model_, "--dim", "batch=2", "--output-dir", folder_}).exit_status == 0);
  const Ran ran = run_program({"bench-worker", "--model", model_, "--shape", "2x2", "--threads", "1"}, {.input = "run 3\nnonsense\nrun 0\nquit\nrun 1\n"});
  ASSERT_EQ(ran.exit_status, 0) << ran.err;
  EXPECT_THAT(ran.out, MatchesRegex("\\{\"peer\": \"tenon\", .*\"threads\": 1, \"ready\": [0-9.]+, \"first\": [0-9.]+, .*\\}\n"
                                    "\\[[0-9.]+, [0-9.]+, [0-9.]+\\]\n\\{\"error\": .*nonsense.*\\}\n\\[\\]\n"));
}

TEST_F(Program, DrawsABarOnATerminalOnly) {
  // A compiler that takes its time, so that there is something to draw.
  const std::string slow = file("slow-g++");
  std::ofstream(slow) << "#!/bin/sh\nsleep 0.4\nexec g++ \"$@\"\n";
  std::filesystem::permissions(slow, std::filesystem::perms::owner_all);
  const std::vector<std::string> arguments = {"run", model_, "--dim", "batch=2", "--no-cache"};
  const std::vector<std::string> environment = {"TENON_CXX=" + slow};
  const Ran shown = run_program(arguments, {.terminal = true, .environment = environment});
  EXPECT_EQ(shown.exit_status, 0) << shown.out;
  EXPECT_THAT(shown.out, HasSubstr("\rcompiling [.....")) << shown.out;
  EXPECT_THAT(shown.out, HasSubstr("kernels"));
  const Ran piped = run_program(arguments, {.environment = environment});
  EXPECT_EQ(piped.exit_status, 0);
  EXPECT_EQ(piped.err, "");
}

TEST_F(Program, ReadsAPt2Archive) {
  const std::string archive = std::string(TENON_DEPS_DIR) + "/models/minilm_sdpa.pt2";
  if (!std::filesystem::exists(archive)) GTEST_SKIP() << archive << " is not there";
  const Ran ran = run_program({"run", archive, "--dim", "ids.0=2", "--dim", "ids.1=5", "--fill", "ones"});
  ASSERT_EQ(ran.exit_status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("f32[2, 384]"));
}

}  // namespace
