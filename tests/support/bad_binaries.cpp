// SPDX-License-Identifier: Apache-2.0
#include "support/bad_binaries.hpp"

#include <slipway/codec.hpp>

namespace slipway::testing {
namespace {

using plugin::TrustCheck;

std::function<void(Artefact&)> patched(std::function<void(ElfPatch)> change) {
  return [change](Artefact& a) { change(a.library()); };
}

std::function<void(Artefact&)> bytes(std::function<std::string(std::string)> change) {
  return [change](Artefact& a) { a.files["tiny.so"] = change(a.files["tiny.so"]); };
}

std::function<void(Artefact&)> manifest(std::function<void(Manifest&)> change) {
  return [change](Artefact& a) { a.edit_manifest(change); };
}

std::function<void(Artefact&)> setting(std::function<void(SettingInfo&)> change) {
  return manifest([change](Manifest& m) { change(m.settings.front()); });
}

}  // namespace

std::vector<BadArtefact> bad_libraries() {
  const auto check = TrustCheck::elf;
  return {
      {"library without content", check, bytes([](const std::string&) { return std::string(); })},
      {"library that is a script", check,
       bytes([](const std::string&) { return "#!/bin/sh\n" + std::string(200, ' '); })},
      {"library cut in its header", check, bytes([](const std::string& all) { return all.substr(0, 40); })},
      {"library cut in the middle", check,
       bytes([](const std::string& all) { return all.substr(0, all.size() / 2); })},
      {"library of 32 bits", check,
       patched([](ElfPatch elf) { elf.header().e_ident[EI_CLASS] = ELFCLASS32; })},
      {"big-endian library", check,
       patched([](ElfPatch elf) { elf.header().e_ident[EI_DATA] = ELFDATA2MSB; })},
      {"library for another machine", check,
       patched([](ElfPatch elf) { elf.header().e_machine = EM_RISCV; })},
      {"program instead of a library", check, patched([](ElfPatch elf) { elf.header().e_type = ET_EXEC; })},
      {"object file instead of a library", check,
       patched([](ElfPatch elf) { elf.header().e_type = ET_REL; })},
      {"library without program headers", check, patched([](ElfPatch elf) { elf.header().e_phnum = 0; })},
      {"library with very many program headers", check,
       patched([](ElfPatch elf) { elf.header().e_phnum = 0xffff; })},
      {"library whose program headers lie outside", check,
       patched([](ElfPatch elf) { elf.header().e_phoff = ~0ULL - 63; })},
      {"library whose segments overlap", check,
       patched([](ElfPatch elf) { elf.segment(PT_LOAD, 1).p_vaddr = elf.segment(PT_LOAD, 0).p_vaddr; })},
      {"library with a segment behind its end", check,
       patched([](ElfPatch elf) { elf.segment(PT_LOAD, 0).p_offset = 1ULL << 40U; })},
      {"library with a segment larger than its memory", check,
       patched([](ElfPatch elf) { elf.segment(PT_LOAD, 1).p_memsz = elf.segment(PT_LOAD, 1).p_filesz - 1; })},
      {"library with a segment that is not aligned", check,
       patched([](ElfPatch elf) { elf.segment(PT_LOAD, 1).p_align = 3; })},
      {"library with a segment at the end of all addresses", check,
       patched([](ElfPatch elf) { elf.segment(PT_LOAD, 3).p_memsz = ~0ULL; })},
      {"library without a dynamic section", check,
       patched([](ElfPatch elf) { elf.segment(PT_DYNAMIC).p_type = PT_NULL; })},
      {"library with two dynamic sections", check,
       patched([](ElfPatch elf) { elf.segment(PT_GNU_RELRO).p_type = PT_DYNAMIC; })},
      {"library whose dynamic section is elsewhere", check,
       patched([](ElfPatch elf) { elf.segment(PT_DYNAMIC).p_vaddr = 0x7fff0000; })},
      {"library whose dynamic section has no end", check,
       patched([](ElfPatch elf) { elf.segment(PT_DYNAMIC).p_filesz = 3 * sizeof(Elf64_Dyn); })},
      {"library with two string tables", check,
       patched([](ElfPatch elf) { elf.add_dynamic(DT_STRTAB, elf.dynamic(DT_STRTAB).d_un.d_val); })},
      {"library without a string table", check,
       patched([](ElfPatch elf) { elf.dynamic(DT_STRTAB).d_tag = DT_DEBUG; })},
      {"library whose strings lie outside", check,
       patched([](ElfPatch elf) { elf.dynamic(DT_STRTAB).d_un.d_val = 0x7fff0000; })},
      {"library with endless strings", check,
       patched([](ElfPatch elf) { elf.dynamic(DT_STRSZ).d_un.d_val = 1ULL << 40U; })},
      {"library with a needed name outside its strings", check,
       patched([](ElfPatch elf) { elf.dynamic(DT_NEEDED).d_un.d_val = 1ULL << 30U; })},
      {"library without a hash table", check,
       patched([](ElfPatch elf) { elf.dynamic(DT_GNU_HASH).d_tag = DT_DEBUG; })},
      {"library whose hash table has no buckets", check,
       patched([](ElfPatch elf) { elf.at<std::uint32_t>(elf.section(".gnu.hash").sh_offset) = 0; })},
      {"library whose hash table is endless", check,
       patched([](ElfPatch elf) { elf.at<std::uint32_t>(elf.section(".gnu.hash").sh_offset) = 0x7fffffff; })},
      {"library whose bloom filter is endless", check, patched([](ElfPatch elf) {
         elf.at<std::uint32_t>(elf.section(".gnu.hash").sh_offset + 8) = 0x7fffffff;
       })},
      {"library whose section headers lie outside", check,
       patched([](ElfPatch elf) { elf.header().e_shoff = 1ULL << 40U; })},
      {"library with a note segment without bounds", check,
       patched([](ElfPatch elf) { elf.segment(PT_NOTE).p_filesz = 1ULL << 30U; })},
  };
}

std::vector<BadArtefact> bad_notes() {
  const auto check = TrustCheck::note;
  return {
      {"library with a note of another name", check, patched([](ElfPatch elf) { elf.note().name[0] = 's'; })},
      {"library with a note of another type", check, patched([](ElfPatch elf) { elf.note().type = 2; })},
      {"library with a note that is too short", check,
       patched([](ElfPatch elf) { elf.note().desc_size = 8; })},
      {"library with a note that is too long", check,
       patched([](ElfPatch elf) { elf.note().desc_size = 4096; })},
      {"library with a note whose sizes wrap around", check,
       patched([](ElfPatch elf) { elf.note().name_size = 0xfffffffc; })},
      {"library with two notes", check, patched([](ElfPatch elf) {
         // The build's id is 36 bytes: room for one of ours.
         auto& id = elf.at<slipway_note_record>(elf.section(".note.gnu.build-id").sh_offset);
         id = elf.note();
         id.desc_size = 16;
       })},
      {"library whose note is in another section", check, patched([](ElfPatch elf) {
         elf.replace(std::string(".note.slipway") + '\0', std::string(".note.slipwax") + '\0');
       })},
      {"library whose section of the note is something else", check,
       patched([](ElfPatch elf) { elf.section(".note.slipway").sh_type = SHT_PROGBITS; })},
      {"library whose section of the note is elsewhere", check,
       patched([](ElfPatch elf) { elf.section(".note.slipway").sh_offset += 4; })},
      {"library without section headers", check, patched([](ElfPatch elf) { elf.header().e_shoff = 0; })},
      {"library for a newer ABI", TrustCheck::abi,
       [](Artefact& a) {
         a.library().note().desc.abi_major = SLIPWAY_ABI_MAJOR + 1;
         a.edit_manifest([](Manifest& m) { m.abi_major = SLIPWAY_ABI_MAJOR + 1; });
       }},
      {"library for an ABI that is spoken no more", TrustCheck::abi,
       [](Artefact& a) {
         a.site.policy.abi = {SLIPWAY_ABI_MAJOR + 1, SLIPWAY_ABI_MAJOR + 2};
       }},
  };
}

std::vector<BadArtefact> bad_manifests() {
  const auto check = TrustCheck::manifest;
  const auto text = [](const std::string& json) {
    return [json](Artefact& a) { a.files["plugin.json"] = json; };
  };
  return {
      {"no manifest", check, [](Artefact& a) { a.files.erase("plugin.json"); }},
      {"manifest that is no JSON", check, text("name = tiny")},
      {"manifest that is too deep", check,
       text(R"({"a":)" + std::string(100, '[') + std::string(100, ']') + "}")},
      {"manifest without methods", check,
       text(R"({"name":"tiny","version":"0.1.0","kinds":["provider"],"abi_major":1})")},
      {"manifest with a number for a name", check, text(R"({"name":7})")},
      {"name with capital letters", check, manifest([](Manifest& m) { m.name = "Tiny"; })},
      {"name with a path", check, manifest([](Manifest& m) { m.name = "../tiny"; })},
      {"version of two numbers", check, manifest([](Manifest& m) { m.version = "0.1"; })},
      {"version with a path", check, manifest([](Manifest& m) { m.version = "0.1.0/../.."; })},
      {"no kind", check, manifest([](Manifest& m) { m.kinds.clear(); })},
      {"kind that nobody knows", check, manifest([](Manifest& m) { m.kinds = {Kind::unknown}; })},
      {"profile that nobody knows", check, manifest([](Manifest& m) { m.profile = Profile::unknown; })},
      {"methods that are not sorted", check, manifest([](Manifest& m) {
         m.methods = {"instances.start/1", "account.probe/1"};
       })},
      {"method that stands twice", check, manifest([](Manifest& m) {
         m.methods = {"account.probe/1", "account.probe/1"};
       })},
      {"method without a revision", check, manifest([](Manifest& m) { m.methods = {"account.probe"}; })},
      {"summary that turns the terminal around", check, manifest([](Manifest& m) {
         m.summary =
             "good\xe2\x80\xae"
             "dab";
       })},
      {"help with an escape sequence", check, setting([](SettingInfo& s) { s.doc = "\x1b]0;x\x07"; })},
      {"lag without bounds", check, manifest([](Manifest& m) { m.visibility_lag_ms = 1LL << 50U; })},
      {"negative lag", check, manifest([](Manifest& m) { m.late_accept_ms = -1; })},
      {"no call at a time", check, manifest([](Manifest& m) { m.max_concurrency = 0; })},
      {"setting with a dash", check, setting([](SettingInfo& s) { s.name = "end-point"; })},
      {"setting that stands twice", check,
       manifest([](Manifest& m) { m.settings.push_back(m.settings.front()); })},
      {"secret that is a number", check, setting([](SettingInfo& s) {
         s.type = SettingType::integer;
         s.secret = true;
       })},
      {"default of another type", check, setting([](SettingInfo& s) {
         s.required = false;
         s.default_value = 7;
       })},
      {"import of a file above the home", check,
       manifest([](Manifest& m) { m.import.files = {"~/../other/.ssh/id"}; })},
      {"import of every variable", check, manifest([](Manifest& m) { m.import.variables = {"*"}; })},
  };
}

std::vector<BadArtefact> bad_agreements() {
  const auto check = TrustCheck::agreement;
  return {
      {"manifest of another plugin", check, manifest([](Manifest& m) { m.name = "other"; })},
      {"manifest of another ABI", check, manifest([](Manifest& m) { m.abi_minor = 7; })},
      {"manifest of another SDK", check, manifest([](Manifest& m) { m.sdk = "0.2.0"; })},
      {"signature of another version", check, [](Artefact& a) { a.sign_now("tiny", "9.9.9"); }},
      {"signature of another plugin", check, [](Artefact& a) { a.sign_now("other"); }},
  };
}

std::vector<BadArtefact> bad_loading() {
  const auto libraries = TrustCheck::libraries;
  const auto exports = TrustCheck::exports;
  const auto hardening = TrustCheck::hardening;
  const auto named = [](std::int64_t tag) {
    return patched([tag](ElfPatch elf) { elf.add_dynamic(tag, elf.string_offset(SLIPWAY_ENTRY_SYMBOL)); });
  };
  return {
      {"library that needs an unknown one", libraries,
       patched([](ElfPatch elf) { elf.replace("libc.so.6", "libq.so.6"); })},
      {"library that needs one by its path", libraries,
       patched([](ElfPatch elf) { elf.replace("libc.so.6", "/tmp/evil"); })},
      {"library that needs one more", libraries, named(DT_NEEDED)},
      {"library with a filter", libraries, named(DT_FILTER)},
      {"library with an auxiliary filter", libraries, named(DT_AUXILIARY)},
      {"library with an auditor", libraries, named(DT_AUDIT)},
      {"library with an RPATH", TrustCheck::run_path, named(DT_RPATH)},
      {"library with a RUNPATH", TrustCheck::run_path, named(DT_RUNPATH)},
      {"library with a second symbol", exports, [](Artefact& a) { a.files["tiny.so"] = loud_library(); }},
      {"library without the entry", exports,
       patched([](ElfPatch elf) { elf.replace("slipway_plugin_entry", "slipway_plugin_entrz"); })},
      {"library whose entry is hidden", exports,
       patched([](ElfPatch elf) { elf.symbol(SLIPWAY_ENTRY_SYMBOL).st_other = STV_HIDDEN; })},
      {"library whose entry is found by running code", exports, patched([](ElfPatch elf) {
         elf.symbol(SLIPWAY_ENTRY_SYMBOL).st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC);
       })},
      {"library with an executable stack", hardening,
       patched([](ElfPatch elf) { elf.segment(PT_GNU_STACK).p_flags |= PF_X; })},
      {"library that does not speak of the stack", hardening,
       patched([](ElfPatch elf) { elf.segment(PT_GNU_STACK).p_type = PT_NULL; })},
      {"library with writable code", hardening,
       patched([](ElfPatch elf) { elf.segment(PT_LOAD, 1).p_flags = PF_R | PF_W | PF_X; })},
      {"library with text relocations", hardening,
       patched([](ElfPatch elf) { elf.add_dynamic(DT_TEXTREL, 0); })},
      {"library with the flag of text relocations", hardening,
       patched([](ElfPatch elf) { elf.add_dynamic(DT_FLAGS, DF_TEXTREL); })},
  };
}

}  // namespace slipway::testing
