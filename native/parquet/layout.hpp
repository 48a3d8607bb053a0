// The physical columns that a schema of Arrow has in parquet.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "arrow_c.hpp"
#include "thrift.hpp"

namespace megacpp {

enum class Physical { boolean = 0, int32 = 1, int64 = 2, text = 6 };

// What a leaf holds: values, lists of values, or one field of lists of structs.
enum class Shape { flat, list, list_of_structs };

// The definition level of a value of each shape that is there.
constexpr std::uint32_t largest_definition[] = {1, 3, 4};

// A type of Arrow whose values parquet holds: `converted` is its older annotation, -1 where it has none.
struct Type {
  char format;
  Physical physical;
  int converted;
};

struct Leaf {
  std::size_t column = 0;
  std::size_t field = 0;  // of its struct
  Shape shape = Shape::flat;
  Type type{};
  std::vector<std::string> path;  // as parquet names it
};

// The leaves of `schema`, in order. `std::invalid_argument` for a field that is no number, text or list of those or of
// structs of those, or that must not be absent.
std::vector<Leaf> leaves_of(const ArrowSchema& schema);

// Appends field 2 of a footer: the tree of fields.
void write_schema(Thrift& out, const ArrowSchema& schema);

}  // namespace megacpp
