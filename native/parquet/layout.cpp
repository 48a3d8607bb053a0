#include "layout.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

namespace megacpp {
namespace {

constexpr std::array<Type, 9> types{{
    {'b', Physical::boolean, -1},
    {'C', Physical::int32, 11},
    {'S', Physical::int32, 12},
    {'I', Physical::int32, 13},
    {'i', Physical::int32, -1},
    {'l', Physical::int64, -1},
    {'L', Physical::int64, 14},
    {'u', Physical::text, 0},
    {'z', Physical::text, -1},
}};
constexpr int converted_list = 3, converted_text = 0, first_unsigned = 11;
constexpr int logical_text = 1, logical_list = 3, logical_integer = 10;
enum class Repetition { required = 0, optional = 1, repeated = 2 };

std::invalid_argument refused(const ArrowSchema& field) {
  return std::invalid_argument("the field " + std::string(field.name) + " of Arrow's format " + field.format);
}

Type type_of(const ArrowSchema& field) {
  const std::string_view format = field.format;
  const auto* found = std::find_if(types.begin(), types.end(),
                                   [&](const Type& type) { return format == std::string_view(&type.format, 1); });
  if (found == types.end() || field.dictionary) throw refused(field);
  return *found;
}

bool is(const ArrowSchema& field, std::string_view format) { return field.format == format; }

void require_nullable(const ArrowSchema& field) {
  if (!(field.flags & arrow_nullable)) {
    throw std::invalid_argument("the field " + std::string(field.name) + ", which must not be absent");
  }
}

void add_field(std::vector<Leaf>& leaves, const ArrowSchema& field, std::size_t column) {
  require_nullable(field);
  if (!is(field, "+l")) return leaves.push_back({column, 0, Shape::flat, type_of(field), {field.name}});
  const ArrowSchema& element = *field.children[0];
  require_nullable(element);
  const std::vector<std::string> path{field.name, "list", "element"};
  if (!is(element, "+s")) return leaves.push_back({column, 0, Shape::list, type_of(element), path});
  if (!element.n_children) throw refused(element);
  for (std::int64_t place = 0; place < element.n_children; ++place) {
    const ArrowSchema& part = *element.children[place];
    require_nullable(part);
    leaves.push_back({column, static_cast<std::size_t>(place), Shape::list_of_structs, type_of(part), path});
    leaves.back().path.emplace_back(part.name);
  }
}

void write_integer(Thrift& out, int bits) {
  out.begin(logical_integer);
  out.number(1, Kind::byte, bits);
  out.flag(2, false);
  out.end();
}

void write_annotation(Thrift& out, int converted) {
  if (converted < 0) return;
  out.number(6, Kind::i32, converted);
  out.begin(10);
  if (converted >= first_unsigned) {
    write_integer(out, 8 << (converted - first_unsigned));
  } else {
    out.begin(converted == converted_text ? logical_text : logical_list);
    out.end();
  }
  out.end();
}

void write_group(Thrift& out, Repetition repetition, std::string_view name, std::int64_t children, int converted = -1) {
  out.begin();
  out.number(3, Kind::i32, static_cast<int>(repetition));
  out.text(4, name);
  out.number(5, Kind::i32, children);
  write_annotation(out, converted);
  out.end();
}

void write_leaf(Thrift& out, std::string_view name, const Type& type) {
  out.begin();
  out.number(1, Kind::i32, static_cast<int>(type.physical));
  out.number(3, Kind::i32, static_cast<int>(Repetition::optional));
  out.text(4, name);
  write_annotation(out, type.converted);
  out.end();
}

void write_field(Thrift& out, const ArrowSchema& field) {
  if (!is(field, "+l")) return write_leaf(out, field.name, type_of(field));
  const ArrowSchema& element = *field.children[0];
  write_group(out, Repetition::optional, field.name, 1, converted_list);
  write_group(out, Repetition::repeated, "list", 1);
  if (!is(element, "+s")) return write_leaf(out, "element", type_of(element));
  write_group(out, Repetition::optional, "element", element.n_children);
  for (std::int64_t place = 0; place < element.n_children; ++place) {
    const ArrowSchema& part = *element.children[place];
    write_leaf(out, part.name, type_of(part));
  }
}

// Elements of the tree below `field`, itself among them.
std::size_t elements(const ArrowSchema& field) {
  if (!is(field, "+l")) return 1;
  const ArrowSchema& element = *field.children[0];
  return 3 + (is(element, "+s") ? static_cast<std::size_t>(element.n_children) : 0);
}

}  // namespace

std::vector<Leaf> leaves_of(const ArrowSchema& schema) {
  std::vector<Leaf> leaves;
  for (std::int64_t column = 0; column < schema.n_children; ++column) {
    add_field(leaves, *schema.children[column], static_cast<std::size_t>(column));
  }
  return leaves;
}

void write_schema(Thrift& out, const ArrowSchema& schema) {
  std::size_t count = 1;
  for (std::int64_t column = 0; column < schema.n_children; ++column) count += elements(*schema.children[column]);
  out.list(2, Kind::structure, count);
  write_group(out, Repetition::required, "schema", schema.n_children);
  for (std::int64_t column = 0; column < schema.n_children; ++column) write_field(out, *schema.children[column]);
}

}  // namespace megacpp
