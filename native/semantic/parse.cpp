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

}  // namespace

ParseResult parse_file(const ClangApi& api, const std::string& path, const std::string& file,
                       const std::vector<std::string>& arguments, unsigned flags, std::size_t cursor_limit) {
  const Unit unit(api, path, arguments, flags);
  const MainFile main_file = find_main_file(api, unit.get(), path, file);
  Entities entities(api);
  InclusionGraph inclusions(api, entities);
  ParseResult result;
  result.cursors = walk(api, unit.get(), main_file, entities, inclusions, cursor_limit);
  std::vector<std::int32_t> rows;
  std::tie(result.entities, rows) = entities.take_all();
  renumber(result.cursors.declares, rows);
  renumber(result.cursors.uses, rows);
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
