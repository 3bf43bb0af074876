// SPDX-License-Identifier: Apache-2.0
#include "plugin/trust.hpp"

#include "base/text.hpp"
#include "plugin/package_files.hpp"
#include "plugin/signature.hpp"

#include <algorithm>
#include <optional>

namespace slipway::plugin {
namespace {

// What is not asked of a plugin there. Under <prefix> and in a build tree the owner vouches instead of a key.
DisabledChecks left_out(PluginSource source) {
  switch (source) {
    case PluginSource::development:
      return {TrustCheck::owner,    TrustCheck::file,      TrustCheck::package,  TrustCheck::sha256,
              TrustCheck::signer,   TrustCheck::signature, TrustCheck::profile,  TrustCheck::libraries,
              TrustCheck::run_path, TrustCheck::exports,   TrustCheck::hardening};
    case PluginSource::prefix:
    case PluginSource::build_tree:
      return {TrustCheck::package, TrustCheck::sha256, TrustCheck::signer, TrustCheck::signature};
    case PluginSource::installed:
      break;
  }
  return {};
}

// One directory on its way through the checks, in their order. A check that is off (tests) also takes along
// what would need its result.
class Verifier {
 public:
  Verifier(PluginSource source, const TrustPolicy& policy) : policy_(policy), off_(left_out(source)) {
    off_.insert(policy.disabled.begin(), policy.disabled.end());
    out_.source = source;
  }

  Result<Verified> run(const std::string& directory, const FileHashes* locked) {
    SLIPWAY_TRY(open(directory));
    SLIPWAY_TRY(read_library());
    SLIPWAY_TRY(read_plugin_json());
    SLIPWAY_TRY(check_agreement());
    SLIPWAY_TRY(take_hashes(locked));
    if (out_.source == PluginSource::installed) SLIPWAY_TRY(check_signature());
    SLIPWAY_TRY(unless_off(off_, TrustCheck::profile, check_profile()));
    if (elf_) SLIPWAY_TRY(check_loading(*elf_, out_.manifest.profile, out_.library, off_));
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool is_strict() const { return out_.source == PluginSource::installed; }

  [[nodiscard]] const PackageEntry* find(PackageFileKind kind) const {
    const auto found = std::find_if(files_.begin(), files_.end(),
                                    [&](const PackageEntry& entry) { return entry.kind == kind; });
    return found == files_.end() ? nullptr : &*found;
  }

  // "nimbus 0.1.0"
  [[nodiscard]] std::string title() const {
    return message("{} {}", out_.manifest.name, out_.manifest.version);
  }

  Status open(const std::string& directory) {
    const OwnerRules owner{policy_.owners, off_};
    SLIPWAY_TRY(const SafeFile opened, open_safely(directory, owner));
    SLIPWAY_TRY(files_, open_package(opened, {owner, policy_.limits, is_strict()}));
    const PackageEntry& library = *find(PackageFileKind::library);
    out_.directory = opened.path;
    out_.library = library.file.path;
    out_.is_owned_by_root = opened.info.st_uid == 0 && library.file.info.st_uid == 0;
    return ok();
  }

  Status read_library() {
    auto facts = read_elf(find(PackageFileKind::library)->file.descriptor.get(), out_.library);
    if (!facts) return unless_off(off_, TrustCheck::elf, std::move(facts).error());
    out_.elf = *facts;
    elf_ = *std::move(facts);
    if (elf_->note) return ok();
    return unless_off(off_, TrustCheck::note,
                      fail(Code::invalid, "{}: {}", out_.library, elf_->note_problem));
  }

  Status read_plugin_json() {
    // Whatever follows speaks of the plugin by this name, also when a test lets a bad manifest through.
    const std::string& path = find(PackageFileKind::library)->path;
    out_.manifest.name = path.substr(0, path.size() - 3);
    const PackageEntry* entry = find(PackageFileKind::manifest);
    if (entry == nullptr) {
      return unless_off(off_, TrustCheck::manifest,
                        fail(Code::invalid, "{}/plugin.json is missing", out_.directory));
    }
    SLIPWAY_TRY(const std::string text, read_entry(*entry));
    auto manifest = read_manifest(text);
    if (!manifest) {
      return unless_off(off_, TrustCheck::manifest, std::move(manifest).error().within(entry->file.path));
    }
    out_.manifest = *std::move(manifest);
    has_manifest_ = true;
    return ok();
  }

  Status check_agreement() {
    if (!elf_) return ok();
    if (has_manifest_) {
      SLIPWAY_TRY(unless_off(off_, TrustCheck::agreement, agree(out_.manifest, *elf_, out_.library)));
    }
    if (!elf_->note) return ok();
    return unless_off(off_, TrustCheck::abi, check_abi(*elf_->note, out_.library, policy_.abi));
  }

  Status take_hashes(const FileHashes* locked) {
    for (const PackageEntry& entry : files_) {
      if (entry.kind == PackageFileKind::signature) continue;
      if (!is_strict() && entry.kind != PackageFileKind::library && entry.kind != PackageFileKind::manifest &&
          entry.kind != PackageFileKind::helper) {
        continue;
      }
      SLIPWAY_TRY(out_.files[entry.path], hash_entry(entry));
    }
    if (locked == nullptr) return ok();
    return unless_off(off_, TrustCheck::sha256, same_files(*locked, "changed since it was installed"));
  }

  // The files that are there are exactly these.
  [[nodiscard]] Status same_files(const FileHashes& expected, std::string_view otherwise) const {
    for (const auto& [path, hash] : expected) {
      const auto found = out_.files.find(path);
      if (found == out_.files.end()) return fail(Code::invalid, "{}/{} is missing", out_.directory, path);
      if (found->second == hash) continue;
      return fail(Code::invalid, "{}/{} {}: its sha256 is {}, expected {}", out_.directory, path, otherwise,
                  found->second, hash);
    }
    for (const auto& [path, hash] : out_.files) {
      if (!expected.contains(path))
        return fail(Code::invalid, "{}/{} {}: it is new", out_.directory, path, otherwise);
    }
    return ok();
  }

  Status check_signature() {
    const PackageEntry* entry = find(PackageFileKind::signature);
    if (entry == nullptr) {
      if (policy_.allowed_unsigned.contains(out_.manifest.name)) return ok();
      return unless_off(
          off_, TrustCheck::signature,
          fail(Code::denied, "{} is not signed", title())
              .detail("to_do", message("ask its author for a signed package, or allow it: "
                                       "plugins.allow-unsigned = {}; it then runs in a process of its own",
                                       out_.manifest.name)));
    }
    SLIPWAY_TRY(const std::string text, read_entry(*entry));
    auto parsed = parse_signature(text);
    if (!parsed)
      return unless_off(off_, TrustCheck::signature, std::move(parsed).error().within(entry->file.path));
    const PackageSignature signature = *std::move(parsed);
    if (has_manifest_ &&
        (signature.name != out_.manifest.name || signature.version != out_.manifest.version)) {
      SLIPWAY_TRY(unless_off(off_, TrustCheck::agreement,
                             fail(Code::invalid, "{}: it was signed as {} {}, plugin.json says {}",
                                  entry->file.path, signature.name, signature.version, title())));
    }
    SLIPWAY_TRY(unless_off(off_, TrustCheck::sha256, same_files(signature.files, "is not what was signed")));
    return check_signer(signature);
  }

  Status check_signer(const PackageSignature& signature) {
    auto found = TrustDirectory(policy_.trust_directory).find(signature.key);
    if (!found) {
      if (found.error().code != Code::not_found)
        return unless_off(off_, TrustCheck::signer, std::move(found).error());
      return unless_off(
          off_, TrustCheck::signer,
          fail(Code::denied, "{} is signed with {}, which is not trusted here", title(), signature.key.text())
              .detail("to_do",
                      "compare the key with the one its author publishes, then: " + trust_command()));
    }
    if (!found->is_for(out_.manifest.name)) {
      SLIPWAY_TRY(unless_off(off_, TrustCheck::signer,
                             fail(Code::denied, "{} is signed with {} ({}), which is trusted for {} only",
                                  title(), found->id.text(), found->name, text::join(found->plugins, ", "))
                                 .detail("to_do", trust_command())));
    }
    if (!found->key->has_signed(signature.signed_text(), signature.signature)) {
      return unless_off(off_, TrustCheck::signature,
                        fail(Code::denied, "{}: the signature was not made by {} over these files", title(),
                             found->id.text()));
    }
    out_.signer = *std::move(found);
    return ok();
  }

  [[nodiscard]] std::string trust_command() const {
    return message("slipway plugin trust add KEY.pub --only {}", out_.manifest.name);
  }

  [[nodiscard]] Status check_profile() const {
    if (out_.manifest.profile != Profile::system) return ok();
    // What is installed here belongs to root or us because we copied it; that says nothing about its maker.
    const bool is_vouched = out_.signer || (out_.is_owned_by_root && out_.source != PluginSource::installed);
    if (!is_vouched) {
      return fail(Code::denied,
                  "{} makes machines on this host (profile system), so expected a signature by a trusted "
                  "key, or an owner root",
                  title());
    }
    if (policy_.allowed_system.contains(out_.manifest.name)) return ok();
    return fail(Code::denied, "{} makes machines on this host (profile system), which is not allowed to it",
                title())
        .detail("to_do", message("plugins.allow-system = {}", out_.manifest.name));
  }

  const TrustPolicy& policy_;
  DisabledChecks off_;
  Verified out_;
  std::vector<PackageEntry> files_;
  std::optional<ElfFacts> elf_;  // absent: could not be read, and a test lets that through
  bool has_manifest_ = false;
};

}  // namespace

Result<Verified> verify_plugin(const std::string& directory, PluginSource source, const TrustPolicy& policy,
                               const FileHashes* locked) {
  return Verifier(source, policy).run(directory, locked);
}

}  // namespace slipway::plugin
