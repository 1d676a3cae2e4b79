// The source tree itself: who includes whom, how files are called, how long they are.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "structure/rooms.hpp"

namespace tenon::tests {
namespace {

namespace fs = std::filesystem;

// Headers of C, C++ and the operating system that rooms may use: what POSIX, Linux and the compiler bring.
bool is_system_header(const std::string& header) {
  static const std::set<std::string> kSystem = {
      "algorithm", "array", "atomic", "bit", "cerrno", "cfloat", "charconv", "chrono", "climits", "clocale", "cmath", "compare",
      "concepts", "condition_variable", "cstddef", "cstdint", "cstdio", "cstdlib", "cstring", "deque", "exception",
      "functional", "initializer_list", "limits", "map", "memory", "mutex", "new", "numeric", "optional", "ranges", "set",
      "shared_mutex", "span", "string", "string_view", "thread", "tuple", "type_traits", "unordered_map", "unordered_set",
      "utility", "variant", "vector",
      // C
      "assert.h", "errno.h", "float.h", "limits.h", "math.h", "stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h",
      "string.h", "time.h",
      // POSIX and Linux
      "dirent.h", "dlfcn.h", "elf.h", "fcntl.h", "linux/futex.h", "linux/memfd.h", "poll.h", "pthread.h", "sched.h", "signal.h",
      "spawn.h", "sys/auxv.h", "sys/file.h", "sys/mman.h", "sys/resource.h", "sys/stat.h", "sys/syscall.h",
      "sys/time.h", "sys/types.h", "sys/wait.h", "unistd.h", "cpuid.h"};
  return kSystem.count(header) != 0;
}

std::string root() { return TENON_SOURCE_DIR; }

std::vector<std::string> files_under(const std::vector<std::string>& folders) {
  std::vector<std::string> out;
  for (const std::string& folder : folders) {
    if (!fs::exists(root() + "/" + folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root() + "/" + folder)) {
      if (entry.is_regular_file()) out.push_back(fs::relative(entry.path(), root()).generic_string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string extension(const std::string& path) { return fs::path(path).extension().string(); }
bool is_code(const std::string& path) {
  static const std::set<std::string> kCode = {".cpp", ".hpp", ".h", ".c", ".cc", ".cu", ".inc"};
  return kCode.count(extension(path)) != 0;
}

// The innermost room that a file is in, "" when in none.
std::string room_of(const std::string& path) {
  std::string found;
  for (const auto& [name, room] : rooms()) {
    if (path.starts_with(name + "/") && name.size() > found.size()) found = name;
  }
  return found;
}

// What a room may use, with what those may use; may hold single files.
std::set<std::string> closure(const std::string& name) {
  std::set<std::string> all = {name};
  std::vector<std::string> todo = {name};
  while (!todo.empty()) {
    const auto room = rooms().find(todo.back());
    todo.pop_back();
    if (room == rooms().end()) continue;
    for (const std::string& next : room->second.may_use) {
      if (all.insert(next).second) todo.push_back(next);
    }
  }
  return all;
}

struct Include {
  std::string name;
  bool quoted = false;
  int line = 0;
};
std::vector<Include> includes(const std::string& path) {
  static const std::regex kInclude("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"].*");
  std::vector<Include> out;
  std::ifstream file(root() + "/" + path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::smatch match;
    if (std::regex_match(line, match, kInclude)) out.push_back({match[2], match[1] == "\"", number});
  }
  return out;
}

// Where a quoted include leads: a path in the repository, a name of the C API's headers, or "" (generated, or nowhere).
std::string resolve(const std::string& from, const std::string& name) {
  const std::string beside = (fs::path(from).parent_path() / name).lexically_normal().generic_string();
  for (const std::string& candidate : {std::string("src/" + name), beside, std::string("capi/" + name), std::string("include/" + name)}) {
    if (fs::exists(root() + "/" + candidate)) return candidate;
  }
  return "";
}

// One line when `from`, in `room`, may not have this include, else "".
std::string judge(const std::string& room, const std::string& from, const Include& include) {
  const std::set<std::string> allowed = closure(room);
  if (!include.quoted) {
    if (is_system_header(include.name)) return "";
    const std::string first = include.name.substr(0, include.name.find('/'));
    // Third parties belong to the room that names them, not to those above it.
    if (rooms().at(room).headers.count(first) != 0) return "";
    // Public headers speak of the C API as an installed one.
    if (include.name == "tenon.h" && allowed.count("tenon.h") != 0) return "";
    return "third party <" + include.name + "> is not of this room";
  }
  if (include.name == "tenon.h" || include.name == "tenon_api.h" || include.name == "functions.inc") {
    return allowed.count("tenon.h") != 0 ? "" : "the C API's header is not for this room";
  }
  std::string target = resolve(from, include.name);
  if (target.empty()) {
    // Written by the build: artifact/artifact_generated.h belongs to the artifact room alone.
    if (include.name == "artifact/artifact_generated.h") return room == "src/artifact" ? "" : "generated for src/artifact only";
    return "\"" + include.name + "\" leads nowhere";
  }
  if (target.starts_with("capi/") && room != "capi") return "capi is not for this room";
  const std::string other = room_of(target);
  if (other.empty()) return "\"" + include.name + "\" is in no room";
  if (allowed.count(other) != 0 || allowed.count(target) != 0) return "";
  return "may not use " + other + " (" + include.name + ")";
}

TEST(Includes, FollowTheTableOfRooms) {
  int seen = 0;
  for (const std::string& path : files_under({"src", "capi", "include"})) {
    if (!is_code(path)) continue;
    const std::string room = room_of(path);
    if (path.starts_with("src/build_rules/")) continue;
    EXPECT_NE(room, "") << path << " is in no room of the table";
    if (room.empty()) continue;
    for (const Include& include : includes(path)) {
      ++seen;
      const std::string problem = judge(room, path, include);
      if (!problem.empty()) ADD_FAILURE() << path << ":" << include.line << ": " << problem;
    }
  }
  EXPECT_GT(seen, 500) << "the scan found hardly any include: is it looking in the right place?";
}

TEST(Includes, TheJudgeRefusesWhatItShould) {
  const Include graph{"graph/graph.hpp", true, 1}, status{"support/status.hpp", true, 1}, json{"rapidjson/document.h", false, 1};
  const Include door{"runtime/compiler_interface.hpp", true, 1}, function{"runtime/function.hpp", true, 1};
  const Include stream{"iostream", false, 1}, api{"tenon.h", true, 1};
  EXPECT_NE(judge("src/runtime", "src/runtime/call.cpp", graph), "");
  EXPECT_NE(judge("src/codegen", "src/codegen/cpu/printer.cpp", graph), "");
  EXPECT_EQ(judge("src/runtime", "src/runtime/call.cpp", status), "");
  EXPECT_NE(judge("src/graph", "src/graph/graph.cpp", json), "");
  EXPECT_EQ(judge("src/import", "src/import/pt2.cpp", json), "");
  EXPECT_EQ(judge("src/compile", "src/compile/services.hpp", door), "");
  EXPECT_NE(judge("src/compile", "src/compile/services.hpp", function), "");
  EXPECT_NE(judge("src/support", "src/support/log.cpp", stream), "");
  EXPECT_NE(judge("src/graph", "src/graph/graph.cpp", api), "");
  EXPECT_NE(judge("include/tenon", "include/tenon/graph.hpp", status), "");
}

TEST(Includes, RoomsMakeNoCycle) {
  for (const auto& [name, room] : rooms()) {
    for (const std::string& next : room.may_use) {
      EXPECT_EQ(closure(next).count(name), 0u) << name << " and " << next << " may include each other";
      EXPECT_TRUE(rooms().count(next) != 0 || next == "tenon.h" || fs::exists(root() + "/" + next)) << next << " is unknown";
    }
  }
}

TEST(Files, HaveNoEmptyNames) {
  static const std::set<std::string> kBanned = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base", "impl"};
  for (const std::string& path : files_under({"src", "capi", "include", "tests", "examples", "bench"})) {
    if (path.find("/pt2/") != std::string::npos) continue;
    const fs::path whole(path);
    for (const fs::path& part : whole) {
      // The last word says what a file is: string_utils is as empty as utils.
      const std::string stem = part.stem().string();
      const std::string last = stem.substr(stem.rfind('_') + 1);
      if (kBanned.count(last) != 0) ADD_FAILURE() << path << ": `" << stem << "` says nothing";
    }
    if (is_code(path) && !path.starts_with("examples")) {
      EXPECT_TRUE(std::regex_match(whole.stem().string(), std::regex("[a-z0-9_.-]+"))) << path << ": names are lower_snake";
    }
  }
}

TEST(Files, AreNotTooLong) {
  for (const std::string& path : files_under({"src", "capi", "include", "tests", "examples", "bench"})) {
    if (!is_code(path) || extension(path) == ".inc") continue;  // .inc files are tables and texts
    std::ifstream file(root() + "/" + path);
    int lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    EXPECT_LE(lines, 800) << path << ": split it by job";
  }
}

TEST(Files, LeaveNothingForLater) {
  const std::regex later("\\b(TO" "DO|FIX" "ME|HA" "CK)\\b");
  for (const std::string& path : files_under({"src", "capi", "include", "tests", "examples", "bench", "docs"})) {
    if (!is_code(path) && extension(path) != ".md" && extension(path) != ".py") continue;
    std::ifstream file(root() + "/" + path);
    int number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      EXPECT_FALSE(std::regex_search(line, later)) << path << ":" << number << ": " << line;
    }
  }
}

TEST(Files, HeadersAreGuardedAndPrivate) {
  for (const std::string& path : files_under({"src", "include"})) {
    if (extension(path) != ".hpp") continue;
    std::ifstream file(root() + "/" + path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_NE(text.find("#pragma once"), std::string::npos) << path;
    EXPECT_EQ(text.find("using namespace"), std::string::npos) << path;
  }
}

}  // namespace
}  // namespace tenon::tests
