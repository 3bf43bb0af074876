// SPDX-License-Identifier: Apache-2.0
// types.hpp - types/1: the sizes that a cloud sells. The core picks the smallest that fits. Thread rule:
// values.
#pragma once

#include <slipway/messages/common.hpp>

namespace slipway {

struct TypesRequest {
  static constexpr std::string_view method = "types.list/1";
  using Reply = struct TypesReply;
};
BOOST_DESCRIBE_STRUCT(TypesRequest, (), ())

// All of them: there is no paging, as a choice from a part would be a wrong one.
struct TypesReply {
  std::vector<InstanceType> types;
};
BOOST_DESCRIBE_STRUCT(TypesReply, (), (types))

}  // namespace slipway
