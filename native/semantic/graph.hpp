// Levels of a directed graph whose cycles count as one node.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ranges.hpp"

namespace megacpp {

// Level of each node: 0 for a component (of nodes that reach each other) without an edge to another one, else one above
// the highest that it has an edge to. The targets of node i are targets[offsets[i]] .. targets[offsets[i + 1] - 1].
// std::invalid_argument for columns that are no such graph.
std::vector<std::int64_t> dependency_levels(Offsets offsets, Offsets targets);

}  // namespace megacpp
