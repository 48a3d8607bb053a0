// The Python extension `megacpp_assets.semantic._visitor`: arguments in, numpy arrays out, no lock held while parsing.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../arrays/to_numpy.hpp"
#include "characters.hpp"
#include "graph.hpp"
#include "identifiers.hpp"
#include "lexer.hpp"
#include "parse.hpp"
#include "ranges.hpp"

namespace nb = nanobind;
using namespace megacpp;

namespace {

nb::dict cursor_arrays(CursorArrays&& cursors) {
  nb::dict arrays;
  arrays["kind"] = to_numpy(std::move(cursors.kind));
  arrays["start"] = to_numpy(std::move(cursors.start));
  arrays["end"] = to_numpy(std::move(cursors.end));
  arrays["depth"] = to_numpy(std::move(cursors.depth));
  arrays["sibling"] = to_numpy(std::move(cursors.sibling));
  arrays["parent"] = to_numpy(std::move(cursors.parent));
  arrays["declares"] = to_numpy(std::move(cursors.declares));
  arrays["uses"] = to_numpy(std::move(cursors.uses));
  arrays["flags"] = to_numpy(std::move(cursors.flags));
  return arrays;
}

nb::bytes to_bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

// Names as libclang gives them may hold bytes that are no text.
nb::object to_text(const std::string& name) {
  return nb::steal(PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "replace"));
}

nb::dict symbol_columns(const std::vector<Entity>& entities) {
  std::vector<std::uint64_t> usrs;
  std::vector<std::uint16_t> kinds;
  nb::list qualified_names, spellings;
  for (const Entity& entity : entities) {
    usrs.push_back(entity.usr);
    kinds.push_back(static_cast<std::uint16_t>(entity.kind));
    qualified_names.append(to_text(entity.qualified_name));
    spellings.append(to_text(entity.spelling));
  }
  nb::dict columns;
  columns["usr"] = to_numpy(std::move(usrs));
  columns["kind"] = to_numpy(std::move(kinds));
  columns["qualified_name"] = qualified_names;
  columns["spelling"] = spellings;
  return columns;
}

// Each USR hash and the second hash of that USR, one after the other.
nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>> checks(const std::vector<Entity>& entities) {
  std::vector<std::uint64_t> pairs;
  pairs.reserve(2 * entities.size());
  for (const Entity& entity : entities) pairs.insert(pairs.end(), {entity.usr, entity.check});
  return to_numpy(std::move(pairs));
}

nb::list names(const std::vector<std::string>& values) {
  nb::list result;
  for (const std::string& value : values) result.append(to_bytes(value));
  return result;
}

nb::list pairs(const std::vector<Inclusion>& values) {
  nb::list result;
  for (const auto& [first, second] : values) result.append(nb::make_tuple(to_bytes(first), to_bytes(second)));
  return result;
}

nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>> flat(
    const std::vector<std::pair<std::int32_t, std::int32_t>>& values) {
  std::vector<std::int32_t> pairs;
  pairs.reserve(2 * values.size());
  for (const auto& [first, second] : values) pairs.insert(pairs.end(), {first, second});
  return to_numpy(std::move(pairs));
}

nb::dict place_columns(Places&& places) {
  nb::dict columns;
  columns["file"] = to_numpy(std::move(places.file));
  columns["holder"] = to_numpy(std::move(places.holder));
  columns["start"] = to_numpy(std::move(places.start));
  columns["end"] = to_numpy(std::move(places.end));
  columns["defined"] = to_numpy(std::move(places.defined));
  columns["files"] = names(places.files);
  columns["bases"] = flat(places.bases);
  columns["overrides"] = flat(places.overrides);
  return columns;
}

nb::dict parse(const std::string& library, const std::string& path, const std::vector<std::string>& arguments,
               unsigned flags, std::size_t cursor_limit, const std::string& file, bool places) {
  ParseResult result;
  {
    nb::gil_scoped_release unlocked;
    result = parse_file(load_clang(library), path, file.empty() ? path : file, arguments, flags, cursor_limit, places);
  }
  nb::list skipped_ranges;
  for (const auto& [start, end] : result.skipped_ranges) skipped_ranges.append(nb::make_tuple(start, end));
  nb::dict out;
  out["cursors"] = cursor_arrays(std::move(result.cursors));
  out["symbols"] = symbol_columns(result.entities);
  out["checks"] = checks(result.entities);
  out["errors"] = result.errors.all;
  out["missing"] = result.errors.missing;
  out["first_error"] = nb::bytes(result.errors.first.data(), result.errors.first.size());
  out["includes"] = names(result.includes);
  out["inclusions"] = pairs(result.inclusions);
  out["skipped_ranges"] = skipped_ranges;
  if (result.places) out["places"] = place_columns(std::move(*result.places));
  return out;
}

nb::dict save_header(const std::string& library, const std::string& path, const std::vector<std::string>& arguments,
                     unsigned flags, const std::string& output) {
  HeaderResult result;
  {
    nb::gil_scoped_release unlocked;
    result = precompile(load_clang(library), path, arguments, flags, output);
  }
  nb::dict out;
  out["errors"] = result.errors.all;
  out["includes"] = names(result.includes);
  out["inclusions"] = pairs(result.inclusions);
  return out;
}

std::string version(const std::string& library) {
  const ClangApi& api = load_clang(library);
  return api.take(api.getClangVersion());
}

using Column = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Offsets values(const Column& column) { return {column.data(), column.size()}; }

nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>> paint_ranges(std::size_t size, const Column& starts,
                                                               const Column& ends, const Column& levels) {
  return to_numpy(paint(size, values(starts), values(ends), values(levels)));
}

nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>> flat_levels(const Column& levels, const Column& ranges,
                                                              const Column& flat) {
  return to_numpy(flattened(values(levels), values(ranges), values(flat)));
}

nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>> levels(const Column& offsets, const Column& targets) {
  return to_numpy(dependency_levels(values(offsets), values(targets)));
}

nb::tuple words(const nb::bytes& code) {
  Words found = find_words({code.c_str(), code.size()});
  return nb::make_tuple(to_numpy(std::move(found.starts)), to_numpy(std::move(found.ends)));
}

nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>> span_hashes(const nb::bytes& text, const Column& starts,
                                                               const Column& ends) {
  return to_numpy(hash_spans({text.c_str(), text.size()}, values(starts), values(ends)));
}

// Hashes of names (text), and whether each is an operator's.
nb::tuple name_hashes(const nb::sequence& spellings) {
  std::vector<std::uint64_t> hashes;
  std::vector<std::uint8_t> operators;
  for (nb::handle spelling : spellings) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(spelling.ptr(), &size);
    if (!text) throw nb::python_error();
    const std::string_view name(text, static_cast<std::size_t>(size));
    hashes.push_back(hash_name(name));
    operators.push_back(is_operator(name));
  }
  return nb::make_tuple(to_numpy(std::move(hashes)), to_numpy(std::move(operators)));
}

template <typename T>
using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using ConstBytes = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::span<T> span_of(const Array<T>& array) {
  return {array.data(), array.size()};
}

Field field_of(const Bytes& records, std::size_t offset, const ConstBytes& values) {
  return {records.data(), records.shape(0), records.shape(1), offset, values.shape(1)};
}

Values values_of(const ConstBytes& values) { return {values.data(), values.shape(0), values.shape(1)}; }

void spread_values(const Bytes& records, std::size_t offset, const Array<const std::int32_t>& owner,
                   const ConstBytes& values) {
  spread(field_of(records, offset, values), span_of(owner), values_of(values));
}

void fill_ranges(const Bytes& records, std::size_t offset, const Column& starts, const Column& ends,
                 const ConstBytes& values) {
  fill(field_of(records, offset, values), {starts.data(), starts.size()}, {ends.data(), ends.size()},
       values_of(values));
}

void name_all(const Array<const std::int32_t>& innermost, const Array<const std::uint64_t>& hashes,
              const Array<const std::int32_t>& parent, const Array<const bool>& call,
              const Array<const std::int32_t>& declares, const Array<const std::int32_t>& uses,
              const Array<const std::uint64_t>& spelling, int climb, const Array<std::int32_t>& symbol,
              const Array<std::uint8_t>& mode, const Array<std::int32_t>& called) {
  const NamedCursors cursors{span_of(parent), span_of(call), span_of(declares), span_of(uses), span_of(spelling)};
  name_tokens(span_of(innermost), span_of(hashes), cursors, climb, {span_of(symbol), span_of(mode), span_of(called)});
}

nb::dict lex(const nb::bytes& code) {
  Tokens tokens = find_tokens({code.c_str(), code.size()});
  nb::dict out;
  out["comments"] = to_numpy(std::move(tokens.comments));
  out["literals"] = to_numpy(std::move(tokens.literals));
  out["directive_lines"] = to_numpy(std::move(tokens.directive_lines));
  out["commented"] = to_numpy(std::move(tokens.commented));
  out["quoted"] = to_numpy(std::move(tokens.quoted));
  return out;
}

}  // namespace

NB_MODULE(_visitor, module) {
  module.def(
      "parse", &parse, nb::arg("library"), nb::arg("path"), nb::arg("arguments"), nb::arg("flags"),
      nb::arg("cursor_limit"), nb::arg("file") = "", nb::arg("places") = false,
      "Parse one file, for the cursors of `file`: by default its own, else those of a file that it includes. "
      "Gives cursors (numpy arrays; declares and uses are rows of the symbols, -1 for none), "
      "symbols (columns, ascending by USR hash), checks, errors, missing (those of them about an included file "
      "that is not there), first_error (bytes of its message), includes, inclusions, skipped_ranges, and if asked "
      "for the places of the symbols in the tree: file (a row of files, -1 outside), bytes, whether defined, "
      "holder, and flat pairs of rows: bases (class, base), overrides (method, overridden); "
      "RuntimeError when libclang gives nothing. A crash of libclang ends the process.");
  module.def(
      "precompile", &save_header, nb::arg("library"), nb::arg("path"), nb::arg("arguments"), nb::arg("flags"),
      nb::arg("output"),
      "Write a precompiled header of `path` to `output`. Gives errors, includes, inclusions; RuntimeError on failure.");
  module.def("paint", &paint_ranges, nb::arg("size"), nb::arg("starts"), nb::arg("ends"), nb::arg("levels"),
             "Index of the range that owns each of `size` bytes, or -1; ValueError for a range outside them.");
  module.def("flattened", &flat_levels, nb::arg("levels"), nb::arg("ranges"), nb::arg("flat"),
             "Levels in which the members of each of the `flat` ranges have the least among them.");
  module.def("dependency_levels", &levels, nb::arg("offsets"), nb::arg("targets"),
             "Level of each node of a graph in compressed rows; ValueError for columns that are no graph.");
  module.def("lex", &lex, nb::arg("code"),
             "Comments and literals of `code` (flat pairs), directive_lines, and marks: commented, quoted.");
  module.def("words", &words, nb::arg("code"), "Starts and ends of the identifier tokens of `code`.");
  module.def("span_hashes", &span_hashes, nb::arg("text"), nb::arg("starts"), nb::arg("ends"),
             "Hash of each range of `text`; ValueError for a range outside it.");
  module.def("name_hashes", &name_hashes, nb::arg("spellings"),
             "Hash of the identifier token of each entity, and 1 for each whose spelling begins with `operator`.");
  module.def("spread", &spread_values, nb::arg("records"), nb::arg("offset"), nb::arg("owner"), nb::arg("values"),
             "Write into a field of each record the value of its owner; ValueError for an owner without a value.");
  module.def("fill", &fill_ranges, nb::arg("records"), nb::arg("offset"), nb::arg("starts"), nb::arg("ends"),
             nb::arg("values"),
             "Write each value into a field of the records of its range; ValueError for a range outside them.");
  module.def(
      "name_tokens", &name_all, nb::arg("innermost"), nb::arg("hashes"), nb::arg("parent"), nb::arg("call"),
      nb::arg("declares"), nb::arg("uses"), nb::arg("spelling"), nb::arg("climb"), nb::arg("symbol"), nb::arg("mode"),
      nb::arg("called"),
      "Give each token the entity it names and the one it calls, in place; ValueError for columns that do not fit.");
  module.def("version", &version, nb::arg("library"), "libclang's version string.");
  module.def(
      "hash_text", [](const nb::bytes& text) { return hash_text({text.c_str(), text.size()}); },
      "The 64-bit hash that stands for a symbol's identity.");
}
