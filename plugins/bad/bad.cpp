// SPDX-License-Identifier: Apache-2.0
// bad.cpp - a plugin that does what no plugin may, one sin at a time: the host is
// tried against it. Over the bare binary contract, as the SDK keeps authors from most of this. The setting
// `sin` says which one the method bad.sin/1 (or create, or destroy) commits; instances.list/1 behaves, for
// who stands by. Thread rule: as the contract; the sins break it on purpose.
#include <slipway/abi.h>

#include <dirent.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace std::chrono_literals;

constexpr std::string_view kManifest = R"({
  "name": "bad", "version": "0.1.0", "summary": "commits the sin of its setting", "licence": "Apache-2.0",
  "kinds": ["network"], "max_concurrency": 8,
  "settings": [{"name": "sin", "doc": "which one; README.md lists them"}],
  "methods": ["bad.sin/1", "instances.list/1"], "abi_major": 1, "abi_minor": 0, "sdk": "0.1.0"})";

slipway_bytes bytes(std::string_view text) { return {text.data(), text.size()}; }

struct Instance {
  const slipway_host* host;
  std::string sin;
};

// The value of "sin" in create's message; enough for a message that the host wrote.
std::string sin_in(std::string_view message) {
  constexpr std::string_view kKey = "\"sin\":\"";
  const std::size_t at = message.find(kKey);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = message.substr(at + kKey.size());
  return std::string(rest.substr(0, rest.find('"')));
}

// Deeper than any stack; the bound is there only for the compiler.
int overflow_stack(int depth) {
  volatile char page[4096];
  page[0] = static_cast<char>(depth);
  if (depth == 1'000'000) return 0;
  const int below = overflow_stack(depth + 1);
  return below + page[0];
}

void close_all_descriptors() {
  for (int fd = 3; fd < 1024; ++fd) ::close(fd);
}

void leak(std::size_t mib) {
  auto* memory = static_cast<char*>(std::malloc(mib << 20U));
  if (memory == nullptr) return;
  for (std::size_t at = 0; at < mib << 20U; at += 4096) memory[at] = 1;
}

void fork_for_ever() {
  for (int i = 0; i < 10'000; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
  }
}

[[noreturn]] void hang() {
  while (true) std::this_thread::sleep_for(1h);
}

// Gives back one gigabyte that is not there: the size alone is the sin.
void reply_huge(slipway_done done, void* token) {
  constexpr std::size_t kSize = std::size_t{1} << 30U;
  void* memory = ::mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  done(token, SLIPWAY_OK, {memory == MAP_FAILED ? nullptr : static_cast<const char*>(memory), kSize});
}

void commit(Instance& instance, const slipway_request& request, slipway_done done, void* token) {
  const std::string& sin = instance.sin;
  const auto good = [&] { done(token, SLIPWAY_OK, bytes("{}")); };
  if (sin == "trap") __builtin_trap();
  if (sin == "abort") std::abort();
  if (sin == "exit") std::_Exit(0);
  if (sin == "throw") throw std::runtime_error("an exception through the contract");
  if (sin == "stack-overflow") static_cast<void>(overflow_stack(0));
  if (sin == "hang") hang();
  if (sin == "no-completion") return;
  if (sin == "leak") return leak(64), good();
  if (sin == "garbage") return done(token, SLIPWAY_OK, bytes("not JSON at all"));
  if (sin == "garbage-utf8") return done(token, SLIPWAY_OK, bytes("{\"x\":\"\xff\xfe\"}"));
  if (sin == "unknown-status") return done(token, 4711, bytes("{\"message\":\"?\"}"));
  if (sin == "huge-reply") return reply_huge(done, token);
  if (sin == "double-completion") return good(), good();
  if (sin == "foreign-completion")
    return done(reinterpret_cast<void*>(0xdeadbeef), SLIPWAY_OK, bytes("{}")), good();
  if (sin == "fork-bomb") return fork_for_ever(), good();
  if (sin == "close-descriptors") return close_all_descriptors(), good();
  if (sin == "print") return static_cast<void>(std::puts("a plugin on stdout")), good();
  if (sin == "kill-parent") return static_cast<void>(::kill(::getppid(), SIGKILL)), good();
  if (sin == "thread-left") return std::thread([] { hang(); }).detach(), good();
  if (sin == "late-completion") {
    std::thread([done, token] {
      std::this_thread::sleep_for(50ms);
      done(token, SLIPWAY_OK, bytes("{}"));
    }).detach();
    return good();
  }
  if (sin == "bad-service-request") {
    slipway_request broken = request;
    broken.size = 3;
    instance.host->call(
        instance.host->self, &broken, [](void*, slipway_status, slipway_bytes) {}, nullptr);
    return good();
  }
  if (sin == "orphan-service-call") {  // for a call that nobody made
    slipway_request orphan = request;
    orphan.parent = 4711;
    orphan.method = bytes("clock.now/1");
    instance.host->call(
        instance.host->self, &orphan, [](void*, slipway_status, slipway_bytes) {}, nullptr);
    return good();
  }
  done(token, SLIPWAY_INVALID, bytes("{\"message\":\"sin: an unknown one\"}"));
}

void describe(slipway_done done, void* token) { done(token, SLIPWAY_OK, bytes(kManifest)); }

slipway_status create(const slipway_host* host, slipway_bytes message, slipway_done error, void* token,
                      void** out) {
  std::string sin = sin_in({message.data, message.size});
  if (sin == "create-trap") __builtin_trap();
  if (sin == "create-hang") hang();
  if (sin == "create-null") return SLIPWAY_OK;
  if (sin == "create-silent") return SLIPWAY_INVALID;
  if (sin == "create-refuse") {
    error(token, SLIPWAY_INVALID, bytes("{\"message\":\"sin: refused\"}"));
    return SLIPWAY_INVALID;
  }
  *out = new Instance{host, std::move(sin)};
  return SLIPWAY_OK;
}

void call(void* self, const slipway_request* request, slipway_done done, void* token) {
  auto& instance = *static_cast<Instance*>(self);
  const std::string_view method(request->method.data, request->method.size);
  if (method == "instances.list/1") return done(token, SLIPWAY_OK, bytes("{\"items\":[]}"));
  if (method == "bad.sin/1") return commit(instance, *request, done, token);
  done(token, SLIPWAY_UNSUPPORTED, bytes("{\"message\":\"no such method\"}"));
}

void cancel(void*, std::uint64_t) {}  // nothing here listens

void destroy(void* self) {
  auto* instance = static_cast<Instance*>(self);
  if (instance->sin == "destroy-trap") __builtin_trap();
  if (instance->sin == "destroy-hang") hang();
  delete instance;
}

constexpr slipway_plugin kTable{
    sizeof(slipway_plugin), SLIPWAY_ABI_VERSION, &describe, &create, &call, &cancel, &destroy};

}  // namespace

extern "C" __attribute__((visibility("default"))) const slipway_plugin* slipway_plugin_entry(
    std::uint32_t host_min_major, std::uint32_t host_max_major, std::uint32_t* want);
extern "C" const slipway_plugin* slipway_plugin_entry(std::uint32_t host_min_major,
                                                      std::uint32_t host_max_major, std::uint32_t* want) {
  *want = SLIPWAY_ABI_MAJOR;
  const bool is_spoken = host_min_major <= SLIPWAY_ABI_MAJOR && SLIPWAY_ABI_MAJOR <= host_max_major;
  return is_spoken ? &kTable : nullptr;
}

__attribute__((section(SLIPWAY_NOTE_SECTION), used, aligned(4))) static const slipway_note_record kNote = {
    SLIPWAY_NOTE_NAME_BYTES,
    sizeof(slipway_note),
    SLIPWAY_NOTE_TYPE,
    SLIPWAY_NOTE_NAME,
    {SLIPWAY_ABI_MAJOR, SLIPWAY_ABI_MINOR, 0x000100}};
