// SPDX-License-Identifier: Apache-2.0
// host.hpp - what a plugin may ask the host for: http/1, secret/1, kv/1, clock/1; and what it may tell it:
// log, progress, metric. Times on the host's clock (`_ns`) compare with nothing else. Thread rule: values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

// The name of a secret, never its value: a setting of this type holds it, and the host puts the value where a
// request wants it.
struct SecretRef {
  std::string value;

  static constexpr bool is_id = true;
  [[nodiscard]] bool is_empty() const { return value.empty(); }
  bool operator==(const SecretRef&) const = default;
};
BOOST_DESCRIBE_STRUCT(SecretRef, (), (value))

struct HttpHeader {
  std::string name;
  std::string value;  // "${secret:NAME}" in it stands for a secret of the request's `secrets`

  static constexpr std::array required{std::string_view("name")};
};
BOOST_DESCRIBE_STRUCT(HttpHeader, (), (name, value))

// At most one of bearer and user.
struct HttpAuth {
  SecretRef bearer;  // Authorization: Bearer
  std::string user;  // Authorization: Basic, with the password
  SecretRef password;
};
BOOST_DESCRIBE_STRUCT(HttpAuth, (), (bearer, user, password))

// One request, no redirect followed. Secrets go towards the environment's endpoints only.
struct HttpCallRequest {
  std::string verb = "GET";
  std::string url;
  std::vector<HttpHeader> headers;
  HttpAuth auth;
  // The names that "${secret:NAME}" stands for in headers and body. With any other name that text is data and
  // goes out as it is: what an operator or a cloud wrote into a request never draws a secret in.
  std::vector<SecretRef> secrets;
  std::string body;                  // text; a secret in it is escaped as JSON
  std::optional<Bytes> body_base64;  // instead of body: any bytes, as they are
  std::int64_t timeout_ms =
      30'000;  // the whole, from the first attempt to connect; bounded by the call's deadline
  std::int64_t connect_timeout_ms = 5'000;
  std::uint64_t max_reply_bytes = std::uint64_t{8} << 20U;
  // Must reach the server at most once: a lost answer is outcome=unknown, never a second request. Of a call
  // that makes something, one request bears it.
  bool once = false;
  std::int64_t not_after_ns =
      0;  // not sent later than this: rejected, proven not to have gone out. 0: no bound

  static constexpr std::array required{std::string_view("url")};
  static constexpr std::string_view method = "http.request/1";
  using Reply = struct HttpCallReply;
};
BOOST_DESCRIBE_STRUCT(HttpCallRequest, (),
                      (verb, url, headers, auth, secrets, body, body_base64, timeout_ms, connect_timeout_ms,
                       max_reply_bytes, once, not_after_ns))

// Every status is a reply; an error means that none came.
struct HttpCallReply {
  std::uint32_t status = 0;
  std::vector<HttpHeader> headers;             // names in lower case, in their order
  std::string body;                            // when it is UTF-8
  std::optional<Bytes> body_base64;            // else
  std::optional<std::int64_t> retry_after_ms;  // of Retry-After, seconds or date, from now on
  std::int64_t elapsed_ms = 0;
};
BOOST_DESCRIBE_STRUCT(HttpCallReply, (), (status, headers, body, body_base64, retry_after_ms, elapsed_ms))

// Only with `reads_secrets` in the manifest: for signing schemes.
struct SecretGetRequest {
  SecretRef name;

  static constexpr std::array required{std::string_view("name")};
  static constexpr std::string_view method = "secret.get/1";
  using Reply = struct SecretGetReply;
};
BOOST_DESCRIBE_STRUCT(SecretGetRequest, (), (name))

struct SecretGetReply {
  std::string value;
};
BOOST_DESCRIBE_STRUCT(SecretGetReply, (), (value))

inline constexpr std::size_t kMaxKvKeyBytes = 256;
inline constexpr std::size_t kMaxKvValueBytes = std::size_t{64} << 10U;
inline constexpr std::size_t kMaxKvInstanceBytes = std::size_t{16} << 20U;  // keys and values of an instance

// Durable notes of one environment's plugin; survive restarts and upgrades.
struct KvEntry {
  std::string key;
  Bytes value;
  std::int64_t revision = 0;  // rises with every change of the key; never used again
};
BOOST_DESCRIBE_STRUCT(KvEntry, (), (key, value, revision))

// not_found.
struct KvGetRequest {
  std::string key;

  static constexpr std::array required{std::string_view("key")};
  static constexpr std::string_view method = "kv.get/1";
  using Reply = KvEntry;
};
BOOST_DESCRIBE_STRUCT(KvGetRequest, (), (key))

// conflict: the key's revision is not if_revision (0: it must not exist). Durable when it is answered.
struct KvPutRequest {
  std::string key;
  Bytes value;
  std::optional<std::int64_t> if_revision;

  static constexpr std::array required{std::string_view("key")};
  static constexpr std::string_view method = "kv.put/1";
  using Reply = struct KvPutReply;
};
BOOST_DESCRIBE_STRUCT(KvPutRequest, (), (key, value, if_revision))

struct KvPutReply {
  std::int64_t revision = 0;
};
BOOST_DESCRIBE_STRUCT(KvPutReply, (), (revision))

// What is not there is success, unless if_revision is given.
struct KvDeleteRequest {
  std::string key;
  std::optional<std::int64_t> if_revision;

  static constexpr std::array required{std::string_view("key")};
  static constexpr std::string_view method = "kv.delete/1";
  using Reply = Unit;
};
BOOST_DESCRIBE_STRUCT(KvDeleteRequest, (), (key, if_revision))

// By key; values are left out.
struct KvListRequest {
  std::string prefix;
  std::string after;  // the last reply's next
  std::uint32_t limit = 1000;

  static constexpr std::string_view method = "kv.list/1";
  using Reply = struct KvListReply;
};
BOOST_DESCRIBE_STRUCT(KvListRequest, (), (prefix, after, limit))

struct KvListReply {
  std::vector<KvEntry> entries;
  std::string next;  // empty: that was all
};
BOOST_DESCRIBE_STRUCT(KvListReply, (), (entries, next))

struct ClockNowRequest {
  static constexpr std::string_view method = "clock.now/1";
  using Reply = struct ClockNowReply;
};
BOOST_DESCRIBE_STRUCT(ClockNowRequest, (), ())

struct ClockNowReply {
  std::int64_t now_ns = 0;
  std::int64_t utc_ms = 0;
};
BOOST_DESCRIBE_STRUCT(ClockNowReply, (), (now_ns, utc_ms))

// Answered after the time, or with cancelled or deadline when the parent call ends before.
struct ClockSleepRequest {
  std::int64_t ms = 0;

  static constexpr std::array required{std::string_view("ms")};
  static constexpr std::string_view method = "clock.sleep/1";
  using Reply = Unit;
};
BOOST_DESCRIBE_STRUCT(ClockSleepRequest, (), (ms))

// Notifications.
enum class LogSeverity { unknown, debug, info, warn, error };
BOOST_DESCRIBE_ENUM(LogSeverity, unknown, debug, info, warn, error)

struct LogNote {
  LogSeverity level = LogSeverity::info;
  std::string text;
  std::map<std::string, std::string> fields;

  static constexpr std::string_view topic = "log";
};
BOOST_DESCRIBE_STRUCT(LogNote, (), (level, text, fields))

// How far a call is; shown as the machine's instance status.
struct ProgressNote {
  std::string text;
  std::optional<std::uint32_t> percent;

  static constexpr std::string_view topic = "progress";
};
BOOST_DESCRIBE_STRUCT(ProgressNote, (), (text, percent))

// Added to a counter of the plugin's: slipway_plugin_NAME_total.
struct MetricNote {
  std::string name;  // [a-z][a-z0-9_]*
  double value = 1;

  static constexpr std::string_view topic = "metric";
};
BOOST_DESCRIBE_STRUCT(MetricNote, (), (name, value))

}  // namespace slipway
