// The part of libclang's C interface (ABI of LLVM 18) that the visitor calls, resolved at run time by name.
// Declared here because the libclang wheel ships the library without headers.
#pragma once

#include <cstddef>
#include <string>

namespace megacpp {

struct CXCursor {
  int kind;
  int xdata;
  const void* data[3];
};
struct CXString {
  const void* data;
  unsigned private_flags;
};
struct CXSourceLocation {
  const void* ptr_data[2];
  unsigned int_data;
};
struct CXSourceRange {
  const void* ptr_data[2];
  unsigned begin_int_data;
  unsigned end_int_data;
};
struct CXSourceRangeList {
  unsigned count;
  CXSourceRange* ranges;
};
struct CXType {
  int kind;
  void* data[2];
};
struct CXUnsavedFile {
  const char* filename;
  const char* contents;
  unsigned long length;
};
using CXIndex = void*;
using CXTranslationUnit = void*;
using CXFile = void*;
using CXDiagnostic = void*;

struct CXIndexOptions {
  unsigned size;
  unsigned char background_indexing;
  unsigned char background_editing;
  unsigned exclude_declarations_from_pch : 1;
  unsigned display_diagnostics : 1;
  unsigned store_preambles_in_memory : 1;
  unsigned : 13;
  const char* preamble_storage_path;
  const char* invocation_emission_path;
};

enum VisitResult { kVisitBreak, kVisitContinue, kVisitRecurse };
using CursorVisitor = VisitResult (*)(CXCursor cursor, CXCursor parent, void* data);
using InclusionVisitor = void (*)(CXFile file, CXSourceLocation* stack, unsigned depth, void* data);

namespace kind {
constexpr int kUnexposedDecl = 1, kStruct = 2, kUnion = 3, kClass = 4, kEnum = 5, kField = 6, kEnumConstant = 7,
              kVariable = 9, kTypedef = 20, kMethod = 21, kNamespace = 22, kLinkageSpec = 23, kConstructor = 24,
              kDestructor = 25, kFunctionTemplate = 30, kClassTemplate = 31, kPartialSpecialization = 32,
              kTypeAlias = 36, kLastDeclaration = 39, kFirstReference = 40, kTypeRef = 43, kBaseSpecifier = 44,
              kTemplateRef = 45, kOverloadedRef = 49, kLastReference = 50, kFirstInvalid = 70, kLastInvalid = 73,
              kFirstExpression = 100, kMemberRef = 102, kCall = 103, kInteger = 106, kFloating = 107, kString = 109,
              kCharacter = 110, kLastExpression = 199, kTranslationUnit = 350, kMacroDefinition = 501,
              kMacroInstantiation = 502, kInclusion = 503, kFirstPreprocessing = 500, kLastPreprocessing = 503,
              kFirstExtraDeclaration = 600, kLastExtraDeclaration = 699;
}  // namespace kind

namespace type_kind {
constexpr int kDependent = 26, kPointer = 101, kLValueReference = 103, kRValueReference = 104;
}  // namespace type_kind

// Every function of libclang in use: return type, name without "clang_", parameters.
#define MEGACPP_CLANG_FUNCTIONS(X)                                                                           \
  X(CXIndex, createIndexWithOptions, (const CXIndexOptions*))                                                \
  X(void, disposeIndex, (CXIndex))                                                                           \
  X(void, toggleCrashRecovery, (unsigned))                                                                   \
  X(CXString, getClangVersion, ())                                                                           \
  X(int, parseTranslationUnit2,                                                                              \
    (CXIndex, const char*, const char* const*, int, CXUnsavedFile*, unsigned, unsigned, CXTranslationUnit*)) \
  X(void, disposeTranslationUnit, (CXTranslationUnit))                                                       \
  X(int, saveTranslationUnit, (CXTranslationUnit, const char*, unsigned))                                    \
  X(CXCursor, getTranslationUnitCursor, (CXTranslationUnit))                                                 \
  X(unsigned, visitChildren, (CXCursor, CursorVisitor, void*))                                               \
  X(unsigned, equalCursors, (CXCursor, CXCursor))                                                            \
  X(CXSourceRange, getCursorExtent, (CXCursor))                                                              \
  X(CXSourceLocation, getCursorLocation, (CXCursor))                                                         \
  X(CXSourceLocation, getRangeStart, (CXSourceRange))                                                        \
  X(CXSourceLocation, getRangeEnd, (CXSourceRange))                                                          \
  X(void, getFileLocation, (CXSourceLocation, CXFile*, unsigned*, unsigned*, unsigned*))                     \
  X(void, getExpansionLocation, (CXSourceLocation, CXFile*, unsigned*, unsigned*, unsigned*))                \
  X(CXFile, getFile, (CXTranslationUnit, const char*))                                                       \
  X(CXSourceLocation, getLocationForOffset, (CXTranslationUnit, CXFile, unsigned))                           \
  X(const char*, getFileContents, (CXTranslationUnit, CXFile, std::size_t*))                                 \
  X(CXString, getFileName, (CXFile))                                                                         \
  X(CXFile, getIncludedFile, (CXCursor))                                                                     \
  X(CXString, getCursorUSR, (CXCursor))                                                                      \
  X(CXString, getCursorSpelling, (CXCursor))                                                                 \
  X(CXCursor, getCursorReferenced, (CXCursor))                                                               \
  X(CXCursor, getCursorDefinition, (CXCursor))                                                               \
  X(CXCursor, getCanonicalCursor, (CXCursor))                                                                \
  X(CXCursor, getCursorSemanticParent, (CXCursor))                                                           \
  X(CXType, getCursorType, (CXCursor))                                                                       \
  X(CXType, getPointeeType, (CXType))                                                                        \
  X(CXCursor, getTypeDeclaration, (CXType))                                                                  \
  X(CXType, getTypedefDeclUnderlyingType, (CXCursor))                                                        \
  X(CXCursor, getSpecializedCursorTemplate, (CXCursor))                                                      \
  X(unsigned, isCursorDefinition, (CXCursor))                                                                \
  X(void, getOverriddenCursors, (CXCursor, CXCursor**, unsigned*))                                           \
  X(void, disposeOverriddenCursors, (CXCursor*))                                                             \
  X(unsigned, getNumOverloadedDecls, (CXCursor))                                                             \
  X(CXCursor, getOverloadedDecl, (CXCursor, unsigned))                                                       \
  X(int, Cursor_getNumArguments, (CXCursor))                                                                 \
  X(const char*, getCString, (CXString))                                                                     \
  X(void, disposeString, (CXString))                                                                         \
  X(unsigned, getNumDiagnostics, (CXTranslationUnit))                                                        \
  X(CXDiagnostic, getDiagnostic, (CXTranslationUnit, unsigned))                                              \
  X(int, getDiagnosticSeverity, (CXDiagnostic))                                                              \
  X(CXString, getDiagnosticSpelling, (CXDiagnostic))                                                         \
  X(void, disposeDiagnostic, (CXDiagnostic))                                                                 \
  X(void, getInclusions, (CXTranslationUnit, InclusionVisitor, void*))                                       \
  X(CXSourceRangeList*, getSkippedRanges, (CXTranslationUnit, CXFile))                                       \
  X(void, disposeSourceRangeList, (CXSourceRangeList*))

struct ClangApi {
#define X(result, name, parameters) result(*name) parameters = nullptr;  // NOLINT(bugprone-macro-parentheses)
  MEGACPP_CLANG_FUNCTIONS(X)
#undef X

  // The text of `value`, which is released.
  std::string take(CXString value) const {
    const char* text = getCString(value);
    std::string copy = text ? text : "";
    disposeString(value);
    return copy;
  }
};

// The library at `path`, opened once per process; throws std::runtime_error when it lacks a function.
const ClangApi& load_clang(const std::string& path);

inline bool is_null(const CXCursor& cursor) {
  return cursor.kind >= kind::kFirstInvalid && cursor.kind <= kind::kLastInvalid;
}
inline bool is_reference(int k) {
  return k >= kind::kFirstReference && k <= kind::kLastReference && k != kind::kBaseSpecifier;
}
inline bool is_class(int k) {
  return k == kind::kStruct || k == kind::kUnion || k == kind::kClass || k == kind::kClassTemplate ||
         k == kind::kPartialSpecialization;
}
inline bool is_preprocessing(int k) { return k >= kind::kFirstPreprocessing && k <= kind::kLastPreprocessing; }
inline bool is_literal(int k) {
  return k == kind::kInteger || k == kind::kFloating || k == kind::kString || k == kind::kCharacter;
}
inline bool is_declaration(int k) {
  return (k >= kind::kUnexposedDecl && k <= kind::kLastDeclaration) ||
         (k >= kind::kFirstExtraDeclaration && k <= kind::kLastExtraDeclaration);
}

}  // namespace megacpp
