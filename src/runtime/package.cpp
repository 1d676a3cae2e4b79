// Layout: a header of 64 bytes {magic, u32 version, u32 0, u64 index offset, u64 index bytes, u64 x 2 fingerprint of
// the index}, then blobs at multiples of 64, then the index. Little-endian, as every machine that we run on is.
#include "runtime/package.hpp"

#include <bit>
#include <cstring>
#include <unordered_map>

#include "support/fingerprint.hpp"
#include "support/format.hpp"

namespace tenon::runtime {

static_assert(std::endian::native == std::endian::little);

namespace {

constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'P', 'K', 'G'};
constexpr uint64_t kVersion = 0;

struct Header {
  char magic[8];
  uint64_t version, index_offset, index_bytes, fingerprint_high, fingerprint_low, zeros[2];
};
static_assert(sizeof(Header) == 64);

struct IndexWriter {
  std::string out;

  void number(int64_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    number(int64_t(value.size()));
    out.append(value);
  }
  void tensors(const std::vector<FunctionInterface::Tensor>& list) {
    number(int64_t(list.size()));
    for (const FunctionInterface::Tensor& tensor : list) {
      text(tensor.name);
      number(int64_t(tensor.dtype));
      number(tensor.auto_dtype | tensor.auto_rank << 1 | tensor.scalar << 2 | tensor.known << 3);
      number(int64_t(tensor.dims.size()));
      for (const FunctionInterface::Dim& dim : tensor.dims) {
        number(dim.fixed);
        number(dim.symbol);
        number(dim.automatic);
      }
    }
  }
};

// Reads past the end give zeros and set `bad`.
struct IndexReader {
  std::span<const uint8_t> in;
  bool bad = false;

  int64_t number() {
    int64_t value = 0;
    if (in.size() < sizeof value) {
      bad = true;
      return 0;
    }
    std::memcpy(&value, in.data(), sizeof value);
    in = in.subspan(sizeof value);
    return value;
  }
  // A count of things of at least `least_bytes` each.
  size_t count(size_t least_bytes) {
    const int64_t value = number();
    if (value < 0 || size_t(value) > in.size() / least_bytes) {
      bad = true;
      return 0;
    }
    return size_t(value);
  }
  std::string text() {
    const size_t size = count(1);
    std::string value(reinterpret_cast<const char*>(in.data()), size);
    in = in.subspan(size);
    return value;
  }
  std::vector<FunctionInterface::Tensor> tensors() {
    std::vector<FunctionInterface::Tensor> list(count(32));
    for (FunctionInterface::Tensor& tensor : list) {
      tensor.name = text();
      tensor.dtype = DType(number());
      bad |= !known_dtype(int32_t(tensor.dtype));
      const int64_t flags = number();
      tensor.auto_dtype = flags & 1;
      tensor.auto_rank = flags & 2;
      tensor.scalar = flags & 4;
      tensor.known = flags & 8;
      tensor.dims.resize(count(24));
      for (FunctionInterface::Dim& dim : tensor.dims) {
        dim.fixed = number();
        dim.symbol = int32_t(number());
        dim.automatic = number() != 0;
      }
    }
    return list;
  }
};

class BlobWriter {
 public:
  explicit BlobWriter(std::string& file) : file_(file) {}
  // The number of the blob; equal places are stored once.
  uint32_t add(const void* data, size_t size) {
    const auto [at, is_new] = known_.try_emplace(data, uint32_t(places_.size()));
    if (!is_new && places_[at->second].second == size && size > 0) return at->second;
    file_.resize(whole_lines(file_.size()));
    places_.push_back({file_.size(), size});
    if (size > 0) file_.append(static_cast<const char*>(data), size);
    return uint32_t(places_.size() - 1);
  }
  const std::vector<std::pair<size_t, size_t>>& places() const { return places_; }

 private:
  std::string& file_;
  std::unordered_map<const void*, uint32_t> known_;
  std::vector<std::pair<size_t, size_t>> places_;
};

// Constants become raw bytes in the form that the kernels read.
artifact::Artifact packaged(const Executable& executable, BlobWriter& blobs) {
  artifact::Artifact a = executable.artifact();
  a.images = executable.images();
  for (size_t i = 0; i < a.constants.size(); ++i) {
    artifact::ConstantDecl& c = a.constants[i];
    if (!c.inline_bytes.empty()) continue;
    const Weight& weight = executable.weight(uint32_t(i));
    const Fingerprint content = Fingerprint::of(weight.data(), weight.size_bytes());
    artifact::ConstantDecl raw;
    raw.name = c.name;
    raw.key = concat("package:", content.hex(), ":", weight.size_bytes());
    raw.dtype = c.dtype;
    raw.dims = {int64_t(weight.size_bytes() / size_bytes(c.dtype))};
    raw.strides = {1};
    raw.source = blobs.add(weight.data(), weight.size_bytes());
    c = std::move(raw);
  }
  for (size_t i = 0; i < a.states.size(); ++i) {
    if (a.states[i].initial_source < 0) continue;
    const Blob& initial = executable.initial_state(uint32_t(i));
    a.states[i].initial_source = int32_t(blobs.add(initial.data(), initial.size()));
  }
  return a;
}

Status damaged(const std::string& path, std::string_view why) {
  return data_loss(concat("package '", path, "': ", why)).with("file", path);
}

}  // namespace

Status save_package(const Function& function, Env& env, const std::string& path) {
  const auto entries = function.entries();
  if (entries.empty()) {
    return failed_precondition("the function has no entries to save: prepare or run it for the shapes to come first");
  }
  std::string file(sizeof(Header), '\0');
  BlobWriter blobs(file);
  IndexWriter index;
  const FunctionInterface& interface = function.interface();
  index.tensors(interface.inputs);
  index.tensors(interface.outputs);
  index.tensors(interface.states);
  index.number(int64_t(interface.symbols.size()));
  for (const FunctionInterface::Symbol& symbol : interface.symbols) {
    index.text(symbol.name);
    index.number(symbol.min);
    index.number(symbol.max);
    index.number(symbol.divisor);
  }
  index.number(int64_t(entries.size()));
  std::vector<std::vector<uint8_t>> programs;
  for (const auto& entry : entries) {
    programs.push_back(artifact::write(packaged(*entry->executable, blobs)));
    index.number(blobs.add(programs.back().data(), programs.back().size()));
    index.number(int64_t(entry->facts.size()));
    for (int64_t fact : entry->facts) index.number(fact);
  }
  index.number(int64_t(blobs.places().size()));
  for (const auto& [offset, size] : blobs.places()) {
    index.number(int64_t(offset));
    index.number(int64_t(size));
  }
  const Fingerprint print = Fingerprint::of(index.out);
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kVersion;
  header.index_offset = file.size();
  header.index_bytes = index.out.size();
  header.fingerprint_high = print.high;
  header.fingerprint_low = print.low;
  std::memcpy(file.data(), &header, sizeof header);
  file += index.out;
  return write_file_atomically(env, path, file);
}

Result<std::shared_ptr<Function>> load_package(const std::shared_ptr<Context>& context, Env& env,
                                               const std::string& path) {
  TENON_ASSIGN_OR_RETURN(const Blob file, env.map_file(path));
  Header header{};
  if (file.size() < sizeof header) return damaged(path, "it is shorter than a header");
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return damaged(path, "it is no package");
  if (header.version != kVersion) return damaged(path, concat("unknown version ", header.version));
  if (header.index_offset > file.size() || header.index_bytes != file.size() - header.index_offset) {
    return damaged(path, "it has been cut");
  }
  const Blob index_blob = file.slice(header.index_offset, header.index_bytes);
  const Fingerprint print = Fingerprint::of(index_blob.text());
  if (print.high != header.fingerprint_high || print.low != header.fingerprint_low)
    return damaged(path, "its index is damaged");

  IndexReader index{index_blob.bytes()};
  FunctionInterface interface;
  interface.inputs = index.tensors();
  interface.outputs = index.tensors();
  interface.states = index.tensors();
  interface.symbols.resize(index.count(32));
  for (FunctionInterface::Symbol& symbol : interface.symbols) {
    symbol.name = index.text();
    symbol.min = index.number();
    symbol.max = index.number();
    symbol.divisor = index.number();
  }
  struct PackedEntry {
    int64_t program;
    std::vector<int64_t> facts;
  };
  std::vector<PackedEntry> entries(index.count(16));
  for (PackedEntry& entry : entries) {
    entry.program = index.number();
    entry.facts.resize(index.count(8));
    for (int64_t& fact : entry.facts) fact = index.number();
  }
  std::vector<Blob> blobs(index.count(16));
  for (Blob& blob : blobs) {
    const int64_t offset = index.number(), size = index.number();
    if (offset < 0 || size < 0 || uint64_t(offset) > header.index_offset ||
        uint64_t(size) > header.index_offset - uint64_t(offset)) {
      return damaged(path, "a part lies outside of it");
    }
    blob = file.slice(size_t(offset), size_t(size));
  }
  if (index.bad || !index.in.empty()) return damaged(path, "its index is malformed");

  auto function = std::make_shared<Function>(context, nullptr, std::move(interface), FunctionOptions{});
  for (PackedEntry& entry : entries) {
    if (entry.program < 0 || size_t(entry.program) >= blobs.size()) return damaged(path, "an entry has no program");
    TENON_ASSIGN_OR_RETURN(artifact::Artifact artifact, artifact::read(blobs[size_t(entry.program)].bytes()));
    if (artifact.inputs.size() != function->interface().inputs.size() ||
        artifact.outputs.size() != function->interface().outputs.size()) {
      return damaged(path, "an entry does not fit its function");
    }
    TENON_ASSIGN_OR_RETURN(auto executable,
                           Executable::load(std::move(artifact), blobs, context->weights(), context->target()));
    TENON_RETURN_IF_ERROR(function->add_entry(std::move(executable), std::move(entry.facts)));
  }
  return function;
}

}  // namespace tenon::runtime
