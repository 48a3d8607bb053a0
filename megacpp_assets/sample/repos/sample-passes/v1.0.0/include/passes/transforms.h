// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#ifndef PASSES_TRANSFORMS_H
#define PASSES_TRANSFORMS_H

#include <cstdint>
#include <optional>

#include "passes/pass_manager.h"

/// Every registered function pass, in the order of the default pipeline.
#define TIR_FOR_EACH_PASS(X) \
  X(ConstantFoldingPass)     \
  X(DeadCodePass)            \
  X(SimplifyCfgPass)

namespace tir {

/// The semantics of a binary operator; empty when the operation traps.
std::optional<std::int64_t> evaluateBinary(Opcode Op, std::int64_t L, std::int64_t R);

/// Replaces instructions with constant operands by their value.
class ConstantFoldingPass : public PassInfoMixin<ConstantFoldingPass> {
public:
  static constexpr std::string_view PassName = "fold";
  PreservedAnalyses run(Function &F, AnalysisManager &AM);
};

/// Deletes computations whose results reach no side effect.
class DeadCodePass : public PassInfoMixin<DeadCodePass> {
public:
  static constexpr std::string_view PassName = "dce";
  PreservedAnalyses run(Function &F, AnalysisManager &AM);
};

/// Narrows constant branches, drops unreachable blocks, merges chains.
class SimplifyCfgPass : public PassInfoMixin<SimplifyCfgPass> {
public:
  static constexpr std::string_view PassName = "simplify-cfg";
  PreservedAnalyses run(Function &F, AnalysisManager &AM);

private:
  static bool narrowBranches(Function &F);
  static bool removeUnreachable(Function &F, const struct CfgInfo &Cfg);
  static bool mergeChains(Function &F);
};

}  // namespace tir

#endif  // PASSES_TRANSFORMS_H
