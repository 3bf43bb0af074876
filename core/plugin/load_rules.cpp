// SPDX-License-Identifier: Apache-2.0
#include "plugin/load_rules.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <vector>

namespace slipway::plugin {
namespace {

std::string listed(const std::set<std::string>& names) {
  return text::join(std::vector<std::string>(names.begin(), names.end()), ", ");
}

Status check_libraries(const ElfFacts& elf, Profile profile, std::string_view path) {
  const std::set<std::string> allowed = allowed_libraries(profile);
  for (const std::string& needed : elf.needed) {
    if (allowed.contains(needed)) continue;
    return fail(Code::invalid,
                "{}: it needs {}, which a plugin of profile {} may not (it may: {}); link it statically",
                path, text::escaped(needed), profile, listed(allowed));
  }
  return ok();
}

Status check_run_path(const ElfFacts& elf, std::string_view path) {
  if (elf.run_paths.empty()) return ok();
  return fail(Code::invalid,
              "{}: it has the run path {}, from where others could feed it libraries; link it without -rpath",
              path, text::escaped(elf.run_paths.front()));
}

Status check_exports(const ElfFacts& elf, std::string_view path) {
  if (elf.exported == std::vector<std::string>{SLIPWAY_ENTRY_SYMBOL} && !elf.has_ifuncs) return ok();
  const auto other = std::find_if(elf.exported.begin(), elf.exported.end(),
                                  [](const std::string& name) { return name != SLIPWAY_ENTRY_SYMBOL; });
  const std::string found = elf.has_ifuncs ? std::string("one that is found by running code (IFUNC)")
                            : other == elf.exported.end() ? std::string("not that")
                                                          : text::escaped(*other) + " too";
  return fail(Code::invalid,
              "{}: expected one exported symbol, {}, got {}; build it with slipway_add_plugin()", path,
              SLIPWAY_ENTRY_SYMBOL, found);
}

Status check_hardening(const ElfFacts& elf, std::string_view path) {
  if (elf.has_executable_stack) {
    return fail(Code::invalid, "{}: it would make every stack executable; link it with -z noexecstack", path);
  }
  if (elf.has_writable_code)
    return fail(Code::invalid, "{}: it has a segment that is writable and executable", path);
  if (elf.has_text_relocations) {
    return fail(Code::invalid, "{}: it has text relocations; compile all of it with -fPIC", path);
  }
  return ok();
}

}  // namespace

std::set<std::string> allowed_libraries(Profile profile) {
  std::set<std::string> out{"libstdc++.so.6", "libgcc_s.so.1",        "libm.so.6",
                            "libc.so.6",      "libpthread.so.0",      "libdl.so.2",
                            "librt.so.1",     "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"};
  if (profile == Profile::system) out.insert("liblxc.so.1");
    // A host that is built with a sanitizer loads plugins that are, too.
#if defined(__SANITIZE_ADDRESS__)
  out.insert({"libasan.so.8", "libubsan.so.1"});
#elif defined(__SANITIZE_THREAD__)
  out.insert("libtsan.so.2");
#endif
  return out;
}

Status check_loading(const ElfFacts& elf, Profile profile, std::string_view path,
                     const DisabledChecks& disabled) {
  SLIPWAY_TRY(unless_off(disabled, TrustCheck::libraries, check_libraries(elf, profile, path)));
  SLIPWAY_TRY(unless_off(disabled, TrustCheck::run_path, check_run_path(elf, path)));
  SLIPWAY_TRY(unless_off(disabled, TrustCheck::exports, check_exports(elf, path)));
  return unless_off(disabled, TrustCheck::hardening, check_hardening(elf, path));
}

}  // namespace slipway::plugin
