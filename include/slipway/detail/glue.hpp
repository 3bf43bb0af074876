// SPDX-License-Identifier: Apache-2.0
// glue.hpp - from the class and the methods of SLIPWAY_PLUGIN to the table of abi.h: checks them when they
// are compiled, and catches what must not cross the boundary. Thread-safe; what runs concurrently is the
// plugin.
#pragma once

#include <slipway/call.hpp>
#include <slipway/host.hpp>
#include <slipway/messages.hpp>
#include <slipway/settings.hpp>
#include <slipway/version.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace slipway::detail {

// What a method of SLIPWAY_PLUGIN looks like. `Request` is void if it is none.
struct NoMethod {
  using Request = void;
  using Reply = void;
};
template <class F>
struct Signature : NoMethod {};
template <class R, class... Args>
struct SignatureOf : NoMethod {};
template <class R, class Req>
struct SignatureOf<Result<R>, Call&, const Req&> {
  using Request = Req;
  using Reply = R;
  static constexpr bool is_async = false;
};
template <class Req, class R>
struct SignatureOf<void, Call, Req, Completion<R>> {
  using Request = Req;
  using Reply = R;
  static constexpr bool is_async = true;
};
template <class P, class R, class... Args>
struct Signature<R (P::*)(Args...)> : SignatureOf<R, Args...> {};
template <class P, class R, class... Args>
struct Signature<R (P::*)(Args...) const> : SignatureOf<R, Args...> {};
template <class P, class R, class... Args>
struct Signature<R (P::*)(Args...) noexcept> : SignatureOf<R, Args...> {};
template <class P, class R, class... Args>
struct Signature<R (P::*)(Args...) const noexcept> : SignatureOf<R, Args...> {};

template <class F>
using RequestOf = typename Signature<F>::Request;

template <class R>
struct ReplyOfRequest {
  using Reply = void;
};
template <Request R>
struct ReplyOfRequest<R> {
  using Reply = typename R::Reply;
};
template <class R>
using ReplyOf = typename ReplyOfRequest<R>::Reply;

// Method `number` of SLIPWAY_PLUGIN; the compiler names number and function above its complaint.
template <class P, std::size_t number, auto F>
struct Method {
  using S = Signature<decltype(F)>;
  static constexpr bool has_signature = !std::is_void_v<typename S::Request>;
  // Not only those of messages.hpp: a plugin may have methods of its own, for its tests and tools.
  static constexpr bool has_request = has_signature && ::slipway::Request<typename S::Request> &&
                                      !boost::mp11::mp_contains<HostRequests, typename S::Request>::value;
  static constexpr bool has_reply = std::is_same_v<typename S::Reply, ReplyOf<typename S::Request>>;
  static constexpr bool is_good = has_signature && has_request && has_reply;

  static_assert(
      has_signature,
      "a method of SLIPWAY_PLUGIN must be Result<Reply> f(Call&, const Request&), or asynchronous: void "
      "f(Call, Request, Completion<Reply>); its number in the list stands in Method<Class, NUMBER, ...>");
  static_assert(
      has_request || !has_signature,
      "a method of SLIPWAY_PLUGIN must take one of the requests of slipway/messages, or a struct that "
      "names its `method` and its `Reply` as they do; its number in the list stands in Method<Class, NUMBER, "
      "...>");
  static_assert(has_reply || !has_request,
                "a method of SLIPWAY_PLUGIN must answer its request's own Reply, as Result<StartReply> for a "
                "StartRequest; its number in the list stands in Method<Class, NUMBER, ...>");

  static void run(P& plugin, const std::shared_ptr<CallState>& state, std::string_view body) noexcept {
    using Request = typename S::Request;
    auto request = decode<Request>(body);
    if (!request) {
      return state->complete(
          fail(Code::invalid, "{}: {}", Request::method, request.error().message).rejected());
    }
    if constexpr (std::derived_from<Request, MakeRequest>) state->set_not_after_ns(request->not_after_ns);
    state->run_method([&] {
      Call call(state);
      Completion<typename S::Reply> completion(state);
      if constexpr (S::is_async) {
        (plugin.*F)(std::move(call), *std::move(request), std::move(completion));
      } else {
        auto result = (plugin.*F)(call, *request);
        completion(std::move(result));
      }
    });
  }
};

template <class P>
struct MethodEntry {
  std::string_view name;
  void (*run)(P&, const std::shared_ptr<CallState>&, std::string_view) noexcept = nullptr;
};

// Whether the class is what a plugin must be, its methods apart.
template <class P>
constexpr bool check_class() {
  constexpr bool has_info = requires {
    { P::info() } -> std::convertible_to<PluginInfo>;
  };
  constexpr bool has_config = requires { typename P::Config; };
  static_assert(has_info,
                "a plugin needs `static slipway::PluginInfo info()`: its name, version and static facts");
  static_assert(has_config,
                "a plugin needs a public type `Config`: a struct with its settings, empty if it has none");
  if constexpr (has_config) {
    using Config = typename P::Config;
    constexpr bool has_schema = requires {
      { P::schema() } -> std::convertible_to<Schema<Config>>;
    };
    constexpr bool has_create = requires(Host & host, Config config) {
      { P::create(host, std::move(config)) } -> std::same_as<Result<std::unique_ptr<P>>>;
    };
    static_assert(has_schema,
                  "a plugin needs `static slipway::Schema<Config> schema()`: the list of its settings");
    static_assert(std::is_default_constructible_v<Config>,
                  "a plugin's Config needs its defaults: a constructor without arguments");
    static_assert(has_create || std::is_constructible_v<P, Host&, Config>,
                  "a plugin needs a public constructor (slipway::Host&, Config), or `static "
                  "slipway::Result<std::unique_ptr<Class>> create(slipway::Host&, Config)`");
    return has_info && has_schema && (has_create || std::is_constructible_v<P, Host&, Config>);
  }
  return false;
}

template <class... Requests>
constexpr bool check_provider_is_whole() {
  using Has = boost::mp11::mp_list<Requests...>;
  constexpr bool is_provider = (Requests::method.starts_with("instances.") || ...);
  if constexpr (is_provider) {
    static_assert(boost::mp11::mp_contains<Has, ProbeRequest>::value,
                  "a provider needs a method that takes slipway::ProbeRequest");
    static_assert(boost::mp11::mp_contains<Has, StartRequest>::value,
                  "a provider needs a method that takes slipway::StartRequest");
    static_assert(boost::mp11::mp_contains<Has, StopRequest>::value,
                  "a provider needs a method that takes slipway::StopRequest");
    static_assert(boost::mp11::mp_contains<Has, ListRequest>::value,
                  "a provider needs a method that takes slipway::ListRequest");
    static_assert(boost::mp11::mp_contains<Has, GetRequest>::value,
                  "a provider needs a method that takes slipway::GetRequest");
  }
  return is_provider;
}

// Of checked methods, sorted by name.
template <class P, auto... Fs, std::size_t... numbers>
constexpr auto make_methods(std::index_sequence<numbers...>) {
  constexpr bool are_good = (Method<P, numbers + 1, Fs>::is_good && ...);
  std::array<MethodEntry<P>, sizeof...(Fs)> methods;
  if constexpr (are_good) {
    static_assert(boost::mp11::mp_is_set<boost::mp11::mp_list<RequestOf<decltype(Fs)>...>>::value,
                  "two methods of SLIPWAY_PLUGIN take the same request");
    check_provider_is_whole<RequestOf<decltype(Fs)>...>();
    methods = {MethodEntry<P>{RequestOf<decltype(Fs)>::method, &Method<P, numbers + 1, Fs>::run}...};
    std::sort(methods.begin(), methods.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  }
  return methods;
}

// The first thing that is wrong with what info() and schema() say, as far as the rest relies on it.
inline Status check_manifest(const Manifest& manifest) {
  const auto is_snake_case = [](std::string_view name) {
    return !name.empty() && name[0] >= 'a' && name[0] <= 'z' &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
  };
  for (auto it = manifest.settings.begin(); it != manifest.settings.end(); ++it) {
    if (!is_snake_case(it->name)) {
      return fail(Code::internal, "schema(): setting \"{}\": a name is [a-z][a-z0-9_]*", it->name);
    }
    const auto same = [&](const SettingInfo& info) { return info.name == it->name; };
    if (std::any_of(manifest.settings.begin(), it, same)) {
      return fail(Code::internal, "schema(): setting \"{}\" is listed twice", it->name);
    }
  }
  const bool says_provider =
      std::find(manifest.kinds.begin(), manifest.kinds.end(), Kind::provider) != manifest.kinds.end();
  const bool is_provider = std::find(manifest.methods.begin(), manifest.methods.end(),
                                     StartRequest::method) != manifest.methods.end();
  if (says_provider == is_provider) return ok();
  return is_provider ? fail(Code::internal, "info(): kinds lacks provider, but SLIPWAY_PLUGIN lists start")
                     : fail(Code::internal, "info(): kinds has provider, but SLIPWAY_PLUGIN lists no start");
}

template <class P, auto... Fs>
class Glue {
  static constexpr bool kIsPlugin = check_class<P>();  // complains by itself; the rest then stays away
  static constexpr auto kMethods = make_methods<P, Fs...>(std::make_index_sequence<sizeof...(Fs)>());

 public:
  static const slipway_plugin* entry(std::uint32_t host_min_major, std::uint32_t host_max_major,
                                     std::uint32_t* want) noexcept {
    *want = SLIPWAY_ABI_MAJOR;
    if constexpr (kIsPlugin) {
      static constexpr slipway_plugin kTable{
          sizeof(slipway_plugin), SLIPWAY_ABI_VERSION, &describe, &create, &call, &cancel, &destroy};
      if (host_min_major <= SLIPWAY_ABI_MAJOR && SLIPWAY_ABI_MAJOR <= host_max_major) return &kTable;
    }
    return nullptr;
  }

 private:
  struct Instance {
    Instance(const slipway_host& table, CreateMessage message)
        : link(table), host(link, std::move(message)) {}
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    // Also of one that could not be made: its constructor may have asked for services already.
    ~Instance() {
      link.close();
      plugin.reset();
    }

    HostLink link;
    OpenCalls open;
    Host host;
    std::unique_ptr<P> plugin;
  };

  static Manifest manifest() {
    Manifest manifest;
    static_cast<PluginInfo&>(manifest) = P::info();
    manifest.settings = Schema<typename P::Config>(P::schema()).infos();
    for (const auto& method : kMethods) manifest.methods.emplace_back(method.name);
    manifest.abi_major = SLIPWAY_ABI_MAJOR;
    manifest.abi_minor = SLIPWAY_ABI_MINOR;
    manifest.sdk = SLIPWAY_SDK_VERSION;
    return manifest;
  }

  static void describe(slipway_done done, void* token) noexcept {
    const auto described = guarded("describe", []() -> Result<std::string> {
      const Manifest facts = manifest();
      SLIPWAY_TRY(check_manifest(facts));
      return encode(facts);
    });
    if (described) return done(token, SLIPWAY_OK, as_bytes(*described));
    refuse(described.error(), done, token);
  }

  static slipway_status create(const slipway_host* host, slipway_bytes message, slipway_done error,
                               void* token, void** instance) noexcept {
    auto made = guarded("create", [&] { return make_instance(*host, as_text(message)); });
    if (!made) return refuse(made.error(), error, token);
    *instance = made->release();
    return SLIPWAY_OK;
  }

  static Result<std::unique_ptr<Instance>> make_instance(const slipway_host& table, std::string_view text) {
    using Config = typename P::Config;
    SLIPWAY_TRY(CreateMessage message, decode<CreateMessage>(text));
    SLIPWAY_TRY(Config config, Schema<Config>(P::schema()).read(message.settings));
    message.settings = nullptr;
    auto instance = std::make_unique<Instance>(table, std::move(message));
    if constexpr (requires { P::create(instance->host, std::move(config)); }) {
      SLIPWAY_TRY(instance->plugin, P::create(instance->host, std::move(config)));
      if (instance->plugin == nullptr) return fail(Code::internal, "create() made nothing");
    } else {
      instance->plugin = std::make_unique<P>(instance->host, std::move(config));
    }
    return instance;
  }

  static void call(void* self, const slipway_request* request, slipway_done done, void* token) noexcept {
    auto& instance = *static_cast<Instance*>(self);
    const std::string_view name = as_text(request->method);
    const auto method =
        std::lower_bound(kMethods.begin(), kMethods.end(), name,
                         [](const auto& entry, std::string_view text) { return entry.name < text; });
    if (request->flags != 0) {
      refuse(fail(Code::unsupported, "{}: flags {} are not known", name, request->flags).rejected(), done,
             token);
    } else if (method == kMethods.end() || method->name != name) {
      refuse(fail(Code::unsupported, "no method {}", excerpt(name)).rejected(), done, token);
    } else {
      const HostLink::Running running(instance.link);
      const auto state = std::make_shared<CallState>(instance.link, instance.open, *request, done, token);
      instance.open.add(request->id, state);
      method->run(*instance.plugin, state, as_text(request->body));
    }
  }

  static void cancel(void* self, std::uint64_t call_id) noexcept {
    auto& instance = *static_cast<Instance*>(self);
    const HostLink::Running running(instance.link);
    if (const auto call = instance.open.find(call_id)) call->cancel();
  }

  static void destroy(void* self) noexcept { delete static_cast<Instance*>(self); }

  static slipway_status refuse(const Error& error, slipway_done done, void* token) noexcept {
    const auto status = static_cast<slipway_status>(error.code);
    done(token, status, as_bytes(encode_error(error)));
    return status;
  }

  template <class F>
  static auto guarded(std::string_view what, F&& f) noexcept -> decltype(f()) {
    try {
      return f();
    } catch (const std::exception& e) {
      return fail(Code::internal, "{} threw an exception: {}", what, e.what());
    } catch (...) {
      return fail(Code::internal, "{} threw something that is no std::exception", what);
    }
  }
};

}  // namespace slipway::detail
