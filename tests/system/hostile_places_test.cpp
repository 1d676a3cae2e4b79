// Machines that lack something: no compiler, a broken or hanging one, no home, no place to write, another locale. The
// program runs, is right, and says what it did without.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <clocale>
#include <locale>

#include "system/host_program.hpp"

namespace tenon::tests {
namespace {

int64_t counter(const Context& context, std::string_view name) { return context.counter(name).or_die(); }
int64_t counter(const Function& function, std::string_view name) { return function.counter(name).or_die(); }

// A context with its own log and without a cache, unless asked for.
struct Place {
  LogLines log;
  ContextOptions options;
  Place() {
    options.no_cache = true;
    options.threads = 1;
    options.logger = &log.logger;
  }
};

TEST(HostilePlaces, WithoutACompilerTheVmAnswers) {
  const ScopedVariable no_path("PATH", "/nonexistent"), no_cxx("CXX", nullptr), no_tenon("TENON_CXX", nullptr);
  Place place;
  EXPECT_EQ(run_small(place.options, [&](Context& context, Function& function) {
    EXPECT_EQ(counter(function, "tier"), 0);
    EXPECT_GT(counter(function, "fallbacks"), 0);
    EXPECT_EQ(counter(context, "compiles"), 0);
  }), "");
  EXPECT_TRUE(place.log.mention("compiler")) << "the log says: " << place.log.all();
}

TEST(HostilePlaces, ACompilerPathThatLeadsNowhere) {
  Place place;
  place.options.compiler = "/nonexistent/g++";
  EXPECT_EQ(run_small(place.options, [&](Context&, Function& function) {
    EXPECT_EQ(counter(function, "tier"), 0);
    EXPECT_GT(counter(function, "fallbacks"), 0);
  }), "");
  EXPECT_TRUE(place.log.mention("/nonexistent/g++")) << "the log says: " << place.log.all();
}

constexpr std::string_view kVersionThen = "#!/bin/sh\nfor a; do [ \"$a\" = --version ] && { echo 'g++ (fake) 12.2.0'; exit 0; }; done\n";

TEST(HostilePlaces, ACompilerThatFails) {
  const TemporaryFolder folder;
  Place place;
  const std::string compiler = folder.write("g++", std::string(kVersionThen) + "echo 'fake error: no luck today' >&2\nexit 1\n", true);
  place.options.compiler = compiler;
  EXPECT_EQ(run_small(place.options, [&](Context& context, Function& function) {
    EXPECT_EQ(counter(function, "tier"), 0);
    EXPECT_GT(counter(function, "fallbacks"), 0);
    EXPECT_GT(counter(context, "compile_failures"), 0);
  }), "");
  EXPECT_TRUE(place.log.mention("no luck today")) << "the log says: " << place.log.all();
}

TEST(HostilePlaces, ACompilerThatWritesRubbish) {
  const TemporaryFolder folder;
  Place place;
  const std::string compiler = folder.write("g++", std::string(kVersionThen) +
      "while [ $# -gt 0 ]; do [ \"$1\" = -o ] && echo 'not an image' > \"$2\"; shift; done\nexit 0\n", true);
  place.options.compiler = compiler;
  EXPECT_EQ(run_small(place.options, [&](Context&, Function& function) {
    EXPECT_EQ(counter(function, "tier"), 0);
    EXPECT_GT(counter(function, "fallbacks"), 0);
  }), "");
  EXPECT_FALSE(place.log.lines.empty());
}

TEST(HostilePlaces, AFallbackIsAnErrorWhenAskedFor) {
  Place place;
  place.options.compiler = "/nonexistent/g++";
  auto context = Context::create(place.options).or_die();
  auto graph = context.parse(kSmallGraph).or_die();
  CompileOptions options;
  options.miss_policy = MissPolicy::kCompileNow;
  options.fallback_is_error = true;
  auto function = context.compile(graph, options).or_die();
  const HostArray x = small_input();
  auto y = function.run({x.tensor()});
  ASSERT_FALSE(y.ok());
  EXPECT_NE(y.status().message().find("/nonexistent/g++"), std::string_view::npos) << text(y.status());
}

TEST(HostilePlaces, ACompilerThatHangsDelaysNobodyAndDiesWithTheContext) {
  const TemporaryFolder folder;
  Place place;
  const std::string marker = folder.path() + "/started";
  const std::string compiler =
      folder.write("g++", std::string(kVersionThen) + "echo $$ > '" + marker + "'\nexec sleep 1000\n", true);
  place.options.compiler = compiler;
  const auto start = std::chrono::steady_clock::now();
  {
    auto context = Context::create(place.options).or_die();
    auto function = function_of(context, kSmallGraph, MissPolicy::kCompileBehind).or_die();
    const HostArray x = small_input();
    for (int i = 0; i < 20; ++i) {
      auto y = function.run({x.tensor()}).or_die();
      ASSERT_EQ(small_problem(x, y[0]), "");
    }
    EXPECT_EQ(counter(function, "tier"), 0);
    for (int i = 0; i < 500 && !std::filesystem::exists(marker); ++i) usleep(10000);
    EXPECT_TRUE(std::filesystem::exists(marker)) << "the compiler was never started";
    EXPECT_GT(counter(function, "pending_kernels"), 0);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30)) << "something waited for the compiler";
  std::ifstream file(marker);
  pid_t child = 0;
  file >> child;
  ASSERT_GT(child, 0);
  bool gone = false;
  for (int i = 0; i < 300 && !gone; ++i) {
    gone = kill(child, 0) != 0;
    usleep(10000);
  }
  EXPECT_TRUE(gone) << "the compiler outlives its context";
}

// As nobody, who may not write to what root owns.
int as_nobody(const std::function<int()>& body) {
  return in_child([&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 77;
    return body();
  });
}
int report(const std::string& problem) {
  if (!problem.empty()) std::fprintf(stderr, "%s\n", problem.c_str());
  return problem.empty() ? 0 : 1;
}

// In the child the libraries must be there before rights are dropped: load them here.
void load_compiler() { ASSERT_TRUE(has_feature("compiler")); }

TEST(HostilePlaces, ACacheThatCannotBeWritten) {
  load_compiler();
  const TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
  EXPECT_EQ(as_nobody([&] {
    Place place;
    place.options.no_cache = false;
    place.options.cache_directory = folder.path();
    bool fine = true;
    const std::string problem = run_small(place.options, [&](Context& context, Function& function) {
      fine = counter(context, "cache_errors") > 0 && counter(context, "cache_writes") == 0 && counter(function, "tier") == 1;
    });
    return report(!problem.empty() ? problem : !fine ? "counters" : place.log.lines.empty() ? "nothing in the log" : "");
  }), 0);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
}

TEST(HostilePlaces, ACacheWhereAFileStands) {
  const TemporaryFolder folder;
  const std::string file = folder.write("cache", "in the way");
  Place place;
  place.options.no_cache = false;
  place.options.cache_directory = file;
  EXPECT_EQ(run_small(place.options, [&](Context& context, Function& function) {
    EXPECT_GT(counter(context, "cache_errors"), 0);
    EXPECT_EQ(counter(function, "tier"), 1);
  }), "");
}

TEST(HostilePlaces, NoPlaceForTemporaryFiles) {
  const ScopedVariable no_temporary("TMPDIR", "/nonexistent");
  Place place;
  EXPECT_EQ(run_small(place.options, [](Context&, Function& function) { EXPECT_EQ(counter(function, "tier"), 1); }), "");
}

TEST(HostilePlaces, ACacheWithBlanksAndQuotesInItsPath) {
  const TemporaryFolder folder;
  const std::string cache = folder.path() + "/a b'c$d\"e;f%s\\n";
  for (int run = 0; run < 2; ++run) {
    Place place;
    place.options.no_cache = false;
    place.options.cache_directory = cache;
    EXPECT_EQ(run_small(place.options, [&](Context& context, Function& function) {
      EXPECT_EQ(counter(function, "tier"), 1);
      EXPECT_EQ(counter(context, "cache_errors"), 0);
      if (run == 0) {
        EXPECT_GT(counter(context, "cache_writes"), 0);
      } else {
        EXPECT_GT(counter(context, "cache_hits"), 0);
        EXPECT_EQ(counter(context, "compiles"), 0);
      }
    }), "");
  }
  EXPECT_TRUE(std::filesystem::exists(cache));
}

TEST(HostilePlaces, TheTemporaryFolderHasBlanksAndQuotes) {
  const TemporaryFolder folder;
  const std::string temporary = folder.path() + "/t m'p$x";
  std::filesystem::create_directory(temporary);
  const ScopedVariable variable("TMPDIR", temporary.c_str());
  Place place;
  EXPECT_EQ(run_small(place.options, [](Context&, Function& function) { EXPECT_EQ(counter(function, "tier"), 1); }), "");
  EXPECT_TRUE(std::filesystem::is_empty(temporary)) << "something was left behind";
}

TEST(HostilePlaces, NoHome) {
  for (const char* home : {static_cast<const char*>(nullptr), "", "/nonexistent"}) {
    const ScopedVariable variable("HOME", home), xdg("XDG_CACHE_HOME", nullptr), own("TENON_CACHE_DIR", nullptr);
    Place place;
    place.options.no_cache = false;
    // /nonexistent could be made by root: as nobody it cannot.
    load_compiler();
    EXPECT_EQ(as_nobody([&] { return report(run_small(place.options)); }), 0) << (home == nullptr ? "unset" : home);
  }
}

TEST(HostilePlaces, AUserWithoutAName) {
  load_compiler();
  EXPECT_EQ(in_child([&] {
    if (geteuid() != 0) return 0;  // only root can become somebody else
    if (setgid(54321) != 0 || setuid(54321) != 0) return 77;
    Place place;
    place.options.no_cache = false;
    unsetenv("HOME");
    return report(run_small(place.options));
  }), 0);
}

// Decimal comma and a dot between thousands, as in much of Europe.
struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(HostilePlaces, ALocaleWithCommasChangesNeitherCodeNorKeys) {
  const TemporaryFolder folder;
  auto source_of = [&](int64_t* hits) {
    std::string source, guards, graph;
    Place place;
    place.options.no_cache = false;
    place.options.cache_directory = folder.path();
    EXPECT_EQ(run_small(place.options, [&](Context& context, Function& function) {
      EXPECT_EQ(counter(function, "tier"), 1);
      *hits = counter(context, "cache_hits");
      source = function.explain("source").or_die();
      guards = function.explain("guards").or_die();
      graph = function.explain("graph").or_die();
    }), "");
    return source + guards + graph;
  };
  int64_t hits = 0;
  const std::string plain = source_of(&hits);
  EXPECT_EQ(hits, 0);
  const std::locale before = std::locale::global(std::locale(std::locale(), new Commas));
  std::setlocale(LC_ALL, "de_DE.UTF-8");  // where it is installed
  const std::string commas = source_of(&hits);
  std::locale::global(before);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(plain, commas);
  EXPECT_GT(hits, 0) << "another locale gave another cache key";
}

}  // namespace
}  // namespace tenon::tests
