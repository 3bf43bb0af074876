// SPDX-License-Identifier: Apache-2.0
#include <slipway/schema.hpp>

#include <catch2/catch.hpp>

using namespace slipway;  // NOLINT(google-build-using-namespace): a test

namespace {

enum class Open { unknown, a };
BOOST_DESCRIBE_ENUM(Open, unknown, a)
enum class Closed { a, b };
BOOST_DESCRIBE_ENUM(Closed, a, b)

struct ServerId {
  static constexpr bool is_id = true;
  std::string value;
};

struct Item {
  static constexpr std::array required{std::string_view("id")};
  std::string id;
  std::uint16_t port = 22;
};
BOOST_DESCRIBE_STRUCT(Item, (), (id, port))

struct Message {
  std::vector<Item> items;
  std::map<std::string, std::uint64_t> counts;
  std::optional<bool> flag;
  Closed kind = Closed::a;
  Bytes data;
  Item first{"", 80};
};
BOOST_DESCRIBE_STRUCT(Message, (), (items, counts, flag, kind, data, first))

namespace other {
struct Item {
  ServerId id;
  double ratio = 0;
  json::value any;
};
BOOST_DESCRIBE_STRUCT(Item, (), (id, ratio, any))
}  // namespace other

template <class T>
struct Page {
  std::vector<T> items;
};
BOOST_DESCRIBE_STRUCT(Page<Item>, (), (items))
BOOST_DESCRIBE_STRUCT(Page<other::Item>, (), (items))

struct Pages {
  Page<Item> first;
  Page<other::Item> second;
  Item third;
};
BOOST_DESCRIBE_STRUCT(Pages, (), (first, second, third))

struct Tree {
  std::string name;
  std::vector<Tree> children;
};
BOOST_DESCRIBE_STRUCT(Tree, (), (name, children))

// Schemas as an edit would make them, from text, for what a struct cannot show twice.
json::object edited(std::string_view from, std::string_view to) {
  std::string text = schema_text(schema_of<Message>());
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  return json::parse(text).as_object();
}
std::vector<std::string> broken_by(std::string_view from, std::string_view to) {
  return incompatibilities(schema_of<Message>(), edited(from, to));
}

}  // namespace

TEST_CASE("a schema says members, required ones, defaults, bounds and enumerators") {
  CHECK(schema_text(schema_of<Message>()) == R"({
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$ref": "#/$defs/Message",
  "$defs": {
    "Item": {
      "type": "object",
      "properties": {
        "id": {
          "type": "string"
        },
        "port": {
          "type": "integer",
          "minimum": 0,
          "maximum": 65535,
          "default": 22
        }
      },
      "required": ["id"]
    },
    "Message": {
      "type": "object",
      "properties": {
        "items": {
          "type": "array",
          "items": {
            "$ref": "#/$defs/Item"
          }
        },
        "counts": {
          "type": "object",
          "additionalProperties": {
            "type": ["integer","string"],
            "format": "uint64"
          }
        },
        "flag": {
          "type": "boolean"
        },
        "kind": {
          "type": "string",
          "enum": ["a","b"],
          "default": "a"
        },
        "data": {
          "type": "string",
          "contentEncoding": "base64"
        },
        "first": {
          "$ref": "#/$defs/Item",
          "default": {
            "id": "",
            "port": 80
          }
        }
      }
    }
  }
}
)");
}

TEST_CASE("a struct that holds itself has a finite schema") {
  const auto schema = schema_of<Tree>();
  CHECK(schema.at("$defs").as_object().size() == 1);
  CHECK(incompatibilities(schema, schema).empty());
}

TEST_CASE("structs of one name in two namespaces, and templates, have definitions of their own") {
  const auto definitions = schema_of<Pages>().at("$defs").as_object();
  CHECK(definitions.size() == 5);
  const auto item_of = [&](std::string_view page) -> const json::object& {
    const auto& reference = definitions.at("Pages").at("properties").at(page).at("$ref").as_string();
    const auto& of_page = definitions.at(std::string_view(reference).substr(8)).at("properties").at("items");
    return definitions.at(std::string_view(of_page.at("items").at("$ref").as_string()).substr(8)).as_object();
  };
  CHECK(item_of("first") == definitions.at("Item").as_object());
  CHECK(item_of("second").at("properties") ==
        json::parse(R"({"id":{"type":"string"},"ratio":{"type":"number","default":0.0},"any":{}})"));
}

TEST_CASE("an edit that only grows breaks nothing") {
  CHECK(broken_by(R"("flag": {)", R"("extra": {"type": "string"}, "flag": {)").empty());
  CHECK(broken_by(R"("$ref": "#/$defs/Message")", R"("$comment": "x", "$ref": "#/$defs/Message")").empty());
  CHECK(incompatibilities(schema_of<Message>(), schema_of<Message>()).empty());
}

TEST_CASE("an incompatible edit is named with what a compatible one would be") {
  using List = std::vector<std::string>;
  CHECK(broken_by(R"("flag": {)", R"("flags": {)") ==
        List{"flag: it is gone; compatible: keep it and say in its comment that it is not used"});
  CHECK(broken_by(R"("type": "boolean")", R"("type": "string")") ==
        List{"flag: its type was \"boolean\" and is \"string\"; compatible: a new member, or a new revision "
             "of the method"});
  CHECK(broken_by(R"("format": "uint64")", R"("format": "int64")") ==
        List{"counts[]: its format was \"uint64\" and is \"int64\"; compatible: a new member, or a new "
             "revision of the method"});
  CHECK(broken_by(R"("required": ["id"])", R"("required": ["id","port"])") ==
        List{"items[].port: it is required now; compatible: a default that means what its absence meant"});
  CHECK(broken_by(R"("required": ["id"])", R"("required": [])") ==
        List{"items[].id: it is no longer required, and an older reader demands it; compatible: leave it "
             "required"});
  CHECK(broken_by("65535", "1023") ==
        List{"items[].port: its maximum was 65535 and is 1023; compatible: a new member of the other width"});
  CHECK(broken_by(R"(["a","b"])", R"(["a"])") ==
        List{"kind: the enumerator b is gone; compatible: keep it, even if nothing gives it any more"});
  CHECK(broken_by(R"(["a","b"])", R"(["a","b","c"])") ==
        List{"kind: the enumerator c is new, and an older reader has no \"unknown\" to read it as; "
             "compatible: a new member, or a new revision of the method"});
  CHECK(broken_by(R"("default": 22)", R"("default": 23)") ==
        List{"items[].port: its default was 22 and is 23: peers take its absence for different values; "
             "compatible: leave it, or a new member"});
  CHECK(broken_by(R"("contentEncoding": "base64")", R"("default": "x")") ==
        List{"data: its contentEncoding was \"base64\" and is nothing; compatible: a new member, or a new "
             "revision of the method"});
  CHECK(broken_by(R"("flag": {)", R"("flag": {"default": true, )") ==
        List{"flag: its default was nothing and is true: peers take its absence for different values; "
             "compatible: leave it, or a new member"});
  CHECK(broken_by(R"("additionalProperties")", R"("properties")") ==
        List{"counts: it was a struct or map and is the other; compatible: a new member"});
  CHECK(broken_by("\"required\": [\"id\"]\n    }", "\"required\": [\"id\"]\n    }, \"Unused\": {}").empty());
}

TEST_CASE("what is not a schema is said, not thrown") {
  const auto schema = schema_of<Message>();
  for (const auto& [from, to] : {std::pair(R"("$ref": "#/$defs/Message")", R"("$ref": "#/$defs/Nobody")"),
                                 std::pair(R"("required": ["id"])", R"("required": "id")"),
                                 std::pair(R"("enum": ["a","b"])", R"("enum": [1])")}) {
    const auto found = broken_by(from, to);
    REQUIRE(found.size() == 1);
    CHECK(found[0].starts_with("document: not a schema as schema_of() makes it ("));
    CHECK(found[0].ends_with("); write the file anew"));
  }
}

TEST_CASE("an enumerator may be added where an older reader reads it as unknown") {
  const json::object before{{"type", "string"}, {"enum", json::array{"unknown", "a"}}};
  const json::object after{{"type", "string"}, {"enum", json::array{"unknown", "a", "b"}}};
  CHECK(incompatibilities(before, after).empty());
  CHECK(incompatibilities(after, before) ==
        std::vector<std::string>{
            "document: the enumerator b is gone; compatible: keep it, even if nothing gives it any more"});
  CHECK(schema_of<Open>().at("enum") == before.at("enum"));
}
