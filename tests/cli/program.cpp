#include "program.hpp"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tenon::testing {

namespace {

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

[[noreturn]] void become(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  for (const std::string& setting : environment) putenv(const_cast<char*>(setting.c_str()));
  std::vector<char*> argv = {const_cast<char*>(TENON_PROGRAM)};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(TENON_PROGRAM, argv.data());
  _exit(127);
}

int wait_for(pid_t child) {
  int state = 0;
  waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

}  // namespace

Ran run_program(const std::vector<std::string>& arguments, const ProgramOptions& options) {
  Ran ran;
  if (options.terminal) {
    int master = -1;
    const pid_t child = forkpty(&master, nullptr, nullptr, nullptr);
    if (child == 0) become(arguments, options.environment);
    char chunk[4096];
    for (ssize_t count; (count = read(master, chunk, sizeof chunk)) > 0;) ran.out.append(chunk, size_t(count));
    close(master);
    ran.exit_status = wait_for(child);
    return ran;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "tenon_cli_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return ran;
  std::ofstream(folder + "/in") << options.input;
  const pid_t child = fork();
  if (child == 0) {
    if (freopen((folder + "/in").c_str(), "r", stdin) == nullptr || freopen((folder + "/out").c_str(), "w", stdout) == nullptr ||
        freopen((folder + "/err").c_str(), "w", stderr) == nullptr) {
      _exit(126);
    }
    become(arguments, options.environment);
  }
  ran.exit_status = wait_for(child);
  ran.out = read_all(folder + "/out");
  ran.err = read_all(folder + "/err");
  std::filesystem::remove_all(folder);
  return ran;
}

}  // namespace tenon::testing
