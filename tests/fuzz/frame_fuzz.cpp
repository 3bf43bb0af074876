// SPDX-License-Identifier: Apache-2.0
// frame_fuzz.cpp - bytes of a hostile child through the parser of frames: whatever the pieces, the same
// frames come out, and what comes out is written and read as the same.
#include "plugin/frame.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

using slipway::plugin::Frame;
using slipway::plugin::FrameParser;

namespace {

struct Parsed {
  std::vector<Frame> frames;
  bool is_good = true;
};

Parsed parse(std::string_view bytes, std::size_t piece) {
  Parsed parsed;
  FrameParser parser;
  while (!bytes.empty() && parsed.is_good) {
    const std::size_t count = std::min(piece, bytes.size());
    parsed.is_good =
        parser.feed(bytes.substr(0, count), [&](Frame frame) { parsed.frames.push_back(std::move(frame)); })
            .has_value();
    bytes.remove_prefix(count);
  }
  return parsed;
}

void demand(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Parsed whole = parse(bytes, std::max<std::size_t>(size, 1));
  const Parsed pieces = parse(bytes, 7);
  demand(whole.is_good == pieces.is_good && whole.frames == pieces.frames);
  std::string written;
  for (const Frame& frame : whole.frames) written += encode_frame_head(frame) + frame.body;
  demand(parse(written, 4096).frames == whole.frames);
  return 0;
}
