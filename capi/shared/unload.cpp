// Only in the shared libraries, which carry a C++ runtime of their own: its pool for exceptions (72 KB) is never freed
// otherwise, so a host that loads and unloads the library again and again would lose one each time.

namespace __gnu_cxx {
__attribute__((weak)) void __freeres();
}

namespace {

__attribute__((destructor(101))) void free_exception_pool() {
  if (&__gnu_cxx::__freeres != nullptr) __gnu_cxx::__freeres();
}

}  // namespace
