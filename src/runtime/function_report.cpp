// What a function says about itself: miss reports, explain, counters.
#include <algorithm>

#include "runtime/function.hpp"
#include "support/format.hpp"

namespace tenon::runtime {

namespace {

void emit(WriteFn write, void* user, std::string_view text) { write(user, {text.data(), text.size()}); }

}  // namespace

std::string Function::miss_report(const CallShape& shape) const {
  std::string call;
  for (size_t i = 0; i < shape.inputs.size(); ++i) {
    append(call, concat(i == 0 ? "" : ", ", interface_.inputs[i].name, ": ", describe(shape.inputs[i])));
  }
  std::string out = concat("call (", call, ")");
  if (!shape.facts.empty()) append(out, concat(" with facts ", describe_dims(shape.facts)));
  const auto entries = this->entries();
  if (entries.empty()) return out + ": no entries yet";
  for (size_t i = 0; i < entries.size(); ++i) {
    const GuardReport report = explain_guards(entries[i]->executable->artifact(), shape);
    append(out, concat(i == 0 ? ": " : "; ", "entry ", i, ": "));
    append(out, report.holds ? concat("facts expected ", describe_dims(entries[i]->facts), ", found ",
                                      describe_dims(shape.facts))
                             : report.text());
  }
  return out;
}

std::string Function::guards_text() const {
  std::string out;
  const auto entries = this->entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    const artifact::Artifact& a = entries[i]->executable->artifact();
    append(out, concat("entry ", i, " (tier ", entries[i]->tier(), ", ", entries[i]->uses.load(), " uses)\n"));
    for (const artifact::InputDecl& input : a.inputs) {
      append(out, concat("  ", input.dtype_required && input.rank_required ? "requires" : "guards", " ", input.name,
                         ": ", name(input.dtype), " of rank ", input.rank, input.mutated ? ", mutated" : "", "\n"));
    }
    for (const auto* list : {&a.required, &a.guards}) {
      for (const artifact::SizeGuard& guard : *list) {
        append(out, concat("  ", list == &a.required ? "requires " : "guards ", guard.text));
        if (!guard.origin.empty()) append(out, concat("  // ", guard.origin));
        append(out, "\n");
      }
    }
    if (!entries[i]->facts.empty()) append(out, concat("  guards facts == ", describe_dims(entries[i]->facts), "\n"));
  }
  return out;
}

Status Function::explain(std::string_view what, WriteFn write, void* user) const {
  if (what == "guards") {
    emit(write, user, guards_text());
    return {};
  }
  if (what == "plan") {
    const auto entries = this->entries();
    for (size_t i = 0; i < entries.size(); ++i) {
      emit(write, user, concat("// entry ", i, "\n", entries[i]->executable->artifact().listing, "\n"));
    }
    return {};
  }
  if (what == "misses") {
    std::vector<std::string> reports;
    {
      std::lock_guard lock(report_mutex_);
      reports = reports_;
    }
    for (const std::string& report : reports) emit(write, user, report + "\n");
    return {};
  }
  if (what == "counters") {
    for (std::string_view name :
         {"entries", "misses", "hits", "fallbacks", "evictions", "tier", "kernels", "pending_kernels", "compile_ns"}) {
      int64_t value = 0;
      if (counter(name, &value)) emit(write, user, concat(name, " ", value, "\n"));
    }
    return {};
  }
  if (what == "graph" || what == "passes" || what == "source") {
    if (compiler_ != nullptr) return compiler_->explain(what, write, user);
    return unimplemented(concat("a package does not carry its ", what)).with("input", "what").with("found", what);
  }
  return invalid_argument(concat("`what`: cannot explain `", what, "`"))
      .with("input", "what")
      .with("expected", "graph, guards, plan, source, misses, counters, passes")
      .with("found", what);
}

bool Function::counter(std::string_view name, int64_t* out) const {
  const auto entries = this->entries();
  const auto sum = [&](auto of) {
    int64_t total = 0;
    for (const auto& entry : entries) total += of(*entry);
    return total;
  };
  if (name == "entries") return *out = int64_t(entries.size()), true;
  if (name == "misses") return *out = misses_.load(), true;
  if (name == "hits") {
    // The use that an entry is made for is no hit.
    const std::lock_guard lock(report_mutex_);
    *out = 0;
    for (const auto& count : evicted_counts_) *out += count->load();
    *out += sum([](const Entry& e) { return e.uses.load(); }) + evicted_uses_.load() - made_.load();
    return true;
  }
  if (name == "fallbacks") {
    *out = evicted_fallbacks_.load() + sum([](const Entry& e) { return e.job == nullptr ? 0 : e.job->fallbacks(); });
    return true;
  }
  if (name == "evictions") return *out = evictions_.load(), true;
  if (name == "tier") {
    *out = entries.empty() ? 0 : 1;
    for (const auto& entry : entries) *out = std::min<int64_t>(*out, entry->tier());
    return true;
  }
  if (name == "kernels") return *out = sum([](const Entry& e) { return int64_t(e.executable->kernels()); }), true;
  if (name == "pending_kernels")
    return *out = sum([](const Entry& e) { return e.job == nullptr ? 0 : e.job->pending_kernels(); }), true;
  if (name == "compile_ns") return *out = compile_ns_.load(), true;
  return false;
}

}  // namespace tenon::runtime
