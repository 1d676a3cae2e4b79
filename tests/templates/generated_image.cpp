#include "templates/generated_image.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

namespace tenon::templates_test {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

std::string read_template(const std::string& name) {
  for (const char* folder : {"/src/codegen/templates/", "/src/artifact/"}) {
    const std::string path = TENON_SOURCE_DIR + std::string(folder) + name;
    if (!std::filesystem::exists(path)) continue;
    std::string text = read_file(path);
    const std::string once = "#pragma once";
    if (size_t at = text.find(once); at != std::string::npos) text.erase(at, once.size());
    return text;
  }
  std::fprintf(stderr, "no template %s\n", name.c_str());
  abort();
}

std::string paste(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += read_template(name) + "\n";
  return text;
}

int run_command(const std::string& command, std::string* output) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return -1;
  std::array<char, 4096> buffer;
  output->clear();
  while (size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) output->append(buffer.data(), n);
  return pclose(pipe);
}

std::string compile_flags(target::Isa isa) {
  const std::string march = isa == target::Isa::kNeon ? "armv8-a" : std::string(target::name(isa));
  return " -std=c++20 -O2 -march=" + march +
         " -fPIC -fno-exceptions -fno-asynchronous-unwind-tables -fvisibility=hidden"
         " -fno-tree-loop-distribute-patterns -ffp-contract=off -fwrapv ";
}

std::string temporary_folder() {
  struct Folder {
    std::string path;
    Folder() {
      std::string pattern = (std::filesystem::temp_directory_path() / "tenon_templates_XXXXXX").string();
      path = mkdtemp(pattern.data());
    }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

std::vector<target::Isa> host_levels() {
  std::vector<target::Isa> levels;
  for (target::Isa isa : {target::Isa::kX86V2, target::Isa::kX86V3, target::Isa::kX86V4}) {
    if (target::host_runs(isa)) levels.push_back(isa);
  }
  return levels;
}

GeneratedImage::GeneratedImage(const std::string& text, target::Isa isa, bool hosted) {
  static int count = 0;
  const std::string stem = temporary_folder() + "/unit" + std::to_string(count++);
  std::ofstream(stem + ".cpp", std::ios::binary) << text;
  path_ = stem + ".so";
  std::string output;
  const std::string kind = hosted ? " -shared -I" TENON_SOURCE_DIR "/src " : " -shared -nostdlib ";
  const std::string command = "g++" + compile_flags(isa) + kind + stem + ".cpp -o " + path_ + (hosted ? "" : " -lgcc");
  if (run_command(command, &output) != 0) {
    std::fprintf(stderr, "%s\n%s\n", command.c_str(), output.c_str());
    abort();
  }
  handle_ = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle_) {
    std::fprintf(stderr, "%s\n", dlerror());
    abort();
  }
}

void* GeneratedImage::symbol(const char* name) const {
  void* found = dlsym(handle_, name);
  if (!found) {
    std::fprintf(stderr, "%s\n", dlerror());
    abort();
  }
  return found;
}

std::string GeneratedImage::faults() const { return image_faults(path_); }

std::string image_faults(const std::string& path) {
  const std::string bytes = read_file(path);
  const char* base = bytes.data();
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(base);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(base + header->e_shoff);
  const char* names = base + sections[header->e_shstrndx].sh_offset;
  std::string faults;
  for (int i = 0; i < header->e_shnum; ++i) {
    const Elf64_Shdr& section = sections[i];
    const bool relocations = section.sh_type == SHT_REL || section.sh_type == SHT_RELA;
    if (relocations && section.sh_size > 0) {
      faults += std::string("relocation section ") + (names + section.sh_name) + "\n";
    }
    if (section.sh_type != SHT_DYNSYM) continue;
    const char* strings = base + sections[section.sh_link].sh_offset;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(base + section.sh_offset);
    for (size_t s = 1; s < section.sh_size / sizeof(Elf64_Sym); ++s) {
      if (symbols[s].st_shndx == SHN_UNDEF) faults += std::string("undefined ") + (strings + symbols[s].st_name) + "\n";
    }
  }
  return faults;
}

const codegen::BuiltinKernels& builtin_kernels(target::Isa isa) {
  static std::map<target::Isa, const codegen::BuiltinKernels*> tables;
  auto& table = tables[isa];
  if (!table) {
    const GeneratedImage image("#include \"codegen/templates/builtin.cpp.inc\"\n"
                               "extern \"C\" __attribute__((visibility(\"default\"))) const void* table() {\n"
                               "  return &tenon::codegen::TENON_LEVEL_TABLE;\n}\n",
                               isa, true);
    table = static_cast<const codegen::BuiltinKernels*>(reinterpret_cast<const void* (*)()>(image.symbol("table"))());
  }
  return *table;
}

Scratch::Scratch(int64_t bytes)
    : memory(static_cast<char*>(aligned_alloc(64, (bytes + 127) / 64 * 64))), size(bytes) {
  std::memset(memory, 0xff, bytes);
  std::memset(memory + bytes, 0x5a, 64);
}

Scratch::~Scratch() {
  for (int i = 0; i < 64; ++i) EXPECT_EQ(memory[size + i], 0x5a) << "scratch overrun at " << i;
  std::free(memory);
}

std::vector<float> random_floats(size_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& v : values) v = uniform(engine);
  return values;
}

void expect_same(const std::vector<float>& got, const std::vector<float>& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::memcmp(&got[i], &want[i], 4), 0)
        << what << ": element " << i << " is " << got[i] << ", wanted " << want[i];
  }
}

}  // namespace tenon::templates_test
