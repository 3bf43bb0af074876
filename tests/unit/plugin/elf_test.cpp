// SPDX-License-Identifier: Apache-2.0
#include "plugin/elf_file.hpp"
#include "plugin/load_rules.hpp"
#include "support/plugin_artefact.hpp"

#include <catch2/catch.hpp>

#include <random>

using namespace slipway;
using namespace slipway::plugin;
using namespace slipway::testing;

namespace {

class Memory final : public ByteSource {
 public:
  explicit Memory(std::string bytes) : bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  [[nodiscard]] Result<std::string> read(std::uint64_t offset, std::size_t count) const override {
    ++reads;
    if (offset > bytes_.size() || count > bytes_.size() - offset) FAIL("read outside the file");
    return bytes_.substr(offset, count);
  }
  mutable unsigned reads = 0;

 private:
  std::string bytes_;
};

}  // namespace

TEST_CASE("a plugin's file says what it was built for, what it needs and what it exports") {
  const auto facts = read_elf(SLIPWAY_TINY_PLUGIN);
  if (!facts) FAIL(facts.error().message);
  CHECK(facts->size == tiny_library().size());
  REQUIRE(facts->note);
  CHECK(facts->note->abi_major == SLIPWAY_ABI_MAJOR);
  CHECK(facts->note->abi_minor == SLIPWAY_ABI_MINOR);
  CHECK(facts->sdk_version() == "0.1.0");
  CHECK(facts->note_problem.empty());
  CHECK(facts->needed == std::vector<std::string>{"libc.so.6"});
  CHECK(facts->run_paths.empty());
  CHECK(facts->exported == std::vector<std::string>{"slipway_plugin_entry"});
  CHECK_FALSE(facts->has_ifuncs);
  CHECK_FALSE(facts->has_executable_stack);
  CHECK_FALSE(facts->has_writable_code);
  CHECK_FALSE(facts->has_text_relocations);
}

TEST_CASE("a second exported symbol is seen, in the order of the alphabet") {
  const auto facts = read_elf(Memory(loud_library()), "loud.so");
  REQUIRE(facts);
  CHECK(facts->exported == std::vector<std::string>{"one_symbol_too_many", "slipway_plugin_entry"});
  const auto refused = check_loading(*facts, Profile::pure, "loud.so");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "loud.so: expected one exported symbol, slipway_plugin_entry, got "
        "one_symbol_too_many too; build it with slipway_add_plugin()");
}

TEST_CASE("the libraries of glibc can be read, with their many symbols, within a few reads") {
  const auto facts = read_elf("/lib64/ld-linux-x86-64.so.2");
#if defined(__x86_64__)
  REQUIRE(facts);
  CHECK_FALSE(facts->note);
  CHECK(facts->soname == "ld-linux-x86-64.so.2");
  CHECK(facts->exported.size() > 10);
#else
  CHECK_FALSE(facts);
#endif
  const Memory tiny(tiny_library());
  REQUIRE(read_elf(tiny, "tiny.so"));
  CHECK(tiny.reads < 20);
}

TEST_CASE("names of libraries that load by other tags count as needed") {
  std::string bytes = tiny_library();
  ElfPatch elf(bytes);
  elf.add_dynamic(DT_AUDIT, elf.string_offset("slipway_plugin_entry"));
  const auto facts = read_elf(Memory(bytes), "tiny.so");
  REQUIRE(facts);
  CHECK(facts->needed == std::vector<std::string>{"libc.so.6", "slipway_plugin_entry"});
}

TEST_CASE("a library of profile system may need liblxc, one of profile pure may not") {
  CHECK(allowed_libraries(Profile::system).contains("liblxc.so.1"));
  CHECK_FALSE(allowed_libraries(Profile::net).contains("liblxc.so.1"));
  CHECK_FALSE(allowed_libraries(Profile::pure).contains("liblxc.so.1"));
}

TEST_CASE("errors of a file begin with its path and say what was expected") {
  const auto refusal = [](std::string bytes) {
    const auto facts = read_elf(Memory(std::move(bytes)), "x/tiny.so");
    REQUIRE_FALSE(facts);
    CHECK(facts.error().code == Code::invalid);
    return facts.error().message;
  };
  CHECK(refusal("") == "x/tiny.so: expected a shared object, it has 0 bytes");
  CHECK(refusal(std::string(64, 'x')) == "x/tiny.so: expected a shared object, it is no ELF file");
  std::string bytes = tiny_library();
  ElfPatch(bytes).header().e_type = ET_EXEC;
  CHECK(refusal(bytes) == "x/tiny.so: expected a shared object (ET_DYN), it is of ELF type 2");
  CHECK(read_elf(std::string("/no/such/file.so")).error().code == Code::not_found);
  CHECK(read_elf(std::string("/")).error().code == Code::invalid);
}

TEST_CASE("a file with any bytes changed is read or refused, never read outside its end") {
  const auto seed = static_cast<unsigned>(Catch::rngSeed());
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  // Where headers and tables are; the rest is code that nobody reads here.
  const Elf64_Ehdr header = [] {
    std::string copy = tiny_library();
    return ElfPatch(copy).header();
  }();
  unsigned refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = tiny_library();
    for (std::size_t i = below(4) + 1; i > 0; --i) {
      const std::size_t at =
          below(2) == 0 ? below(header.e_phoff + 56U * header.e_phnum) : below(bytes.size());
      bytes[at] = static_cast<char>(below(256));
    }
    if (below(8) == 0) bytes.resize(below(bytes.size()));
    const auto facts = read_elf(Memory(bytes), "tiny.so");
    if (!facts) {
      ++refused;
      if (facts.error().message.empty()) FAIL("a refusal without words");
    }
  }
  CHECK(refused > 300);
  CHECK(refused < 3000);
}
