// SPDX-License-Identifier: Apache-2.0
#include "plugin/library.hpp"

#include <boost/dll/shared_library.hpp>

#include <cstddef>
#include <exception>
#include <map>
#include <mutex>
#include <type_traits>

namespace slipway::plugin {

namespace {

namespace dll = boost::dll;

Result<const slipway_plugin*> table_of(const dll::shared_library& library, const std::string& path) {
  if (!library.has(SLIPWAY_ENTRY_SYMBOL)) {
    return fail(Code::invalid, "{}: is not a Slipway plugin: it has no symbol {}", path,
                SLIPWAY_ENTRY_SYMBOL);
  }
  const auto& entry = library.get<std::remove_pointer_t<slipway_entry_fn>>(SLIPWAY_ENTRY_SYMBOL);
  std::uint32_t want = 0;
  const slipway_plugin* table = entry(SLIPWAY_ABI_MAJOR, SLIPWAY_ABI_MAJOR, &want);
  if (table == nullptr) {
    return fail(
        Code::unsupported,
        "{}: was built for plugin ABI {}, this host speaks {}; install a build of it for this host, or "
        "rebuild it with this host's SDK",
        path, want, SLIPWAY_ABI_MAJOR);
  }
  const bool is_whole = table->size >= offsetof(slipway_plugin, destroy) + sizeof table->destroy &&
                        table->describe != nullptr && table->create != nullptr && table->call != nullptr &&
                        table->cancel != nullptr && table->destroy != nullptr;
  if (!is_whole) {
    return fail(Code::invalid,
                "{}: its table of functions has {} bytes or a function is missing; rebuild it with the SDK",
                path, table->size);
  }
  if (table->abi >> 16U != SLIPWAY_ABI_MAJOR) {
    return fail(Code::unsupported,
                "{}: says ABI {} in its table, this host speaks {}; rebuild it with this host's SDK", path,
                table->abi >> 16U, SLIPWAY_ABI_MAJOR);
  }
  return table;
}

}  // namespace

Result<const slipway_plugin*> load_library(const std::string& path) {
  static std::mutex libraries_mutex;  // guards the next
  static auto& libraries = *new std::map<std::string, dll::shared_library, std::less<>>;
  const std::lock_guard lock(libraries_mutex);
  auto& library = libraries[path];
  if (!library.is_loaded()) {
    // The throwing overload: the one with an error_code loses dlerror()'s text.
    try {
      library.load(path, dll::load_mode::rtld_now | dll::load_mode::rtld_local);
    } catch (const std::exception& e) {
      return fail(Code::invalid, "{}: cannot be loaded: {}", path, e.what());
    }
  }
  return table_of(library, path);
}

}  // namespace slipway::plugin
