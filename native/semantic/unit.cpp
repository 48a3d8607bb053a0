#include "unit.hpp"

#include <algorithm>
#include <stdexcept>

#include "lexer.hpp"

namespace megacpp {
namespace {

constexpr unsigned kMaxErrors = 1000;
constexpr std::string_view kMissing = "file not found";
constexpr int kSeverityError = 3;
constexpr const char* kNotRead = "libclang did not read the file";

}  // namespace

Unit::Unit(const ClangApi& api, const std::string& path, const std::vector<std::string>& arguments, unsigned flags)
    : api_(api) {
  CXIndexOptions options{};
  options.size = sizeof(options);
  options.store_preambles_in_memory = 1;      // a parse writes no file
  options.exclude_declarations_from_pch = 1;  // they are never the main file's
  index_ = api_.createIndexWithOptions(&options);
  if (!index_) throw std::runtime_error("libclang refuses the index options");
  std::vector<const char*> pointers;
  pointers.reserve(arguments.size());
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  const int code = api_.parseTranslationUnit2(index_, path.c_str(), pointers.data(), static_cast<int>(pointers.size()),
                                              nullptr, 0, flags, &unit_);
  if (code != 0 || !unit_) {
    api_.disposeIndex(index_);
    throw std::runtime_error("libclang gives no translation unit, code " + std::to_string(code));
  }
}

Unit::~Unit() {
  api_.disposeTranslationUnit(unit_);
  api_.disposeIndex(index_);
}

MainFile find_main_file(const ClangApi& api, CXTranslationUnit unit, const std::string& main, const std::string& path) {
  MainFile found;
  found.unit = api.getFile(unit, main.c_str());
  found.file = path == main ? found.unit : api.getFile(unit, path.c_str());
  if (!found.file || !found.unit) throw std::runtime_error(kNotRead);
  std::size_t size = 0;
  const char* text = api.getFileContents(unit, found.file, &size);
  if (text) found.text = {text, size};
  // A location asked for by its offset would cost the library a table of every macro argument in the file.
  const CXSourceRange whole = api.getCursorExtent(api.getTranslationUnitCursor(unit));
  CXSourceLocation start = api.getRangeStart(whole);
  if (found.fragment()) {
    start = api.getLocationForOffset(unit, found.file, 0);
    // As its inclusion spells its name, which is another file to the library.
    api.getFileLocation(start, &found.file, nullptr, nullptr, nullptr);
    if (!found.file) throw std::runtime_error(kNotRead);
  }
  found.first = start.int_data;
  if (text && size < kMacroBit && found.first != 0 && !(found.first & kMacroBit))
    found.size = static_cast<unsigned>(size);
  return found;
}

Errors count_errors(const ClangApi& api, CXTranslationUnit unit) {
  Errors errors;
  const unsigned count = api.getNumDiagnostics(unit);
  for (unsigned index = 0; index < count && errors.all < kMaxErrors; ++index) {
    CXDiagnostic diagnostic = api.getDiagnostic(unit, index);
    if (api.getDiagnosticSeverity(diagnostic) >= kSeverityError) {
      const std::string message = api.take(api.getDiagnosticSpelling(diagnostic));
      if (errors.all++ == 0) errors.first = message;
      if (message.ends_with(kMissing)) ++errors.missing;
    }
    api.disposeDiagnostic(diagnostic);
  }
  return errors;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> skipped_ranges(const ClangApi& api, CXTranslationUnit unit,
                                                                    const MainFile& file) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
  // To answer, the library reads every range of a precompiled header.
  if (file.text.data() && !may_hold_condition(file.text)) return result;
  CXSourceRangeList* list = api.getSkippedRanges(unit, file.file);
  for (unsigned index = 0; list && index < list->count; ++index) {
    unsigned start = 0;
    unsigned end = 0;
    api.getFileLocation(api.getRangeStart(list->ranges[index]), nullptr, nullptr, nullptr, &start);
    api.getFileLocation(api.getRangeEnd(list->ranges[index]), nullptr, nullptr, nullptr, &end);
    if (end > start) result.emplace_back(start, end);
  }
  if (list) api.disposeSourceRangeList(list);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace megacpp
