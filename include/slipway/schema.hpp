// SPDX-License-Identifier: Apache-2.0
// schema.hpp - JSON Schema (a subset of 2020-12) of a described struct, as codec.hpp reads and writes it, and
// what an edit of a struct would break. The schemas of all messages are kept as files, so that an
// incompatible edit is seen. Thread rule: free functions without state.
#pragma once

#include <slipway/codec.hpp>
#include <slipway/detail/schema_compare.hpp>
#include <slipway/detail/schema_write.hpp>

#include <exception>
#include <string>
#include <vector>

namespace slipway {

// The schema of a described struct: members and enumerators in their order; structs under $defs by their own
// names, sorted; defaults unless empty.
template <class T>
[[nodiscard]] json::object schema_of() {
  detail::SchemaWriter writer;
  json::object schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
  for (auto& [key, value] : writer.schema<T>()) schema.emplace(key, std::move(value));
  json::object definitions = std::move(writer).definitions();
  if (!definitions.empty()) schema["$defs"] = std::move(definitions);
  return schema;
}

// As it is kept in a file: stable, two spaces a level, a line end at the end.
[[nodiscard]] inline std::string schema_text(const json::object& schema) {
  std::string out;
  detail::append_pretty(out, schema, 0);
  return out + "\n";
}

// What in `new_schema` a peer that was built against `old_schema` cannot live with, as sender or as receiver,
// each with what a compatible edit would be. Empty: the edit only grows. What schema_of() cannot have made is
// noted too.
[[nodiscard]] inline std::vector<std::string> incompatibilities(const json::object& old_schema,
                                                                const json::object& new_schema) {
  try {
    return detail::SchemaComparison(old_schema, new_schema).run();
  } catch (const std::exception& e) {  // a file that was edited by hand
    return {message("document: not a schema as schema_of() makes it ({}); write the file anew", e.what())};
  }
}

}  // namespace slipway
