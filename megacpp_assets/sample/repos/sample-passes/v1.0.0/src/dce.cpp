// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <unordered_set>

#include "passes/analysis.h"
#include "passes/transforms.h"

namespace tir {
namespace {

/// A division may trap, so it stays unless the divisor is a known non-zero.
bool mayTrap(const Instruction &I) {
  if (I.opcode() != Opcode::Div)
    return false;
  const auto *Divisor = dyn_cast<ConstantInt>(I.operand(1));
  return !Divisor || Divisor->value() == 0;
}

bool isRoot(const Instruction &I) { return I.hasSideEffects() || mayTrap(I); }

using LiveSet = std::unordered_set<const Instruction *>;

/// Marks everything the roots depend on; cyclic dead phis stay unmarked.
LiveSet computeLive(const Function &F) {
  LiveSet Live;
  std::vector<const Instruction *> Work;
  auto Mark = [&](const Instruction *I) {
    if (Live.insert(I).second)
      Work.push_back(I);
  };
  for (const auto &BB : F.blocks())
    for (const auto &I : BB->instructions())
      if (isRoot(*I))
        Mark(I.get());
  while (!Work.empty()) {
    const Instruction *I = Work.back();
    Work.pop_back();
    for (const Value *Op : I->operands())
      if (const auto *Def = dyn_cast<Instruction>(Op))
        Mark(Def);
  }
  return Live;
}

}  // namespace

PreservedAnalyses DeadCodePass::run(Function &F, AnalysisManager &) {
  const LiveSet Live = computeLive(F);
  if (Live.size() == F.instructionCount())
    return PreservedAnalyses::all();

  // Dead instructions may use one another: detach them all, then delete.
  for (const auto &BB : F.blocks())
    for (const auto &I : BB->instructions())
      if (!Live.count(I.get()))
        I->dropOperands();
  for (const auto &BB : F.blocks())
    BB->instructions().remove_if([&](const auto &I) { return !Live.count(I.get()); });
  return PreservedAnalyses::none().preserve<CfgAnalysis>().preserve<DominatorAnalysis>();
}

}  // namespace tir
