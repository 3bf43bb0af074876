// SPDX-License-Identifier: Apache-2.0
#include <slipway/codec.hpp>
#include <slipway/vocabulary.hpp>

#include <catch2/catch.hpp>

#include <limits>
#include <random>

using namespace slipway;  // NOLINT(google-build-using-namespace): a test

namespace {

struct ServerId {
  static constexpr bool is_id = true;
  std::string value;
  bool operator==(const ServerId&) const = default;
};

struct Disk {
  static constexpr std::array required{std::string_view("tag")};
  std::string tag;
  std::uint64_t size_mib = 0;
};
BOOST_DESCRIBE_STRUCT(Disk, (), (tag, size_mib))

struct Base {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(Base, (), (name))

enum class Mood { calm, default_ };
BOOST_DESCRIBE_ENUM(Mood, calm, default_)

struct Request : Base {
  ServerId id;
  std::vector<Disk> volumes;
  std::map<std::string, std::int32_t> counts;
  std::set<std::string> tags;
  std::optional<std::string> zone;
  Bytes data;
  AddressScope scope = AddressScope::public_;
  Mood mood = Mood::default_;
  std::uint64_t big = 7;
  std::int8_t small = -1;
  double ratio = 0.5;
  bool flag = true;
  json::value any;
};
BOOST_DESCRIBE_STRUCT(Request, (Base),
                      (id, volumes, counts, tags, zone, data, scope, mood, big, small, ratio, flag, any))

template <class T = Request>
std::string error_of(std::string_view text, const DecodeOptions& options = {}) {
  const auto value = decode<T>(text, options);
  return value ? "no error" : value.error().message;
}

// The same message before and after a year of growth.
enum class StateThen { unknown, running };
BOOST_DESCRIBE_ENUM(StateThen, unknown, running)
struct ItemThen {
  static constexpr std::array required{std::string_view("id")};
  std::string id;
  StateThen state = StateThen::running;
};
BOOST_DESCRIBE_STRUCT(ItemThen, (), (id, state))

enum class StateNow { unknown, running, hibernated };
BOOST_DESCRIBE_ENUM(StateNow, unknown, running, hibernated)
struct ItemNow {
  static constexpr std::array required{std::string_view("id")};
  std::string id;
  StateNow state = StateNow::running;
  std::vector<std::string> reasons{"none"};
  std::optional<Disk> swap;
};
BOOST_DESCRIBE_STRUCT(ItemNow, (), (id, state, reasons, swap))

// What is easily got wrong.
struct Derived : Disk {
  static constexpr std::array required{std::string_view("pool")};
  std::string pool;
};
BOOST_DESCRIBE_STRUCT(Derived, (Disk), (pool))

struct Zero {
  double x = 0;
};
BOOST_DESCRIBE_STRUCT(Zero, (), (x))

struct Corners {
  std::optional<std::uint32_t> port = 22;
  std::vector<bool> flags;
  float ratio = 1;
  double weight = 1;
  std::int64_t signed_big = 0;
  std::vector<std::optional<std::string>> names;
};
BOOST_DESCRIBE_STRUCT(Corners, (), (port, flags, ratio, weight, signed_big, names))

}  // namespace

TEST_CASE("a struct is written member by member, inherited ones first") {
  Request r;
  r.name = "n";
  r.id = {"srv-1"};
  r.volumes = {{"a", 5}};
  r.counts = {{"x", -3}};
  r.tags = {"t"};
  r.zone = "z1";
  r.data.data = std::string("\0\xff hi", 5);
  r.any = json::array{1, "two"};
  const std::string text = encode(r);
  CHECK(
      text ==
      R"({"name":"n","id":"srv-1","volumes":[{"tag":"a","size_mib":5}],"counts":{"x":-3},"tags":["t"],"zone":"z1",)"
      R"("data":"AP8gaGk=","scope":"public","mood":"default","big":7,"small":-1,"ratio":5E-1,"flag":true,"any":[1,"two"]})");
  const auto back = decode<Request>(text);
  REQUIRE(back.has_value());
  CHECK(encode(*back) == text);
  CHECK(back->data == r.data);
}

TEST_CASE("an empty optional is absent, and absent or null is empty") {
  CHECK(encode(Request{}).find("zone") == std::string::npos);
  CHECK_FALSE(decode<Request>(R"({"zone":null})")->zone.has_value());
  CHECK_FALSE(decode<Request>("{}")->zone.has_value());
}

TEST_CASE("an absent member keeps the struct's default") {
  const auto r = decode<Request>("{}");
  REQUIRE(r.has_value());
  CHECK(r->big == 7);
  CHECK(r->scope == AddressScope::public_);
  CHECK(r->flag);
}

TEST_CASE("defaults can be left out, required members never are") {
  Request r;
  r.small = 4;
  r.volumes.emplace_back();
  CHECK(encode(r, {.omit_defaults = true}) == R"({"volumes":[{"tag":""}],"small":4})");
}

TEST_CASE("integers beyond 2^53 travel as text") {
  Request r;
  r.big = (1ULL << 53U) + 1;
  CHECK(encode(r, {.omit_defaults = true}) == R"({"big":"9007199254740993"})");
  CHECK(decode<Request>(R"({"big":"9007199254740993"})")->big == 9007199254740993U);
  CHECK(decode<Request>(R"({"big":18446744073709551615})")->big == 18446744073709551615U);
  r.big = 1ULL << 53U;
  CHECK(encode(r, {.omit_defaults = true}) == R"({"big":9007199254740992})");
}

TEST_CASE("an error names the place, what was expected and what came") {
  CHECK(error_of(R"({"volumes":[{"tag":"a"},{"tag":"b","size_mib":"10G"}]})") ==
        "volumes[1].size_mib: expected an unsigned integer, got a string");
  CHECK(error_of(R"({"volumes":[{"size_mib":1}]})") == "volumes[0].tag: is required");
  CHECK(error_of(R"({"counts":{"a":1.5}})") == "counts.a: expected an integer, got a number");
  CHECK(error_of(R"({"small":300})") == "small: is out of range");
  CHECK(error_of(R"({"big":-1})") == "big: is out of range");
  CHECK(error_of(R"({"big":"18446744073709551616"})") == "big: is out of range");
  CHECK(error_of(R"({"big":""})") == "big: expected an unsigned integer, got a string");
  CHECK(error_of(R"({"flag":1})") == "flag: expected a boolean, got an integer");
  CHECK(error_of(R"({"ratio":"x"})") == "ratio: expected a number, got a string");
  CHECK(error_of(R"({"id":1})") == "id: expected a string, got an integer");
  CHECK(error_of(R"({"tags":["a",null]})") == "tags[1]: expected a string, got null");
  CHECK(error_of(R"({"volumes":{}})") == "volumes: expected an array, got an object");
  CHECK(error_of(R"({"counts":[]})") == "counts: expected an object, got an array");
  CHECK(error_of(R"({"data":"AP8gaGk"})") ==
        "data: expected base64 with padding and without white space (RFC 4648)");
  CHECK(error_of(R"({"data":"AP8gaGl="})") ==
        "data: expected base64 with padding and without white space (RFC 4648)");
  CHECK(error_of(R"({"mood":"angry"})") == "mood: unknown value \"angry\", expected one of calm, default");
  CHECK(error_of("[1]") == "document: expected an object, got an array");
  CHECK(error_of(R"({"volumes":[3]})") == "volumes[0]: expected an object, got an integer");
  CHECK(error_of(R"({"zone":false})") == "zone: expected a string, got a boolean");
  CHECK(error_of(R"({"mood":1.5})") == "mood: expected a string, got a number");
  CHECK(error_of<std::vector<std::map<std::string, bool>>>(R"([{},{"":0}])") ==
        "[1].: expected a boolean, got an integer");
}

TEST_CASE("a number that does not fit is out of range, whichever way it is written") {
  CHECK(error_of(R"({"big":18446744073709551616})") == "big: is out of range");
  CHECK(error_of(R"({"small":1e30})") == "small: is out of range");
  CHECK(error_of(R"({"small":"-129"})") == "small: is out of range");
  CHECK(error_of<Corners>(R"({"signed_big":9223372036854775808})") == "signed_big: is out of range");
  CHECK(error_of<Corners>(R"({"ratio":1e39})") == "ratio: is out of range");
  CHECK(error_of<Corners>(R"({"ratio":-1e39})") == "ratio: is out of range");
  CHECK(error_of(R"({"ratio":1e400})") == "ratio: is out of range");
  CHECK(error_of(R"({"ratio":-0e400})") == "ratio: is out of range");
  CHECK(error_of(R"({"any":[{"a":0e400}]})") == "any: holds a number that is out of range");
  CHECK(error_of(R"({"any":[{"a":1e308}]})") == "no error");
  CHECK(error_of(R"({"big":"1.5"})") == "big: expected an unsigned integer, got a string");
  CHECK(error_of(R"({"big":"-1"})") == "big: expected an unsigned integer, got a string");
  CHECK(error_of(R"({"big":"99999999999999999999x"})") == "big: expected an unsigned integer, got a string");
}

TEST_CASE("a message quotes the beginning of what came, without control characters") {
  std::string euros = "ab";  // the limit of 64 bytes is inside a character
  for (int i = 0; i < 30; ++i) euros += "€";
  CHECK(error_of("{\"mood\":\"" + euros + "\"}") ==
        "mood: unknown value \"" + euros.substr(0, 62) + "...\", expected one of calm, default");
  CHECK(error_of("{\"mood\":\"" + std::string(65, 'x') + "\"}") ==
        "mood: unknown value \"" + std::string(64, 'x') + "...\", expected one of calm, default");
  CHECK(error_of("{\"mood\":\"" + std::string(64, 'x') + "\"}") ==
        "mood: unknown value \"" + std::string(64, 'x') + "\", expected one of calm, default");
  CHECK(error_of(R"({"counts":{"a\u001b[2J\u007f":""}})") ==
        "counts.a?[2J?: expected an integer, got a string");
  CHECK(error_of("{\"" + std::string(1000, 'k') + "\":1}", {.unknown_fields = UnknownFields::refuse}) ==
        std::string(64, 'k') + "...: unknown field");
}

TEST_CASE("an optional that has a default is null when it is empty") {
  Corners c;
  c.port.reset();
  CHECK(encode(c, {.omit_defaults = true}) == R"({"port":null})");
  CHECK_FALSE(decode<Corners>(encode(c))->port.has_value());
  CHECK(decode<Corners>("{}")->port == 22U);
}

TEST_CASE("a derived struct requires what its base requires") {
  CHECK(error_of<Derived>(R"({"pool":"p"})") == "tag: is required");
  CHECK(error_of<Derived>(R"({"tag":"t"})") == "pool: is required");
  CHECK(encode(Derived{}, {.omit_defaults = true}) == R"({"tag":"","pool":""})");
}

TEST_CASE("flags in a list, empty elements and numbers without a value come through") {
  Corners c;
  c.flags = {true, false};
  c.names = {"a", std::nullopt};
  c.signed_big = std::numeric_limits<std::int64_t>::min();
  const std::string text = encode(c, {.omit_defaults = true});
  CHECK(text == R"({"flags":[true,false],"signed_big":"-9223372036854775808","names":["a",null]})");
  const auto back = decode<Corners>(text);
  REQUIRE(back.has_value());
  CHECK(back->flags == c.flags);
  CHECK(back->names == c.names);
  CHECK(back->signed_big == c.signed_big);
  c.weight = std::numeric_limits<double>::infinity();
  CHECK(to_json(c).at("weight").is_null());
  CHECK(error_of<Corners>(encode(c)) == "weight: expected a number, got null");
}

TEST_CASE("minus zero is not left out for zero") {
  Zero zero;
  CHECK(encode(zero, {.omit_defaults = true}) == "{}");
  zero.x = -0.0;
  CHECK(encode(zero, {.omit_defaults = true}) == R"({"x":-0E0})");
}

TEST_CASE("an old reader takes what a newer writer says") {
  ItemNow now;
  now.id = "i-1";
  now.state = StateNow::hibernated;
  now.swap = Disk{"swap", 512};
  const auto then = decode<ItemThen>(encode(now));
  REQUIRE(then.has_value());
  CHECK(then->id == "i-1");
  CHECK(then->state == StateThen::unknown);
}

TEST_CASE("a new reader takes what an older writer says") {
  const auto now = decode<ItemNow>(encode(ItemThen{"i-1", StateThen::running}));
  REQUIRE(now.has_value());
  CHECK(now->id == "i-1");
  CHECK(now->state == StateNow::running);
  CHECK(now->reasons == std::vector<std::string>{"none"});
  CHECK_FALSE(now->swap.has_value());
}

TEST_CASE("a value inside a document is read and written like a text") {
  const json::value value = to_json(ItemNow{"i-1", StateNow::running, {}, {}});
  CHECK(value == json::parse(R"({"id":"i-1","state":"running","reasons":[]})"));
  CHECK(from_json<ItemNow>(value)->reasons.empty());
  CHECK(from_json<ItemNow>(json::object{{"state", "running"}}).error().message == "id: is required");
  CHECK(from_json<ItemThen>(value, {.unknown_fields = UnknownFields::refuse}).error().message ==
        "reasons: unknown field");
  CHECK(decode<json::value>(R"({"a":[1]})")->at("a").at(0) == 1);
}

TEST_CASE("what is no JSON says where it stops being JSON") {
  CHECK(error_of(R"({"big":1,})") == "document: not JSON: syntax error, at byte 9");
  CHECK(error_of("") == "document: not JSON: incomplete JSON, at byte 0");
  CHECK(error_of("{} {}") == "document: not JSON: something stands behind its end, at byte 3");
  CHECK(error_of("{} x") == "document: not JSON: something stands behind its end, at byte 3");
  CHECK(error_of("{\"name\":\"\xff\"}").starts_with("document: not JSON: "));
  CHECK(error_of(R"({"name":"\ud800"})").starts_with("document: not JSON: "));
  CHECK(error_of("{\"big\":1").starts_with("document: not JSON: incomplete JSON, at byte 8"));
  CHECK(error_of("{}", {.max_bytes = 1}) == "document: 2 bytes, at most 1 are taken");
}

TEST_CASE("a document that is nested too deeply is refused, one at the limit is not") {
  const auto nested = [](std::size_t levels) {
    return R"({"any":)" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
  };
  CHECK(error_of(nested(32)) == "no error");
  CHECK(error_of(nested(33)) == "document: nested deeper than 32 levels");
  CHECK(error_of(nested(5), {.max_depth = 4}) == "document: nested deeper than 4 levels");
  CHECK(error_of(nested(40), {.max_depth = 40}) == "no error");
}

TEST_CASE("an unknown member is skipped, or refused with a suggestion") {
  const DecodeOptions refuse{.unknown_fields = UnknownFields::refuse};
  CHECK(error_of(R"({"gpu":1})") == "no error");
  CHECK(error_of(R"({"gpu":1})", refuse) == "gpu: unknown field");
  CHECK(error_of(R"({"volums":[]})", refuse) == "volums: unknown field (did you mean \"volumes\"?)");
  CHECK(error_of(R"({"volumes":[{"tag":"a","szie_mib":1}]})", refuse) ==
        "volumes[0].szie_mib: unknown field (did you mean \"size_mib\"?)");
  CHECK(error_of(R"({"volumes":[{"tag":"a","size_mbi":1}]})", refuse) ==
        "volumes[0].size_mbi: unknown field (did you mean \"size_mib\"?)");
  CHECK(error_of(R"({"volumes_of_it":[]})", refuse) ==
        "volumes_of_it: unknown field (did you mean \"volumes\"?)");
  CHECK(error_of(R"({"vol":[]})", refuse) == "vol: unknown field (did you mean \"volumes\"?)");
  CHECK(error_of(R"({"v":[]})", refuse) == "v: unknown field");
  CHECK(error_of(R"({"big":1,"counts":{"gpu":1}})", refuse) == "no error");
}

TEST_CASE("a newer peer's enumerator reads as unknown where the enum has that") {
  CHECK(decode<Request>(R"({"scope":"galactic"})")->scope == AddressScope::unknown);
}

TEST_CASE("of a member that stands twice the last one counts") {
  CHECK(decode<Request>(R"({"big":1,"big":2})")->big == 2);
}

TEST_CASE("an error travels whole") {
  const Error error = fail(Code::exhausted, "full").scope(Scope::account).quota("cores", 8, 8).rejected();
  const std::string body = encode_error(error);
  CHECK(body == R"({"code":"exhausted","message":"full","scope":"account","outcome":"rejected",)"
                R"("quota":{"resource":"cores","limit":8,"used":8}})");
  CHECK(decode_error(SLIPWAY_EXHAUSTED, body) == error);
}

TEST_CASE("the status of an error wins over its body, and an unreadable body is quoted") {
  CHECK(decode_error(SLIPWAY_DENIED, R"({"code":"invalid","message":"no"})").code == Code::denied);
  CHECK(decode_error(99, R"({"message":"new"})").code == Code::internal);
  CHECK(decode_error(SLIPWAY_OK, R"({"message":"?"})").code == Code::internal);
  const Error html = decode_error(SLIPWAY_DENIED, "<html>\n\xff");
  CHECK(html == Error(fail(Code::internal, "status 5 with an unreadable body: <html>??")));
  CHECK(decode_error(SLIPWAY_DENIED, R"({"message":5})").message ==
        R"(status 5 with an unreadable body: {"message":5})");
  CHECK(decode_error(SLIPWAY_DENIED, "") == Error(fail(Code::denied, "no reason was given (status 5)")));
}

TEST_CASE("random requests come back as they went") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const auto text = [&] {
    std::string out;
    for (auto n = random() % 6; n > 0; --n) out += std::array{"a", "\"", "\\", "\n", "é", "𝄞"}[random() % 6];
    return out;
  };
  for (int i = 0; i < 500; ++i) {
    Request r;
    r.name = text();
    r.id = {text()};
    for (auto n = random() % 3; n > 0; --n) r.volumes.push_back({text(), random() >> (random() % 64)});
    for (auto n = random() % 3; n > 0; --n) r.counts[text()] = static_cast<std::int32_t>(random());
    if (random() % 2 == 0) r.zone = text();
    for (auto n = random() % 9; n > 0; --n) r.data.data += static_cast<char>(random());
    r.scope = static_cast<AddressScope>(random() % 5);
    r.big = random();
    r.small = static_cast<std::int8_t>(random());
    r.ratio = static_cast<double>(random() % 100'000) / 64;  // Boost.JSON may miss the last digit of others
    const auto back = decode<Request>(encode(r));
    REQUIRE(back.has_value());
    REQUIRE(encode(*back) == encode(r));
    REQUIRE(back->big == r.big);
    REQUIRE(back->data == r.data);
    const auto sparse = decode<Request>(encode(r, {.omit_defaults = true}));
    REQUIRE(sparse.has_value());
    REQUIRE(encode(*sparse) == encode(r));
  }
}
