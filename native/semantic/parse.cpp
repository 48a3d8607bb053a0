#include "parse.hpp"

#include <stdexcept>
#include <tuple>

#include "unit.hpp"

namespace megacpp {
namespace {

void renumber(std::vector<std::int32_t>& entities, const std::vector<std::int32_t>& rows) {
  for (std::int32_t& entity : entities) {
    if (entity != kNoEntity) entity = rows[static_cast<std::size_t>(entity)];
  }
}

// `values` by number of an entity, in the order of their `rows`.
template <typename T>
void reorder(std::vector<T>& values, const std::vector<std::int32_t>& rows) {
  std::vector<T> ordered(values.size());
  for (std::size_t number = 0; number < values.size(); ++number) {
    ordered[static_cast<std::size_t>(rows[number])] = values[number];
  }
  values = std::move(ordered);
}

void renumber(Places& places, const std::vector<std::int32_t>& rows) {
  renumber(places.holder, rows);
  reorder(places.file, rows);
  reorder(places.holder, rows);
  reorder(places.start, rows);
  reorder(places.end, rows);
  reorder(places.defined, rows);
  for (auto* pairs : {&places.bases, &places.overrides}) {
    for (auto& [first, second] : *pairs) {
      first = rows[static_cast<std::size_t>(first)];
      second = rows[static_cast<std::size_t>(second)];
    }
  }
}

}  // namespace

ParseResult parse_file(const ClangApi& api, const std::string& path, const std::string& file,
                       const std::vector<std::string>& arguments, unsigned flags, std::size_t cursor_limit,
                       bool with_places) {
  const Unit unit(api, path, arguments, flags);
  const MainFile main_file = find_main_file(api, unit.get(), path, file);
  Entities entities(api);
  InclusionGraph inclusions(api, entities);
  ParseResult result;
  result.cursors = walk(api, unit.get(), main_file, entities, inclusions, cursor_limit);
  if (with_places) result.places = find_places(api, entities);
  std::vector<std::int32_t> rows;
  std::tie(result.entities, rows) = entities.take_all();
  renumber(result.cursors.declares, rows);
  renumber(result.cursors.uses, rows);
  if (result.places) renumber(*result.places, rows);
  result.errors = count_errors(api, unit.get());
  result.includes = included_files(api, entities, unit.get());
  result.inclusions = inclusions.names();
  result.skipped_ranges = skipped_ranges(api, unit.get(), main_file);
  return result;
}

HeaderResult precompile(const ClangApi& api, const std::string& path, const std::vector<std::string>& arguments,
                        unsigned flags, const std::string& output) {
  const Unit unit(api, path, arguments, flags);
  const Entities entities(api);
  InclusionGraph inclusions(api, entities);
  inclusions.add_all(unit.get());
  HeaderResult result{count_errors(api, unit.get()), included_files(api, entities, unit.get()), inclusions.names()};
  const int code = api.saveTranslationUnit(unit.get(), output.c_str(), 0);
  if (code != 0) throw std::runtime_error("libclang cannot save the precompiled header, code " + std::to_string(code));
  return result;
}

}  // namespace megacpp
