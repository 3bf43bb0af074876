// SPDX-License-Identifier: Apache-2.0
// child.hpp - the other end of an isolated channel: the whole of slipway-plugin-host. It enters its sandbox,
// loads one plugin, and passes calls between the socket and that plugin, whose channel here is the in-process
// one.
#pragma once

namespace slipway::plugin {

// Descriptor 3 is the socket to the host. Returns the exit code: 0 after an orderly close, 2 when there is no
// host. Ends the process when the host is gone.
int run_child();

}  // namespace slipway::plugin
