#include "support/system_error.hpp"

#include <cerrno>
#include <cstring>

#include "support/format.hpp"

namespace tenon {

namespace {

Code code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR: return Code::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS: return Code::kPermissionDenied;
    case EEXIST:
    case ENOTEMPTY: return Code::kAlreadyExists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case ENOMEM: return Code::kResourceExhausted;
    default: return Code::kUnavailable;
  }
}

const char* text_of(int error_number) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 32)
  return strerrordesc_np(error_number);
#else
  (void)error_number;
  return nullptr;
#endif
}

}  // namespace

Status system_error(int error_number, std::string_view action, std::string_view path) {
  const char* text = text_of(error_number);
  std::string message = concat(action, " '", path, "': ");
  if (text != nullptr) message += text;
  else append(message, concat("error ", error_number));
  return Status(code_of(error_number), message).with("path", path).with("errno", concat(error_number));
}

}  // namespace tenon
