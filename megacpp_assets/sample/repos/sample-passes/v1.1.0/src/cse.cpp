// Copyright 2026 The megacpp_assets authors.
// Licensed under the Apache License, Version 2.0.

#include <functional>
#include <map>
#include <tuple>

#include "passes/analysis.h"
#include "passes/transforms.h"

namespace tir {
namespace {

using Expression = std::tuple<Opcode, const Value *, const Value *>;

/// Orders the operands of commutative operators so `a+b` and `b+a` collide.
Expression makeExpression(const Instruction &I) {
  const Value *L = I.operand(0);
  const Value *R = I.operand(1);
  if (isCommutative(I.opcode()) && std::less<const Value *>()(R, L))
    std::swap(L, R);
  return {I.opcode(), L, R};
}

/// Candidates seen so far, with a lookup that respects dominance.
class AvailableExpressions {
public:
  explicit AvailableExpressions(const DominatorTree &DT) : DT(DT) {}

  /// Returns an earlier equal computation, or records `I` and returns null.
  Instruction *findOrInsert(Instruction *I) {
    auto &Bucket = Table[makeExpression(*I)];
    for (Instruction *Earlier : Bucket)
      if (DT.dominates(Earlier, I))
        return Earlier;
    Bucket.push_back(I);
    return nullptr;
  }

private:
  const DominatorTree &DT;
  std::map<Expression, std::vector<Instruction *>> Table;
};

}  // namespace

PreservedAnalyses CommonSubexpressionPass::run(Function &F, AnalysisManager &AM) {
  AvailableExpressions Available(AM.get<DominatorAnalysis>(F));
  bool Changed = false;
  for (BasicBlock *BB : AM.get<CfgAnalysis>(F).Order) {
    auto &Insts = BB->instructions();
    for (auto It = Insts.begin(); It != Insts.end();) {
      Instruction *I = It->get();
      Instruction *Earlier =
          isBinary(I->opcode()) ? Available.findOrInsert(I) : nullptr;
      if (!Earlier) {
        ++It;
        continue;
      }
      I->replaceAllUsesWith(Earlier);
      It = BB->erase(It);
      Changed = true;
    }
  }
  if (!Changed)
    return PreservedAnalyses::all();
  return PreservedAnalyses::none().preserve<CfgAnalysis>().preserve<DominatorAnalysis>();
}

}  // namespace tir
