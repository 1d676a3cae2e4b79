#include "toolchain/system_compiler.hpp"

#include <array>
#include <utility>

#include "support/format.hpp"

namespace tenon::toolchain {

namespace {

constexpr int64_t kVersionTimeoutNs = 20'000'000'000;
constexpr size_t kMaxErrorLines = 5;
constexpr size_t kMaxErrorBytes = 2000;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// The lines that say what is wrong, else the first ones.
std::string first_errors(std::string_view text) {
  const std::vector<std::string> lines = split(text, '\n');
  std::string chosen;
  for (const bool only_errors : {true, false}) {
    size_t count = 0;
    for (const std::string& line : lines) {
      const bool names_error = line.find("error") != std::string::npos ||
                               line.find("undefined reference") != std::string::npos;
      if (only_errors && !names_error) continue;
      if (count++ == kMaxErrorLines || chosen.size() + line.size() > kMaxErrorBytes) break;
      if (!chosen.empty()) chosen += '\n';
      chosen += line;
    }
    if (!chosen.empty()) break;
  }
  return chosen.empty() ? std::string(text.substr(0, kMaxErrorBytes)) : chosen;
}

bool contains_any(std::string_view text, std::initializer_list<std::string_view> needles) {
  for (const std::string_view needle : needles) {
    if (text.find(needle) != std::string_view::npos) return true;
  }
  return false;
}

// What the shared parts of all jobs are made of; owned by the compiler, outlived by no job.
struct Setup {
  Env* env = nullptr;
  std::string path;
  CompilerKind kind = CompilerKind::kGcc;
  std::vector<std::string> work_directories;

  // Little of the host's: nothing that changes messages, includes or output, nothing preloaded.
  std::vector<std::string> child_environment(const std::string& temp_directory) const {
    // A compiler that is really ccache would write to a cache of its own.
    std::vector<std::string> variables = {"LC_ALL=C", "CCACHE_DISABLE=1"};
    for (const char* name : {"PATH", "HOME", "LD_LIBRARY_PATH"}) {
      if (const auto value = env->variable(name)) variables.push_back(concat(name, "=", *value));
    }
    if (!temp_directory.empty()) variables.push_back(concat("TMPDIR=", temp_directory));
    return variables;
  }
};

class Job final : public CompileJob {
 public:
  Job(std::shared_ptr<const Setup> setup, CompileRequest request)
      : setup_(std::move(setup)), request_(std::move(request)) {
    if (request_.timeout_ns > 0) deadline_ns_ = setup_->env->now_ns() + request_.timeout_ns;
  }

  ~Job() override {
    process_.reset();
    remove_directory();
  }

  // Tries one place for temporary files after the other, then memory.
  Status start() {
    Status last = unavailable("no place for the compiler's files");
    while (place_ <= setup_->work_directories.size()) {
      remove_directory();
      memory_only_ = place_ == setup_->work_directories.size();
      last = memory_only_ ? start_in_memory() : start_in_directory(setup_->work_directories[place_]);
      ++place_;
      if (last.ok()) return last;
    }
    return last;
  }

  bool poll(int64_t wait_ns) override {
    while (!ended_) {
      if (!process_->poll(wait_ns)) return false;
      const ProcessResult result = process_->result();
      process_.reset();
      finish_process(result);
    }
    return true;
  }

  Result<Blob> take() override {
    poll(-1);
    if (taken_) return failed_precondition("the image of this compilation was taken before");
    taken_ = true;
    if (!status_.ok()) return status_;
    return std::move(image_);
  }

 private:
  Status start_in_directory(const std::string& parent) {
    TENON_ASSIGN_OR_RETURN(directory_, setup_->env->make_temp_directory(parent));
    ProcessSpec spec = make_spec(directory_, directory_);
    spec.input = request_.source;
    add(spec, compile_flags(request_.isa, setup_->kind));
    add(spec, link_flags(request_.isa));
    add(spec, {"-x", "c++", "-", "-lgcc", "-o", join_path(directory_, "image")});
    return launch(spec);
  }

  // Two steps, with pipes and memory files in between: no file anywhere.
  Status start_in_memory() {
    TENON_ASSIGN_OR_RETURN(object_, setup_->env->make_memory_file());
    TENON_ASSIGN_OR_RETURN(linked_, setup_->env->make_memory_file());
    ProcessSpec spec = make_spec("/", "");
    spec.input = request_.source;
    spec.files = {object_.get()};
    add(spec, compile_flags(request_.isa, setup_->kind));
    add(spec, {"-pipe", "-c", "-x", "c++", "-", "-o", "/proc/self/fd/3"});
    return launch(spec);
  }

  Status start_link_in_memory() {
    linking_ = true;
    ProcessSpec spec = make_spec("/", "");
    spec.files = {object_.get(), linked_.get()};
    add(spec, link_flags(request_.isa));
    if (setup_->kind == CompilerKind::kGcc) add(spec, {"-fno-use-linker-plugin"});  // it writes a file
    add(spec, {"/proc/self/fd/3", "-lgcc", "-o", "/proc/self/fd/4"});
    return launch(spec);
  }

  ProcessSpec make_spec(const std::string& directory, const std::string& temp_directory) const {
    ProcessSpec spec;
    spec.arguments = {setup_->path};
    spec.directory = directory;
    spec.environment = setup_->child_environment(temp_directory);
    spec.memory_limit_bytes = request_.memory_limit_bytes;
    return spec;
  }

  static void add(ProcessSpec& spec, const std::vector<std::string>& arguments) {
    spec.arguments.insert(spec.arguments.end(), arguments.begin(), arguments.end());
  }

  Status launch(ProcessSpec& spec) {
    // One limit for all attempts and steps together.
    if (deadline_ns_ != INT64_MAX) spec.timeout_ns = std::max<int64_t>(1, deadline_ns_ - setup_->env->now_ns());
    TENON_ASSIGN_OR_RETURN(process_, setup_->env->start_process(spec));
    return {};
  }

  void finish_process(const ProcessResult& result) {
    Status status = judge(result);
    if (status.ok() && memory_only_ && !linking_) {
      status = start_link_in_memory();
      if (status.ok()) return;
    } else if (status.ok()) {
      status = read_image();
    } else if (place_ <= setup_->work_directories.size() && is_about_place(result.errors)) {
      linking_ = false;
      if (start().ok()) return;
    }
    status_ = std::move(status);
    ended_ = true;
    remove_directory();
  }

  static bool is_about_place(std::string_view errors) {
    return contains_any(errors, {"No space left on device", "Disk quota exceeded", "Read-only file system",
                                 "Cannot create temporary file"});
  }

  Status judge(const ProcessResult& result) const {
    if (result.timed_out) {
      return Status(Code::kDeadlineExceeded, concat("compiler '", setup_->path, "' took longer than ",
                                                    double(request_.timeout_ns) * 1e-9, " s"));
    }
    // With a host that reaps our children the exit code is lost; the image will tell.
    if (result.exited ? result.exit_code == 0 : result.signal == 0) return {};
    const std::string errors = first_errors(result.errors);
    const bool memory = result.signal == 9 ||
                        contains_any(result.errors, {"virtual memory exhausted", "out of memory", "annot allocate memory",
                                                     "Killed signal", "std::bad_alloc", "memory exhausted"});
    const std::string cause = result.signal != 0 ? concat("was ended by signal ", result.signal)
                                                 : concat("failed with exit code ", result.exit_code);
    return Status(memory ? Code::kResourceExhausted : Code::kFailedPrecondition,
                  concat("compiler '", setup_->path, "' ", cause, errors.empty() ? "" : ": ", errors))
        .with("errors", errors);
  }

  Status read_image() {
    Env& env = *setup_->env;
    Result<std::string> bytes =
        memory_only_ ? env.read_memory_file(*linked_) : env.read_file(join_path(directory_, "image"));
    if (!bytes.ok()) return unavailable(concat("compiler left no image: ", bytes.status().message()));
    if (!std::string_view(*bytes).starts_with("\x7f" "ELF")) {
      return unavailable(concat("compiler '", setup_->path, "' wrote something that is no image"));
    }
    image_ = Blob::own(*std::move(bytes));
    return {};
  }

  void remove_directory() {
    if (!directory_.empty()) remove_tree(*setup_->env, directory_);
    directory_.clear();
  }

  std::shared_ptr<const Setup> setup_;
  CompileRequest request_;
  int64_t deadline_ns_ = INT64_MAX;
  size_t place_ = 0;  // index of the next place to try
  bool memory_only_ = false;
  bool linking_ = false;
  bool ended_ = false;
  bool taken_ = false;
  std::string directory_;
  std::unique_ptr<MemoryFile> object_, linked_;
  std::unique_ptr<Process> process_;
  Status status_;
  Blob image_;
};

class Compiler final : public SystemCompiler {
 public:
  Compiler(std::shared_ptr<const Setup> setup, std::string identity)
      : setup_(std::move(setup)), identity_(std::move(identity)) {}

  const std::string& path() const override { return setup_->path; }
  const std::string& identity() const override { return identity_; }

  Fingerprint key(target::Isa isa) const override {
    FingerprintBuilder builder;
    builder.add("system compiler").add(identity_).add(isa);
    builder.add_all(compile_flags(isa, setup_->kind)).add_all(link_flags(isa));
    return builder.finish();
  }

  Result<std::unique_ptr<CompileJob>> start(const CompileRequest& request) override {
    auto job = std::make_unique<Job>(setup_, request);
    TENON_RETURN_IF_ERROR(job->start());
    return std::unique_ptr<CompileJob>(std::move(job));
  }

 private:
  std::shared_ptr<const Setup> setup_;
  std::string identity_;
};

// "" when there is no such program.
std::string find_program(Env& env, const std::string& name) {
  if (name.empty()) return "";
  if (name.find('/') != std::string::npos) return env.is_executable(name) ? name : "";
  for (const std::string& directory : split(env.variable("PATH").value_or("/usr/local/bin:/usr/bin:/bin"), ':')) {
    std::string path = join_path(directory, name);
    if (env.is_executable(path)) return path;
  }
  return "";
}

Result<std::string> first_version_line(const Setup& setup) {
  ProcessSpec spec;
  spec.arguments = {setup.path, "--version"};
  spec.environment = setup.child_environment("");
  spec.timeout_ns = kVersionTimeoutNs;
  TENON_ASSIGN_OR_RETURN(const ProcessResult result, run_process(*setup.env, spec));
  const std::string line = result.output.substr(0, result.output.find('\n'));
  const bool failed = result.timed_out || result.signal != 0 || (result.exited && result.exit_code != 0);
  if (failed || line.empty()) return unavailable(concat("'", setup.path, "' --version failed"));
  return line;
}

Result<std::unique_ptr<SystemCompiler>> examine(Env& env, const std::string& path, const SystemCompilerOptions& options) {
  auto setup = std::make_shared<Setup>();
  setup->env = &env;
  setup->path = path;
  setup->work_directories = options.work_directories;
  if (const auto directory = env.variable("TMPDIR"); directory && !directory->empty()) {
    setup->work_directories.push_back(*directory);
  }
  setup->work_directories.insert(setup->work_directories.end(), {"/tmp", "/var/tmp", "/dev/shm"});
  TENON_ASSIGN_OR_RETURN(const std::string version, first_version_line(*setup));
  if (version.find("clang") != std::string::npos) setup->kind = CompilerKind::kClang;
  TENON_ASSIGN_OR_RETURN(const FileIdentity file, env.identify(path));
  std::string identity = concat(path, " ", file.size_bytes, " ", file.modified_ns, " ", version);
  return std::unique_ptr<SystemCompiler>(std::make_unique<Compiler>(std::move(setup), std::move(identity)));
}

}  // namespace

Result<std::unique_ptr<SystemCompiler>> SystemCompiler::find(Env& env, const SystemCompilerOptions& options) {
  if (!options.path.empty()) {
    // Asked for by name: nothing else will do.
    const std::string path = find_program(env, options.path);
    if (path.empty()) return unavailable(concat("no C++ compiler at '", options.path, "'")).with("path", options.path);
    return examine(env, path, options);
  }
  std::vector<std::string> names;
  for (const char* variable : {"TENON_CXX", "CXX"}) {
    if (const auto value = env.variable(variable)) names.push_back(*value);
  }
  names.insert(names.end(), {"g++", "clang++", "c++"});
  std::string tried;
  for (const std::string& name : names) {
    append(tried, concat(tried.empty() ? "" : ", ", name));
    const std::string path = find_program(env, name);
    if (path.empty()) continue;
    Result<std::unique_ptr<SystemCompiler>> compiler = examine(env, path, options);
    if (compiler.ok()) return compiler;
    append(tried, concat(" (", compiler.status().message(), ")"));
  }
  return unavailable(concat("no C++ compiler found; tried ", tried, " along PATH")).with("tried", tried);
}

Result<Blob> SystemCompiler::compile(const CompileRequest& request) {
  TENON_ASSIGN_OR_RETURN(const std::unique_ptr<CompileJob> job, start(request));
  return job->take();
}

}  // namespace tenon::toolchain
