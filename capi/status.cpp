#include "handles.hpp"

using namespace tenon;
using namespace tenon::capi;

namespace {

// A Status that shares the record for the time of a look.
Status look(const tenon_status_t* status) { return Status::share(reinterpret_cast<const StatusRecord*>(status)); }

}  // namespace

extern "C" {

TENON_API uint32_t tenon_api_version(void) { return TENON_API_VERSION; }

TENON_API tenon_status_t* tenon_status_create(int32_t code, tenon_str_t message) {
  return guarded([&]() -> Status {
    TENON_TEXT(text, message);
    if (code == TENON_OK) return {};
    const bool known = code > TENON_OK && code <= TENON_DATA_LOSS;
    return Status(known ? Code(code) : Code::kUnknown, text);
  });
}

TENON_API int32_t tenon_status_code(const tenon_status_t* status) {
  return status == nullptr ? TENON_OK : int32_t(look(status).code());
}

TENON_API tenon_str_t tenon_status_message(const tenon_status_t* status) {
  return status == nullptr ? tenon_str_t{"", 0} : lend(look(status).message());
}

TENON_API tenon_str_t tenon_status_field(const tenon_status_t* status, tenon_str_t key) {
  if (status == nullptr || key.data == nullptr) return {"", 0};
  const std::string_view value = look(status).field({key.data, key.size});
  return value.data() == nullptr ? tenon_str_t{"", 0} : lend(value);
}

TENON_API void tenon_status_release(tenon_status_t* status) {
  const Status last = Status::adopt(reinterpret_cast<StatusRecord*>(status));
}

}  // extern "C"
